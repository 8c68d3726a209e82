/* chan.h: a channel from the inside: a bounded buffer and two queues of waiters.
 *
 * Invariants, whenever the lock is free:
 *  - At most one of the two queues has a waiter that can be claimed, unless one select waits in
 *    both. (Both may hold remains: waiters of a party that was claimed elsewhere. That party takes
 *    them out, or a partner that meets them.)
 *  - A receiver waits only while the buffer is empty, a sender only while the buffer is full, and
 *    neither waits while the channel is closed.
 *  - An item is in exactly one place: with its sender, in the buffer, or with its receiver.
 *
 * Claiming. A partner claims a waiter by taking it off its queue, under the lock. A party in a
 * select, or without a home, also has one claim for all its waiters: only the winner of that claim
 * may end the wait. The claimer copies the item directly to or from the waiter's memory, sets the
 * waiter's status, unlocks, and only then makes the party ready. After unlocking, the claimer may
 * use only the party: the waiter may be gone.
 *
 * Locking. The channel's lock guards everything, except the words marked as read without it. (If
 * the buffer is split, the channel's lock is three locks: see chan/split.h.) A select takes the
 * locks of all its channels, in the order of their addresses; nothing else holds two of them. */
#pragma once

#include "base/biased.h"
#include "base/item.h"
#include "chan/more.h"
#include "chan/split.h"
#include "scope/wait.h"

#include <leat/chan.h>

enum {
    LT_UNDECIDED = 1, /* a waiter's status until a partner has claimed it */
    LT_NOT_NOW = 2    /* the operation would have to wait */
};

struct lt_waiter {
    struct lt_node node; /* in its queue; in no list once it has been taken off */
    void *item;          /* the address to copy from or to; or NULL */
    int status;          /* LT_UNDECIDED, or the claimer's status, as lt_chan_now returns it */
    bool shared;         /* of a select, or of a party without a home: the claimer also needs
                          * lt_claim */
    bool embedded;       /* in its party, an lt_machine; else in an lt_far_waiter */
    union {
        bool part;    /* of a block that another block called: its scope does not count it */
        uint8_t mode; /* of a callback: see block/callback.h */
    };
    bool withdrawn; /* of a block or a callback: no partner ended the wait */
};

struct lt_far_waiter {
    struct lt_waiter waiter;
    struct lt_party *party;
};

/* A block or a callback, as channels see it: a party with its own waiter. */
struct lt_machine {
    struct lt_stackless stackless;
    struct lt_waiter waiter;
};

static inline struct lt_party *lt_waiter_party(struct lt_waiter *waiter)
{
    return waiter->embedded ? &LT_CONTAINER(waiter, struct lt_machine, waiter)->stackless.party
                            : LT_CONTAINER(waiter, struct lt_far_waiter, waiter)->party;
}

/* For a channel that only leat sends to and closes (leat/timeout.h): the functions of the part of
 * leat that does so. For all other callers, sending to it and counting its senders return -EPERM.
 * Such a channel is special. */
struct lt_keeper {
    int (*close)(leat_chan *ch);  /* does leat_close. NULL: -EPERM */
    bool (*unref)(leat_chan *ch); /* true: that was the last reference. NULL: references are only
                                   * counted */
    void (*free)(leat_chan *ch);  /* called before the channel is freed: frees the keeper. May be
                                   * NULL */
    /* For looks: the thing that the channel is a part of fills in a sight (scope/sight.h). False:
     * the thing is still being made. NULL: a look shows the channel itself. */
    bool (*see)(leat_chan *ch, struct lt_sight *sight);
    bool follows; /* a look shows another channel of the same thing instead of this one */
};

struct leat_chan {
    /* One cache line for the fields that every operation reads. */
    struct lt_biased lock;
    uint32_t item_size;
    /* These three are set before other parties know the channel. */
    bool special : 1; /* a lossy buffer, a promise or a keeper's: see chan/special.h */
    bool kept : 1;    /* it has a keeper */
    leat_buffer buffer : 6;
    /* Written under the lock, read without it as hints, so relaxed. */
    _Atomic bool unusual; /* special, closed, traced or split: not for the fast path */
    _Atomic bool closed;
    bool cut; /* leat_cut has cut it short, now or when it closes; under the lock */
    _Atomic uint32_t receivers_waiting, senders_waiting;
    _Atomic size_t count;
    size_t capacity; /* slots for items that wait inside */
    size_t first;    /* the slot of the oldest item */

    struct lt_node receivers, senders;
    uint32_t passed; /* items that have left it, modulo 2^32, except those that a split buffer
                      * counts */
    uint32_t number; /* in dumps and traces */
    struct lt_node close_hooks;
    union {
        uint32_t counted_senders; /* by leat_chan_senders, less the calls of leat_chan_done */
        _Atomic uint32_t raises;  /* of a descriptor's channel: see io/io.h */
    };
    _Atomic uint32_t references;
    leat_scope *scope;
    union {
        leat_drop_fn *drop;             /* or NULL */
        const struct lt_keeper *keeper; /* if it is `kept` */
    };
    _Atomic(struct lt_split *) split; /* NULL until the buffer is split: see chan/split.h */
    const char *name;
    struct lt_owned owned; /* by a scope, or by lt_root */
    _Alignas(16) unsigned char items[];
};

/* There may be a channel for each of many parties. */
_Static_assert(sizeof(leat_chan) == 176 || sizeof(void *) != 8, "it has no holes");

/* NULL for a channel without a drop function, as a keeper's is. */
static inline leat_drop_fn *lt_chan_drop(const leat_chan *ch)
{
    return ch->kept ? NULL : ch->drop;
}

/* The channel's split buffer, or NULL. Acquire: its fields are seen complete. */
static inline struct lt_split *lt_chan_split_buffer(const leat_chan *ch)
{
    return atomic_load_explicit(&ch->split, memory_order_acquire);
}

/* With no lock held: true when the buffer is split and the operation was done at one end. */
static inline bool lt_chan_done_split(leat_chan *ch, enum lt_side side, void *item)
{
    struct lt_split *split = lt_chan_split_buffer(ch);
    return LT_UNLIKELY(split != NULL) && lt_split_move(ch, split, side, item, 1) == 0;
}

/* How many items have left the channel, modulo 2^32. Without the lock it is a hint: `passed` is a
 * plain word, so that counting takes one instruction, and a reader gets it whole. */
LT_NO_TSAN static inline uint32_t lt_chan_passed(const leat_chan *ch)
{
    const struct lt_split *split = lt_chan_split_buffer(ch);
    uint32_t passed = __atomic_load_n(&ch->passed, __ATOMIC_RELAXED);
    return passed + (split ? (uint32_t)lt_split_moved(split, LT_RECEIVE) : 0);
}

/* `here` is the current worker, or NULL. */
static inline void lt_chan_lock_from(leat_chan *ch, struct lt_worker *here)
{
    if (LT_LIKELY(lt_biased_grip(&ch->lock, here)))
        return;
    lt_biased_contend(&ch->lock, here);
    if (LT_UNLIKELY(lt_chan_split_buffer(ch) != NULL))
        lt_split_gather(ch);
}

static inline void lt_chan_lock(leat_chan *ch)
{
    lt_chan_lock_from(ch, lt_current_worker());
}

static inline void lt_chan_unlock(leat_chan *ch)
{
    if (LT_LIKELY(lt_biased_loosen(&ch->lock)))
        return;
    if (LT_UNLIKELY(lt_chan_split_buffer(ch) != NULL))
        lt_split_give_back(ch);
    lt_unlock(&ch->lock.lock);
}

/* The channel that `owned` is a part of, or NULL. */
leat_chan *lt_chan_owned(struct lt_owned *owned);

/* lt_chan_own gives a keeper's channel to a scope, which calls the functions of `kind` to free it
 * and to show it in a look. lt_chan_disown takes it back, called by that function: then it is in no
 * scope. It keeps its references, and a look finds it in the scope alone. */
void lt_chan_own(leat_scope *scope, leat_chan *ch, const struct lt_owned_kind *kind);
void lt_chan_disown(leat_chan *ch);

/* As leat_chan_open, for a keeper's channel, which has no drop function. */
leat_chan *lt_chan_open_owned(leat_scope *scope, const leat_chan_spec *spec,
                              const struct lt_keeper *keeper);

/* Makes a keeper's channel: without a scope, for items without bytes, with `extra` zeroed bytes
 * after it for the keeper. NULL when memory has run out. */
leat_chan *lt_chan_open_kept(const struct lt_keeper *keeper, leat_buffer buffer, const char *name,
                             size_t extra);

static inline void *lt_chan_extra(leat_chan *ch)
{
    return ch->items;
}

static inline leat_chan *lt_chan_of_extra(void *extra)
{
    return LT_CONTAINER(extra, leat_chan, items);
}

/* With the lock held: does the operation if it can be done at once. *woken is the chain of parties
 * that the caller must make ready. Returns 0; -EPIPE; -ECANCELED from a channel that was cut short;
 * -EPERM from a keeper's channel; or LT_NOT_NOW when nothing was done. (In a special channel this
 * releases the lock while a drop function runs.) */
int lt_chan_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken);

/* With the lock held: closes. Returns the chain of parties that the caller must make ready. */
struct lt_party *lt_chan_close_now(leat_chan *ch);

/* With the lock held: the result of a receive from a closed and empty channel. */
static inline int lt_chan_last_word(const leat_chan *ch)
{
    return ch->cut ? -ECANCELED : -EPIPE;
}

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
    return ch->items + (index < ch->capacity ? index : index - ch->capacity) * ch->item_size;
}

static inline bool lt_chan_is_closed(const leat_chan *ch)
{
    return atomic_load_explicit(&ch->closed, memory_order_relaxed);
}

static inline bool lt_chan_is_unusual(const leat_chan *ch)
{
    return atomic_load_explicit(&ch->unusual, memory_order_relaxed);
}

/* Without the lock: a hint whether lt_chan_now may have something to do. (Acquire: this is read
 * before what the caller reads next, see none_is_ready in select.c.) */
static inline bool lt_chan_looks_ready(leat_chan *ch, enum lt_side side)
{
    size_t count = atomic_load_explicit(&ch->count, memory_order_acquire);
    if (LT_UNLIKELY(lt_chan_is_unusual(ch))) {
        if (lt_chan_is_closed(ch) || (ch->special && side == LT_SEND))
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

/* Moves as many of the n items as can be moved at once, and returns their number. If these are not
 * all, *status is the reason, as lt_chan_now returns it; or 0: the caller must make the woken
 * parties ready, and go on. Next comes the user's drop function, which may wait for these. */
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
    return ch->item_size && (side == LT_SEND || lt_chan_drop(ch)) ? -EINVAL : 0;
}
