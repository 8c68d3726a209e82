/* global_queue.h: unstarted tasks and blocks that are in no worker's local queue: because it had no room, or because
 * they come from a thread that is no worker. One queue for all, first in, first out, under a lock. Each
 * task brings the credit for its stack along. */
#ifndef LT_SCHED_GLOBAL_QUEUE_H
#define LT_SCHED_GLOBAL_QUEUE_H

#include "base/util.h"
#include "sched/worker.h"

/* Whether the party's start will use up a credit. */
static inline bool lt_needs_credit(struct lt_party *party)
{
    return party->kind == LT_TASK && !LT_CONTAINER(party, struct lt_task, party)->stack;
}

/* Adds one; `worker` is the calling one, whose credit goes along, or NULL. */
void lt_global_queue_push(struct lt_worker *worker, struct lt_party *party);

/* Moves some to the calling worker's local queue; false when there was none. */
bool lt_global_queue_take(struct lt_worker *worker);

/* Calls fn for each, in order, under the lock: for people who look. */
void lt_global_queue_each(void (*fn)(void *arg, struct lt_party *party), void *arg);

/* Whether there is any; a hint. */
bool lt_global_queue_any(void);

#endif
