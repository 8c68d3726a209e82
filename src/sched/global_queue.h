/* global_queue.h: unstarted tasks and blocks that are in no worker's local queue, because it was
 * full, or because a thread that is no worker started them.
 *
 * One queue for all workers, first in, first out, under a lock. Each task brings the credit for its
 * stack along. */
#pragma once

#include "base/util.h"
#include "sched/worker.h"

/* Whether starting the party uses up a credit. */
static inline bool lt_needs_credit(struct lt_party *party)
{
    return party->kind == LT_TASK && !LT_CONTAINER(party, struct lt_task, party)->stack;
}

/* Adds a party. `worker` is the calling worker, which gives a credit along with a task, or NULL. */
void lt_global_queue_push(struct lt_worker *worker, struct lt_party *party);

/* Moves some parties to the calling worker's local queue, and notifies. False if it moved none. */
bool lt_global_queue_take(struct lt_worker *worker);

/* Calls fn for each party, in order and under the lock, until it returns false: for looks. */
void lt_global_queue_each(bool (*fn)(void *arg, struct lt_party *party), void *arg);

/* Whether the queue has any party: a hint. */
bool lt_global_queue_any(void);
