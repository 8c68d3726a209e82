/* mutex.h: a mutex that knows its holder.
 *
 * The channel `turn` has an item while no party holds the mutex: a party that receives it takes the
 * mutex. So the mutex has the channel's order, deadlines and cancelling. `owner` is written by the
 * holder, or by a party that acts for the holder. A reader only checks whether it is the holder
 * itself, and a look compares it with the parties it has found; so `owner` is relaxed. */
#pragma once

#include "flow/flow.h"

#include <leat/sync.h>

struct leat_mutex {
    struct lt_flow flow; /* has no block */
    leat_chan *turn;
    _Atomic(struct lt_party *) owner;
};

/* Whether the calling party holds the mutex. */
bool lt_mutex_held(const leat_mutex *mutex);

/* Makes `to` the holder, and returns the holder before. One of the two acts for the other, which
 * waits meanwhile. */
struct lt_party *lt_mutex_pass(leat_mutex *mutex, struct lt_party *to);

/* As leat_mutex_lock, or -EPIPE if the channel `stop`, which carries no items, closes first. */
int lt_mutex_lock_or_stop(leat_mutex *mutex, leat_chan *stop);
