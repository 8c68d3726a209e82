#include "scope/deadline.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "sched/runtime.h"
#include "scope/cancel.h"

struct lt_deadline {
    struct lt_timer timer;
    struct lt_job add, remove;
    struct lt_worker *home;
    struct lt_lock lock; /* guards `scope` */
    leat_scope *scope;   /* NULL once it is being closed */
};

/* ---- of a task's scope ---- */

static void deadline_passed(struct lt_timer *timer)
{
    lt_scope_cancel(LT_CONTAINER(timer, leat_scope, timer), -ETIMEDOUT);
}

/* ---- of a thread's scope ---- */

static void remote_deadline_passed(struct lt_timer *timer)
{
    struct lt_deadline *remote = LT_CONTAINER(timer, struct lt_deadline, timer);
    lt_lock(&remote->lock);
    leat_scope *scope = remote->scope;
    if (scope)
        lt_scope_pin(scope);
    lt_unlock(&remote->lock);
    if (!scope)
        return;
    lt_scope_cancel(scope, -ETIMEDOUT);
    lt_scope_unpin(scope);
}

static void add(struct lt_job *job)
{
    struct lt_deadline *remote = LT_CONTAINER(job, struct lt_deadline, add);
    lt_worker_add_timer(remote->home, &remote->timer);
}

/* Runs after `add`: an inbox keeps its order, and so does a thief that empties it. */
static void remove_timer_and_free(struct lt_job *job)
{
    struct lt_deadline *remote = LT_CONTAINER(job, struct lt_deadline, remove);
    lt_wheel_remove(&remote->home->wheel, &remote->timer);
    lt_free(remote);
}

static bool set_remote(leat_scope *scope, int64_t deadline)
{
    struct lt_deadline *remote = lt_alloc(sizeof *remote);
    if (!remote)
        return false;
    remote->timer.deadline = deadline;
    remote->timer.fire = remote_deadline_passed;
    remote->add = (struct lt_job){ .party.kind = LT_JOB, .run = add, .place = LT_INSIDE };
    remote->remove =
        (struct lt_job){ .party.kind = LT_JOB, .run = remove_timer_and_free, .place = LT_INSIDE };
    remote->home = lt_any_worker();
    remote->scope = scope;
    scope->remote = remote;
    lt_worker_post(remote->home, &remote->add.party);
    return true;
}

/* ---- both ---- */

bool lt_deadline_set(leat_scope *scope, int64_t deadline)
{
    scope->deadline = deadline;
    if (deadline == LEAT_NEVER)
        return true;
    if (deadline <= lt_clock_now()) {
        lt_scope_cancel(scope, -ETIMEDOUT);
        return true;
    }
    struct lt_worker *worker = lt_worker_self();
    if (!worker)
        return set_remote(scope, deadline);
    scope->timer.deadline = deadline;
    scope->timer.fire = deadline_passed;
    scope->timer.owner = NULL;
    bool before = lt_worker_enter(worker);
    lt_worker_add_timer(worker, &scope->timer);
    lt_worker_leave(worker, before);
    return true;
}

void lt_deadline_clear(leat_scope *scope)
{
    struct lt_deadline *remote = scope->remote;
    if (!remote) {
        struct lt_worker *worker = scope->deadline == LEAT_NEVER ? NULL : lt_worker_self();
        if (!worker)
            return;
        bool before = lt_worker_enter(worker);
        lt_wheel_remove(&worker->wheel, &scope->timer);
        lt_worker_leave(worker, before);
        return;
    }
    lt_lock(&remote->lock);
    remote->scope = NULL;
    lt_unlock(&remote->lock);
    lt_worker_post(remote->home, &remote->remove.party);
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
