/* mutex.h: one at a time, and known who.
 *
 * `turn` holds an item while nobody holds the mutex: to receive it is to take the mutex, so the channel's
 * order is the mutex's, and its waits bring deadlines and cancelling along. `owner` is written by the holder
 * alone. Who reads it learns whether that is itself, and nothing else: so it orders nothing. */
#ifndef LT_FLOW_MUTEX_H
#define LT_FLOW_MUTEX_H

#include "flow/flow.h"

#include <leat/sync.h>

struct leat_mutex {
    struct lt_flow flow; /* without its block */
    leat_chan *turn;
    _Atomic(struct lt_party *) owner;
};

/* Whether the calling party holds it. */
bool lt_mutex_held(const leat_mutex *mutex);

/* From here on it is held by `to`, and not by the one that is returned: of the two, one acts for the other,
 * which waits meanwhile. */
struct lt_party *lt_mutex_pass(leat_mutex *mutex, struct lt_party *to);

/* As leat_mutex_lock; or -EPIPE, when the channel `stop`, to which nobody sends, closes first. */
int lt_mutex_lock_or_stop(leat_mutex *mutex, leat_chan *stop);

#endif
