/* timer.c: timers that call a function: each a shared timer, and a party that a scope can cancel.
 *
 * A party claims the timer by taking the shared timer out: the worker that fires it,
 * leat_timer_stop, or the scope's canceller. The others then see that it is not set. A timer with a
 * scope is put on the scope's list, set and cancelled under the scope's lock. So it sees a cancel
 * that came before, and a canceller that comes later finds it set. Order: a scope's lock before the
 * shared timers' locks. */
#include "time/time.h"

#include "base/clock.h"
#include "sched/current.h"
#include "sched/runtime.h"
#include "sched/shared_timer.h"
#include "scope/scope.h"

#include <leat/timer.h>

/* The contents of a timer's private words. */
struct timer {
    struct lt_stackless stackless;
    struct lt_shared_timer timer;
    int status;
    _Atomic bool taken; /* from when it is set until it is stopped, or its function is called */
};

_Static_assert(sizeof(struct timer) <= sizeof((leat_timer *)0)->leat_private,
               "fits the public struct");
_Static_assert(offsetof(leat_timer, leat_private) == 0, "one is the other's beginning");

static struct timer *timer_of(leat_timer *timer)
{
    return (struct timer *)(void *)timer;
}

/* ---- the end of a timer: by its claimer ---- */

static void leave(leat_scope *scope)
{
    if (scope)
        lt_scope_leave(scope, 0);
}

/* From here on another party may set the timer again. */
static void let_go(struct timer *t)
{
    /* Release: that party sees the timer off its scope's list. */
    atomic_store_explicit(&t->taken, false, memory_order_release);
}

/* Once its function has been called, the timer may be gone, or set again. */
static void finish(struct timer *t)
{
    leat_timer *timer = (leat_timer *)(void *)t;
    leat_scope *scope = t->stackless.party.scope;
    leat_timer_fn *fn = timer->leat_fn;
    int status = t->status;
    lt_scope_delist_stackless(&t->stackless);
    let_go(t);
    fn(timer, status);
    leave(scope);
}

static void fired(struct lt_shared_timer *timer)
{
    finish(LT_CONTAINER(timer, struct timer, timer));
}

static struct timer *of_party(struct lt_party *party)
{
    return LT_CONTAINER(party, struct timer, stackless.party);
}

void lt_user_timer_run(struct lt_party *party)
{
    finish(of_party(party));
}

bool lt_user_timer_end(struct lt_party *party, int reason)
{
    if (!lt_shared_timer_stop(&of_party(party)->timer))
        return false;
    of_party(party)->status = reason;
    return true;
}

int leat_timer_stop(leat_timer *timer)
{
    if (!timer)
        return -EINVAL;
    struct timer *t = timer_of(timer);
    if (!lt_shared_timer_stop(&t->timer))
        return -EALREADY;
    leat_scope *scope = t->stackless.party.scope;
    lt_scope_delist_stackless(&t->stackless);
    let_go(t);
    leave(scope);
    return 0;
}

/* ---- setting ---- */

/* Sets the words that leat_at_func reads before it writes the rest. */
int leat_timer_init(leat_timer *timer, leat_scope *scope)
{
    if (!timer)
        return -EINVAL;
    struct timer *t = timer_of(timer);
    t->stackless.party = (struct lt_party){ .kind = LT_TIMER };
    atomic_init(&t->timer.home, NULL);
    atomic_init(&t->taken, false);
    timer->scope = scope;
    return 0;
}

static void set_in_scope(struct timer *t, leat_scope *scope, int64_t deadline)
{
    struct lt_shared_timers *queued_on = NULL;
    lt_scope_enter(scope);
    lt_lock(&scope->lock);
    bool cancelled = lt_scope_is_cancelled(scope);
    lt_list_append(&scope->stackless, &t->stackless.member);
    t->stackless.party.listed = true;
    if (!cancelled)
        queued_on = lt_shared_timer_set(&t->timer, deadline);
    lt_unlock(&scope->lock);
    if (!cancelled) {
        lt_shared_timers_notify(queued_on);
        return;
    }
    t->status = -ECANCELED;
    lt_ready(&t->stackless.party);
}

/* On a worker, a party that waits for the caller holds the runtime. */
static bool set_alone(struct timer *t, int64_t deadline)
{
    bool outside = !lt_current_worker();
    if (outside && !lt_runtime_hold())
        return false;
    lt_shared_timers_notify(lt_shared_timer_set(&t->timer, deadline));
    if (outside)
        lt_runtime_release();
    return true;
}

int leat_at_func(leat_timer *timer, int64_t deadline, leat_timer_fn *fn)
{
    if (!timer || !fn || deadline < 0 || (!lt_current_worker() && !lt_running()))
        return -EINVAL;
    struct timer *t = timer_of(timer);
    /* Acquire: see let_go. */
    if (atomic_load_explicit(&t->taken, memory_order_acquire))
        return -EBUSY;
    atomic_store_explicit(&t->taken, true, memory_order_relaxed);
    t->stackless.party = (struct lt_party){ .kind = LT_TIMER, .scope = timer->scope };
    t->timer.fire = fired;
    t->timer.holds = !timer->scope;
    t->status = 0;
    timer->leat_fn = fn;
    if (timer->scope) {
        set_in_scope(t, timer->scope, deadline);
    } else if (!set_alone(t, deadline)) {
        let_go(t);
        return -EINVAL;
    }
    return 0;
}

int leat_after_func(leat_timer *timer, int64_t ns, leat_timer_fn *fn)
{
    return leat_at_func(timer, lt_clock_after(lt_clock_now(), ns), fn);
}
