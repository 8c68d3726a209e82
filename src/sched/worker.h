/* worker.h: a worker: one OS thread that runs tasks.
 *
 * What it runs, in this order of trust:
 *  - `ready`: started tasks, blocks and jobs, a plain list under `own`;
 *  - `local_queue`: tasks that have not started, open to thieves (sched/local_queue.h);
 *  - `inbox`: what other threads made ready for it, a stack pushed by compare-and-swap and emptied
 *    by exchange, whole, and turned round, so that order is kept.
 *
 * Locking. `own` (base/owned.h) guards the ready list, the wheel, `told`, and who is running. The worker is inside
 * while its scheduler is at work or sleeps, over each switch of stacks, and wherever else it uses these; it is outside
 * while a user's function runs. So a thief that gets in (sched/steal.h) finds the worker in a user's function, which may
 * take long, and finds everybody but the running party at rest. `own` comes before every other lock.
 *
 * Invariants:
 *  - The timers of a task at home here, and of a block whose `timer_home` this is, are in this wheel.
 *  - Whoever is in the ready list or the inbox may be moved, except the running task and what is pinned.
 *  - magazine_count + credits >= tasks in the local queue without a stack: each can be started.
 *  - A party is in at most one of these queues.
 *  - nudges are a second such stack, not turned round, of tasks that stay where they are and are only looked at:
 *    some at a time, the rest stays in `told`.
 *  - The pusher that finds the inbox empty wakes the worker if it sleeps. The worker says it sleeps,
 *    then looks at the inbox again: either it sees the push or the pusher sees the sleep. */
#ifndef LT_SCHED_WORKER_H
#define LT_SCHED_WORKER_H

#include "base/owned.h"
#include "base/wheel.h"
#include "sched/local_queue.h"
#include "sched/shared_timer.h"
#include "sched/task.h"

#include <pthread.h>

/* What a worker counts of its own doings, for people who look: only it writes, others may read. Nothing is
 * counted on the way from task to task; that is made good when the scheduler gets its look. */
struct lt_tally {
    _Atomic uint64_t switches; /* times a task, a block or a callback was given the processor */
    _Atomic uint64_t started;  /* of these, tasks for the first time */
    _Atomic uint64_t received; /* parties made ready by other threads */
    _Atomic uint64_t stolen;   /* parties taken from other workers: such as had not started, */
    _Atomic uint64_t moved;    /* and such as had */
    _Atomic uint64_t live;     /* started tasks at home there that have not ended; written inside */
    _Atomic uint64_t sent;     /* tasks that had not started and were sent to it; written inside */
    _Atomic uint64_t sleeps;   /* times it was about to sleep, for want of work */
    _Atomic uint64_t timers, magazine; /* as of the last look */
};

/* Words that who is inside writes, and thieves read outside as a hint: relaxed, `own` orders them. */
#define LT_HINT(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define LT_SET_HINT(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)

static inline void lt_tally_set(_Atomic uint64_t *count, uint64_t n)
{
    /* Relaxed: a number that orders nothing. */
    atomic_store_explicit(count, n, memory_order_relaxed);
}

static inline void lt_tally_add(_Atomic uint64_t *count, uint64_t n)
{
    lt_tally_set(count, atomic_load_explicit(count, memory_order_relaxed) + n);
}

/* How a worker that must be woken is found. LT_SECLUDED: in a seeded world; only who lives there may. */
enum { LT_SLEEPS = 1, LT_SECLUDED = 2 };

/* What a thief has seen of a worker: the ends of its local queue, and how far it is in its work. */
struct lt_seen {
    uint32_t head, tail;
    uint64_t done; /* about so many switches, ever */
};

struct lt_worker {
    struct lt_owned_lock own;
    /* Inside. */
    struct lt_party *ready_head, **ready_end; /* the head is a hint for thieves */
    _Atomic int64_t
        next_timer; /* none in the wheel, nor a shared timer, is due before; or LEAT_NEVER */
    _Atomic(struct lt_task *) running; /* read outside only to be named, so relaxed */
    /* The owner's alone. */
    void *sp;              /* the scheduler's own stack, while a task runs */
    struct lt_fiber fiber; /* that stack, for the tools */
    int *errno_here;       /* the thread's errno */
    unsigned
        direct_left; /* switches, or runs of blocks, before mail, nudges and timers are seen; a hint for thieves */
    _Atomic(struct lt_task *) told; /* nudges taken off the list, and not yet looked at */
    unsigned budget;                /* operations before a forced yield */
    bool surplus; /* it is active beside others that keep all processors busy */
    bool started_last;              /* the last thing run was a task's start: next, a ready one */
    struct lt_party *pending;       /* taken from the local queue, to be started next */
    struct lt_stack *ended;         /* a stack to be unmapped once it has been left */
    struct lt_stack *magazine[LT_STACK_MAGAZINE];
    unsigned magazine_count;
    unsigned oldest;     /* in the magazine while it is full */
    unsigned fetch_next; /* how many stacks to fetch when there is none */
    size_t credits;
    leat_scope *spare_scope; /* memory for the next to be opened, or NULL */
    /* What it has counted in advance: see scope/scope.h. Written by itself alone. */
    _Atomic(leat_scope *) units_of;
    _Atomic uint32_t units;
    uint32_t units_next;        /* so many the next time */
    struct lt_task *free_tasks; /* linked by party.next */
    unsigned free_count;
    struct lt_seen *seen; /* as thief: each worker at the last look, */
    int64_t looked;       /* and when that was; */
    unsigned patience;    /* looks at which it left what has waited; */
    int until_look;       /* visits of its scheduler before it looks after others */
    unsigned starts;
    int64_t told_until;  /* as watcher, who is told: see sched/idle.c */
    int64_t rung;        /* when it last woke up for a timer, */
    uint64_t fired;      /* how many had fired by then, */
    int64_t rest;        /* and how long it does not wake up for another */
    struct lt_spin spin; /* for news, before it sleeps */
    unsigned index;
    void *fault_stack;              /* LT_FAULT_STACK bytes for sched/guard.h */
    struct lt_stack_batch returned; /* what there was no room for in the magazine */
    pthread_t thread;
    struct lt_tally tally;                 /* read by others */
    struct lt_wheel wheel;                 /* inside */
    struct lt_shared_timers shared_timers; /* written by others, too: see sched/shared_timer.h */

    struct lt_local_queue local_queue;

    /* Written by others. */
    _Alignas(LT_CACHE_LINE) _Atomic(struct lt_party *) inbox;
    _Atomic(struct lt_task *) nudges; /* tasks whose scope may have been cancelled */
    _Atomic uint64_t sent;    /* tasks that have not started, ever: tally.sent of them have come */
    _Atomic unsigned reclaim; /* what it keeps while it sleeps: see sched/reclaim.h */
    _Atomic uint32_t asleep;  /* LT_SLEEPS: sleeps on this word, or is about to */
    struct lt_worker
        *next_idle; /* among the sleepers: see sched/idle.h; or kept between runtimes */
};

/* The task it runs; NULL while the scheduler or a party without a stack does. */
static inline struct lt_task *lt_worker_running(const struct lt_worker *worker)
{
    return atomic_load_explicit(&worker->running, memory_order_relaxed);
}

/* Before the worker runs somebody who keeps no scope open, or nobody: gives its units back. True: it had some, and somebody
 * may be ready now. */
static inline bool lt_worker_settle(struct lt_worker *worker)
{
    if (LT_LIKELY(!atomic_load_explicit(&worker->units, memory_order_relaxed)))
        return false;
    lt_units_return(worker);
    return true;
}

/* Before it runs somebody who belongs to that scope. */
static inline void lt_worker_settle_but(struct lt_worker *worker, const leat_scope *scope)
{
    if (scope != atomic_load_explicit(&worker->units_of, memory_order_relaxed))
        lt_worker_settle(worker);
}

/* Whether somebody has been posted: only asked whether that is worth a visit of the scheduler, so relaxed. To ask takes
 * the line from who goes on posting; and who was posted goes behind those who are ready. So where several are, it is
 * asked once in LT_DIRECT_SWITCHES. */
static inline bool lt_worker_has_mail(const struct lt_worker *worker)
{
    return atomic_load_explicit(&worker->inbox, memory_order_relaxed) != NULL;
}

/* In the calls of `own`: who gives this worker something to do, or takes up something itself, tells sched/idle.h. */
enum { LT_UNWATCHED = LT_OTHER_CALL };

/* If nobody would notice that a worker is late, somebody is told to watch. Any lock may be held. */
void lt_idle_tell(void);

static inline void lt_worker_tell(struct lt_worker *worker)
{
    /* Relaxed: who sets it makes a barrier before the last look. */
    if (LT_UNLIKELY(atomic_load_explicit(&worker->own.calls, memory_order_relaxed) & LT_UNWATCHED))
        lt_idle_tell();
}

/* When somebody has called. */
void lt_worker_answer(struct lt_worker *worker, bool before);

/* The worker's own thread: goes inside, where it is not. And leaves again. */
static inline void lt_worker_go_in(struct lt_worker *worker)
{
    if (LT_UNLIKELY(lt_owned_enter(&worker->own)))
        lt_worker_answer(worker, false);
}

static inline void lt_worker_go_out(struct lt_worker *worker)
{
    lt_owned_leave(&worker->own, false);
}

/* The same where it may be inside; that is returned, and given back. */
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

/* The worker: adds a party to its own ready list. */
static inline void lt_worker_append(struct lt_worker *worker, struct lt_party *party)
{
    bool before = lt_worker_enter(worker);
    lt_worker_append_inside(worker, party);
    lt_worker_leave(worker, before);
}

/* The same, outside, in a function that calls nothing but as its last act. False: somebody has called, nothing done. */
static inline bool lt_worker_append_now(struct lt_worker *worker, struct lt_party *party)
{
    bool free = LT_LIKELY(!lt_owned_enter(&worker->own));
    if (free)
        lt_worker_append_inside(worker, party);
    lt_owned_leave(&worker->own, false);
    return free;
}

/* From any thread, with any lock held: the worker has something to see to at that time. */
static inline void lt_worker_expect(struct lt_worker *worker, int64_t deadline)
{
    /* Relaxed: a hint for who watches; the worker itself knows. */
    if (LT_LIKELY(deadline >= atomic_load_explicit(&worker->next_timer, memory_order_relaxed)))
        return;
    atomic_store_explicit(&worker->next_timer, deadline, memory_order_relaxed);
    lt_worker_tell(worker);
}

/* Inside: adds a timer to the worker's wheel. */
static inline void lt_worker_add_timer(struct lt_worker *worker, struct lt_timer *timer)
{
    lt_wheel_add(&worker->wheel, timer);
    lt_worker_expect(worker, timer->deadline);
}

/* The worker this thread is; NULL for other threads. */
struct lt_worker *lt_worker_self(void);

/* The worker's thread: runs until the runtime stops. */
void *lt_worker_main(void *worker);

/* The calling thread becomes the worker; and is itself again. */
void lt_worker_begin(struct lt_worker *worker);
void lt_worker_end(struct lt_worker *worker);

/* A thread that is one worker already may be this one too, in turn. */
void lt_worker_lend(struct lt_worker *worker);

/* The scheduler, after it has run something: unmaps a stack that was left for good. */
void lt_worker_tidy(struct lt_worker *worker);

/* Puts a party into a worker's inbox, from any thread. */
void lt_worker_post(struct lt_worker *worker, struct lt_party *party);

/* Wakes the worker if it sleeps, and nobody else does. True: it slept. */
bool lt_worker_wake(struct lt_worker *worker);

/* The same, looking first: cheap when it does not. */
bool lt_worker_wake_sleeping(struct lt_worker *worker);

/* The same; and if the worker does not sleep, sees to it that somebody notices if it is late. */
void lt_worker_alert(struct lt_worker *worker);

/* Whether there is something that a worker which is about to sleep should see to. */
bool lt_worker_has_news(struct lt_worker *worker);

/* Puts a task at home there on the worker's list of nudges, from any thread; the caller, who has set
 * task->nudged, alerts the worker. And, inside, a look at that list. A task that has gone to another worker meanwhile is
 * sent after; the running one is left for later. */
void lt_worker_nudge(struct lt_worker *worker, struct lt_task *task);
void lt_worker_look_at_some_nudges(struct lt_worker *worker);

/* Whether there are any: a hint. */
static inline bool lt_worker_is_nudged(const struct lt_worker *worker)
{
    /* Relaxed: only asked whether it is worth a look. */
    return atomic_load_explicit(&worker->told, memory_order_relaxed) ||
           atomic_load_explicit(&worker->nudges, memory_order_relaxed);
}

static inline void lt_worker_look_at_nudges(struct lt_worker *worker)
{
    if (LT_UNLIKELY(lt_worker_is_nudged(worker)))
        lt_worker_look_at_some_nudges(worker);
}

/* Inside, the worker itself or a thief: moves what lies in the inbox to the ready list. False when it was empty. */
bool lt_worker_drain(struct lt_worker *worker);

#endif
