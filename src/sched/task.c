#include "sched/task.h"

#include "base/util.h"
#include "sched/current.h"
#include "sched/host.h"
#include "sched/reclaim.h"
#include "sched/runtime.h"
#include "sched/slab.h"

#include <leat/task.h>

#include <sched.h>

/* Makes sure that one more unstarted task can be given a stack. */
static bool reserve_stack(struct lt_worker *worker)
{
    if (!worker)
        return lt_stack_credits_get(1) || lt_reclaim_get_one();
    if (LT_LIKELY(lt_magazine_tasks(&worker->magazine) >
                  lt_local_queue_length(&worker->local_queue)))
        return true;
    size_t n = LT_CREDIT_BATCH;
    if (!lt_stack_credits_get(n)) {
        n = 1;
        if (!lt_stack_credits_get(n) && !lt_reclaim_get_one())
            return false;
    }
    worker->magazine.credits += n;
    return true;
}

struct lt_task *lt_task_new(leat_fn *fn, void *arg, const char *name, size_t stack_size)
{
    struct lt_worker *worker = lt_current_worker();
    struct lt_task *task = lt_slab_get(worker);
    if (!task)
        return NULL;
    bool own_size = stack_size && stack_size != lt_runtime.stack_size;
    if (own_size ? !(task->stack = lt_stack_map(stack_size)) : !reserve_stack(worker)) {
        lt_slab_put(worker, task);
        return NULL;
    }
    task->party.kind = LT_TASK;
    task->fn = fn;
    task->arg = arg;
    task->name = name;
    task->number = lt_number();
    return task;
}

int lt_budget_renew(struct lt_worker *worker)
{
    struct lt_party *self = lt_current_party_or_null();
    if (LT_UNLIKELY(lt_world() != NULL)) {
        worker->budget = 1;
        lt_world()->point();
        return 0;
    }
    lt_worker_renew_budget(worker);
    if (self->kind == LT_TASK)
        lt_task_yield(worker, LT_CONTAINER(self, struct lt_task, party));
    return 0;
}

struct lt_task *lt_task_self(void)
{
    struct lt_worker *here = lt_current_worker();
    return here ? lt_worker_running(here) : NULL;
}

/* New and ready tasks take turns. So a yield may start only a few of the new tasks, and none if the
 * caller itself has just started. This starts all that are queued now, except those that a thief
 * takes. (In a seeded world the world chooses.) */
__attribute__((noinline)) static int yield_to_new(struct lt_worker *worker, struct lt_task *task)
{
    /* Relaxed: this worker alone writes the tail; a head that is too old costs a yield. */
    uint32_t end = atomic_load_explicit(&worker->local_queue.tail, memory_order_relaxed), left;
    do {
        worker->started_last = false;
        lt_task_yield(worker, task);
        left = end - atomic_load_explicit(&worker->local_queue.head, memory_order_relaxed);
    } while (!lt_world() && lt_task_home(task) == worker && left <= LT_LOCAL_QUEUE_SIZE &&
             left > 0);
    return 0;
}

int leat_yield(void)
{
    struct lt_worker *here = lt_current_worker();
    struct lt_task *task = here ? lt_worker_running(here) : NULL;
    if (LT_LIKELY(task && lt_local_queue_length(&here->local_queue) == 0))
        return lt_task_yield(here, task);
    if (task)
        return yield_to_new(here, task);
    if (LT_UNLIKELY(lt_world() != NULL))
        lt_world()->yield();
    else
        sched_yield();
    return 0;
}

/* A thread stays where it is. A block or a callback cannot be pinned. */
static int change_pins(int by)
{
    struct lt_task *task = lt_task_self();
    if (!task)
        return lt_current_party()->kind == LT_THREAD ? 0 : -EINVAL;
    int pins = task->pins + by;
    if (pins < 0 || pins == UINT16_MAX)
        return -EINVAL;
    task->pins = (uint16_t)pins;
    return 0;
}

int leat_pin(void)
{
    return change_pins(1);
}

int leat_unpin(void)
{
    return change_pins(-1);
}

const char *leat_task_name(void)
{
    struct lt_task *task = lt_task_self();
    return task ? task->name : lt_this_thread()->name;
}
