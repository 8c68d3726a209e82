#include "sched/nudge.h"

#include "base/gap.h"
#include "sched/current.h"
#include "sched/host.h"
#include "sched/slab.h"

void lt_worker_nudge(struct lt_worker *worker, struct lt_task *task)
{
    struct lt_task *top = atomic_load_explicit(&worker->nudges, memory_order_relaxed);
    do
        task->nudge_next = top;
    while (!atomic_compare_exchange_weak_explicit(&worker->nudges, &top, task, memory_order_seq_cst,
                                                  memory_order_relaxed));
}

/* Nudges that come later wait until all that were taken before have been looked at: otherwise one
 * at the bottom of the stack might wait for ever. */
static struct lt_task *take_nudge(struct lt_worker *worker)
{
    /* Relaxed: written inside; a search for deadlocks reads it as a hint. */
    struct lt_task *task = atomic_load_explicit(&worker->taken_nudges, memory_order_relaxed);
    if (!task)
        /* Acquire: sees the marks that the nudges are about. */
        task = atomic_exchange_explicit(&worker->nudges, NULL, memory_order_acquire);
    if (task)
        atomic_store_explicit(&worker->taken_nudges, task->nudge_next, memory_order_relaxed);
    return task;
}

/* Prefetches each task's wait and stack: after the cancel of a crowd none is in the cache. */
LT_FETCHES void fetch(struct lt_task *const *tasks, unsigned n)
{
    enum { LINES = 8 };
    for (unsigned i = 0; i < n; i++) {
        __builtin_prefetch(tasks[i]->party.wait, 1);
        lt_host_fetch(tasks[i], LINES);
    }
}

/* True if the task has moved to another worker, or has ended there: the nudge is passed on. */
static bool passes_on(struct lt_worker *worker, struct lt_task *task)
{
    struct lt_worker *home = lt_task_home(task);
    if (home == worker)
        return false;
    lt_worker_nudge(home, task);
    lt_worker_alert(home);
    return true;
}

/* Cleared before the look: a thread that marks a scope after this nudges again. An exchange, so
 * that this sees the mark of a thread that found the task nudged and did not nudge it. */
static void look_at_nudged(struct lt_task *task)
{
    uint8_t nudged = atomic_exchange_explicit(&task->nudged, LT_NOT_NUDGED, memory_order_acq_rel);
    lt_gap();
    if (nudged == LT_ENDED_NUDGED)
        lt_slab_put(lt_current_worker(), task);
    else
        lt_kinds.task_look(task);
}

/* Only a thief meets the running task here. The task waits until it does not run. */
static void leave_for_later(struct lt_worker *worker, struct lt_task *task)
{
    task->nudge_next = atomic_load_explicit(&worker->taken_nudges, memory_order_relaxed);
    atomic_store_explicit(&worker->taken_nudges, task, memory_order_relaxed);
}

void lt_worker_look_at_some_nudges(struct lt_worker *worker)
{
    /* No more at a time than are likely to run before the next look, so that they are still in the
     * cache then. */
    struct lt_task *tasks[LT_DIRECT_SWITCHES], *task, *running = NULL;
    unsigned n = 0;
    while (n < LT_DIRECT_SWITCHES && (task = take_nudge(worker))) {
        if (task == lt_worker_running(worker))
            running = task;
        else if (!passes_on(worker, task))
            tasks[n++] = task;
    }
    fetch(tasks, n);
    for (unsigned i = 0; i < n; i++)
        look_at_nudged(tasks[i]);
    if (running)
        leave_for_later(worker, running);
}
