/* owned.h: a lock with an owner for life, who takes it with plain stores; others visit, and pay for it.
 *
 * It guards what one thread uses all the time, and others only when that thread is late. The owner says that it is
 * inside, and then looks whether somebody visits. A visitor says that it visits, makes a barrier on all processors
 * (base/barrier.h) and then looks whether the owner is inside; if so, it goes away again: a visitor never waits. The
 * owner waits for a visitor to leave.
 *
 * A barrier takes some microseconds. Where visits come one after the other the owner is asked to fence: it then makes
 * a fence of its own each time it enters, until nobody has visited for LT_FENCED_ENTRIES of them, and a visitor needs no
 * barrier meanwhile. Where the kernel has no barrier, the owner fences for good; where a
 * sandbox takes the barrier away later, from the first visit on.
 *
 * Invariants:
 *  - `inside` and `fences` are written by the owner alone.
 *  - Never are an owner and a visitor inside together, nor two visitors: these exclude each other by `visitors`.
 *  - While `fences` is set, each entry of the owner that is not over has a fence between its store of `inside` and its
 *    look at `calls`, and so has each that begins: it is set after such a fence, and cleared before one.
 *
 * The owner may enter again while it is inside. It is ordered before all other locks that it takes inside. */
#ifndef LT_BASE_OWNED_H
#define LT_BASE_OWNED_H

#include "base/lock.h"

#include <stdbool.h>

enum {
    LT_VISITED = 1,
    LT_FENCE_WANTED = 2,
    LT_OTHER_CALL = 4 /* what it means the owner's user knows */
};

struct lt_owned_lock {
    _Atomic uint8_t inside;
    _Atomic uint8_t fences;
    _Atomic uint8_t calls; /* LT_VISITED and so on */
    uint16_t entries;      /* of the owner, with a fence, since a visit */
    struct lt_lock visitors;
};

/* The owner is inside, though it may not have begun yet. */
void lt_owned_init(struct lt_owned_lock *lock);

/* The owner: begins to enter. Not 0: it was called, and must go on with lt_owned_answer. */
static inline unsigned lt_owned_enter(struct lt_owned_lock *lock)
{
    /* Relaxed: see below. */
    atomic_store_explicit(&lock->inside, true, memory_order_relaxed);
    /* For the compiler; for the processors, the visitor's barrier. */
    atomic_signal_fence(memory_order_seq_cst);
    /* Acquire: what the last visitor wrote is seen. */
    return atomic_load_explicit(&lock->calls, memory_order_acquire);
}

/* The owner enters when somebody has called; not if it was inside before, where a visitor finds it and goes away. */
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
    /* Release: a visitor sees what was written inside. */
    atomic_store_explicit(&lock->inside, before, memory_order_release);
}

/* Another thread: enters, if neither the owner nor another visitor is inside; else false. */
bool lt_owned_visit(struct lt_owned_lock *lock);

/* The visitor: leaves. `soon`: visits are likely to go on. */
void lt_owned_end_visit(struct lt_owned_lock *lock, bool soon);

#endif
