/* split.h: a buffer whose two ends are used at the same time.
 *
 * Under one lock a sender and a receiver on two cores take turns, and whose turn it is not, waits. So a plain
 * channel that a thread has once found full or empty gets two ends, each with a lock, a place in the buffer
 * and a count in a cache line of its own: who sends takes the sending end's lock, who receives the other, and
 * they work side by side. All else (waiting, select, closing, dumps) is as it was, under the channel's lock,
 * which then is all three.
 *
 * Invariants, of a channel with ends:
 *  - Its `lock` has no owner any more. The ends come once, and stay.
 *  - Who has `lock` and then, in this order, the sending and the receiving end's locks, has the channel;
 *    `first` and `count` in it are true only then. lt_chan_lock gathers them from the ends, lt_chan_unlock
 *    gives them back.
 *  - Who has only an end's lock may move an item there, if nobody waits at the other end and the channel is
 *    open, which change only with all three locks held. (Where operations are traced, none goes this way.)
 *  - An end's `moved` only grows, under its lock; who has all locks sets the sending one to what has been
 *    received and what lies there, and shows the other end. So what an end has seen of the other may be old,
 *    and then there is more to receive, or more room, than it says: never less. */
#ifndef LT_CHAN_SPLIT_H
#define LT_CHAN_SPLIT_H

#include "base/lock.h"

#include <leat/chan.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One side of a channel: which operation, and so which queue. */
enum lt_side { LT_RECEIVE, LT_SEND };

struct lt_end {
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    size_t slot; /* where the next item goes, or is; under the lock */
    /* The other end's `moved`, at the last look; written under the lock, read without, as a hint. */
    _Atomic size_t seen;
    /* Items, all told, modulo 2^64; written under the lock, read without. */
    _Atomic size_t moved;
};

struct lt_split {
    struct lt_end of[2]; /* by enum lt_side */
    size_t few; /* items, or room for items, that are not worth going for while more are coming */
};

/* Acquire: what was read before is older. */
static inline size_t lt_split_moved(const struct lt_split *split, enum lt_side side)
{
    return atomic_load_explicit(&split->of[side].moved, memory_order_acquire);
}

/* How many items lie in the buffer: certain with the locks held; without, it may seem to be more than there
 * is room for, since both ends may move on in between. In this order it is never less than none. */
static inline size_t lt_split_count(const struct lt_split *split)
{
    size_t received = lt_split_moved(split, LT_RECEIVE);
    return lt_split_moved(split, LT_SEND) - received;
}

/* Without a lock: whether, by what that end has seen of the other, something can be moved there. The other
 * end's line is left alone. A hint. */
static inline bool lt_split_know_some(const struct lt_split *split, enum lt_side side,
                                      size_t capacity)
{
    const struct lt_end *end = &split->of[side];
    size_t moved = atomic_load_explicit(&end->moved, memory_order_relaxed);
    size_t seen = atomic_load_explicit(&end->seen, memory_order_relaxed);
    return side == LT_SEND ? moved - seen < capacity : moved != seen;
}

/* With the lock held, by a thread that is no worker (so nobody owns the lock): gives the channel ends, if
 * that pays and there is memory. */
void lt_chan_split(leat_chan *ch);

/* What belongs to the lock of a channel with ends, after its `lock` is taken and before it is given back. */
void lt_split_gather(leat_chan *ch);
void lt_split_give_back(leat_chan *ch);

/* With no lock held: one item to or from the buffer. LT_NOT_NOW: there are not as many as `least` (or not
 * room for so many), or it takes the whole channel; nothing done. */
int lt_split_move(leat_chan *ch, struct lt_split *split, enum lt_side side, void *item,
                  size_t least);

/* Without a lock: how many items lie in the buffer, at a moment during the call; while items pass faster than
 * two looks can be had, about how many. */
size_t lt_split_length(const struct lt_split *split, size_t capacity);

/* Without a lock: how many could be moved there. A hint. */
size_t lt_split_left(const leat_chan *ch, const struct lt_split *split, enum lt_side side);

/* As lt_chan_lock, for who looks once: see lt_biased_visit. */
void lt_chan_visit(leat_chan *ch);

/* At the end of the channel, when nobody else knows it: the ends are gone. */
void lt_chan_unsplit(leat_chan *ch);

#endif
