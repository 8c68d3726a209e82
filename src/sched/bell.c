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

/* A thief only visits: the lock stays biased to the worker. */
static void lock(struct lt_bells *bells)
{
    struct lt_worker *here = lt_worker_here();
    if (here == worker_of(bells))
        lt_biased_lock(&bells->lock, here);
    else
        lt_biased_visit(&bells->lock, here);
}

/* ---- when the worker looks next: inside ---- */

static void set_clapper(struct lt_bells *bells, int64_t next)
{
    struct lt_worker *worker = worker_of(bells);
    lt_wheel_remove(&worker->wheel, &bells->clapper);
    if (next == LEAT_NEVER)
        return;
    bells->clapper.deadline = next;
    lt_worker_add_timer(worker, &bells->clapper);
}

static void settle(struct lt_bells *bells, bool look)
{
    atomic_store_explicit(&bells->moved, false, memory_order_relaxed);
    lock(bells);
    if (look)
        bells->next = lt_wheel_next(&bells->wheel);
    int64_t next = bells->next;
    lt_biased_unlock(&bells->lock);
    set_clapper(bells, next);
}

void lt_bells_settle_moved(struct lt_bells *bells)
{
    settle(bells, false);
}

void lt_bells_settle_all(struct lt_bells *bells)
{
    bool stopped = bells->stopped;
    bells->stopped = false;
    if (stopped || lt_bells_have_moved(bells))
        settle(bells, stopped);
}

/* With the lock held, perhaps among others: the clapper is too late for `next`. */
static void move_clapper(struct lt_bells *bells)
{
    atomic_store_explicit(&bells->moved, true, memory_order_seq_cst);
    lt_worker_expect(worker_of(bells), bells->next);
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
    lock(bells);
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

/* With the lock held. */
static void look_next(struct lt_bells *bells, int64_t next)
{
    bells->next = next;
    if (next != LEAT_NEVER)
        move_clapper(bells);
}

/* What a thief rings may set bells of the thief's, whom leat_stop may have asked before. */
static void ring(struct lt_bell *bell, bool hold)
{
    bool held = hold && lt_runtime_hold();
    bell->ring(bell);
    if (held)
        lt_runtime_release();
}

static void ring_due(struct lt_job *job)
{
    struct lt_bells *bells = LT_CONTAINER(job, struct lt_bells, job);
    struct lt_worker *home = worker_of(bells);
    bool steals = lt_worker_here() != home;
    struct lt_bell *bell;
    lock(bells);
    bells->called = false;
    int64_t now = lt_clock_now();
    lt_wheel_advance(&bells->wheel, now);
    /* Before anything is rung, which may take long: a thief rings the others that are due, and those that come next. */
    bool several = bells->due.next != bells->due.prev;
    look_next(bells, several ? now : lt_wheel_next(&bells->wheel));
    for (int rings = 0; rings < RINGS_A_TURN && (bell = take_due(bells)); rings++) {
        bool held = bell->holds;
        lt_biased_unlock(&bells->lock);
        ring(bell, held && steals);
        lock(bells);
        bells->holding -= held;
    }
    bool again = !lt_list_empty(&bells->due) && call(bells);
    if (several)
        look_next(bells, lt_wheel_next(&bells->wheel));
    lt_biased_unlock(&bells->lock);
    if (again)
        lt_ready(&job->party);
    if (steals)
        lt_worker_wake_sleeping(home);
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
    struct lt_worker *here = lt_worker_here();
    struct lt_bells *bells = here ? &here->bells : &lt_any_worker()->bells;
    bell->timer.deadline = deadline == LEAT_NEVER ? LEAT_NEVER - 1 : deadline;
    bell->timer.fire = is_due;
    bell->timer.owner = NULL;
    bell->due = false;
    lt_biased_lock(&bells->lock, lt_worker_here());
    lt_wheel_add(&bells->wheel, &bell->timer);
    bells->holding += bell->holds;
    atomic_store_explicit(&bell->home, bells, memory_order_relaxed); /* as in is_due */
    bool earlier = deadline < bells->next, tell = false;
    if (earlier) {
        bells->next = deadline;
        tell = !here && call(bells);
        if (here)
            move_clapper(bells);
    }
    lt_biased_unlock(&bells->lock);
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
        lt_biased_lock(&bells->lock, lt_worker_here());
        bool here = atomic_load_explicit(&bell->home, memory_order_relaxed) == bells;
        if (here && bell->due)
            lt_list_remove(&bell->timer.node);
        else if (here)
            lt_wheel_remove(&bells->wheel, &bell->timer);
        if (here) {
            atomic_store_explicit(&bell->home, NULL, memory_order_relaxed);
            bells->holding -= bell->holds;
        }
        bool ours = worker_of(bells) == lt_worker_here();
        lt_biased_unlock(&bells->lock);
        if (ours)
            bells->stopped = true;
        if (here)
            return true;
    }
    return false;
}

uint64_t lt_bells_fired(struct lt_bells *bells)
{
    lock(bells);
    uint64_t fired = bells->wheel.fired;
    lt_biased_unlock(&bells->lock);
    return fired;
}

bool lt_bells_hold(struct lt_bells *bells)
{
    lt_biased_visit(&bells->lock, lt_worker_here());
    bool any = bells->holding > 0;
    lt_biased_unlock(&bells->lock);
    return any;
}
