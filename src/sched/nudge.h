/* nudge.h: requests to a task's home to look at the task, whose scope may have been cancelled.
 *
 * Any thread nudges, once it has set task->nudged. The task's home looks at some of its nudged
 * tasks at a time, inside (base/owned.h); a thief may do so in its place. The lists are in the
 * worker (sched/worker.h). */
#pragma once

#include "sched/worker.h"

/* Puts a task on its home's list of nudges, from any thread. The caller, which has set
 * task->nudged, then alerts the worker. lt_worker_look_at_some_nudges, called inside, looks at some
 * of that list. A task that has moved to another worker is nudged there; the running one is left
 * for later. */
void lt_worker_nudge(struct lt_worker *worker, struct lt_task *task);
void lt_worker_look_at_some_nudges(struct lt_worker *worker);

/* Whether the worker has nudges: a hint. */
static inline bool lt_worker_is_nudged(const struct lt_worker *worker)
{
    /* Relaxed: it only decides whether to look. */
    return atomic_load_explicit(&worker->taken_nudges, memory_order_relaxed) ||
           atomic_load_explicit(&worker->nudges, memory_order_relaxed);
}

static inline void lt_worker_look_at_nudges(struct lt_worker *worker)
{
    if (LT_UNLIKELY(lt_worker_is_nudged(worker)))
        lt_worker_look_at_some_nudges(worker);
}
