/* lock.h: a small lock for critical sections of a few dozen nanoseconds.
 *
 * Taking it is one exchange, giving it back a load and a store, because the unlocking side does not have to wake
 * anybody. Who finds it taken looks again ever less often. Who has looked in vain for some microseconds marks the lock
 * as wanted. It is then given back with that mark; the next exchange finds the mark, and whoever made it gives the lock
 * back again, wakes one who sleeps, and gives its processor away before it looks again. So nobody waits long for a
 * lock that others take all the time. A sleep ends by itself soon, in case nobody comes to find the mark. Nobody parks,
 * wakes another party or runs a user's function while holding one (design decision 12). */
#ifndef LT_BASE_LOCK_H
#define LT_BASE_LOCK_H

#include "base/util.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LT_LOCK_FREE, LT_LOCK_HELD, LT_LOCK_WANTED /* free, but somebody has waited long for it */ };

struct lt_lock {
    _Atomic uint8_t held;
    _Atomic uint8_t wanted; /* LT_LOCK_WANTED, or LT_LOCK_FREE: what `held` becomes */
};

/* For whoever has put LT_LOCK_HELD where `found` was, which is not LT_LOCK_FREE: takes the lock. */
void lt_lock_contended(struct lt_lock *lock, uint8_t found);

static inline void lt_unlock(struct lt_lock *lock)
{
    /* Relaxed: a mark that is missed is made again. */
    uint8_t wanted = atomic_load_explicit(&lock->wanted, memory_order_relaxed);
    /* Release: the next holder sees what was written here. */
    atomic_store_explicit(&lock->held, wanted, memory_order_release);
}

static inline void lt_lock(struct lt_lock *lock)
{
    /* Acquire: what the last holder wrote is seen. */
    uint8_t found = atomic_exchange_explicit(&lock->held, LT_LOCK_HELD, memory_order_acquire);
    if (LT_UNLIKELY(found))
        lt_lock_contended(lock, found);
}

/* False also where the lock is wanted. */
static inline bool lt_try_lock(struct lt_lock *lock)
{
    /* Acquire: as above. */
    uint8_t found = atomic_exchange_explicit(&lock->held, LT_LOCK_HELD, memory_order_acquire);
    if (LT_LIKELY(!found))
        return true;
    if (found == LT_LOCK_WANTED)
        lt_unlock(lock);
    return false;
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
