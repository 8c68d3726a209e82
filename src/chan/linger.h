/* linger.h: a caller that finds a buffer full or empty looks again for a moment, before it waits.
 *
 * That pays if a partner runs on another processor meanwhile, and the caller's processor has
 * nothing else to do: for a thread, and for a task that is alone on its worker. sched/spin.h learns
 * from earlier waits how long to look. No lock is held meanwhile. */
#pragma once

#include "chan/chan.h"

/* A thread waits a moment, until the operation may be possible; not if there is one processor. */
void lt_linger(leat_chan *ch, enum lt_side side, struct lt_thread *thread);

/* Does one operation at one end of a split buffer, after a moment if need be. 0; or LT_NOT_NOW if
 * the operation needs the channel's lock. */
int lt_linger_at_end(leat_chan *ch, struct lt_split *split, enum lt_side side, void *item,
                     int64_t deadline, struct lt_party *self);
