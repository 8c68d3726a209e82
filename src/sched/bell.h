/* bell.h: timers that any thread may set, and any other may stop.
 *
 * A worker's own wheel is nobody else's, which makes sleeping cheap and stopping from elsewhere impossible:
 * the timer would stay linked in there until its worker has time. So timers that are handed out to users
 * are bells, and hang in a second wheel of each worker, under a lock. It is taken by that worker almost
 * always, and is biased to it; and who holds it takes a bell out on the spot, which may be gone the
 * moment lt_bell_stop has said true.
 *
 * One timer in the worker's own wheel, the clapper, stands for the earliest bell. When its time comes, or
 * when another thread has hung an earlier one, a job rings what is due: from the run queue, in turn
 * with everything else that the worker runs, so neither can starve the other. Should what it rings take long, a thief
 * runs the job when it comes again, beside the first: so two may ring the bells of one worker, but not the same bell.
 *
 * Invariants, under the lock:
 *  - A bell is set while `home` says so: it is in that worker's wheel, or due and about to be rung. Taking
 *    it from there is the claim, so a bell is rung or stopped, never both. `home` is NULL before the ring.
 *  - Every bell in the wheel has its deadline at or after `next`, and the worker looks at the wheel by
 *    then: the clapper is set, or is to be, which `moved` says, or the job is queued.
 *
 * A bell may hold the runtime, from when it is set until it is stopped or what it rings has returned. That costs
 * nothing that all workers share: each counts its own, and leat_stop asks them all. A thief that rings such a bell holds the
 * runtime itself meanwhile, since what it rings may set bells of the thief's.
 *
 * The clapper is moved by the scheduler, not by who sets a bell, and may hold locks. A bell that is stopped leaves the
 * clapper as it is, so that setting one and stopping it in time, again and again, moves it once. Before the worker
 * sleeps it sets it right if it has stopped some itself. After what others stop it wakes by `next`, once, for nothing. */
#ifndef LT_SCHED_BELL_H
#define LT_SCHED_BELL_H

#include "base/biased.h"
#include "base/wheel.h"
#include "sched/party.h"

struct lt_bells;

struct lt_bell {
    struct lt_timer timer;
    _Atomic(struct lt_bells *) home;    /* NULL: not set */
    bool due;                           /* out of the wheel, and about to be rung */
    bool holds;                         /* the runtime, while it is set or being rung */
    void (*ring)(struct lt_bell *bell); /* on a worker, with no lock held; may set the bell again */
};

struct lt_bells {
    struct lt_biased lock; /* as old as the worker's memory: who stops a bell may be late */
    bool called;           /* the job is queued */
    int64_t next;
    size_t holding; /* bells that hold the runtime */
    struct lt_wheel wheel;
    struct lt_node due;
    _Atomic bool moved; /* the clapper is to be set for `next` */
    bool
        stopped; /* the worker, whose word this is, has stopped a bell: the clapper may be too early */
    struct lt_timer clapper; /* inside, see sched/worker.h */
    struct lt_job job;
};

/* All but the lock is zero. */
void lt_bells_init(struct lt_bells *bells, int64_t now);

/* Sets a bell that is not set, and whose `ring` and `holds` are; LEAT_NEVER is as good as never. On a worker it
 * hangs with that one, else with some. The runtime is held meanwhile. What this returns is for lt_bells_tell, as soon as
 * no lock is held; the bell may have rung by then. */
struct lt_bells *lt_bell_set(struct lt_bell *bell, int64_t deadline);

/* Inside the worker: moves the clapper if it is to be. The second also after bells were stopped: before it sleeps. */
void lt_bells_settle_moved(struct lt_bells *bells);
void lt_bells_settle_all(struct lt_bells *bells);

/* Sequentially consistent, as its store by a thief, against the worker's going to sleep. */
static inline bool lt_bells_have_moved(struct lt_bells *bells)
{
    return atomic_load_explicit(&bells->moved, memory_order_seq_cst);
}

static inline void lt_bells_settle(struct lt_bells *bells)
{
    if (LT_UNLIKELY(lt_bells_have_moved(bells)))
        lt_bells_settle_moved(bells);
}

/* Has the worker look, if it must be told: not with NULL. Until then the runtime must not be stopped. */
void lt_bells_call(struct lt_bells *bells);

static inline void lt_bells_tell(struct lt_bells *bells)
{
    if (bells)
        lt_bells_call(bells);
}

/* Takes a bell back, from any thread. True: it was set, will not ring, and may be gone. False: it is not
 * set, or `ring` has been, is being or will be called. Not at the same time as the lt_bell_set of another
 * thread, unless that is called by `ring`. */
bool lt_bell_stop(struct lt_bell *bell);

/* How many have been rung, or are about to be, ever. */
uint64_t lt_bells_fired(struct lt_bells *bells);

/* Whether one of them holds the runtime. */
bool lt_bells_hold(struct lt_bells *bells);

/* Whether it is set: to be relied on only by who keeps others from changing it. */
static inline bool lt_bell_is_set(struct lt_bell *bell)
{
    return atomic_load_explicit(&bell->home, memory_order_relaxed) != NULL;
}

#endif
