/* biased.h: a lock that costs no locked instruction as long as one worker alone takes it.
 *
 * It begins as an ordinary lock. Whoever takes it LT_BIAS_AFTER times in a row becomes its owner: from
 * then on the owner takes it with plain stores, and the first other party takes that right back, for
 * good, by making all processors of the process pass a barrier (membarrier). Who only visits, a dump, takes it back
 * for a time: the owner earns it again. (Dice, Moir and Scherer's "Quickly Reacquirable Locks", 2003, is of this
 * kind.)
 *
 * Invariants:
 *  - `lock` held, or `grip` LT_HELD: never both, and who has either has the lock.
 *  - `owner`, `streak` and `settled` are written with `lock` held. The owner alone writes `grip`.
 *  - The owner writes LT_REACHING before it looks whether it is the owner still, and who takes the right
 *    back writes `owner` before the barrier and looks at `grip` after it. So one of the two sees the
 *    other: the barrier stands on the rare side for what would be one on both.
 *  - Only one party in its life is given it: a former owner that is late may write to `grip`, and must not
 *    meet a new one there.
 *
 * `me` is the worker of the calling thread, or NULL in threads that are none: those never become owners. */
#ifndef LT_BASE_BIASED_H
#define LT_BASE_BIASED_H

#include "base/gap.h"
#include "base/lock.h"

#include <stdbool.h>

enum { LT_LOOSE, LT_REACHING, LT_HELD };

struct lt_biased {
    struct lt_lock lock;
    _Atomic uint8_t grip;
    bool settled; /* it has been taken back, or cannot be given */
    uint16_t streak;
    /* Who may use `grip`; with LT_CANDIDATE set nobody may, and it tells who took the lock last; with LT_FORMER
     * as well, who alone may become the owner again. */
    _Atomic uintptr_t owner;
};

enum { LT_CANDIDATE = 1, LT_FORMER = 2 };

/* Before the first worker starts: makes biasing possible, where the kernel can do it. */
void lt_bias_open(void);

void lt_biased_init(struct lt_biased *biased);

/* As lt_biased_lock, for who looks once and hardly comes again. */
void lt_biased_visit(struct lt_biased *biased, const void *me);

/* With `lock` taken, until it is settled. */
void lt_biased_consider(struct lt_biased *biased, const void *me);

/* Takes the lock if `me` owns it; false: not taken. */
static inline bool lt_biased_grip(struct lt_biased *biased, const void *me)
{
    /* Relaxed: only `me` itself makes `me` the owner. */
    if (LT_UNLIKELY(atomic_load_explicit(&biased->owner, memory_order_relaxed) != (uintptr_t)me))
        return false;
    lt_gap();
    atomic_store_explicit(&biased->grip, LT_REACHING, memory_order_relaxed);
    /* For the compiler; for the processors, the barrier in lt_biased_consider. */
    atomic_signal_fence(memory_order_seq_cst);
    if (LT_LIKELY(atomic_load_explicit(&biased->owner, memory_order_relaxed) == (uintptr_t)me)) {
        atomic_store_explicit(&biased->grip, LT_HELD, memory_order_relaxed);
        return true;
    }
    atomic_store_explicit(&biased->grip, LT_LOOSE, memory_order_relaxed);
    return false;
}

/* With `lock` taken: there is nothing to consider, as where threads come one after the other. */
static inline bool lt_biased_stays(const struct lt_biased *biased, const void *me)
{
    return LT_LIKELY(biased->settled) ||
           (!me && atomic_load_explicit(&biased->owner, memory_order_relaxed) == LT_CANDIDATE);
}

/* The same for who is not the owner. */
static inline void lt_biased_contend(struct lt_biased *biased, const void *me)
{
    lt_lock(&biased->lock);
    if (!lt_biased_stays(biased, me))
        lt_biased_consider(biased, me);
}

/* The same if nobody has it and there is nothing to consider; else false: not taken. */
static inline bool lt_biased_try(struct lt_biased *biased, const void *me)
{
    if (!lt_try_lock(&biased->lock))
        return false;
    if (lt_biased_stays(biased, me))
        return true;
    lt_unlock(&biased->lock);
    return false;
}

static inline void lt_biased_lock(struct lt_biased *biased, const void *me)
{
    if (LT_UNLIKELY(!lt_biased_grip(biased, me)))
        lt_biased_contend(biased, me);
}

/* With `lock` taken, by no grip: nobody will own it from now on. */
static inline void lt_biased_settle(struct lt_biased *biased)
{
    biased->settled = true;
}

/* True: nobody but `me`, who calls, has had the lock since it was given to it. So what `me` has read under no lock
 * before it asked, it has read as under the lock, of any number of such locks at one moment: who takes the right
 * back writes `owner` before it changes anything. (The reading is by acquire loads, so that it comes first.) */
static inline bool lt_biased_is_mine(const struct lt_biased *biased, const void *me)
{
    return me && atomic_load_explicit(&biased->owner, memory_order_relaxed) == (uintptr_t)me;
}

/* Gives back what lt_biased_grip took. */
static inline void lt_biased_let_go(struct lt_biased *biased)
{
    /* Release: who takes the right back sees what was written here. */
    atomic_store_explicit(&biased->grip, LT_LOOSE, memory_order_release);
}

/* Gives it back if it was taken by the owner; false: it was not. */
static inline bool lt_biased_loosen(struct lt_biased *biased)
{
    /* Relaxed: who has the lock by `grip` wrote it, and others may read LT_REACHING at the most. */
    if (LT_UNLIKELY(atomic_load_explicit(&biased->grip, memory_order_relaxed) != LT_HELD))
        return false;
    lt_biased_let_go(biased);
    return true;
}

static inline void lt_biased_unlock(struct lt_biased *biased)
{
    if (LT_UNLIKELY(!lt_biased_loosen(biased)))
        lt_unlock(&biased->lock);
}

#endif
