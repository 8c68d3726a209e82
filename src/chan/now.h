/* now.h: operations that can be done at once on an open, plain channel, with its lock held. The
 * fast paths inline them. lt_chan_now does the same for all channels. */
#pragma once

#include "chan/chan.h"
#include "sched/probe.h"

static inline struct lt_node *lt_chan_queue(leat_chan *ch, enum lt_side side)
{
    return side == LT_RECEIVE ? &ch->receivers : &ch->senders;
}

static inline _Atomic uint32_t *lt_chan_waiting(leat_chan *ch, enum lt_side side)
{
    return side == LT_RECEIVE ? &ch->receivers_waiting : &ch->senders_waiting;
}

/* Without the lock: whether there was a moment during the call at which an operation on this open,
 * plain channel would have had to wait. The count shows that: senders wait only while the buffer is
 * full, receivers only while it is empty. Without a buffer the waiters show it. `unusual` is loaded
 * last: if the channel is open then, it was open at that moment. */
static inline bool lt_chan_is_unready(leat_chan *ch, enum lt_side side)
{
    return atomic_load_explicit(&ch->count, memory_order_acquire) ==
               (side == LT_SEND ? ch->capacity : 0) &&
           !atomic_load_explicit(lt_chan_waiting(ch, side == LT_SEND ? LT_RECEIVE : LT_SEND),
                                 memory_order_acquire) &&
           !lt_chan_is_unusual(ch);
}

/* Adds a waiter to its queue. */
static inline void lt_chan_enqueue(leat_chan *ch, enum lt_side side, struct lt_waiter *waiter)
{
    _Atomic uint32_t *waiting = lt_chan_waiting(ch, side);
    lt_list_append(lt_chan_queue(ch, side), &waiter->node);
    atomic_store_explicit(waiting, atomic_load_explicit(waiting, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* Takes a waiter out of the queue that it is in. */
static inline void lt_chan_unqueue(leat_chan *ch, enum lt_side side, struct lt_waiter *waiter)
{
    _Atomic uint32_t *waiting = lt_chan_waiting(ch, side);
    lt_list_remove(&waiter->node);
    atomic_store_explicit(waiting, atomic_load_explicit(waiting, memory_order_relaxed) - 1,
                          memory_order_relaxed);
}

/* Prefetches a later waiter of a crowd. Its address is in its predecessor, which is not in the
 * cache yet. But waiters lie on stacks, mostly in a row, so it is probably where it would be in an
 * array. */
LT_FETCHES void lt_chan_fetch_crowd(const struct lt_node *first)
{
    enum { AHEAD = 2 };
    uintptr_t next = (uintptr_t)first->next, step = next - (uintptr_t)first;
    __builtin_prefetch((const void *)(next + AHEAD * step), 1);
}

/* Claims the first waiter of the queue that can be claimed. NULL: there is none. */
static inline struct lt_waiter *lt_chan_claim_first(leat_chan *ch, enum lt_side side)
{
    enum { CROWD = 64 };
    uint32_t waiting;
    while ((waiting = atomic_load_explicit(lt_chan_waiting(ch, side), memory_order_relaxed))) {
        struct lt_waiter *waiter =
            LT_CONTAINER(lt_chan_queue(ch, side)->next, struct lt_waiter, node);
        if (LT_UNLIKELY(waiting > CROWD))
            lt_chan_fetch_crowd(&waiter->node);
        lt_chan_unqueue(ch, side, waiter);
        if (LT_LIKELY(!waiter->shared) || lt_claim(lt_waiter_party(waiter)))
            return waiter;
    }
    return NULL;
}

/* `size` is the channel's item_size, here and below: so the compiler can use a constant size. The
 * channel's fields are used before an item is copied: to the compiler the item may overlap them, so
 * it would load them again. */
static inline void lt_chan_push(leat_chan *ch, size_t size, const void *item)
{
    size_t n = lt_chan_count(ch), index = ch->first + n;
    index = index < ch->capacity ? index : index - ch->capacity;
    lt_chan_set_count(ch, n + 1);
    lt_item_copy(ch->items + index * size, item, size);
}

static inline void lt_chan_pop(leat_chan *ch, size_t size, void *item)
{
    size_t first = ch->first;
    ch->first = first + 1 == ch->capacity ? 0 : first + 1;
    ch->passed++;
    lt_chan_set_count(ch, lt_chan_count(ch) - 1);
    if (item)
        lt_item_copy(item, ch->items + first * size, size);
}

/* From here on LT_INLINE: the fast path (chan/operate.h) must make no call. */

/* As lt_chan_now, but *woken is one party or NULL, and no chain. */
LT_INLINE int lt_chan_send_now(leat_chan *ch, size_t size, const void *item,
                               struct lt_party **woken)
{
    *woken = NULL;
    struct lt_waiter *receiver = lt_chan_claim_first(ch, LT_RECEIVE);
    if (receiver) {
        if (receiver->item)
            lt_item_copy(receiver->item, item, size);
        ch->passed++;
        receiver->status = 0;
        *woken = lt_waiter_party(receiver);
        return 0;
    }
    if (lt_chan_count(ch) == ch->capacity)
        return LT_NOT_NOW;
    lt_chan_push(ch, size, item);
    return 0;
}

LT_INLINE int lt_chan_receive_now(leat_chan *ch, size_t size, void *item, struct lt_party **woken)
{
    *woken = NULL;
    struct lt_waiter *sender;
    if (lt_chan_count(ch) > 0) {
        lt_chan_pop(ch, size, item);
        sender = lt_chan_claim_first(ch, LT_SEND);
        if (!sender)
            return 0;
        lt_chan_push(ch, size, sender->item); /* into the slot that has just become free */
    } else {
        sender = lt_chan_claim_first(ch, LT_SEND);
        if (!sender)
            return LT_NOT_NOW;
        ch->passed++;
        if (item)
            lt_item_copy(item, sender->item, size);
    }
    sender->status = 0;
    *woken = lt_waiter_party(sender);
    return 0;
}

LT_INLINE int lt_chan_plain_now(leat_chan *ch, enum lt_side side, size_t size, void *item,
                                struct lt_party **woken)
{
    return side == LT_RECEIVE ? lt_chan_receive_now(ch, size, item, woken)
                              : lt_chan_send_now(ch, size, item, woken);
}

/* ---- one end of a split buffer, under that end's lock ---- */

/* Whether the operation needs the whole channel. Relaxed: these words are written with both ends'
 * locks held. */
static inline bool lt_end_takes_all(leat_chan *ch, enum lt_side side)
{
    return atomic_load_explicit(side == LT_SEND ? &ch->receivers_waiting : &ch->senders_waiting,
                                memory_order_relaxed) ||
           lt_chan_is_closed(ch) || (lt_probing() & LT_PROBE_ITEMS);
}

/* Moves one item. The caller has checked that there is an item, or room for one. */
LT_INLINE void lt_end_pass(leat_chan *ch, struct lt_end *end, enum lt_side side, size_t size,
                           void *item)
{
    size_t index = end->slot;
    void *slot = ch->items + index * size;
    end->slot = index + 1 == ch->capacity ? 0 : index + 1;
    if (side == LT_SEND)
        lt_item_copy(slot, item, size);
    else if (item)
        lt_item_copy(item, slot, size);
    /* Release: the item is in its slot, or has left it. */
    atomic_store_explicit(&end->moved, atomic_load_explicit(&end->moved, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* With no lock held: the fast case of lt_split_move, for a size that lt_item_is_short. False:
 * nothing was done. */
LT_INLINE bool lt_split_move_known(leat_chan *ch, struct lt_split *split, enum lt_side side,
                                   size_t size, void *item)
{
    struct lt_end *end = &split->of[side];
    if (!lt_try_lock(&end->lock))
        return false;
    bool goes = !lt_end_takes_all(ch, side) && lt_split_know_some(split, side, ch->capacity);
    if (LT_LIKELY(goes))
        lt_end_pass(ch, end, side, size, item);
    lt_unlock(&end->lock);
    return goes;
}
