/* lock.h: a small lock for critical sections of a few dozen nanoseconds.
 *
 * Locking is one exchange. Unlocking is a load and a store, because it wakes no thread. A thread
 * that finds the lock held looks again, less and less often, and after some microseconds marks the
 * lock as wanted. The holder unlocks it with that mark. The next thread that takes it finds the
 * mark, unlocks it again, wakes a sleeper, and yields its processor before it looks again. So no
 * thread waits long for a lock that others take all the time. Sleeps are short, in case no thread
 * finds the mark.
 *
 * No holder parks, wakes a party or runs a user's function. */
#pragma once

#include "base/util.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LT_LOCK_FREE, LT_LOCK_HELD, LT_LOCK_WANTED /* free, but long wanted */ };

struct lt_lock {
    _Atomic uint8_t held;
    _Atomic uint8_t wanted; /* LT_LOCK_FREE or LT_LOCK_WANTED: unlocking writes it to `held` */
};

/* Take the lock after an exchange of LT_LOCK_HELD for `found`, which is not LT_LOCK_FREE. */
void lt_lock_contended(struct lt_lock *lock, uint8_t found);
void lt_lock_contended_soon(struct lt_lock *lock, uint8_t found);

/* A step of a loop that waits while another thread does little more. `round`: the steps before. */
void lt_lock_await(unsigned round);

static inline void lt_unlock(struct lt_lock *lock)
{
    /* Relaxed: a mark that is missed is made again. */
    uint8_t wanted = atomic_load_explicit(&lock->wanted, memory_order_relaxed);
    /* Release: the next holder sees what this one wrote. */
    atomic_store_explicit(&lock->held, wanted, memory_order_release);
}

static inline void lt_lock(struct lt_lock *lock)
{
    /* Acquire: sees what the last holder wrote. */
    uint8_t found = atomic_exchange_explicit(&lock->held, LT_LOCK_HELD, memory_order_acquire);
    if (LT_UNLIKELY(found))
        lt_lock_contended(lock, found);
}

/* As lt_lock, for a lock that no thread takes all the time, because each does something else
 * between two holds. A thread that finds it held looks again sooner: it will mostly be free. */
static inline void lt_lock_soon(struct lt_lock *lock)
{
    /* Acquire: as above. */
    uint8_t found = atomic_exchange_explicit(&lock->held, LT_LOCK_HELD, memory_order_acquire);
    if (LT_UNLIKELY(found))
        lt_lock_contended_soon(lock, found);
}

/* False if the lock is held or wanted. */
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
