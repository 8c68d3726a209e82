/* host.h: stacks that host tasks, and the ways between them: from a parking task straight to the next
 * that is ready, or to the scheduler, which starts new ones and looks after everything else. */
#ifndef LT_SCHED_HOST_H
#define LT_SCHED_HOST_H

#include "arch/switch.h"
#include "sched/current.h"
#include "sched/probe.h"
#include "sched/worker.h"

/* Scheduler: runs an unstarted task, until some task comes back to the scheduler. */
void lt_host_start(struct lt_worker *worker, struct lt_task *task);

/* NULL: the scheduler, which sees for itself who is next. */
static inline void lt_now_running(struct lt_worker *worker, struct lt_task *task)
{
    if (task)
        lt_worker_settle_but(worker, task->party.scope);
    atomic_store_explicit(&worker->running, task, memory_order_relaxed);
    lt_set_current_party(task ? &task->party : &lt_current()->thread.party);
}

/* A function that switches enters on one stack and leaves on another, which TSan must not see. */
#ifdef LT_TSAN
#define LT_RESUMES LT_NO_TSAN __attribute__((noinline, unused)) static
#else
#define LT_RESUMES __attribute__((always_inline)) static inline
#endif

/* Scheduler: the same with one that was left. In line, since a processor predicts no return to a function
 * that a task comes back to: the fewer there are on the way, the better. */
LT_RESUMES void lt_host_resume(struct lt_worker *worker, struct lt_task *task)
{
    worker->started_last = false;
    if (LT_UNLIKELY(lt_probing()))
        lt_probe_switch(worker, NULL, task);
    lt_now_running(worker, task);
    lt_fiber_leave(&worker->fiber, &task->stack->fiber, 0);
    lt_switch(&worker->sp, task->sp);
    lt_fiber_arrive(&worker->fiber, 0, NULL);
}

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
