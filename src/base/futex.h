/* futex.h: sleeping in the kernel on a word, and waking a sleeper. Nothing else calls the futex, so
 * a port to another kernel replaces futex.c (os_sync_wait_on_address, _umtx_op, __futex). */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Sleeps while *word == expected, until woken or until `deadline` on the monotonic clock
 * (LEAT_NEVER: none). May return early: callers check again. */
void lt_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t deadline);

/* Wakes one sleeper on the word. Uses only the word's address: its memory may be gone. */
void lt_futex_wake(_Atomic uint32_t *word);

/* The same for locks: by the kernel even if the caller lives in a seeded world. The sleep takes at
 * most `ns` nanoseconds. */
void lt_futex_nap(_Atomic uint32_t *word, uint32_t expected, int64_t ns);
void lt_futex_rouse(_Atomic uint32_t *word);

/* Sleeps for `ns` nanoseconds, or less. Keeps errno, and is no cancellation point. */
void lt_nap(int64_t ns);
