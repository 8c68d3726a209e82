/* host.h: stacks that host tasks, and the ways between them: from a parking task straight to the next
 * that is ready, or to the scheduler, which starts new ones and looks after everything else. */
#ifndef LT_SCHED_HOST_H
#define LT_SCHED_HOST_H

#include "sched/worker.h"

/* Scheduler: runs an unstarted task, until some task comes back to the scheduler. */
void lt_host_start(struct lt_worker *worker, struct lt_task *task);

/* Scheduler: the same with one that was left. */
void lt_host_resume(struct lt_worker *worker, struct lt_task *task);

/* Has so many lines fetched from where the task left its stack, and so goes on. */
LT_FETCHES void lt_host_fetch(const struct lt_task *task, size_t lines)
{
    uintptr_t at = (uintptr_t)task->sp; /* NULL if it never has */
    for (size_t line = 0; line < lines; line++)
        __builtin_prefetch((const void *)(at + line * LT_CACHE_LINE), 1);
}

/* The next ready party, or NULL. */
struct lt_party *lt_worker_next_ready(struct lt_worker *worker);

/* Gives all stacks of the worker's magazine, and its credits, back to the pool. */
void lt_host_close(struct lt_worker *worker);

#endif
