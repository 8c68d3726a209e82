/* special.h: channels that do more than pass items on: lossy buffers, promises, transforms.
 *
 * They run users' functions: `drop` for an item that is dropped, and a transform's step. No user's
 * function runs under a lock. So lt_special_now is called with the lock held and returns with the
 * lock held, but releases it around each such call. A select holds several locks, so it does a case
 * on a special channel after it has released them.
 *
 * The door of a channel with a transform. One party at a time has the door, from admitting an item
 * to publishing what came of it: `busy` says so. That party writes outputs directly into the slots
 * behind the last item, which nobody else uses: receivers move the front, and the end stays where
 * it is. A sender that finds the door busy waits as it would for room. A party that frees the door
 * or makes room brings in the items of the senders that wait, on its own stack. */
#ifndef LT_CHAN_SPECIAL_H
#define LT_CHAN_SPECIAL_H

#include "chan/chan.h"

#include <leat/transform.h>

struct leat_emit {
    int (*put)(leat_emit *emit, const void *item);
};

/* As lt_chan_now, but releases the lock in between. LT_NOT_NOW is true when this returns. */
int lt_special_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken);

/* A send by the channel's keeper. All other sends to such a channel return -EPERM. */
int lt_special_keeper_send(leat_chan *ch, const void *item, struct lt_party **woken);

/* With the lock held, by the keeper of a promise without bytes: raises the flag that such a channel
 * is. While it is raised, each receive succeeds. Adds the parties that must be made ready to the
 * chain. To lower it, set the count to 0. */
void lt_special_raise(leat_chan *ch, struct lt_party **chain);

/* Closes, and releases the lock in between. Returns the chain of parties to be made ready. */
struct lt_party *lt_special_close(leat_chan *ch);

/* With the lock held: whether lt_special_now would do something. */
bool lt_special_ready(const leat_chan *ch, enum lt_side side);

/* How many slots beyond its capacity a channel of this spec needs. */
size_t lt_special_extra_slots(const leat_chan_spec *spec);

/* Whether a channel can be made with the buffer and the transform of a spec. */
bool lt_special_check(const leat_chan_spec *spec);

#endif
