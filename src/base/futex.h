/* futex.h: sleeping in the kernel on a word, and waking who sleeps there. The one door to it, so that
 * a port to another kernel replaces this file (os_sync_wait_on_address, _umtx_op, __futex). */
#ifndef LT_BASE_FUTEX_H
#define LT_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleeps while *word == expected, until woken or until `deadline` on the monotonic clock
 * (LEAT_NEVER: none). May return early for no reason: callers check again. */
void lt_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t deadline);

/* Wakes one who sleeps on the word. The word itself is not touched, so it may already be gone. */
void lt_futex_wake(_Atomic uint32_t *word);

/* The same in the system alone, whatever world the caller lives in: sleeps for `ns` at the most. For locks. */
void lt_futex_nap(_Atomic uint32_t *word, uint32_t expected, int64_t ns);
void lt_futex_rouse(_Atomic uint32_t *word);

#endif
