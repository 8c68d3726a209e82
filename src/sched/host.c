#include "sched/host.h"

#include "arch/switch.h"
#include "base/clock.h"
#include "base/util.h"
#include "base/world.h"
#include "sched/current.h"
#include "sched/duties.h"
#include "sched/global_queue.h"
#include "sched/nudge.h"
#include "sched/probe.h"
#include "sched/slab.h"

#include <stdint.h>

/* TSan counts entries and exits of functions. A function that switches enters on one stack and
 * leaves on another, or does not leave: TSan must not see it. */
#define SWITCHES LT_NO_TSAN __attribute__((noinline))

/* For functions that such a function calls and TSan has to see. */
#ifdef LT_TSAN
#define LT_SEEN __attribute__((noinline))
#else
#define LT_SEEN inline
#endif

/* Prefetches the third ready party, and some of the second one's stack: the second itself is in the
 * cache, since it was the third before. */
LT_FETCHES void prefetch_next(const struct lt_party *first)
{
    enum { LINES = 5 };
    const struct lt_party *second = first ? first->next : NULL;
    if (LT_LIKELY(!second))
        return;
    __builtin_prefetch(second->next, 1);
    /* A number, since NULL has no neighbour. */
    __builtin_prefetch((void *)((uintptr_t)second->next + LT_CACHE_LINE), 1);
    if (second->kind == LT_TASK)
        lt_host_fetch(LT_CONTAINER(second, const struct lt_task, party), LINES);
}

/* Takes the first ready party off the list; `next` follows it. */
static inline void pop_ready(struct lt_worker *worker, struct lt_party *next)
{
    LT_SET_HINT(worker->ready_head, next);
    if (!next)
        worker->ready_end = &worker->ready_head;
    prefetch_next(next);
}

struct lt_party *lt_worker_next_ready(struct lt_worker *worker)
{
    struct lt_party *party = worker->ready_head;
    if (party)
        pop_ready(worker, party->next);
    return party;
}

/* Whether nothing waits for the scheduler: the global queue and the inbox are empty, there is no
 * nudge and no timer that is due or has moved, and it is not time to look at other workers. (In a
 * seeded world the scheduler sees every switch.) */
__attribute__((noinline)) static bool may_go_on(struct lt_worker *worker)
{
    if (lt_world() || lt_global_queue_any() || lt_worker_has_mail(worker) ||
        lt_worker_is_nudged(worker) || lt_shared_timers_have_moved(&worker->shared_timers) ||
        (worker->wheel.count && lt_wheel_is_due(&worker->wheel, lt_clock_now())) ||
        lt_reactor_is_due(&worker->reactor) || lt_duties_may_look(&worker->duties))
        return false;
    worker->direct_left = worker->duties.stride;
    lt_tally_add(&worker->tally.switches, worker->duties.stride);
    lt_tally_set(&worker->tally.timers, worker->wheel.count);
    return true;
}

/* The started task to switch to directly; NULL when the scheduler should look first. */
LT_INLINE struct lt_task *next_directly(struct lt_worker *worker)
{
    struct lt_party *party = worker->ready_head;
    if (!party || party->kind != LT_TASK || lt_local_queue_length(&worker->local_queue) != 0)
        return NULL;
    struct lt_party *next = party->next;
    if ((!next && lt_worker_has_mail(worker)) || (--worker->direct_left == 0 && !may_go_on(worker)))
        return NULL;
    pop_ready(worker, next);
    return LT_CONTAINER(party, struct lt_task, party);
}

LT_NO_TSAN static inline __attribute__((always_inline)) void
leave(struct lt_worker *worker, struct lt_task *task, struct lt_task *next)
{
    lt_now_running(worker, next);
    struct lt_fiber *fiber = &task->stack->fiber;
    lt_fiber_leave(fiber, next ? &next->stack->fiber : &worker->fiber, 0);
    lt_switch(&task->sp, next ? next->sp : worker->sp);
    lt_fiber_arrive(fiber, 0, NULL);
}

/* Not inlined, so that the fast path has no registers to save. */
SWITCHES LT_COLD static void leave_probed(struct lt_worker *worker, struct lt_task *task,
                                          struct lt_task *next)
{
    lt_observer->switches(worker, task, next);
    leave(worker, task, next);
}

/* Parks the task. Returns its home when it runs again. */
LT_NO_TSAN static inline __attribute__((always_inline)) struct lt_worker *
park(struct lt_worker *worker, struct lt_task *task)
{
    struct lt_task *next = next_directly(worker);
    if (next == task)
        return worker;
    int saved = *worker->errno_here;
    if (LT_UNLIKELY(lt_probing()))
        leave_probed(worker, task, next);
    else
        leave(worker, task, next);
    /* errno of the thread in which the task continues. A store that changes nothing would delay the
     * next task. */
    worker = lt_task_home(task);
    if (LT_UNLIKELY(*worker->errno_here != saved))
        *worker->errno_here = saved;
    return worker;
}

SWITCHES void lt_task_park_inside(struct lt_task *task)
{
    park(lt_task_home(task), task);
}

/* Under TSan, the parts that TSan must see stay outside the function that switches. Otherwise all
 * of it is one function. */
#ifdef LT_TSAN
#define PARK(worker, task) (lt_task_park_inside(task), lt_task_home(task))
#else
#define PARK(worker, task) park(worker, task)
#endif

void lt_task_park(struct lt_task *task)
{
    struct lt_worker *worker = lt_task_home(task);
    lt_worker_go_in(worker);
    worker = PARK(worker, task);
    lt_worker_go_out(worker);
}

int lt_task_yield(struct lt_worker *worker, struct lt_task *task)
{
    lt_worker_go_in(worker);
    lt_worker_append_inside(worker, &task->party);
    worker = PARK(worker, task);
    lt_worker_go_out(worker);
    return 0;
}

SWITCHES void lt_host_hold_up(struct lt_task *task)
{
    struct lt_fiber *fiber = &task->stack->fiber;
    struct lt_worker *worker = lt_task_home(task);
    int saved = *worker->errno_here;
    if (LT_UNLIKELY(lt_probing()))
        lt_observer->switches(worker, task, NULL);
    lt_set_current_party(&lt_current()->thread.party);
    lt_fiber_leave(fiber, &worker->fiber, 0);
    lt_switch(&task->sp, worker->sp);
    lt_fiber_arrive(fiber, 0, NULL);
    *worker->errno_here = saved;
}

SWITCHES static void leave_for_good(struct lt_worker *worker, struct lt_stack *stack, bool pooled)
{
    lt_tally_add(&worker->tally.live, UINT64_MAX);
    struct lt_task *next = NULL;
    if (pooled) {
        lt_magazine_keep(&worker->magazine, stack);
        next = worker->pending ? NULL : next_directly(worker);
    } else {
        worker->ended = stack;
    }
    if (LT_UNLIKELY(lt_probing()))
        lt_observer->switches(worker, NULL, next);
    lt_now_running(worker, next);
    lt_fiber_leave(&stack->fiber, next ? &next->stack->fiber : &worker->fiber, 1);
    lt_switch_away(next ? next->sp : worker->sp);
}

/* The next unstarted task, if it is its turn and this stack can host it. */
static struct lt_task *next_unstarted(struct lt_worker *worker, bool pooled)
{
    if (worker->pending || (worker->started_last && worker->ready_head) || !pooled ||
        worker->direct_left <= 1)
        return NULL;
    struct lt_party *party = lt_local_queue_pop(&worker->local_queue);
    if (!party)
        return NULL;
    struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
    if (party->kind == LT_TASK && !task->stack) {
        worker->direct_left--;
        return task;
    }
    worker->pending = party;
    return NULL;
}

static inline __attribute__((always_inline)) void
begin_task(struct lt_worker *worker, struct lt_task *task, struct lt_stack *stack)
{
    lt_task_set_home(task, worker);
    task->stack = stack;
    worker->started_last = true;
    lt_tally_add(&worker->tally.started, 1);
    if (LT_UNLIKELY(lt_probing()))
        lt_observer->switches(worker, NULL, task);
    lt_now_running(worker, task);
}

/* Runs a task, outside, and frees its descriptor. Returns the worker on which the task ended,
 * inside. */
LT_SEEN static struct lt_worker *run(struct lt_worker *worker, struct lt_task *task)
{
    lt_worker_go_out(worker);
    int result = task->fn(task->arg);
    bool free = lt_kinds.task_ended(task, result);
    worker = lt_current_worker();
    if (LT_LIKELY(free))
        lt_slab_put(worker, task);
    lt_worker_go_in(worker);
    return worker;
}

SWITCHES static void host(void *first)
{
    struct lt_task *task = first;
    struct lt_worker *worker = lt_task_home(task);
    struct lt_stack *stack = task->stack;
    /* Read now: after a long wait of the task, the stack's header is no longer in the cache. */
    const bool pooled = lt_stack_pooled(stack);
    lt_fiber_arrive(&stack->fiber, 1, &worker->fiber);
    do {
        worker = run(worker, task);
        task = next_unstarted(worker, pooled);
        if (task)
            begin_task(worker, task, stack);
        else if (!worker->ready_head && lt_local_queue_length(&worker->local_queue) == 0)
            lt_worker_settle(worker); /* this may make a party ready */
    } while (task);
    leave_for_good(worker, stack, pooled);
}

SWITCHES void lt_host_start(struct lt_worker *worker, struct lt_task *task)
{
    struct lt_stack *stack = task->stack ? task->stack : lt_magazine_take(&worker->magazine);
    lt_tally_add(&worker->tally.live, 1);
    begin_task(worker, task, stack);
    lt_fiber_forget(stack->fiber.low, stack->fiber.size);
    lt_fiber_leave(&worker->fiber, &stack->fiber, 0);
    lt_switch_start(&worker->sp, lt_stack_top(stack), host, task);
    lt_fiber_arrive(&worker->fiber, 0, NULL);
}
