/* special.h: channels that do more than pass items on: lossy buffers, promises, transforms.
 *
 * They go through lt_special_now instead of the short way in chan.c. It is called with the lock held and
 * returns with it held, but gives it up in between to run a user's function: a drop for an item that fell,
 * a transform's step. So a select, which holds several locks, does a case on such a channel after giving
 * them back.
 *
 * The door of a channel with a transform. One party at a time may be between admitting an item and
 * publishing what came of it: `busy` says so. It writes outputs straight into the slots behind the last item,
 * which belong to nobody else: receivers move the front, and the end stays where it is. A sender that finds
 * the door busy waits like one that finds no room; who frees the door or makes room brings in those who wait,
 * on its own stack. */
#ifndef LT_CHAN_SPECIAL_H
#define LT_CHAN_SPECIAL_H

#include "chan/chan.h"

#include <leat/transform.h>

struct leat_emit {
    int (*put)(leat_emit *emit, const void *item);
};

/* As lt_chan_now, but the lock is given up and taken again in between. LT_NOT_NOW
 * holds at the moment of the return. */
int lt_special_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken);

/* A send by the channel's keeper, which nobody else may: see lt_keeper. */
int lt_special_keeper_send(leat_chan *ch, const void *item, struct lt_party **woken);

/* Closes; the lock is given up in between. Returns who must be made ready. */
struct lt_party *lt_special_close(leat_chan *ch);

/* With the lock held: whether lt_special_now would do something. */
bool lt_special_ready(const leat_chan *ch, enum lt_side side);

/* Slots beyond the capacity that a spec needs. */
size_t lt_special_extra_slots(const leat_chan_spec *spec);

/* Whether the special part of a spec can be had. */
bool lt_special_check(const leat_chan_spec *spec);

#endif
