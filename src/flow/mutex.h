/* mutex.h: one at a time, and known who.
 *
 * `turn` holds an item while nobody holds the mutex: to receive it is to take the mutex, so the channel's order is
 * the mutex's, and its waits bring deadlines and cancelling along. `owner` is written by the holder alone. Who reads
 * it learns whether that is itself, and nothing else: so it orders nothing. */
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

/* The calling party, which acts for the one that holds it and waits meanwhile, holds it now. */
void lt_mutex_adopt(leat_mutex *mutex);

/* As leat_mutex_lock; or -EPIPE, when the channel `stop`, to which nobody sends, closes first. */
int lt_mutex_lock_or_stop(leat_mutex *mutex, leat_chan *stop);

#endif
