/* reclaim.h: stacks, and rights to them, that idle workers keep for the next crowd, and give back where memory has run
 * out.
 *
 * A worker that sleeps says how many it keeps. Whoever gets none wakes those who keep some; they see that memory is
 * short, give all of theirs back, and keep none for as long as that is so. */
#ifndef LT_SCHED_RECLAIM_H
#define LT_SCHED_RECLAIM_H

#include "sched/worker.h"

#include <stdbool.h>

/* The worker, who has nothing to do, before it sleeps, each time. */
void lt_reclaim_settle(struct lt_worker *worker);

/* As lt_stack_credits_get(1), after that has failed. It waits a few milliseconds at the most, and only where
 * idle workers keep some. */
bool lt_reclaim_get_one(void);

#endif
