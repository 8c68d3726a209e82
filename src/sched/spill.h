/* spill.h: unstarted tasks for which their worker's ring had no room: one queue for all workers,
 * first in, first out, under a lock. Each task brings the credit for its stack along. */
#ifndef LT_SCHED_SPILL_H
#define LT_SCHED_SPILL_H

#include "sched/worker.h"

/* Adds a task of the calling worker's. */
void lt_spill_push(struct lt_worker *worker, struct lt_task *task);

/* Moves some to the calling worker's ring; false when there was none. */
bool lt_spill_take(struct lt_worker *worker);

/* Whether there is any; a hint. */
bool lt_spill_any(void);

#endif
