#include "chan/special.h"

#include "chan/now.h"

enum { DROPPED_MAX = 1024 }; /* bytes of an item, in a lossy buffer with a drop function */

bool lt_special_check(const leat_chan_spec *spec)
{
    bool lossy = spec->buffer != LEAT_FIXED, promise = spec->buffer == LEAT_PROMISE;
    leat_transform *t = spec->transform;
    if (spec->buffer > LEAT_PROMISE || (lossy && spec->drop && spec->item_size > DROPPED_MAX))
        return false;
    if ((lossy || t) && !promise && spec->capacity == 0)
        return false;
    return !t || (t->step && t->out_size == spec->item_size && t->most <= (size_t)1 << 32);
}

size_t lt_special_extra_slots(const leat_chan_spec *spec)
{
    /* A step's outputs may exceed the capacity, and then the finish's outputs. In a lossy buffer
     * the new item comes before another is dropped. */
    return spec->transform ? 2 * spec->transform->most : spec->buffer != LEAT_FIXED;
}

static bool lossy(const leat_chan *ch)
{
    return ch->buffer != LEAT_FIXED;
}

static bool shutting(const leat_chan *ch)
{
    return ch->closing || lt_chan_is_closed(ch);
}

bool lt_special_ready(const leat_chan *ch, enum lt_side side)
{
    if (side == LT_RECEIVE)
        return lt_chan_count(ch) > 0 || lt_chan_is_closed(ch);
    return shutting(ch) || !ch->transform ||
           (!ch->busy && (lossy(ch) || lt_chan_count(ch) < ch->capacity));
}

/* ---- dropping ---- */

/* Hands a copy of an item to `drop`, without the lock. */
static void drop_unlocked(leat_chan *ch, void *bytes)
{
    lt_chan_unlock(ch);
    ch->drop(bytes);
    lt_chan_lock(ch);
}

static void remove_front(leat_chan *ch)
{
    ch->first = ch->first + 1 == ch->slots ? 0 : ch->first + 1;
    lt_chan_set_count(ch, lt_chan_count(ch) - 1);
}

/* Brings a lossy buffer back to its capacity. */
__attribute__((noinline)) static void drop_surplus(leat_chan *ch)
{
    _Alignas(16) unsigned char dropped[DROPPED_MAX];
    while (lt_chan_count(ch) > ch->capacity) {
        bool oldest = ch->buffer == LEAT_SLIDING;
        if (ch->drop)
            memcpy(dropped, lt_chan_slot(ch, oldest ? 0 : lt_chan_count(ch) - 1), ch->item_size);
        if (oldest)
            remove_front(ch);
        else
            lt_chan_set_count(ch, lt_chan_count(ch) - 1);
        if (ch->drop)
            drop_unlocked(ch, dropped);
    }
}

/* ---- publishing: with the lock held ---- */

static void deliver(struct lt_waiter *receiver, const void *item, size_t size,
                    struct lt_party **chain)
{
    if (receiver->item)
        lt_item_copy(receiver->item, item, size);
    receiver->status = 0;
    struct lt_party *party = lt_waiter_party(receiver);
    party->next = *chain;
    *chain = party;
}

/* Adds n items, written behind the last one, to the buffer, and serves waiting receivers. */
static void publish(leat_chan *ch, size_t n, struct lt_party **chain)
{
    lt_chan_set_count(ch, lt_chan_count(ch) + n);
    struct lt_waiter *receiver;
    while (lt_chan_count(ch) > 0 && (receiver = lt_chan_claim_first(ch, LT_RECEIVE))) {
        deliver(receiver, lt_chan_slot(ch, 0), ch->item_size, chain);
        if (ch->buffer != LEAT_PROMISE)
            remove_front(ch);
    }
    if (lossy(ch))
        drop_surplus(ch);
}

/* ---- a transform's step: without the lock, behind the door ---- */

struct door {
    leat_emit emit;
    leat_chan *ch;
    size_t tail; /* the slot behind the last item */
    size_t n;
};

static int emit_to_door(leat_emit *emit, const void *item)
{
    struct door *door = LT_CONTAINER(emit, struct door, emit);
    leat_chan *ch = door->ch;
    if (door->n == ch->transform->most)
        return -ENOSPC;
    size_t index = door->tail + door->n++;
    lt_item_copy(ch->items + (index < ch->slots ? index : index - ch->slots) * ch->item_size, item,
                 ch->item_size);
    return 0;
}

/* Prepares for the outputs of one call, and releases the lock. */
static void open_door(leat_chan *ch, struct door *door)
{
    size_t tail = ch->first + lt_chan_count(ch);
    *door = (struct door){ .emit.put = emit_to_door,
                           .ch = ch,
                           .tail = tail < ch->slots ? tail : tail - ch->slots };
    lt_chan_unlock(ch);
}

/* Takes the lock again, and publishes the outputs. */
static void close_door(leat_chan *ch, struct door *door, struct lt_party **chain)
{
    lt_chan_lock(ch);
    publish(ch, door->n, chain);
}

static int step(leat_chan *ch, const void *item, struct lt_party **chain)
{
    leat_transform *t = ch->transform;
    struct door door;
    open_door(ch, &door);
    int result = t->step(t, item, &door.emit);
    if (result < 0 && t->failed)
        result = t->failed(t, result, item, &door.emit);
    close_door(ch, &door, chain);
    if (result == LEAT_ENOUGH)
        ch->closing = true;
    return result < 0 ? result : 0;
}

/* ---- bringing an item in: with the lock held, and with a transform also the door ---- */

static int bring_in(leat_chan *ch, const void *item, struct lt_party **chain)
{
    if (ch->transform)
        return step(ch, item, chain);
    lt_item_copy(lt_chan_slot(ch, lt_chan_count(ch)), item, ch->item_size);
    publish(ch, 1, chain);
    return 0;
}

static void finish(leat_chan *ch, struct lt_party **chain)
{
    leat_transform *t = ch->transform;
    for (struct lt_waiter *sender; (sender = lt_chan_claim_first(ch, LT_SEND));) {
        sender->status = -EPIPE;
        struct lt_party *party = lt_waiter_party(sender);
        party->next = *chain;
        *chain = party;
    }
    if (t && t->finish) {
        struct door door;
        open_door(ch, &door);
        t->finish(t, &door.emit);
        close_door(ch, &door, chain);
    }
    struct lt_party *refused = lt_chan_close_now(ch);
    while (refused) {
        struct lt_party *next = refused->next;
        refused->next = *chain;
        *chain = refused;
        refused = next;
    }
}

/* Frees the door. Before that it brings in the items of waiting senders, and closes the channel if
 * that was asked for. */
static void leave_door(leat_chan *ch, struct lt_party **chain)
{
    struct lt_waiter *sender;
    while (!ch->closing && (lossy(ch) || lt_chan_count(ch) < ch->capacity) &&
           (sender = lt_chan_claim_first(ch, LT_SEND))) {
        sender->status = bring_in(ch, sender->item, chain);
        struct lt_party *party = lt_waiter_party(sender);
        party->next = *chain;
        *chain = party;
    }
    if (ch->closing && !lt_chan_is_closed(ch))
        finish(ch, chain);
    ch->busy = false;
}

/* ---- the operations ---- */

static int send_now(leat_chan *ch, const void *item, struct lt_party **chain)
{
    if (shutting(ch))
        return -EPIPE;
    if (!lt_special_ready(ch, LT_SEND))
        return LT_NOT_NOW;
    if (!ch->transform)
        return bring_in(ch, item, chain);
    ch->busy = true;
    int status = bring_in(ch, item, chain);
    leave_door(ch, chain);
    return status;
}

static int receive_now(leat_chan *ch, void *item, struct lt_party **chain)
{
    if (lt_chan_count(ch) == 0)
        return lt_chan_is_closed(ch) ? lt_chan_last_word(ch) : LT_NOT_NOW;
    if (item)
        lt_item_copy(item, lt_chan_slot(ch, 0), ch->item_size);
    if (ch->buffer == LEAT_PROMISE)
        return 0;
    remove_front(ch);
    if (ch->busy || lt_list_empty(&ch->senders))
        return 0;
    ch->busy = true;
    leave_door(ch, chain);
    return 0;
}

int lt_special_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken)
{
    if (side == LT_RECEIVE)
        return receive_now(ch, item, woken);
    return ch->keeper ? -EPERM : send_now(ch, item, woken);
}

int lt_special_keeper_send(leat_chan *ch, const void *item, struct lt_party **woken)
{
    return send_now(ch, item, woken);
}

void lt_special_raise(leat_chan *ch, struct lt_party **chain)
{
    if (lt_chan_is_closed(ch))
        return;
    lt_chan_set_count(ch, 1);
    for (struct lt_waiter *receiver; (receiver = lt_chan_claim_first(ch, LT_RECEIVE));)
        deliver(receiver, NULL, 0, chain);
}

struct lt_party *lt_special_close(leat_chan *ch)
{
    struct lt_party *chain = NULL;
    if (shutting(ch))
        return NULL;
    ch->closing = true;
    if (!ch->busy) {
        ch->busy = true;
        leave_door(ch, &chain);
    }
    return chain;
}
