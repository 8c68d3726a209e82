/* timer.c: timers that call a function: a bell, and a party whose scope can cancel it.
 *
 * Who takes the bell out, the worker to ring it, leat_timer_stop, or the scope's canceller, has claimed the
 * timer; the others see that it is not set. With a scope, it is put on the scope's list and set under the
 * scope's lock, and cancelled under it, so a canceller that comes first is seen and one that comes after
 * finds it set. Order: a scope before the bells. */
#include "base/clock.h"
#include "sched/bell.h"
#include "sched/here.h"
#include "sched/runtime.h"
#include "scope/scope.h"

#include <leat/time.h>
#include <leat/timer.h>

/* What a timer's private words hold. */
struct timer {
    struct lt_roamer roamer;
    struct lt_bell bell;
    int status;
};

_Static_assert(sizeof(struct timer) <= sizeof((leat_timer *)0)->leat_private,
               "fits the public struct");
_Static_assert(offsetof(leat_timer, leat_private) == 0, "one is the other's beginning");

static struct timer *inside(leat_timer *timer)
{
    return (struct timer *)(void *)timer;
}

/* ---- the end of it: by who has claimed it ---- */

static void delist(struct timer *t, leat_scope *scope)
{
    if (scope)
        lt_scope_delist_roamer(&t->roamer);
}

static void leave(leat_scope *scope)
{
    if (scope)
        lt_scope_leave(scope, 0);
}

/* The timer may be gone, or set again, once its function has been called. */
static void finish(struct timer *t)
{
    leat_timer *timer = (leat_timer *)(void *)t;
    leat_scope *scope = t->roamer.party.scope;
    delist(t, scope);
    timer->leat_fn(timer, t->status);
    leave(scope);
}

static void rang(struct lt_bell *bell)
{
    finish(LT_CONTAINER(bell, struct timer, bell));
}

static struct timer *of_party(struct lt_party *party)
{
    return LT_CONTAINER(party, struct timer, roamer.party);
}

static void run(struct lt_party *party)
{
    finish(of_party(party));
}

static bool cancel(struct lt_party *party, int reason)
{
    if (!lt_bell_stop(&of_party(party)->bell))
        return false;
    of_party(party)->status = reason;
    return true;
}

__attribute__((constructor)) static void introduce(void)
{
    lt_party_run[LT_TIMER] = run;
    lt_party_end[LT_TIMER] = cancel;
}

int leat_timer_stop(leat_timer *timer)
{
    if (!timer)
        return -EINVAL;
    struct timer *t = inside(timer);
    if (!lt_bell_stop(&t->bell))
        return -EALREADY;
    leat_scope *scope = t->roamer.party.scope;
    delist(t, scope);
    leave(scope);
    return 0;
}

/* ---- setting ---- */

/* What leat_at_func asks for before it writes all else. */
int leat_timer_init(leat_timer *timer, leat_scope *scope)
{
    if (!timer)
        return -EINVAL;
    struct timer *t = inside(timer);
    t->roamer.party = (struct lt_party){ .kind = LT_TIMER };
    atomic_init(&t->bell.home, NULL);
    timer->scope = scope;
    return 0;
}

static void set_in_scope(struct timer *t, leat_scope *scope, int64_t deadline)
{
    struct lt_bells *tell = NULL;
    lt_scope_enter(scope);
    lt_lock(&scope->lock);
    bool cancelled = lt_scope_is_cancelled(scope);
    if (!cancelled) {
        lt_list_append(&scope->roamers, &t->roamer.member);
        t->roamer.party.list = LT_IN_SCOPE;
        tell = lt_bell_set(&t->bell, deadline);
    }
    lt_unlock(&scope->lock);
    if (!cancelled) {
        lt_bells_tell(tell);
        return;
    }
    t->status = -ECANCELED;
    lt_ready(&t->roamer.party);
}

/* On a worker somebody who waits for the caller holds the runtime. */
static bool set_alone(struct timer *t, int64_t deadline)
{
    bool outside = !lt_worker_here();
    if (outside && !lt_runtime_hold())
        return false;
    lt_bells_tell(lt_bell_set(&t->bell, deadline));
    if (outside)
        lt_runtime_release();
    return true;
}

int leat_at_func(leat_timer *timer, int64_t deadline, leat_timer_fn *fn)
{
    if (!timer || !fn || deadline < 0 || (!lt_worker_here() && !lt_running()))
        return -EINVAL;
    struct timer *t = inside(timer);
    if (lt_bell_is_set(&t->bell) || t->roamer.party.list)
        return -EBUSY;
    t->roamer.party = (struct lt_party){ .kind = LT_TIMER, .scope = timer->scope };
    t->bell.ring = rang;
    t->bell.holds = !timer->scope;
    t->status = 0;
    timer->leat_fn = fn;
    if (timer->scope)
        set_in_scope(t, timer->scope, deadline);
    else if (!set_alone(t, deadline))
        return -EINVAL;
    return 0;
}

int leat_after_func(leat_timer *timer, int64_t ns, leat_timer_fn *fn)
{
    return leat_at_func(timer, lt_clock_after(lt_clock_now(), ns), fn);
}
