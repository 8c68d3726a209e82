/* split.h: a buffer whose two ends are used at the same time.
 *
 * Under one lock, a sender and a receiver on two cores hold each other up. So when a thread finds a
 * plain channel full or empty for the first time, the buffer is split into two ends, each with its
 * own lock, place in the buffer and count, in its own cache line. A sender takes the sending end's
 * lock, a receiver takes the receiving end's, and they work side by side. Everything else (waiting,
 * select, closing, dumps) needs the channel's lock as before, which is now three locks.
 *
 * Invariants of a channel with a split buffer:
 *  - Its `lock` has no owner any more. The buffer is split once, and stays split.
 *  - A party that holds the whole channel holds `lock`, the sending end's lock and the receiving
 *    end's lock, taken in this order. The channel's `first` and `count` are valid only then:
 *    lt_chan_lock gathers them from the ends, and lt_chan_unlock gives them back.
 *  - Under one end's lock alone, an item may be moved at that end if no partner waits at the other
 *    end and the channel is open. Both conditions change only under all three locks. (While items
 *    are traced, each operation takes all three.)
 *  - Under one end's lock alone, its `moved` only grows. The holder of all locks sets the sending
 *    end's `moved` to the number of received items plus those in the buffer, and updates `seen` of
 *    both ends. So `seen` may be old: then there is more to receive, or more room, than it says,
 *    never less. */
#pragma once

#include "base/lock.h"

#include <leat/chan.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One side of a channel: which operation, and so which queue. */
enum lt_side { LT_RECEIVE, LT_SEND };

struct lt_end {
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    size_t slot; /* of the next item; under the lock */
    /* The other end's `moved` at the last look; written under the lock, read without as a hint. */
    _Atomic size_t seen;
    /* Items moved here in all, modulo 2^64; written under the lock, read without. */
    _Atomic size_t moved;
};

struct lt_split {
    struct lt_end of[2]; /* by enum lt_side */
    size_t few;          /* an end that sees fewer (items or free slots) waits a moment for more */
};

/* Acquire: what the caller reads next is read after this. */
static inline size_t lt_split_moved(const struct lt_split *split, enum lt_side side)
{
    return atomic_load_explicit(&split->of[side].moved, memory_order_acquire);
}

/* The number of items in the buffer: exact with the locks held. Without them it may exceed the
 * capacity, since both ends may move on in between. In this order of loads it is never negative. */
static inline size_t lt_split_count(const struct lt_split *split)
{
    size_t received = lt_split_moved(split, LT_RECEIVE);
    return lt_split_moved(split, LT_SEND) - received;
}

/* Without a lock: a hint whether an item can be moved at that end, from what the end has seen of
 * the other. This does not touch the other end's cache line. */
static inline bool lt_split_know_some(const struct lt_split *split, enum lt_side side,
                                      size_t capacity)
{
    const struct lt_end *end = &split->of[side];
    size_t moved = atomic_load_explicit(&end->moved, memory_order_relaxed);
    size_t seen = atomic_load_explicit(&end->seen, memory_order_relaxed);
    return side == LT_SEND ? moved - seen < capacity : moved != seen;
}

/* Splits the channel's buffer, if that pays and there is memory. The caller holds the lock and is a
 * thread that is no worker, so the lock has no owner. */
void lt_chan_split(leat_chan *ch);

/* The part of lt_chan_lock and lt_chan_unlock for a split buffer: called after `lock` is taken, and
 * before it is released. */
void lt_split_gather(leat_chan *ch);
void lt_split_give_back(leat_chan *ch);

/* With no lock held: moves one item at an end. LT_NOT_NOW: nothing was done, because a new look
 * found fewer than `least` (items or free slots), or because the operation needs the whole
 * channel. */
int lt_split_move(leat_chan *ch, struct lt_split *split, enum lt_side side, void *item,
                  size_t least);

/* Without a lock: the number of items in the buffer at some moment during the call; only
 * approximate if items pass faster than this can look twice. */
size_t lt_split_length(const struct lt_split *split, size_t capacity);

/* Without a lock: a hint for the number of items that could be moved at that end. */
size_t lt_split_left(const leat_chan *ch, const struct lt_split *split, enum lt_side side);

/* As lt_chan_lock, for a caller that looks once: see lt_biased_visit. */
void lt_chan_visit(leat_chan *ch);

/* When the channel ends and no other party knows it: frees the split buffer. */
void lt_chan_unsplit(leat_chan *ch);
