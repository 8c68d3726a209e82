#include "sched/duties.h"

#include "base/clock.h"
#include "base/util.h"
#include "sched/nudge.h"
#include "sched/runtime.h"
#include "sched/steal.h"

#include <leat/base.h>

void lt_duties_begin(struct lt_worker *worker, int64_t now)
{
    worker->duties.paced = now;
    worker->duties.paced_from = lt_tally_get(&worker->tally.switches);
}

/* How many parties take that many us, but at least 1 and at most `most`. */
static unsigned parties_in(const struct lt_duties *duties, int64_t us, unsigned most)
{
    int64_t n = us * LEAT_US / duties->pace;
    return n < 1 ? 1 : n < most ? (unsigned)n : most;
}

static void keep_pace(struct lt_worker *worker, int64_t now)
{
    struct lt_duties *duties = &worker->duties;
    int64_t done = (int64_t)(lt_tally_get(&worker->tally.switches) - duties->paced_from);
    int64_t pace = (now - duties->paced) / (done > 0 ? done : 1) + 1;
    /* A few fast parties do not show that the next one is fast. */
    if (pace > duties->pace || done >= LT_DIRECT_SWITCHES) {
        duties->pace = pace;
        duties->stride = parties_in(duties, LT_VISIT_US, LT_DIRECT_SWITCHES);
        worker->direct_left = duties->stride;
        lt_duties_begin(worker, now);
    }
    duties->until_look = (int)parties_in(duties, LT_LATE_US, LT_LOOKS_APART);
}

/* Whether it is time to look at the clock. A worker with fast parties mostly reads only the cheap
 * clock: if that has not advanced, it looks later. */
static bool look_is_due(struct lt_duties *duties)
{
    if (LT_LIKELY(duties->until_look > 0))
        return false;
    if (duties->stride < LT_DIRECT_SWITCHES || duties->unlooked >= LT_TICKS_APART ||
        duties->tick != lt_clock_tick())
        return true;
    duties->unlooked++;
    duties->until_look = LT_LOOKS_APART;
    return false;
}

bool lt_duties_may_look(struct lt_duties *duties)
{
    duties->until_look -= (int)duties->stride;
    return look_is_due(duties);
}

static void look_at_the_clock(struct lt_worker *worker)
{
    worker->duties.until_look = LT_LOOKS_APART;
    worker->duties.unlooked = 0;
    worker->duties.tick = lt_clock_tick();
    int64_t now = lt_clock_now();
    keep_pace(worker, now);
    if (now - worker->stealing.looked >= LT_LATE_US * LEAT_US)
        lt_look_after_others(worker, now);
}

static void fire_timers(struct lt_worker *worker)
{
    worker->duties.timed_at = lt_tally_get(&worker->tally.switches);
    int64_t now = lt_clock_now();
    lt_wheel_advance(&worker->wheel, now);
    lt_tally_set(&worker->tally.timers, worker->wheel.count);
    if (LT_HINT(worker->next_timer) <= now)
        LT_SET_HINT(worker->next_timer, lt_wheel_not_before(&worker->wheel));
}

void lt_duties_see_to(struct lt_worker *worker)
{
    worker->direct_left = worker->duties.stride;
    lt_worker_drain(worker);
    lt_worker_look_at_nudges(worker);
    lt_shared_timers_settle(&worker->shared_timers);
    if (worker->wheel.count &&
        lt_tally_get(&worker->tally.switches) - worker->duties.timed_at >= worker->duties.stride)
        fire_timers(worker);
    if (lt_reactor_is_due(&worker->reactor))
        lt_reactor_look(worker);
    if (look_is_due(&worker->duties))
        look_at_the_clock(worker);
}

int64_t lt_duties_next_timer(struct lt_worker *worker)
{
    /* When the worker wakes it looks at once. */
    worker->duties.timed_at = lt_tally_get(&worker->tally.switches) - worker->duties.stride;
    lt_shared_timers_settle_all(&worker->shared_timers);
    int64_t due = lt_wheel_next(&worker->wheel), least = worker->duties.rung + worker->duties.rest;
    return due < least ? least : due;
}

void lt_duties_woke_for_timer(struct lt_worker *worker, int64_t now)
{
    struct lt_duties *duties = &worker->duties;
    const int64_t least = LT_NAP_LEAST_US * LEAT_US;
    uint64_t fired = worker->wheel.fired + lt_shared_timers_fired(&worker->shared_timers);
    bool thick = (int64_t)(fired - duties->fired) * least >= LT_NAP_THICK * (now - duties->rung);
    duties->rest = thick ? LT_NAP_MOST_US * LEAT_US : least;
    duties->fired = fired;
    duties->rung = now;
}
