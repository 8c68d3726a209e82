/* host.h: stacks that host tasks, and switches between them: from a parking task directly to the
 * next ready one, or to the scheduler, which starts new tasks and does everything else. */
#pragma once

#include "arch/switch.h"
#include "sched/current.h"
#include "sched/probe.h"
#include "sched/worker.h"

/* Inside: parks the running task until lt_ready, which may already have been called. The task
 * returns inside, too, but its home may have changed. Keeps errno. */
void lt_task_park_inside(struct lt_task *task);

/* The same, called outside, and returning outside. */
void lt_task_park(struct lt_task *task);

/* Lets other parties run first. `worker` is the caller's: the task names it too, but only once the
 * task itself has been read. Returns 0, for the caller's tail call. */
int lt_task_yield(struct lt_worker *worker, struct lt_task *task);

/* Scheduler: starts a task. Returns when some task switches back to the scheduler. */
void lt_host_start(struct lt_worker *worker, struct lt_task *task);

/* Sets the current task. NULL: the scheduler, which settles the units itself. */
static inline void lt_now_running(struct lt_worker *worker, struct lt_task *task)
{
    if (task)
        lt_worker_settle_but(worker, task->party.scope);
    atomic_store_explicit(&worker->running, task, memory_order_relaxed);
    lt_set_current_party(task ? &task->party : &lt_current()->thread.party);
}

/* TSan must not see a function that enters on one stack and leaves on another. */
#ifdef LT_TSAN
#define LT_RESUMES LT_NO_TSAN __attribute__((noinline, unused)) static
#else
#define LT_RESUMES LT_INLINE
#endif

/* Scheduler: resumes a task that has parked. Inline, since a processor mispredicts the return of
 * each function that a switch comes back to: the fewer, the better. */
LT_RESUMES void lt_host_resume(struct lt_worker *worker, struct lt_task *task)
{
    if (LT_UNLIKELY(lt_probing()))
        lt_observer->switches(worker, NULL, task);
    lt_now_running(worker, task);
    lt_fiber_leave(&worker->fiber, &task->stack->fiber, 0);
    lt_switch(&worker->sp, task->sp);
    lt_fiber_arrive(&worker->fiber, 0, NULL);
}

/* Called outside by the running task. The scheduler of a seeded world goes on as if the call came
 * from another thread: its worker still runs the task, until lt_host_resume. Keeps errno. */
void lt_host_hold_up(struct lt_task *task);

/* Prefetches `lines` cache lines of the task's stack, from where the task left it. */
LT_FETCHES void lt_host_fetch(const struct lt_task *task, size_t lines)
{
    uintptr_t at = (uintptr_t)task->sp; /* NULL before the task's start */
    for (size_t line = 0; line < lines; line++)
        __builtin_prefetch((const void *)(at + line * LT_CACHE_LINE), 1);
}

/* Takes the next ready party off the list; NULL if there is none. */
struct lt_party *lt_worker_next_ready(struct lt_worker *worker);
