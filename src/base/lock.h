/* lock.h: a small lock for critical sections of a few dozen nanoseconds.
 *
 * Taking it is one exchange, giving it back one store, because the unlocking side never has to learn
 * whether somebody waits: who finds it taken looks again ever less often, then gives its processor away, and then
 * sleeps for growing moments, so a holder that lost its processor is not spun against. Nobody parks, wakes
 * another party or runs a user's function while holding one (design decision 12). */
#ifndef LT_BASE_LOCK_H
#define LT_BASE_LOCK_H

#include "base/util.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_lock {
    _Atomic uint32_t held;
};

void lt_lock_contended(struct lt_lock *lock);

static inline void lt_lock(struct lt_lock *lock)
{
    /* Acquire: what the last holder wrote is seen. */
    if (LT_UNLIKELY(atomic_exchange_explicit(&lock->held, 1, memory_order_acquire)))
        lt_lock_contended(lock);
}

static inline bool lt_try_lock(struct lt_lock *lock)
{
    return !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire); /* as above */
}

static inline void lt_unlock(struct lt_lock *lock)
{
    /* Release: the next holder sees what was written here. */
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* Tells the processor that this is a spin. */
static inline void lt_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

#endif
