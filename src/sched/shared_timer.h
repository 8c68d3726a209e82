/* shared_timer.h: timers that any thread may set, and any other may stop.
 *
 * A worker's own wheel is nobody else's, which makes sleeping cheap and stopping from elsewhere impossible:
 * the timer would stay linked in there until its worker has time. So timers that are handed out to users
 * are shared timers, and hang in a second wheel of each worker, under a lock. It is taken by that worker almost
 * always, and is biased to it; and who holds it takes a shared timer out on the spot, which may be gone the
 * moment lt_shared_timer_stop has said true.
 *
 * One timer in the worker's own wheel, the anchor, stands for the earliest shared timer. When its time comes, or
 * when another thread has hung an earlier one, a job fires what is due: from the run queue, in turn
 * with everything else that the worker runs, so neither can starve the other. Should what it fires take long, a thief
 * runs the job when it comes again, beside the first: so two may fire the shared timers of one worker, but not the same shared timer.
 *
 * Invariants, under the lock:
 *  - A shared timer is set while `home` says so: it is in that worker's wheel, or due and about to be fired. Taking
 *    it from there is the claim, so a shared timer is fired or stopped, never both. `home` is NULL before `fire` is called.
 *  - Every shared timer in the wheel has its deadline at or after `next`, and the worker looks at the wheel by
 *    then: the anchor is set, or is to be, which `moved` says, or the job is queued.
 *
 * A shared timer may hold the runtime, from when it is set until it is stopped or what it fires has returned. That costs
 * nothing that all workers share: each counts its own, and leat_stop asks them all. A thief that fires such a shared timer holds the
 * runtime itself meanwhile, since what it fires may set shared timers of the thief's.
 *
 * The anchor is moved by the scheduler, not by who sets a shared timer, and may hold locks. A shared timer that is stopped leaves the
 * anchor as it is, so that setting one and stopping it in time, again and again, moves it once. Before the worker
 * sleeps it sets it right if it has stopped some itself. After what others stop it wakes by `next`, once, for nothing. */
#ifndef LT_SCHED_SHARED_TIMER_H
#define LT_SCHED_SHARED_TIMER_H

#include "base/biased.h"
#include "base/wheel.h"
#include "sched/party.h"

struct lt_shared_timers;

struct lt_shared_timer {
    struct lt_timer timer;
    _Atomic(struct lt_shared_timers *) home; /* NULL: not set */
    bool due;                                /* out of the wheel, and about to be fired */
    bool holds;                              /* the runtime, while it is set or being fired */
    void (*fire)(struct lt_shared_timer
                     *timer); /* on a worker, with no lock held; may set the shared timer again */
};

struct lt_shared_timers {
    struct lt_biased lock; /* as old as the worker's memory: who stops a shared timer may be late */
    bool called;           /* the job is queued */
    int64_t next;
    size_t holding; /* shared timers that hold the runtime */
    struct lt_wheel wheel;
    struct lt_node due;
    _Atomic bool moved; /* the anchor is to be set for `next` */
    bool
        stopped; /* the worker, whose word this is, has stopped a shared timer: the anchor may be too early */
    struct lt_timer anchor; /* inside, see sched/worker.h */
    struct lt_job job;
};

/* All but the lock is zero. */
void lt_shared_timers_init(struct lt_shared_timers *timers, int64_t now);

/* Sets a shared timer that is not set, and whose `fire` and `holds` are; LEAT_NEVER is as good as never. On a worker it
 * hangs with that one, else with some. The runtime is held meanwhile. What this returns is for lt_shared_timers_tell, as soon as
 * no lock is held; the shared timer may have fired by then. */
struct lt_shared_timers *lt_shared_timer_set(struct lt_shared_timer *timer, int64_t deadline);

/* Inside the worker: moves the anchor if it is to be. The second also after shared timers were stopped: before it sleeps. */
void lt_shared_timers_settle_moved(struct lt_shared_timers *timers);
void lt_shared_timers_settle_all(struct lt_shared_timers *timers);

/* Sequentially consistent, as its store by a thief, against the worker's going to sleep. */
static inline bool lt_shared_timers_have_moved(struct lt_shared_timers *timers)
{
    return atomic_load_explicit(&timers->moved, memory_order_seq_cst);
}

static inline void lt_shared_timers_settle(struct lt_shared_timers *timers)
{
    if (LT_UNLIKELY(lt_shared_timers_have_moved(timers)))
        lt_shared_timers_settle_moved(timers);
}

/* Has the worker look, if it must be told: not with NULL. Until then the runtime must not be stopped. */
void lt_shared_timers_call(struct lt_shared_timers *timers);

static inline void lt_shared_timers_tell(struct lt_shared_timers *timers)
{
    if (timers)
        lt_shared_timers_call(timers);
}

/* Takes a shared timer back, from any thread. True: it was set, will not fire, and may be gone. False: it is not
 * set, or `fire` has been, is being or will be called. Not at the same time as the lt_shared_timer_set of another
 * thread, unless that is called by `fire`. */
bool lt_shared_timer_stop(struct lt_shared_timer *timer);

/* How many have been fired, or are about to be, ever. */
uint64_t lt_shared_timers_fired(struct lt_shared_timers *timers);

/* Whether one of them holds the runtime. */
bool lt_shared_timers_hold(struct lt_shared_timers *timers);

/* Whether it is set: to be relied on only by who keeps others from changing it. */
static inline bool lt_shared_timer_is_set(struct lt_shared_timer *timer)
{
    return atomic_load_explicit(&timer->home, memory_order_relaxed) != NULL;
}

#endif
