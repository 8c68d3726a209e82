#include "chan/special.h"

#include "chan/now.h"

enum { DROPPED_MAX = 1024 }; /* bytes of an item, in a lossy buffer with a drop function */

bool lt_chan_can_be(const leat_chan_spec *spec)
{
    if (spec->buffer == LEAT_FIXED)
        return spec->item_size <= LT_ITEM_MAX;
    return spec->item_size <= (spec->drop ? DROPPED_MAX : LT_ITEM_MAX) &&
           spec->buffer <= LEAT_PROMISE && (spec->buffer == LEAT_PROMISE || spec->capacity > 0);
}

/* The buffer is full: a sliding one drops its oldest item, the others drop the new item. Not
 * inlined, because it needs much stack. */
__attribute__((noinline)) static void send_to_full(leat_chan *ch, const void *item)
{
    _Alignas(16) unsigned char dropped[DROPPED_MAX];
    bool slides = ch->buffer == LEAT_SLIDING;
    leat_drop_fn *drop = lt_chan_drop(ch);
    if (drop)
        lt_item_copy(dropped, slides ? lt_chan_slot(ch, 0) : item, ch->item_size);
    if (slides) {
        lt_chan_pop(ch, ch->item_size, NULL);
        lt_chan_push(ch, ch->item_size, item);
    }
    if (drop) {
        lt_chan_unlock(ch);
        drop(dropped);
        lt_chan_lock(ch);
    }
}

static void serve(struct lt_waiter *receiver, const void *item, size_t size,
                  struct lt_party **chain)
{
    struct lt_party *party = lt_waiter_party(receiver);
    if (receiver->item)
        lt_item_copy(receiver->item, item, size);
    receiver->status = 0;
    party->next = *chain;
    *chain = party;
}

/* The first item of a promise goes to all waiting receivers. */
static void serve_all(leat_chan *ch, const void *item, struct lt_party **chain)
{
    for (struct lt_waiter *receiver; (receiver = lt_chan_claim_first(ch, LT_RECEIVE));)
        serve(receiver, item, ch->item_size, chain);
}

int lt_special_keeper_send(leat_chan *ch, const void *item, struct lt_party **chain)
{
    if (lt_chan_is_closed(ch))
        return -EPIPE;
    struct lt_waiter *receiver =
        ch->buffer == LEAT_PROMISE ? NULL : lt_chan_claim_first(ch, LT_RECEIVE);
    if (receiver) {
        ch->passed++;
        serve(receiver, item, ch->item_size, chain);
    } else if (lt_chan_count(ch) == ch->capacity) {
        send_to_full(ch, item);
    } else {
        lt_chan_push(ch, ch->item_size, item);
        if (ch->buffer == LEAT_PROMISE)
            serve_all(ch, item, chain);
    }
    return 0;
}

bool lt_special_will_drop(const leat_chan *ch)
{
    return ch->special && lt_chan_drop(ch) && lt_chan_count(ch) == ch->capacity;
}

static int receive_now(leat_chan *ch, void *item)
{
    if (lt_chan_count(ch) == 0)
        return lt_chan_is_closed(ch) ? lt_chan_last_word(ch) : LT_NOT_NOW;
    if (ch->buffer != LEAT_PROMISE)
        lt_chan_pop(ch, ch->item_size, item);
    else if (item)
        lt_item_copy(item, lt_chan_slot(ch, 0), ch->item_size);
    return 0;
}

int lt_special_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken)
{
    if (side == LT_RECEIVE)
        return receive_now(ch, item);
    return ch->kept ? -EPERM : lt_special_keeper_send(ch, item, woken);
}

void lt_special_raise(leat_chan *ch, struct lt_party **chain)
{
    if (lt_chan_is_closed(ch))
        return;
    lt_chan_set_count(ch, 1);
    serve_all(ch, NULL, chain);
}
