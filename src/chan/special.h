/* special.h: channels that do not just pass items on: lossy buffers, promises, and the channels of
 * keepers.
 *
 * A send to one never waits, so no sender waits there. A lossy buffer runs the user's drop
 * function. No user's function runs under a lock: lt_special_now is called with the lock held and
 * returns with the lock held, but releases it around such a call. A select holds several locks, so
 * it does a case that may drop after it has released them. */
#pragma once

#include "chan/chan.h"

/* As lt_chan_now, but releases the lock while it calls the drop function. If it returns LT_NOT_NOW,
 * the operation still cannot be done when it returns. */
int lt_special_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken);

/* A send by the channel's keeper. All other sends to such a channel return -EPERM. */
int lt_special_keeper_send(leat_chan *ch, const void *item, struct lt_party **woken);

/* With the lock held, by the keeper of a promise without bytes: raises the flag, as such a channel
 * has no items. While the flag is raised, each receive succeeds. Adds the parties that must be made
 * ready to the chain. To lower the flag, set the count to 0. */
void lt_special_raise(leat_chan *ch, struct lt_party **chain);

/* With the lock held: whether the next send calls the drop function. */
bool lt_special_will_drop(const leat_chan *ch);
