/* chan.h: a channel from the inside: a bounded buffer, and two queues of waiters.
 *
 * Invariants, whenever the lock is free:
 *  - Of the two queues at most one has a waiter that can be claimed, unless one select waits in both.
 *    (Both may hold remains of selects that have been claimed elsewhere, which their owners take out.)
 *  - A receiver waits only while the buffer is empty, a sender only while it is full, and nobody while
 *    the channel is closed.
 *  - An item is in exactly one place: with its sender, in the buffer, or with its receiver.
 *
 * Claiming. To take a waiter off its queue, under the lock, is to claim it. A party that waits in several
 * places, in a select, has in addition a claim that all its waiters share, and only who wins that may go
 * on. The claimer copies the item, straight to or from the waiter's memory, sets its status, unlocks, and
 * only then makes its party ready. After unlocking it knows nothing but the party: the waiter may be gone.
 *
 * Locking. Everything is guarded by the channel's lock, except what is marked as read without it. (Where the
 * two ends of a buffer have locks of their own, the channel's lock is all three: see chan/split.h.) A select
 * takes the locks of all its channels, by rising address; nobody else holds two. */
#ifndef LT_CHAN_CHAN_H
#define LT_CHAN_CHAN_H

#include "base/biased.h"
#include "chan/split.h"
#include "scope/wait.h"

#include <leat/chan.h>
#include <leat/transform.h>

#include <string.h>

enum { LT_ITEM_MAX = 1 << 20 }; /* bytes of one item */

enum {
    LT_UNDECIDED = 1, /* a waiter's status until somebody has claimed it */
    LT_NOT_NOW =
        1 /* an operation that would have to wait; not -EAGAIN, which a transform may say */
};

struct lt_waiter {
    struct lt_node node; /* in its queue; in no list once somebody has taken it off */
    void *item;          /* to copy from, or to, or NULL */
    int status;          /* LT_UNDECIDED, or what the claimer set, as lt_chan_now returns it */
    bool shared;         /* one of several places, or of a party without a home: see lt_claim */
    bool embedded;       /* in its party, an lt_machine; else it is an lt_far_waiter */
    bool part;           /* a block's: it is a part of another, and not counted by its scope */
    bool withdrawn;      /* a block's or callback's: its wait was ended by no partner */
};

struct lt_far_waiter {
    struct lt_waiter waiter;
    struct lt_party *party;
};

/* A block or a callback, as channels see it: it brings one waiter along. */
struct lt_machine {
    struct lt_stackless stackless;
    struct lt_waiter waiter;
};

static inline struct lt_party *lt_waiter_party(struct lt_waiter *waiter)
{
    return waiter->embedded ? &LT_CONTAINER(waiter, struct lt_machine, waiter)->stackless.party
                            : LT_CONTAINER(waiter, struct lt_far_waiter, waiter)->party;
}

/* A job that is made ready, once, when the channel closes: for those who have nothing to send or to receive at
 * that moment. */
struct lt_close_hook {
    struct lt_node node;
    struct lt_job job;
};

/* What stands behind a channel that leat itself sends to or closes (leat/timeout.h): to everybody else,
 * sending to it and counting its senders are -EPERM. Such a channel is special. */
struct lt_keeper {
    int (*close)(leat_chan *ch); /* leat_close */
    bool (*unref)(
        leat_chan *ch); /* a holder lets go: true when it was the last. NULL: a scope owns it */
    void (*free)(
        leat_chan *ch); /* the channel is about to be freed; the keeper is freed by this. Or NULL */
};

struct leat_chan {
    /* A cache line for what every operation looks at. */
    struct lt_biased lock;
    uint32_t item_size;
    bool special;         /* a lossy buffer, a promise or a transform: see chan/special.h */
    bool busy;            /* special ones: the door is taken */
    _Atomic bool closing; /* … and close when it is free; written under the lock, read without */
    /* Written under the lock, read without it as hints, so relaxed. */
    _Atomic bool unusual; /* special, closed, traced, or with ends: not for the short way */
    _Atomic uint32_t receivers_waiting, senders_waiting;
    _Atomic size_t count;
    size_t capacity, slots; /* items it holds, and has room for: more, where a transform expands */
    size_t first;           /* the slot of the oldest item */

    struct lt_node receivers, senders, close_hooks;
    _Atomic bool closed;      /* as `unusual` */
    uint8_t buffer;           /* enum leat_buffer */
    bool cut;                 /* closed, or to be closed, with more to come; under the lock */
    uint32_t counted_senders; /* leat_chan_senders and leat_chan_done */
    _Atomic uint32_t references;
    leat_scope *scope;
    leat_transform *transform;
    leat_drop_fn *drop;
    const struct lt_keeper
        *keeper; /* NULL for nearly all; set before anybody else knows the channel */
    _Atomic(struct lt_split *) split; /* NULL as long as one lock does: see chan/split.h */
    const char *name;
    uint32_t number;       /* by which people know it */
    struct lt_owned owned; /* by the scope; without one, the node is among lt_orphans */
    _Alignas(16) unsigned char items[];
};

/* The channel's ends, if it has any: see chan/split.h. Acquire: they are seen whole. */
static inline struct lt_split *lt_chan_split_buffer(const leat_chan *ch)
{
    return atomic_load_explicit(&ch->split, memory_order_acquire);
}

/* With no lock held: true when the channel has ends and the operation has been done at one. */
static inline bool lt_chan_done_split(leat_chan *ch, enum lt_side side, void *item)
{
    struct lt_split *split = lt_chan_split_buffer(ch);
    return LT_UNLIKELY(split != NULL) && lt_split_move(ch, split, side, item, 1) == 0;
}

/* lt_chan_lock for who is not the lock's owner. */
static inline void lt_chan_lock_shared(leat_chan *ch, struct lt_worker *here)
{
    lt_biased_contend(&ch->lock, here);
    if (LT_UNLIKELY(lt_chan_split_buffer(ch) != NULL))
        lt_split_gather(ch);
}

static inline void lt_chan_unlock_shared(leat_chan *ch)
{
    if (LT_UNLIKELY(lt_chan_split_buffer(ch) != NULL))
        lt_split_give_back(ch);
    lt_unlock(&ch->lock.lock);
}

/* `here` is the worker that the calling thread is, or NULL. */
static inline void lt_chan_lock_from(leat_chan *ch, struct lt_worker *here)
{
    if (LT_UNLIKELY(!lt_biased_grip(&ch->lock, here)))
        lt_chan_lock_shared(ch, here);
}

static inline void lt_chan_lock(leat_chan *ch)
{
    lt_chan_lock_from(ch, lt_current_worker());
}

static inline void lt_chan_unlock(leat_chan *ch)
{
    if (LT_UNLIKELY(!lt_biased_loosen(&ch->lock)))
        lt_chan_unlock_shared(ch);
}

/* The channels that no scope owns. Their lock comes before any channel's. */
struct lt_orphans {
    struct lt_lock lock;
    struct lt_node channels;
};

extern struct lt_orphans lt_orphans;

/* What a scope owns, if it is a channel; else NULL. */
leat_chan *lt_chan_owned(struct lt_owned *owned);

/* Copied without a call. */
static inline bool lt_item_is_short(size_t size)
{
    return size == 8 || size == 4 || size == 16 || size == 0;
}

static inline void lt_item_copy(void *to, const void *from, size_t size)
{
    /* Fixed sizes become single moves; memcpy's call would cost as much as the rest of a send. */
    if (LT_LIKELY(size == 8))
        memcpy(to, from, 8);
    else if (size == 4)
        memcpy(to, from, 4);
    else if (size == 16)
        memcpy(to, from, 16);
    else if (size)
        memcpy(to, from, size);
}

/* A channel that no scope owns, of items without bytes, for a keeper; NULL when memory has run out. It has
 * `extra` bytes beside it, all 0, for what the keeper must know of it. */
leat_chan *lt_chan_open_kept(const struct lt_keeper *keeper, const char *name, size_t extra);

static inline void *lt_chan_extra(leat_chan *ch)
{
    return ch->items;
}

static inline leat_chan *lt_chan_beside(void *extra)
{
    return LT_CONTAINER(extra, leat_chan, items);
}

/* With the lock held: does the operation if it can be done at once, and puts the chain of those who must
 * be made ready in *woken. Returns 0, -EPIPE, -ECANCELED from a channel that was cut short, what a transform said, or
 * LT_NOT_NOW: nothing done. (A special channel gives the lock up in between.) */
int lt_chan_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken);

/* With the lock held: closes; returns who must be made ready. */
struct lt_party *lt_chan_close_now(leat_chan *ch);

/* leat_close and leat_chan_done, or, with `cut`, the same for who was cut short: then, whenever the channel closes, it
 * counts as cut short. */
int lt_chan_end(leat_chan *ch, bool cut);
int lt_chan_end_one(leat_chan *ch, bool cut);

/* With the lock held: what receivers are told of a channel that is closed and empty. */
static inline int lt_chan_last_word(const leat_chan *ch)
{
    return ch->cut ? -ECANCELED : -EPIPE;
}

/* Has `closed` run on a worker when the channel closes; false when it is closed already: then it does not.
 * The watcher, the channel and the runtime are kept until then by the caller. */
bool lt_chan_add_close_hook(leat_chan *ch, struct lt_close_hook *hook,
                            void (*closed)(struct lt_job *job));

/* True: in time, `closed` will not run. False: it does not watch, or its job is on the way. */
bool lt_chan_remove_close_hook(leat_chan *ch, struct lt_close_hook *hook);

static inline size_t lt_chan_count(const leat_chan *ch)
{
    return atomic_load_explicit(&ch->count, memory_order_relaxed);
}

static inline void lt_chan_set_count(leat_chan *ch, size_t n)
{
    atomic_store_explicit(&ch->count, n, memory_order_relaxed);
}

/* The n-th slot from the front. */
static inline void *lt_chan_slot(leat_chan *ch, size_t n)
{
    size_t index = ch->first + n;
    return ch->items + (index < ch->slots ? index : index - ch->slots) * ch->item_size;
}

static inline bool lt_chan_is_closed(const leat_chan *ch)
{
    return atomic_load_explicit(&ch->closed, memory_order_relaxed);
}

/* Makes a plain channel whose items nobody drops as it was when it was new, and is still if it `is_as_new`.
 * Nobody but people who look knows it at that time. */
static inline bool lt_chan_is_as_new(const leat_chan *ch)
{
    return !lt_chan_is_closed(ch) && lt_chan_count(ch) == 0 && !lt_chan_split_buffer(ch);
}
void lt_chan_renew(leat_chan *ch);

/* Bytes of what senders send. */
static inline size_t lt_chan_in_size(const leat_chan *ch)
{
    return ch->transform ? ch->transform->in_size : ch->item_size;
}

static inline bool lt_chan_is_unusual(const leat_chan *ch)
{
    return atomic_load_explicit(&ch->unusual, memory_order_relaxed);
}

/* Without the lock: whether lt_chan_now may have something to do. A hint. (Acquire: it is read before what the
 * caller reads next, see none_is_ready in select.c.) */
static inline bool lt_chan_looks_ready(leat_chan *ch, enum lt_side side)
{
    size_t count = atomic_load_explicit(&ch->count, memory_order_acquire);
    if (LT_UNLIKELY(lt_chan_is_unusual(ch))) {
        if (lt_chan_is_closed(ch) || (ch->special && (side == LT_SEND || !ch->keeper)))
            return true;
        struct lt_split *split = lt_chan_split_buffer(ch);
        if (split && lt_split_know_some(split, side, ch->capacity))
            return true;
        if (split)
            count = lt_split_count(split);
    }
    return side == LT_RECEIVE
               ? count | atomic_load_explicit(&ch->senders_waiting, memory_order_acquire)
               : (ch->capacity - count) |
                     atomic_load_explicit(&ch->receivers_waiting, memory_order_acquire);
}

/* Without the lock: whether there was a moment, since the call began, at which lt_chan_now would have said
 * LT_NOT_NOW. Who waits to send waits for a full buffer, and who waits to receive for an empty one: so either the
 * buffer alone tells, or, where there is none, those who wait. That the channel was open then is certain when it
 * is still open after that: hence the order of the loads. */
static inline bool lt_chan_is_unready(leat_chan *ch, enum lt_side side)
{
    size_t count = atomic_load_explicit(&ch->count, memory_order_acquire);
    bool unready = side == LT_RECEIVE
                       ? !(count | atomic_load_explicit(&ch->senders_waiting, memory_order_acquire))
                       : count == ch->capacity &&
                             !atomic_load_explicit(&ch->receivers_waiting, memory_order_acquire);
    return unready && !lt_chan_is_unusual(ch);
}

/* As many of the n items as can go now; the rest as for lt_chan_now, with what stopped it in *status. */
size_t lt_chan_many_now(leat_chan *ch, enum lt_side side, void *items, size_t n,
                        struct lt_party **woken, int *status);

/* With the lock held: takes a waiter off its queue; false when it is off already. */
bool lt_chan_dequeue(leat_chan *ch, enum lt_side side, struct lt_waiter *waiter);

/* 0 when the arguments of an operation are in order, else -EINVAL. */
static inline int lt_chan_check(const leat_chan *ch, enum lt_side side, const void *item)
{
    if (LT_UNLIKELY(!ch))
        return -EINVAL;
    if (LT_LIKELY(item))
        return 0;
    return (side == LT_SEND ? lt_chan_in_size(ch) : ch->drop ? ch->item_size : 0) ? -EINVAL : 0;
}

#endif
