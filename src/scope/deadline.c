/* deadline.c: the deadlines of scopes.
 *
 * A task's scope has its timer in the wheel of that task's worker. A thread's scope has a shared
 * timer (sched/shared_timer.h). If the timer is about to be fired when the scope closes, the opener
 * pins the scope, and waits until the timer has fired. While the thread itself waits, it looks
 * after its scopes' deadlines. */
#include "scope/scope.h"

#include "base/clock.h"
#include "sched/current.h"

/* ---- a task's scope ---- */

static void deadline_passed(struct lt_timer *timer)
{
    lt_scope_cancel(LT_CONTAINER(timer, leat_scope, timer.timer), -ETIMEDOUT);
}

/* ---- a thread's scope ---- */

/* Called by the timer when it has fired, and by the opener: the later one gives the opener's pin
 * back. */
static void leave_timer(leat_scope *scope)
{
    /* Acquire and release: the one that comes later sees what the other has done. */
    if (atomic_exchange_explicit(&scope->timer_left, true, memory_order_acq_rel))
        lt_scope_unpin(scope);
}

static void shared_deadline_passed(struct lt_shared_timer *timer)
{
    leat_scope *scope = LT_CONTAINER(timer, leat_scope, timer);
    lt_scope_cancel(scope, -ETIMEDOUT);
    leave_timer(scope);
}

/* ---- both ---- */

void lt_deadline_set(leat_scope *scope, int64_t deadline)
{
    struct lt_worker *worker = lt_current_worker();
    scope->deadline = deadline;
    if (deadline == LEAT_NEVER)
        return;
    if (deadline <= lt_clock_now()) {
        lt_scope_cancel(scope, -ETIMEDOUT);
        return;
    }
    if (!worker) {
        scope->timer.fire = shared_deadline_passed;
        lt_shared_timers_notify(lt_shared_timer_set(&scope->timer, deadline));
        return;
    }
    scope->timer.timer.deadline = deadline;
    scope->timer.timer.fire = deadline_passed;
    scope->timer.timer.owner = NULL;
    bool before = lt_worker_enter(worker);
    lt_worker_add_timer(worker, &scope->timer.timer);
    lt_worker_leave(worker, before);
}

void lt_deadline_clear(leat_scope *scope)
{
    struct lt_worker *worker = lt_current_worker();
    if (worker && scope->deadline != LEAT_NEVER) {
        bool before = lt_worker_enter(worker);
        lt_wheel_remove(&worker->wheel, &scope->timer.timer);
        lt_worker_leave(worker, before);
    } else if (scope->timer.fire && !lt_shared_timer_stop(&scope->timer)) {
        lt_scope_pin(scope);
        leave_timer(scope);
    }
}

int64_t lt_deadline_attend(const struct lt_party *thread)
{
    int64_t next = LEAT_NEVER;
    for (leat_scope *s = thread->scope; s && s->opener == thread; s = s->around) {
        if (s->deadline == LEAT_NEVER || lt_scope_is_cancelled(s))
            continue;
        if (s->deadline <= lt_clock_now())
            lt_scope_cancel(s, -ETIMEDOUT);
        else if (s->deadline < next)
            next = s->deadline;
    }
    return next;
}
