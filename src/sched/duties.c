#include "sched/duties.h"

#include "base/clock.h"
#include "base/util.h"
#include "sched/nudge.h"
#include "sched/runtime.h"
#include "sched/steal.h"

#include <leat/base.h>

void lt_duties_begin(struct lt_worker *worker, int64_t now)
{
    worker->paced = now;
    worker->paced_from = lt_tally_get(&worker->tally.switches);
}

/* How many parties take that many us, but at least 1 and at most `most`. */
static unsigned parties_in(const struct lt_worker *worker, int64_t us, unsigned most)
{
    int64_t n = us * LEAT_US / worker->pace;
    return n < 1 ? 1 : n < most ? (unsigned)n : most;
}

static void keep_pace(struct lt_worker *worker, int64_t now)
{
    int64_t done = (int64_t)(lt_tally_get(&worker->tally.switches) - worker->paced_from);
    int64_t pace = (now - worker->paced) / (done > 0 ? done : 1) + 1;
    /* A few fast parties do not show that the next one is fast. */
    if (pace > worker->pace || done >= LT_DIRECT_SWITCHES) {
        worker->pace = pace;
        worker->stride = parties_in(worker, LT_VISIT_US, LT_DIRECT_SWITCHES);
        worker->direct_left = worker->stride;
        lt_duties_begin(worker, now);
    }
    worker->until_look = (int)parties_in(worker, LT_LATE_US, LT_LOOKS_APART);
}

/* False: this time only the cheap clock was read, which has not advanced. */
bool lt_duties_look_is_due(struct lt_worker *worker)
{
    if (worker->stride < LT_DIRECT_SWITCHES || worker->unlooked >= LT_TICKS_APART ||
        worker->tick != lt_clock_tick())
        return true;
    worker->unlooked++;
    worker->until_look = LT_LOOKS_APART;
    return false;
}

static void look_at_the_clock(struct lt_worker *worker)
{
    worker->until_look = LT_LOOKS_APART;
    worker->unlooked = 0;
    worker->tick = lt_clock_tick();
    int64_t now = lt_clock_now();
    keep_pace(worker, now);
    if (now - worker->looked >= LT_LATE_US * LEAT_US)
        lt_look_after_others(worker, now);
}

static void fire_timers(struct lt_worker *worker)
{
    worker->timed_at = lt_tally_get(&worker->tally.switches);
    int64_t now = lt_clock_now();
    lt_wheel_advance(&worker->wheel, now);
    lt_tally_set(&worker->tally.timers, worker->wheel.count);
    if (LT_HINT(worker->next_timer) <= now)
        LT_SET_HINT(worker->next_timer, lt_wheel_not_before(&worker->wheel));
}

void lt_duties_see_to(struct lt_worker *worker)
{
    worker->direct_left = worker->stride;
    lt_worker_drain(worker);
    lt_worker_look_at_nudges(worker);
    lt_shared_timers_settle(&worker->shared_timers);
    if (worker->wheel.count &&
        lt_tally_get(&worker->tally.switches) - worker->timed_at >= worker->stride)
        fire_timers(worker);
    if (lt_reactor_is_due(&worker->reactor))
        lt_reactor_look(worker);
    if (LT_UNLIKELY(worker->until_look <= 0) && lt_duties_look_is_due(worker))
        look_at_the_clock(worker);
}

int64_t lt_duties_next_timer(struct lt_worker *worker)
{
    /* When the worker wakes it looks at once. */
    worker->timed_at = lt_tally_get(&worker->tally.switches) - worker->stride;
    lt_shared_timers_settle_all(&worker->shared_timers);
    int64_t due = lt_wheel_next(&worker->wheel), least = worker->rung + worker->rest;
    return due < least ? least : due;
}

void lt_duties_woke_for_timer(struct lt_worker *worker, int64_t now)
{
    const int64_t least = LT_NAP_LEAST_US * LEAT_US;
    uint64_t fired = worker->wheel.fired + lt_shared_timers_fired(&worker->shared_timers);
    bool thick = (int64_t)(fired - worker->fired) * least >= LT_NAP_THICK * (now - worker->rung);
    worker->rest = thick ? LT_NAP_MOST_US * LEAT_US : least;
    worker->fired = fired;
    worker->rung = now;
}
