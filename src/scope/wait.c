#include "scope/wait.h"

#include "base/clock.h"
#include "sched/probe.h"
#include "scope/scope.h"

int lt_wait_closed(const struct lt_party *self)
{
    /* Relaxed: a party that closed because of a mark had seen that mark, and the caller has held
     * the channel's lock after it. A scope's parent outlives the scope. */
    for (const leat_scope *scope = self->shields ? NULL : self->scope; scope; scope = scope->parent)
        if (lt_scope_is_cancelled(scope))
            return -ECANCELED;
    return -EPIPE;
}

bool lt_wait_end(struct lt_wait *wait, int result)
{
    if (wait->over || !wait->kind->withdraw || !wait->kind->withdraw(wait))
        return false;
    wait->over = true;
    wait->result = result;
    return true;
}

static void deadline_passed(struct lt_timer *timer)
{
    struct lt_wait *wait = LT_CONTAINER(timer, struct lt_wait, timer);
    if (lt_wait_end(wait, -ETIMEDOUT))
        lt_ready(wait->party);
}

int lt_wait_park_inside(struct lt_wait *wait, struct lt_task *task, int64_t deadline)
{
    if (deadline != LEAT_NEVER) {
        wait->timer.deadline = deadline;
        wait->timer.fire = deadline_passed;
        wait->timer.owner = task;
        lt_worker_add_timer(lt_task_home(task), &wait->timer);
    }
    task->party.wait = wait;
    lt_task_park_inside(task);
    task->party.wait = NULL;
    if (deadline != LEAT_NEVER)
        lt_wheel_remove(&lt_task_home(task)->wheel, &wait->timer);
    return wait->result;
}

int lt_wait_park_until(struct lt_wait *wait, struct lt_task *task, int64_t deadline)
{
    lt_worker_go_in(lt_task_home(task));
    int result = lt_wait_park_inside(wait, task, deadline);
    lt_worker_go_out(lt_task_home(task));
    return result;
}

/* The error that should end a thread's wait now, or 0. */
static int reason_to_end(const struct lt_party *self, int64_t deadline)
{
    int error = lt_wait_allowed(self);
    if (!error && deadline != LEAT_NEVER && lt_clock_now() >= deadline)
        error = -ETIMEDOUT;
    return error;
}

static void spin(struct lt_thread *thread)
{
    bool woken = false;
    for (unsigned left = lt_spin_looks(&thread->spin); left > 0 && !woken; left--) {
        lt_spin_wait(&thread->spin);
        woken = atomic_load_explicit(&thread->word, memory_order_relaxed) != 0;
    }
    lt_spin_learn(&thread->spin, woken);
}

static int sleep_through(struct lt_wait *wait, struct lt_thread *thread, int64_t deadline)
{
    for (spin(thread);;) {
        /* Acquire pairs with the waker's release. A nudge is cleared before the thread looks at its
         * scope: a later mark nudges again. */
        uint32_t word = atomic_fetch_and_explicit(&thread->word, ~(uint32_t)(LT_NUDGED | LT_ASLEEP),
                                                  memory_order_acquire);
        if (word & LT_WOKEN)
            return 0;
        int64_t next = lt_deadline_attend(&thread->party);
        int error =
            wait->over || !wait->kind->withdraw ? 0 : reason_to_end(&thread->party, deadline);
        if (error) {
            if (lt_wait_end(wait, error))
                return error;
            /* A partner was faster: its wake-up is on the way, and no other reason counts now. */
            wait->over = true;
        }
        if (!wait->over && deadline < next)
            next = deadline;
        lt_thread_sleep(thread, next);
    }
}

int lt_wait_park_thread(struct lt_wait *wait, struct lt_thread *thread, int64_t deadline)
{
    /* Relaxed: a dump reads only this word, while a lock or a pin keeps the thread from going. */
    if (LT_UNLIKELY(lt_probing() & LT_PROBE_WAITS))
        atomic_store_explicit(&thread->since, lt_clock_now(), memory_order_relaxed);
    int result = sleep_through(wait, thread, deadline);
    atomic_store_explicit(&thread->since, 0, memory_order_relaxed);
    return result;
}
