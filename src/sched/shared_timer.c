#include "sched/shared_timer.h"

#include "base/clock.h"
#include "sched/current.h"
#include "sched/runtime.h"

#include <leat/base.h>

enum { FIRED_A_TURN = LT_OP_BUDGET }; /* shared timers, before others run */

static struct lt_worker *worker_of(struct lt_shared_timers *timers)
{
    return LT_CONTAINER(timers, struct lt_worker, shared_timers);
}

/* A thief visits only now and then, so the lock stays biased to the worker. */
static void lock(struct lt_shared_timers *timers)
{
    struct lt_worker *here = lt_current_worker();
    if (here == worker_of(timers))
        lt_biased_lock(&timers->lock, here);
    else
        lt_biased_visit(&timers->lock, here);
}

/* ---- when the worker looks next: inside ---- */

static void set_anchor(struct lt_shared_timers *timers, int64_t next)
{
    struct lt_worker *worker = worker_of(timers);
    lt_wheel_remove(&worker->wheel, &timers->anchor);
    if (next == LEAT_NEVER)
        return;
    timers->anchor.deadline = next;
    lt_worker_add_timer(worker, &timers->anchor);
}

void lt_shared_timers_update_anchor(struct lt_shared_timers *timers, bool look)
{
    atomic_store_explicit(&timers->moved, false, memory_order_relaxed);
    lock(timers);
    /* While some are due, `next` may call for help: see fire_due. */
    if (look && lt_list_empty(&timers->due))
        timers->next = lt_wheel_next(&timers->wheel);
    int64_t next = timers->next;
    lt_biased_unlock(&timers->lock);
    set_anchor(timers, next);
}

void lt_shared_timers_settle_all(struct lt_shared_timers *timers)
{
    bool stopped = timers->stopped;
    timers->stopped = false;
    if (stopped || lt_shared_timers_have_moved(timers))
        lt_shared_timers_update_anchor(timers, stopped);
}

/* With the lock held, and perhaps others: called when the anchor is too late for `next`. */
static void move_anchor(struct lt_shared_timers *timers)
{
    atomic_store_explicit(&timers->moved, true, memory_order_seq_cst);
    lt_worker_expect(worker_of(timers), timers->next);
}

/* With the lock held: true for the one caller that must queue the job. */
static bool claim_job(struct lt_shared_timers *timers)
{
    bool first = !timers->called;
    timers->called = true;
    return first;
}

static void anchor_fires(struct lt_timer *timer)
{
    struct lt_shared_timers *timers = LT_CONTAINER(timer, struct lt_shared_timers, anchor);
    lock(timers);
    bool first = claim_job(timers);
    lt_biased_unlock(&timers->lock);
    if (first)
        lt_ready(&timers->job.party);
}

/* ---- firing: on the worker ---- */

/* Called under the lock, with the timer out of the wheel. It is fired later, without the lock. */
static void becomes_due(struct lt_timer *timer)
{
    struct lt_shared_timer *shared = LT_CONTAINER(timer, struct lt_shared_timer, timer);
    /* Relaxed: a thread that sees it set takes the lock before it believes it. */
    struct lt_shared_timers *timers = atomic_load_explicit(&shared->home, memory_order_relaxed);
    shared->due = true;
    lt_list_append(&timers->due, &timer->node);
}

/* With the lock held: takes the first timer that is due, and so claims it; NULL if none is. */
static struct lt_shared_timer *take_due(struct lt_shared_timers *timers)
{
    if (lt_list_empty(&timers->due))
        return NULL;
    struct lt_shared_timer *timer =
        LT_CONTAINER(timers->due.next, struct lt_shared_timer, timer.node);
    lt_list_remove(&timer->timer.node);
    atomic_store_explicit(&timer->home, NULL, memory_order_relaxed);
    return timer;
}

/* With the lock held: the worker looks at the wheel by `next`. */
static void set_next(struct lt_shared_timers *timers, int64_t next)
{
    timers->next = next;
    if (next != LEAT_NEVER)
        move_anchor(timers);
}

/* A thief holds the runtime meanwhile: the function that it calls may set shared timers of the
 * thief's, and leat_stop may already have asked the thief. */
static void fire(struct lt_shared_timer *timer, bool hold)
{
    bool held = hold && lt_runtime_hold();
    timer->fire(timer);
    if (held)
        lt_runtime_release();
}

static void fire_due(struct lt_job *job)
{
    struct lt_shared_timers *timers = LT_CONTAINER(job, struct lt_shared_timers, job);
    struct lt_worker *home = worker_of(timers);
    bool steals = lt_current_worker() != home;
    struct lt_shared_timer *timer;
    lock(timers);
    timers->called = false;
    int64_t now = lt_clock_now();
    lt_wheel_advance(&timers->wheel, now);
    /* Queued before anything is fired, which may take long: a thief then fires the other timers
     * that are due, and later ones. */
    bool several = timers->due.next != timers->due.prev;
    set_next(timers, several ? now : lt_wheel_next(&timers->wheel));
    for (int fired = 0; fired < FIRED_A_TURN && (timer = take_due(timers)); fired++) {
        bool held = timer->holds;
        lt_biased_unlock(&timers->lock);
        /* The worker may sleep longer than until `next`, and this may take long. */
        if (steals)
            lt_worker_wake(home);
        fire(timer, held && steals);
        lock(timers);
        timers->holding -= held;
    }
    bool again = !lt_list_empty(&timers->due) && claim_job(timers);
    if (several)
        set_next(timers, lt_wheel_next(&timers->wheel));
    lt_biased_unlock(&timers->lock);
    if (again)
        lt_ready(&job->party);
    if (steals)
        lt_worker_wake(home);
}

void lt_shared_timers_init(struct lt_shared_timers *timers, int64_t now)
{
    timers->next = LEAT_NEVER;
    lt_wheel_init(&timers->wheel, now);
    lt_list_init(&timers->due);
    timers->anchor.fire = anchor_fires;
    timers->job = (struct lt_job){ .party.kind = LT_JOB, .run = fire_due };
}

/* ---- setting and stopping: anywhere ---- */

struct lt_shared_timers *lt_shared_timer_set(struct lt_shared_timer *timer, int64_t deadline)
{
    struct lt_worker *here = lt_current_worker();
    struct lt_shared_timers *timers = here ? &here->shared_timers : &lt_any_worker()->shared_timers;
    timer->timer.deadline = deadline == LEAT_NEVER ? LEAT_NEVER - 1 : deadline;
    timer->timer.fire = becomes_due;
    timer->timer.owner = NULL;
    timer->due = false;
    lt_biased_lock(&timers->lock, lt_current_worker());
    lt_wheel_add(&timers->wheel, &timer->timer);
    timers->holding += timer->holds;
    atomic_store_explicit(&timer->home, timers, memory_order_relaxed); /* as in becomes_due */
    bool earlier = deadline < timers->next, notify = false;
    if (earlier) {
        timers->next = deadline;
        notify = !here && claim_job(timers);
        if (here)
            move_anchor(timers);
    }
    lt_biased_unlock(&timers->lock);
    return notify ? timers : NULL;
}

void lt_shared_timers_notify(struct lt_shared_timers *timers)
{
    if (timers)
        lt_worker_post(worker_of(timers), &timers->job.party);
}

bool lt_shared_timer_stop(struct lt_shared_timer *timer)
{
    struct lt_shared_timers *timers;
    /* The timer may be fired and set again elsewhere before the lock is taken. Under the lock of
     * the worker that `home` names, `home` is certain. */
    while ((timers = atomic_load_explicit(&timer->home, memory_order_relaxed))) {
        lt_biased_lock(&timers->lock, lt_current_worker());
        bool here = atomic_load_explicit(&timer->home, memory_order_relaxed) == timers;
        if (here && timer->due)
            lt_list_remove(&timer->timer.node);
        else if (here)
            lt_wheel_remove(&timers->wheel, &timer->timer);
        if (here) {
            atomic_store_explicit(&timer->home, NULL, memory_order_relaxed);
            timers->holding -= timer->holds;
        }
        bool ours = worker_of(timers) == lt_current_worker();
        lt_biased_unlock(&timers->lock);
        if (ours)
            timers->stopped = true;
        if (here)
            return true;
    }
    return false;
}

uint64_t lt_shared_timers_fired(struct lt_shared_timers *timers)
{
    lock(timers);
    uint64_t fired = timers->wheel.fired;
    lt_biased_unlock(&timers->lock);
    return fired;
}

bool lt_shared_timers_hold(struct lt_shared_timers *timers)
{
    lt_biased_visit(&timers->lock, lt_current_worker());
    bool any = timers->holding > 0;
    lt_biased_unlock(&timers->lock);
    return any;
}
