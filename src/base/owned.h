/* owned.h: a lock with one owner for life, which takes it with plain stores. Other threads visit,
 * at a higher cost.
 *
 * It guards data that the owner uses all the time, and others only when the owner is late. The
 * owner writes `inside`, and then looks for a visitor in `calls`. A visitor sets LT_VISITED there,
 * makes a barrier on all processors (base/barrier.h), and then looks at `inside`. If the owner is
 * inside, the visitor leaves: it never waits. The owner waits for a visitor to leave.
 *
 * A barrier takes some microseconds. If another visit is likely soon, the visitor asks the owner to
 * fence: at each of its next LT_FENCED_ENTRIES entries the owner then makes its own fence, and
 * visitors need no barrier. (The count restarts when the owner has to wait for a visitor.) If the
 * kernel has no barrier, the owner always fences; if a sandbox takes the barrier away later, it
 * does so from the first visit that fails for that reason. An owner that goes away, which takes
 * long in any case, makes a fence when it comes back: so nobody needs a barrier to visit meanwhile.
 *
 * Invariants:
 *  - Only the owner writes `inside` and `fences`.
 *  - The owner and a visitor are never inside together. Nor are two visitors: they exclude each
 *    other by `visitors`.
 *  - While `fences` is set, every entry has a fence between its store of `inside` and its look at
 *    `calls`. So the owner sets `fences` only once it fences or is away, and makes one more fence
 *    after it has cleared `fences`.
 *
 * The owner may enter again while it is inside. This lock comes before all locks taken inside. */
#pragma once

#include "base/lock.h"

#include <stdbool.h>

enum {
    LT_VISITED = 1,
    LT_FENCE_WANTED = 2,
    LT_OTHER_CALL = 4 /* this bit and those above are free for the user of the lock */
};

struct lt_owned_lock {
    _Atomic uint8_t inside;
    _Atomic uint8_t fences;
    _Atomic uint8_t calls; /* LT_VISITED and so on */
    bool away;             /* the owner, for long; visitors read it inside */
    uint16_t entries;      /* fenced entries since the owner last waited for a visitor */
    struct lt_lock visitors;
};

/* The owner begins inside, even if its thread has not started. */
void lt_owned_init(struct lt_owned_lock *lock);

/* The owner begins to enter. If the result is not 0, another thread has called: the owner then
 * calls lt_owned_answer, or leaves again. */
static inline unsigned lt_owned_enter(struct lt_owned_lock *lock)
{
    /* Relaxed: see below. */
    atomic_store_explicit(&lock->inside, true, memory_order_relaxed);
    /* Orders for the compiler only. The visitor's barrier orders for the processors. */
    atomic_signal_fence(memory_order_seq_cst);
    /* Acquire: sees what the last visitor wrote. */
    return atomic_load_explicit(&lock->calls, memory_order_acquire);
}

/* The owner completes an entry that found a call. Not if it was inside before: then a visitor finds
 * it inside, and leaves. */
void lt_owned_answer(struct lt_owned_lock *lock);

/* The owner: whether it is inside. */
static inline bool lt_owned_is_inside(const struct lt_owned_lock *lock)
{
    /* Relaxed: the owner alone writes it. */
    return atomic_load_explicit(&lock->inside, memory_order_relaxed);
}

/* The owner: leaves, unless it was inside `before`. */
static inline void lt_owned_leave(struct lt_owned_lock *lock, bool before)
{
    /* Release: a visitor sees what the owner wrote inside. */
    atomic_store_explicit(&lock->inside, before, memory_order_release);
}

/* The owner, which is inside, leaves for long, and comes back. */
void lt_owned_go_away(struct lt_owned_lock *lock);
void lt_owned_come_back(struct lt_owned_lock *lock);

/* Another thread enters. False if the owner or another visitor is inside, or if neither a barrier
 * nor the owner's fences could order the look. */
bool lt_owned_visit(struct lt_owned_lock *lock);

/* The visitor leaves. `soon`: another visit is likely soon. */
void lt_owned_end_visit(struct lt_owned_lock *lock, bool soon);
