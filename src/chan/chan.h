/* chan.h: a channel from the inside: a bounded buffer, and two queues of waiters.
 *
 * Invariants, whenever the lock is free:
 *  - Of the two queues at most one has a waiter that can be claimed. (Both may hold remains of selects
 *    that have been claimed elsewhere, which their owners will take out.)
 *  - A receiver waits only while the buffer is empty, a sender only while it is full, and nobody while
 *    the channel is closed.
 *  - An item is in exactly one place: with its sender, in the buffer, or with its receiver.
 *
 * Claiming. To take a waiter off its queue, under the lock, is to claim it; a waiter of a select has in
 * addition a claim that all its cases share, and only who wins that may go on. The claimer copies the
 * item, straight to or from the waiter's memory, sets its status, unlocks, and only then makes its party
 * ready. After unlocking it knows nothing but the party: the waiter may be gone.
 *
 * Locking. Everything is guarded by the channel's lock, except what is marked as read without it. A
 * select takes the locks of all its channels, by rising address; nobody else holds two. */
#ifndef LT_CHAN_CHAN_H
#define LT_CHAN_CHAN_H

#include "base/lock.h"
#include "scope/wait.h"

#include <leat/chan.h>

#include <string.h>

/* Shared by the cases of one select. */
struct lt_claim {
    _Atomic bool taken;
    struct lt_waiter *winner; /* written by who took it; NULL: the party's own home did */
};

struct lt_waiter {
    struct lt_node node; /* in its queue; in no list once somebody has taken it off */
    struct lt_party *party;
    void *item;             /* to copy from, or to, or NULL */
    struct lt_claim *claim; /* of a select; NULL when being queued is all */
    int status;             /* 0 or -EPIPE, set by the claimer */
};

struct leat_chan {
    struct lt_lock lock;
    uint32_t item_size;
    size_t capacity, first; /* `first`: index of the oldest item */
    /* Written under the lock, read without it as hints, so relaxed. */
    _Atomic size_t count;
    _Atomic bool closed;
    _Atomic uint32_t receivers_waiting, senders_waiting;
    struct lt_node receivers, senders;
    uint32_t counted_senders; /* leat_chan_senders and leat_chan_done */
    _Atomic uint32_t references;
    leat_scope *scope;
    leat_drop_fn *drop;
    const char *name;
    struct lt_owned owned;
    _Alignas(16) unsigned char items[];
};

static inline void lt_item_copy(void *to, const void *from, size_t size)
{
    /* Fixed sizes become single moves; memcpy's call would cost as much as the rest of a send. */
    switch (size) {
    case 0: break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    case 16: memcpy(to, from, 16); break;
    default: memcpy(to, from, size);
    }
}

/* One side of a channel: which operation, and so which queue. */
enum lt_side { LT_RECEIVE, LT_SEND };

/* With the lock held: does the operation if it can be done at once, and puts who must be made ready, or
 * NULL, in *woken. Returns 0, -EPIPE, or -EAGAIN: nothing done. */
int lt_chan_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken);

/* Without the lock: whether lt_chan_now may have something to do. A hint. */
static inline bool lt_chan_looks_ready(leat_chan *ch, enum lt_side side)
{
    if (atomic_load_explicit(&ch->closed, memory_order_relaxed))
        return true;
    size_t count = atomic_load_explicit(&ch->count, memory_order_relaxed);
    if (side == LT_RECEIVE)
        return count || atomic_load_explicit(&ch->senders_waiting, memory_order_relaxed);
    return count < ch->capacity || atomic_load_explicit(&ch->receivers_waiting, memory_order_relaxed);
}

/* With the lock held: adds a waiter to its queue; takes it off, false when it is off already. */
void lt_chan_enqueue(leat_chan *ch, enum lt_side side, struct lt_waiter *waiter);
bool lt_chan_dequeue(leat_chan *ch, enum lt_side side, struct lt_waiter *waiter);

/* 0 when the arguments of an operation are in order, else -EINVAL. */
static inline int lt_chan_check(const leat_chan *ch, enum lt_side side, const void *item)
{
    if (LT_UNLIKELY(!ch))
        return -EINVAL;
    if (LT_UNLIKELY(!item && ch->item_size && (side == LT_SEND || ch->drop)))
        return -EINVAL;
    return 0;
}

#endif
