#include "sched/bell.h"

#include "base/clock.h"
#include "sched/here.h"
#include "sched/runtime.h"

#include <leat/base.h>

enum { RINGS_A_TURN = LT_OP_BUDGET }; /* before others run */

static struct lt_worker *worker_of(struct lt_bells *bells)
{
    return LT_CONTAINER(bells, struct lt_worker, bells);
}

/* ---- when the worker looks next: on the worker ---- */

/* The clapper is the worker's alone, so this needs no lock. */
static void set_clapper(struct lt_bells *bells, int64_t next)
{
    struct lt_wheel *own = &worker_of(bells)->wheel;
    lt_wheel_remove(own, &bells->clapper);
    if (next == LEAT_NEVER)
        return;
    bells->clapper.deadline = next;
    lt_wheel_add(own, &bells->clapper);
}

/* With the lock held: true for the one caller who must queue the job. */
static bool call(struct lt_bells *bells)
{
    bool first = !bells->called;
    bells->called = true;
    return first;
}

static void clapper_strikes(struct lt_timer *timer)
{
    struct lt_bells *bells = LT_CONTAINER(timer, struct lt_bells, clapper);
    lt_biased_lock(&bells->lock, lt_here.worker);
    bool first = call(bells);
    lt_biased_unlock(&bells->lock);
    if (first)
        lt_ready(&bells->job.party);
}

/* ---- ringing: on the worker ---- */

/* Under the lock, out of the wheel: rung later, without it. */
static void is_due(struct lt_timer *timer)
{
    struct lt_bell *bell = LT_CONTAINER(timer, struct lt_bell, timer);
    /* Relaxed: who sees it set takes the lock before believing it. */
    struct lt_bells *bells = atomic_load_explicit(&bell->home, memory_order_relaxed);
    bell->due = true;
    lt_list_append(&bells->due, &timer->node);
}

/* With the lock held: the first that is due, now its ringer's alone; or NULL. */
static struct lt_bell *take_due(struct lt_bells *bells)
{
    if (lt_list_empty(&bells->due))
        return NULL;
    struct lt_bell *bell = LT_CONTAINER(bells->due.next, struct lt_bell, timer.node);
    lt_list_remove(&bell->timer.node);
    atomic_store_explicit(&bell->home, NULL, memory_order_relaxed);
    return bell;
}

static void ring_due(struct lt_job *job)
{
    struct lt_bells *bells = LT_CONTAINER(job, struct lt_bells, job);
    struct lt_bell *bell;
    lt_biased_lock(&bells->lock, lt_here.worker);
    bells->called = false;
    lt_wheel_advance(&bells->wheel, lt_clock_now());
    for (int rings = 0; rings < RINGS_A_TURN && (bell = take_due(bells)); rings++) {
        bool held = bell->holds;
        lt_biased_unlock(&bells->lock);
        bell->ring(bell);
        lt_biased_lock(&bells->lock, lt_here.worker);
        bells->holding -= held;
    }
    bool again = !lt_list_empty(&bells->due) && call(bells);
    int64_t next = bells->next = lt_wheel_next(&bells->wheel);
    lt_biased_unlock(&bells->lock);
    set_clapper(bells, next);
    if (again)
        lt_ready(&job->party);
}

void lt_bells_settle(struct lt_bells *bells)
{
    if (!bells->stopped)
        return;
    bells->stopped = false;
    lt_biased_lock(&bells->lock, lt_here.worker);
    int64_t next = bells->next = lt_wheel_next(&bells->wheel);
    lt_biased_unlock(&bells->lock);
    set_clapper(bells, next);
}

void lt_bells_init(struct lt_bells *bells, int64_t now)
{
    bells->next = LEAT_NEVER;
    lt_wheel_init(&bells->wheel, now);
    lt_list_init(&bells->due);
    bells->clapper.fire = clapper_strikes;
    bells->job = (struct lt_job){ .party.kind = LT_JOB, .run = ring_due };
}

/* ---- setting and stopping: anywhere ---- */

struct lt_bells *lt_bell_set(struct lt_bell *bell, int64_t deadline)
{
    struct lt_worker *here = lt_here.worker;
    struct lt_bells *bells = here ? &here->bells : &lt_any_worker()->bells;
    bell->timer.deadline = deadline == LEAT_NEVER ? LEAT_NEVER - 1 : deadline;
    bell->timer.fire = is_due;
    bell->timer.owner = NULL;
    bell->due = false;
    lt_biased_lock(&bells->lock, lt_here.worker);
    lt_wheel_add(&bells->wheel, &bell->timer);
    bells->holding += bell->holds;
    atomic_store_explicit(&bell->home, bells, memory_order_relaxed); /* as in is_due */
    bool earlier = deadline < bells->next, tell = false;
    if (earlier) {
        bells->next = deadline;
        tell = !here && call(bells);
    }
    lt_biased_unlock(&bells->lock);
    if (earlier && here)
        set_clapper(bells, deadline);
    return tell ? bells : NULL;
}

void lt_bells_call(struct lt_bells *bells)
{
    lt_worker_post(worker_of(bells), &bells->job.party);
}

bool lt_bell_stop(struct lt_bell *bell)
{
    struct lt_bells *bells;
    /* It may be rung and set again, elsewhere, before the lock is had. With the lock of the one that it
     * says it hangs with, it is certain. */
    while ((bells = atomic_load_explicit(&bell->home, memory_order_relaxed))) {
        lt_biased_lock(&bells->lock, lt_here.worker);
        bool here = atomic_load_explicit(&bell->home, memory_order_relaxed) == bells;
        if (here && bell->due)
            lt_list_remove(&bell->timer.node);
        else if (here)
            lt_wheel_remove(&bells->wheel, &bell->timer);
        if (here) {
            atomic_store_explicit(&bell->home, NULL, memory_order_relaxed);
            bells->holding -= bell->holds;
        }
        bool ours = worker_of(bells) == lt_here.worker;
        lt_biased_unlock(&bells->lock);
        if (ours)
            bells->stopped = true;
        if (here)
            return true;
    }
    return false;
}

bool lt_bells_hold(struct lt_bells *bells)
{
    lt_biased_visit(&bells->lock, lt_here.worker);
    bool any = bells->holding > 0;
    lt_biased_unlock(&bells->lock);
    return any;
}
