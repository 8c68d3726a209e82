/* worker.h: a worker: one OS thread that runs tasks. Each part of its struct belongs to the file
 * that defines the part's type.
 *
 * Its queues:
 *  - `ready`: started tasks, blocks and jobs, a plain list under `own`;
 *  - `local_queue`: tasks that have not started, open to thieves (sched/local_queue.h);
 *  - `inbox`: parties that other threads made ready for it: a stack, pushed by compare-and-swap,
 *    emptied whole by an exchange, and then reversed to keep the order.
 *
 * Locking. `own` (base/owned.h) guards the ready list, the wheel, `taken_nudges` and `running`. The
 * worker is inside while its scheduler works, over each switch of stacks, and wherever else it uses
 * these. It is outside while a user's function runs, and while it sleeps (but not in a ring) or
 * looks for news before that. So a visitor that gets in (sched/steal.h, sched/takeover.h) finds the
 * worker in one of these, which may take long, and all parties but the running one at rest. `own`
 * comes before every other lock.
 *
 * Invariants:
 *  - The timers of a task whose home this is, and of a block whose `timer_home` this is, are in
 *    this wheel.
 *  - A party whose wait is over may be moved, in the ready list, in the inbox or before it is in
 *    one of them. The running task and pinned tasks may not.
 *  - A party is in at most one of these queues.
 *  - `nudges` is a second such stack, not reversed, of tasks that stay where they are and are only
 *    looked at. The worker looks at some at a time; the rest stays in `taken_nudges`.
 *  - A thread that posts to the inbox wakes the worker if it sleeps. The worker stores `asleep`,
 *    and then looks at the inbox again: so one of the two sees the other.
 *  - A worker that is away from `own`, asleep or looking for news, hears of nothing that is added
 *    to its lists and its wheel. So a visitor takes something from it, but adds nothing. */
#pragma once

#include "base/owned.h"
#include "base/wheel.h"
#include "sched/duties.h"
#include "sched/idle.h"
#include "sched/kinds.h"
#include "sched/local_queue.h"
#include "sched/magazine.h"
#include "sched/reactor.h"
#include "sched/shared_timer.h"
#include "sched/slab.h"
#include "sched/steal.h"
#include "sched/takeover.h"
#include "sched/task.h"

#include <pthread.h>

/* A worker's counts of its own work, for dumps: written inside, read anywhere. A direct switch
 * counts nothing; the scheduler adds it when it looks. */
struct lt_tally {
    _Atomic uint64_t switches; /* times a task, a block or a callback began to run */
    _Atomic uint64_t started;  /* of these, tasks for the first time */
    _Atomic uint64_t received; /* parties made ready by other threads */
    _Atomic uint64_t stolen;   /* unstarted parties taken from other workers, */
    _Atomic uint64_t moved;    /* and started ones */
    _Atomic uint64_t live;     /* started tasks at home here that have not ended; written inside */
    _Atomic uint64_t sent;     /* unstarted tasks sent to it that have come; written inside */
    _Atomic uint64_t sleeps;   /* times it was about to sleep */
    _Atomic uint64_t timers, magazine; /* as of the last look */
};

/* For words that other threads read as a hint. Relaxed: most are written inside, and `own` orders
 * them. */
#define LT_HINT(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define LT_SET_HINT(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)

static inline void lt_tally_set(_Atomic uint64_t *count, uint64_t n)
{
    /* Relaxed: a number that orders nothing. */
    atomic_store_explicit(count, n, memory_order_relaxed);
}

static inline uint64_t lt_tally_get(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

static inline void lt_tally_add(_Atomic uint64_t *count, uint64_t n)
{
    lt_tally_set(count, lt_tally_get(count) + n);
}

/* Parts of `asleep`. How the worker sleeps: on this word; in a seeded world, where only the world's
 * threads may wake it; or in its epoll (sched/reactor.h). Whether a waker is in the middle of its
 * system call. The higher bits have the number of the sleep. */
enum {
    LT_SLEEPS = 1,
    LT_SECLUDED = 2,
    LT_SLEEPS_IN_EPOLL = 3,
    LT_HOW = 3,
    LT_CALLED = 4,
    LT_SLEEP_ONE = 8
};

/* Units of a scope that a worker has taken in advance: see scope/scope.h. Only it writes them. */
struct lt_taken_units {
    _Atomic(leat_scope *) of;
    _Atomic uint32_t count;
    uint32_t next; /* how many to take the next time */
};

struct lt_worker {
    struct lt_owned_lock own;
    /* Inside. */
    struct lt_party *ready_head, **ready_end; /* the head: a hint for thieves */
    int64_t next_timer; /* no timer is due before, shared ones included; or LEAT_NEVER: a hint */
    _Atomic(struct lt_task *) running; /* read outside only to be named, so relaxed */
    /* Only the owner uses these. */
    void *sp;              /* the scheduler's own stack, while a task runs */
    struct lt_fiber fiber; /* that stack, for the tools */
    int *errno_here;       /* the thread's errno */
    unsigned direct_left;  /* until inbox, nudges and timers are looked at; a hint for thieves */
    _Atomic(struct lt_task *) taken_nudges; /* nudges taken off the list and not looked at yet */
    unsigned budget;                        /* operations until a task yields, */
    uint32_t budgets;                       /* and budgets spent; hints for thieves */
    unsigned block_calls;                   /* on its stack, of leat_block_call */
    bool surplus;                           /* active beside others that keep all processors busy */
    bool started_last;        /* the last thing run was a task's start: a ready party is next */
    bool makes_room;          /* in its full local queue, for the global queue's parties */
    unsigned looks;           /* for an unstarted party */
    struct lt_party *pending; /* taken from the local queue, to start next */
    struct lt_stack *ended;   /* a stack to be unmapped once it has been left */
    struct lt_taken_units units;
    leat_scope *spare_scope; /* memory for the next scope, or NULL */
    struct lt_free_tasks free_tasks;
    struct lt_magazine magazine;
    struct lt_duties duties;
    struct lt_stealing stealing;
    struct lt_activity activity;
    struct lt_spin spin;    /* for news, before it sleeps */
    int64_t notified_until; /* as the watcher: see sched/idle.c */
    unsigned index;
    void *fault_stack; /* LT_FAULT_STACK bytes for sched/guard.h */
    pthread_t thread;
    struct lt_tally tally;                 /* read by others */
    struct lt_wheel wheel;                 /* inside */
    struct lt_shared_timers shared_timers; /* others write, too: see sched/shared_timer.h */

    struct lt_local_queue local_queue;

    /* Other threads write these. */
    _Alignas(LT_CACHE_LINE) _Atomic(struct lt_party *) inbox;
    _Atomic(struct lt_task *) nudges; /* tasks whose scope may have been cancelled */
    _Atomic uint64_t sent;            /* unstarted tasks sent to it, ever: see tally.sent */
    _Atomic unsigned reclaim; /* stacks and credits it keeps while it sleeps: sched/reclaim.h */
    _Atomic uint32_t asleep;  /* not 0: it sleeps, or is about to */
    struct lt_reactor reactor;
    bool naps;      /* it is idle, and wakes by itself within LT_WATCH_LAST_US: see sched/idle.c */
    uint64_t slept; /* tally.sleeps at the last look of the lookout; UINT64_MAX: it was asleep */
    struct lt_worker
        *next_idle; /* list of sleepers, see sched/idle.h; or of workers kept between runtimes */
};

/* The task it runs. NULL while the scheduler or a party that is no task runs. */
static inline struct lt_task *lt_worker_running(const struct lt_worker *worker)
{
    return atomic_load_explicit(&worker->running, memory_order_relaxed);
}

/* Gives the worker's units back, before it runs a party that keeps no scope open, or nothing. True:
 * it had some, so a party may have become ready. */
static inline bool lt_worker_settle(struct lt_worker *worker)
{
    if (LT_LIKELY(!atomic_load_explicit(&worker->units.count, memory_order_relaxed)))
        return false;
    lt_kinds.units_return(worker);
    return true;
}

/* The same before it runs a party of that scope, if the units are another scope's. */
static inline void lt_worker_settle_but(struct lt_worker *worker, const leat_scope *scope)
{
    if (scope != atomic_load_explicit(&worker->units.of, memory_order_relaxed))
        lt_worker_settle(worker);
}

/* Whether it sleeps, or is about to: a hint, so relaxed. */
static inline bool lt_worker_is_asleep(const struct lt_worker *worker)
{
    return atomic_load_explicit(&worker->asleep, memory_order_relaxed) != 0;
}

/* Whether the inbox has anything. Relaxed: it only decides whether the scheduler looks. Reading it
 * takes the cache line from a thread that keeps posting, and posted parties come after the ready
 * ones: so while several parties are ready it is read only once in a stride. */
static inline bool lt_worker_has_mail(const struct lt_worker *worker)
{
    return atomic_load_explicit(&worker->inbox, memory_order_relaxed) != NULL;
}

/* A bit in own.calls. While it is set, a thread that gives this worker something to do, and the
 * worker when it takes up something itself, calls lt_idle_notify. */
enum { LT_UNWATCHED = LT_OTHER_CALL };

/* Another one, always set in a seeded world: the world hears of each entry. */
enum { LT_SEEDED = 2 * LT_OTHER_CALL };

/* When the budget is spent. */
static inline void lt_worker_renew_budget(struct lt_worker *worker)
{
    LT_SET_HINT(worker->budgets, worker->budgets + 1);
    worker->budget = LT_OP_BUDGET;
}

/* How many operations have spent budgets, modulo 2^32. */
static inline uint32_t lt_worker_spent(uint32_t budgets, unsigned budget)
{
    return budgets * LT_OP_BUDGET - budget;
}

static inline void lt_worker_notify(struct lt_worker *worker)
{
    /* Relaxed: the worker that sets it makes a barrier before its last look. */
    if (LT_UNLIKELY(atomic_load_explicit(&worker->own.calls, memory_order_relaxed) & LT_UNWATCHED))
        lt_idle_notify();
}

/* Called when lt_owned_enter has found a call. */
void lt_worker_answer(struct lt_worker *worker, bool before);

/* The worker's own thread: goes inside, when it is outside. lt_worker_go_out leaves. */
static inline void lt_worker_go_in(struct lt_worker *worker)
{
    if (LT_UNLIKELY(lt_owned_enter(&worker->own)))
        lt_worker_answer(worker, false);
}

static inline void lt_worker_go_out(struct lt_worker *worker)
{
    lt_owned_leave(&worker->own, false);
}

/* The same where it may be inside already. Returns whether it was, for lt_worker_leave. */
static inline bool lt_worker_enter(struct lt_worker *worker)
{
    bool before = lt_owned_is_inside(&worker->own);
    if (LT_UNLIKELY(lt_owned_enter(&worker->own)))
        lt_worker_answer(worker, before);
    return before;
}

static inline void lt_worker_leave(struct lt_worker *worker, bool before)
{
    lt_owned_leave(&worker->own, before);
}

/* Inside: adds a party to the ready list. */
static inline void lt_worker_append_inside(struct lt_worker *worker, struct lt_party *party)
{
    party->next = NULL;
    LT_SET_HINT(*worker->ready_end, party);
    worker->ready_end = &party->next;
}

/* Inside: whether it has more to run than one party. */
static inline bool lt_worker_has_several(struct lt_worker *worker)
{
    const struct lt_party *ready = worker->ready_head;
    return lt_local_queue_length(&worker->local_queue) + (ready != NULL) > 1 ||
           (ready && ready->next);
}

/* The worker: adds a party to its own ready list. */
static inline void lt_worker_append(struct lt_worker *worker, struct lt_party *party)
{
    bool before = lt_worker_enter(worker);
    lt_worker_append_inside(worker, party);
    lt_worker_leave(worker, before);
}

/* The same, called outside, in a function whose other calls are tail calls. False: another thread
 * has called, and nothing was done. */
static inline bool lt_worker_append_now(struct lt_worker *worker, struct lt_party *party)
{
    bool free = LT_LIKELY(!lt_owned_enter(&worker->own));
    if (free)
        lt_worker_append_inside(worker, party);
    lt_owned_leave(&worker->own, false);
    return free;
}

/* From any thread, with any lock held: the worker has something to do at `deadline`. */
static inline void lt_worker_expect(struct lt_worker *worker, int64_t deadline)
{
    if (LT_LIKELY(deadline >= LT_HINT(worker->next_timer)))
        return;
    LT_SET_HINT(worker->next_timer, deadline);
    lt_worker_notify(worker);
}

/* Inside: adds a timer to the worker's wheel. */
static inline void lt_worker_add_timer(struct lt_worker *worker, struct lt_timer *timer)
{
    lt_wheel_add(&worker->wheel, timer);
    lt_worker_expect(worker, timer->deadline);
}

/* The worker's thread: runs until the runtime stops. */
void *lt_worker_main(void *worker);

/* lt_worker_begin makes the calling thread the worker; lt_worker_end ends that. */
void lt_worker_begin(struct lt_worker *worker);
void lt_worker_end(void);

/* Lets a thread that is a worker be this one, too, in turn. */
void lt_worker_lend(struct lt_worker *worker);

/* The scheduler, after it has run something: unmaps a stack that a task has left for good. */
void lt_worker_tidy(struct lt_worker *worker);

/* About how many tasks a worker has. */
uint64_t lt_worker_load(struct lt_worker *worker);

/* The worker with the fewest tasks: the calling one, unless another has fewer. */
struct lt_worker *lt_worker_with_fewest(void);

/* Queues a new task or block, from any thread. lt_launch_at gives a task to `worker`, and wakes
 * that worker. */
void lt_launch(struct lt_party *party);
void lt_launch_at(struct lt_worker *worker, struct lt_party *party);

/* Puts a party into a worker's inbox, from any thread. */
void lt_worker_post(struct lt_worker *worker, struct lt_party *party);

/* Wakes the worker if it sleeps. False: it does not, or has been woken. */
bool lt_worker_wake(struct lt_worker *worker);

/* The same; if the worker does not sleep, makes sure that another one notices if it is late. */
void lt_worker_alert(struct lt_worker *worker);

/* Whether a worker that is about to sleep has something to do. */
bool lt_worker_has_news(struct lt_worker *worker);

/* Inside, by the worker or a thief: moves what is in the inbox to the ready list. False if it was
 * empty. */
bool lt_worker_drain(struct lt_worker *worker);
