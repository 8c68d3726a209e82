/* shared_timer.h: timers that any thread may set, and any other may stop.
 *
 * A worker's own wheel is used only inside that worker. That makes sleeping cheap, but another
 * thread could not stop a timer there: it would stay linked until the worker has time. So the
 * user's timers are shared timers, in a second wheel of each worker, under a lock. Nearly always
 * that worker takes the lock, which is biased to it. A thread that holds the lock removes a shared
 * timer on the spot, so its memory may be gone as soon as lt_shared_timer_stop has returned true.
 *
 * One timer in the worker's own wheel, the anchor, stands for the earliest shared timer. When the
 * anchor fires, or when another thread has set an earlier timer, a job fires what is due. The job
 * runs from the ready list, in turn with everything else that the worker runs, so neither can
 * starve the other. If the functions it calls take long, the job is queued again and a thief runs
 * it: so two threads may fire the shared timers of one worker, but not the same timer.
 *
 * Invariants, under the lock:
 *  - A shared timer is set while `home` is not NULL: it is in that worker's wheel, or due and about
 *    to be fired. Taking it from there claims it, so it is fired or stopped, never both. `home` is
 *    NULL before `fire` is called.
 *  - Every shared timer in the wheel has its deadline at or after `next`, and the worker looks at
 *    the wheel by then: the anchor is set, or `moved` says that it has to be, or the job is queued.
 *
 * A shared timer may hold the runtime, from when it is set until it is stopped or its `fire` has
 * returned. No word that all workers share is written for that: each worker counts its own, and
 * leat_stop asks them all. A thief that fires such a timer holds the runtime itself meanwhile,
 * since `fire` may set shared timers of the thief's.
 *
 * The scheduler moves the anchor, since a thread that sets a shared timer may hold locks. A stop
 * leaves the anchor as it is, so that setting and stopping again and again moves it once. If the
 * worker itself has stopped some, it corrects the anchor before it sleeps. If other threads have,
 * the worker wakes by `next` once, in vain. */
#pragma once

#include "base/biased.h"
#include "base/wheel.h"
#include "sched/party.h"

struct lt_shared_timers;

struct lt_shared_timer {
    struct lt_timer timer;
    _Atomic(struct lt_shared_timers *) home; /* NULL: not set */
    bool due;                                /* out of the wheel, and about to be fired */
    bool holds;                              /* the runtime, while it is set or being fired */
    /* Called on a worker with no lock held. It may set the timer again. */
    void (*fire)(struct lt_shared_timer *timer);
};

struct lt_shared_timers {
    struct lt_biased lock; /* as old as the worker's memory: a stop may come late */
    bool called;           /* the job is queued */
    int64_t next;
    size_t holding; /* shared timers that hold the runtime */
    struct lt_wheel wheel;
    struct lt_node due;
    _Atomic bool moved;     /* the anchor has to be set for `next` */
    bool stopped;           /* only the worker uses it: it has stopped a timer, so the anchor may be
                         * early */
    struct lt_timer anchor; /* in the worker's own wheel, for the earliest */
    struct lt_job job;
};

/* All but the lock and the wheel must be zero. */
void lt_shared_timers_init(struct lt_shared_timers *timers, int64_t now);

/* Sets a shared timer that is not set; its `fire` and `holds` are. It goes to the current worker,
 * or to some worker if the thread is none. `deadline` is in ns; LEAT_NEVER practically never comes.
 * The caller holds the runtime, or keeps it from being stopped in another way. The result is for
 * lt_shared_timers_notify, as soon as no lock is held; the timer may have fired by then. */
struct lt_shared_timers *lt_shared_timer_set(struct lt_shared_timer *timer, int64_t deadline);

/* Inside the worker: sets the anchor for `next`, after a `look` for it or not.
 * lt_shared_timers_settle_all, called before the worker sleeps, does so if the anchor has to be
 * moved, or if the worker has stopped shared timers. */
void lt_shared_timers_update_anchor(struct lt_shared_timers *timers, bool look);
void lt_shared_timers_settle_all(struct lt_shared_timers *timers);

/* Sequentially consistent, like the store (which may be a thief's), against a worker that goes to
 * sleep. */
static inline bool lt_shared_timers_have_moved(struct lt_shared_timers *timers)
{
    return atomic_load_explicit(&timers->moved, memory_order_seq_cst);
}

static inline void lt_shared_timers_settle(struct lt_shared_timers *timers)
{
    if (LT_UNLIKELY(lt_shared_timers_have_moved(timers)))
        lt_shared_timers_update_anchor(timers, false);
}

/* Queues the worker's job, if lt_shared_timer_set has asked for that. Until then the runtime must
 * not be stopped. */
void lt_shared_timers_notify(struct lt_shared_timers *timers);

/* Stops a shared timer, from any thread. True: it was set, will not fire, and may be freed. False:
 * it is not set, or `fire` has been, is being or will be called. Not at the same time as an
 * lt_shared_timer_set of another thread, unless `fire` makes that call. */
bool lt_shared_timer_stop(struct lt_shared_timer *timer);

/* The number that have been fired, or are about to be, since the start. */
uint64_t lt_shared_timers_fired(struct lt_shared_timers *timers);

/* Whether one of them holds the runtime. */
bool lt_shared_timers_hold(struct lt_shared_timers *timers);

/* Whether the timer is set: certain only while the caller keeps others from changing that. */
static inline bool lt_shared_timer_is_set(struct lt_shared_timer *timer)
{
    return atomic_load_explicit(&timer->home, memory_order_relaxed) != NULL;
}
