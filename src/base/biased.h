/* biased.h: a lock that costs no locked instruction while only one worker takes it.
 *
 * It begins as an ordinary lock. A worker that takes it LT_BIAS_AFTER times in a row becomes its
 * owner, and then takes it with plain stores. The first other party takes this right back for good,
 * with a barrier on all processors (base/barrier.h). A visitor, such as a dump, takes it back for a
 * time: the former owner can earn it again. (Dice, Moir and Scherer's "Quickly Reacquirable Locks",
 * 2003, are of this kind.)
 *
 * Invariants:
 *  - The lock is held by `grip` (LT_HELD) or by `lock`, never by both: a party that takes the right
 *    back waits until `grip` is LT_LOOSE.
 *  - `owner`, `streak` and `settled` are written with `lock` held. Only the owner writes `grip`, or
 *    a former owner that is late.
 *  - The owner writes LT_REACHING to `grip` before it checks `owner`. A party that takes the right
 *    back writes `owner` before the barrier and reads `grip` after it. So one of the two sees the
 *    other: the rare side's barrier replaces a fence on both.
 *  - At most one party ever becomes the owner: a former owner that is late may still write `grip`,
 *    and must not meet a new owner there.
 *
 * `me` is the calling thread's worker, or NULL in other threads, which never become owners. */
#pragma once

#include "base/gap.h"
#include "base/lock.h"

#include <stdbool.h>

enum { LT_LOOSE, LT_REACHING, LT_HELD };

struct lt_biased {
    struct lt_lock lock;
    _Atomic uint8_t grip;
    bool settled; /* no party can become the owner any more */
    uint16_t streak;
    /* The party that may use `grip`. With LT_CANDIDATE set no party may, and this is the party that
     * took the lock last. With LT_FORMER set as well it is the former owner, the only party that
     * can become the owner again. */
    _Atomic uintptr_t owner;
};

enum { LT_CANDIDATE = 1, LT_FORMER = 2 };

/* Makes owners possible where the kernel has the barrier. Called before the first worker starts. */
void lt_bias_open(void);

void lt_biased_init(struct lt_biased *biased);

/* As lt_biased_lock, for a caller that will hardly take the lock again: an owner loses its right
 * only for a time. */
void lt_biased_visit(struct lt_biased *biased, const void *me);

/* With `lock` taken, unless lt_biased_stays: counts the caller's turn, and gives or takes back the
 * right of an owner. */
void lt_biased_consider(struct lt_biased *biased, const void *me);

/* Takes the lock if `me` is its owner; else returns false. */
static inline bool lt_biased_grip(struct lt_biased *biased, const void *me)
{
    /* Relaxed: only `me` itself makes `me` the owner. */
    if (LT_UNLIKELY(atomic_load_explicit(&biased->owner, memory_order_relaxed) != (uintptr_t)me))
        return false;
    lt_gap();
    atomic_store_explicit(&biased->grip, LT_REACHING, memory_order_relaxed);
    /* Orders for the compiler only. The barrier in take_back (biased.c) orders for the
     * processors. */
    atomic_signal_fence(memory_order_seq_cst);
    if (LT_LIKELY(atomic_load_explicit(&biased->owner, memory_order_relaxed) == (uintptr_t)me)) {
        atomic_store_explicit(&biased->grip, LT_HELD, memory_order_relaxed);
        return true;
    }
    atomic_store_explicit(&biased->grip, LT_LOOSE, memory_order_relaxed);
    return false;
}

/* With `lock` taken: whether lt_biased_consider has nothing to do, as when only threads take
 * turns. */
static inline bool lt_biased_stays(const struct lt_biased *biased, const void *me)
{
    return LT_LIKELY(biased->settled) ||
           (!me && atomic_load_explicit(&biased->owner, memory_order_relaxed) == LT_CANDIDATE);
}

/* As lt_biased_lock, for a party that is not the owner. */
static inline void lt_biased_contend(struct lt_biased *biased, const void *me)
{
    lt_lock(&biased->lock);
    if (!lt_biased_stays(biased, me))
        lt_biased_consider(biased, me);
}

/* As lt_biased_contend if the lock is free and lt_biased_consider has nothing to do; else returns
 * false. */
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

/* Whether `me`, the caller, is the owner. If so, no other party has had the lock since the caller
 * became the owner, because a party that takes the right back writes `owner` before it changes
 * anything. So words that the caller has read before without the lock are as if read under it; with
 * several such locks, all at one moment. (It must read them by acquire loads, so that they come
 * first.) */
static inline bool lt_biased_is_mine(const struct lt_biased *biased, const void *me)
{
    return me && atomic_load_explicit(&biased->owner, memory_order_relaxed) == (uintptr_t)me;
}

/* Unlocks after lt_biased_grip. */
static inline void lt_biased_let_go(struct lt_biased *biased)
{
    /* Release: a party that takes the right back sees what was written under the lock. */
    atomic_store_explicit(&biased->grip, LT_LOOSE, memory_order_release);
}

/* Unlocks if the lock was taken by lt_biased_grip; else returns false. */
static inline bool lt_biased_loosen(struct lt_biased *biased)
{
    /* Relaxed: an owner that has the lock wrote LT_HELD itself; any other holder reads at most
     * LT_REACHING. */
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
