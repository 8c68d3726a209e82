#include "sched/takeover.h"

#include "base/clock.h"
#include "base/gap.h"
#include "sched/steal.h"
#include "sched/worker.h"

/* Only the worker sets the word, and a waker that reads an old value loses nothing. */
static void let_take_over(struct lt_worker *worker, bool may)
{
    LT_SET_HINT(worker->activity.was_brief, may);
}

/* Modulo 2^32. The switches as of the last look of its scheduler. */
static uint32_t operations(const struct lt_worker *worker)
{
    return (uint32_t)lt_tally_get(&worker->tally.switches) +
           lt_worker_spent(worker->budgets, worker->budget);
}

static void begin_activity(struct lt_worker *worker, int64_t now)
{
    worker->activity.operations = operations(worker);
    worker->activity.resumed = now;
}

/* Whether its parties did little but talk. */
static bool has_talked(const struct lt_worker *worker, int64_t dry)
{
    int64_t time = dry - worker->activity.resumed;
    uint32_t done = operations(worker) - worker->activity.operations;
    return time < LT_BRIEF_NS && (time < LT_SLOW_NS || time < LT_TALK_NS * (int64_t)done);
}

static bool look_for_news(struct lt_worker *worker)
{
    bool news = false;
    for (unsigned left = lt_spin_looks(&worker->spin); left > 0 && !news; left--) {
        lt_spin_wait(&worker->spin);
        news = lt_worker_has_news(worker);
    }
    lt_spin_learn(&worker->spin, news);
    return news || lt_worker_has_news(worker);
}

static bool look_from_away(struct lt_worker *worker)
{
    let_take_over(worker, true);
    lt_owned_go_away(&worker->own);
    lt_gap();
    bool news = look_for_news(worker);
    lt_owned_come_back(&worker->own);
    let_take_over(worker, false);
    return news;
}

bool lt_takeover_look(struct lt_worker *worker, int64_t dry)
{
    if (!dry)
        return look_for_news(worker);
    bool news = has_talked(worker, dry) ? look_from_away(worker) : look_for_news(worker);
    if (news)
        begin_activity(worker, lt_clock_now());
    return news;
}

void lt_takeover_begin_sleep(struct lt_worker *worker, int64_t dry)
{
    let_take_over(worker, dry - worker->activity.woke < LT_BRIEF_NS);
}

void lt_takeover_end_sleep(struct lt_worker *worker)
{
    let_take_over(worker, false);
    begin_activity(worker, worker->activity.woke);
}

/* Inside the idle worker, which published this before it slept, and may sleep for long: dumps and
 * the search for deadlocks read it. (If another thread sets an earlier shared timer meanwhile, it
 * wakes the worker, too.) */
static void publish_timers(struct lt_worker *idle)
{
    if (lt_tally_get(&idle->tally.timers) == idle->wheel.count)
        return;
    lt_tally_set(&idle->tally.timers, idle->wheel.count);
    LT_SET_HINT(idle->next_timer, lt_wheel_next(&idle->wheel));
}

bool lt_takeover(struct lt_worker *waker, struct lt_worker *idle, struct lt_party *party)
{
    if (!LT_HINT(idle->activity.was_brief) || lt_steal_stays(idle, party))
        return false;
    bool before = lt_worker_enter(waker), moved = false;
    bool several_wait = waker->ready_head && waker->ready_head->next;
    lt_gap();
    if (!several_wait && lt_owned_visit(&idle->own)) {
        moved = lt_steal_move(party, idle, waker);
        publish_timers(idle);
        lt_owned_end_visit(&idle->own, false);
    }
    if (moved) {
        lt_worker_append_inside(waker, party);
        lt_tally_add(&waker->tally.moved, 1);
    }
    lt_worker_leave(waker, before);
    return moved;
}
