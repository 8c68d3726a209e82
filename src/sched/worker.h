/* worker.h: a worker: one OS thread that runs tasks.
 *
 * What it runs, in this order of trust:
 *  - `ready`: started tasks and jobs, a plain list that only this thread touches;
 *  - `ring`: tasks that have not started, open to thieves (sched/ring.h);
 *  - `inbox`: what other threads made ready for it, a stack pushed by compare-and-swap and emptied
 *    by exchange, whole, and turned round, so that order is kept.
 *
 * Invariants:
 *  - magazine_count + credits >= tasks in the ring without a stack: each can be started.
 *  - A party is in at most one of these queues.
 *  - nudges are a second such stack, not turned round, of tasks that stay where they are and are only looked at:
 *    some at a time, the rest stays in `told`.
 *  - The pusher that finds the inbox empty wakes the worker if it sleeps. The worker says it sleeps,
 *    then looks at the inbox again: either it sees the push or the pusher sees the sleep. */
#ifndef LT_SCHED_WORKER_H
#define LT_SCHED_WORKER_H

#include "base/wheel.h"
#include "sched/bell.h"
#include "sched/ring.h"
#include "sched/task.h"

#include <pthread.h>

/* What a worker counts of its own doings, for people who look: only it writes, others may read. Nothing is
 * counted on the way from task to task; that is made good when the scheduler gets its look. */
struct lt_tally {
    _Atomic uint64_t switches; /* times a task, a block or a callback was given the processor */
    _Atomic uint64_t started;  /* of these, tasks for the first time */
    _Atomic uint64_t received; /* parties made ready by other threads */
    _Atomic uint64_t stolen;   /* parties taken from other workers */
    _Atomic uint64_t sleeps;   /* times it was about to sleep, for want of work */
    _Atomic uint64_t timers, magazine; /* as of the last look */
};

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

/* A ring's ends at some time. */
struct lt_seen {
    uint32_t head, tail;
};

struct lt_worker {
    /* The owner's alone. */
    struct lt_party *ready_head, **ready_end;
    _Atomic(struct lt_task *) running; /* read elsewhere only to be named, so relaxed */
    void *sp;                          /* the scheduler's own stack, while a task runs */
    struct lt_fiber fiber;             /* that stack, for the tools */
    int *errno_here;                   /* the thread's errno */
    unsigned direct_left; /* switches, or runs of blocks, before mail, nudges and timers are seen */
    _Atomic(struct lt_task *) told; /* nudges taken off the list, and not yet looked at */
    unsigned budget;                /* operations before a forced yield */
    bool started_last;              /* the last thing run was a task's start: next, a ready one */
    struct lt_party *pending;       /* taken from the ring, to be started next */
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
    struct lt_seen *seen; /* as watcher: each worker's ring at the last look, */
    int64_t looked;       /* and when that was; */
    unsigned patience;    /* looks at which it left what has waited */
    unsigned starts;
    int64_t rung;        /* when it last woke up for a timer, */
    uint64_t fired;      /* how many had fired by then, */
    int64_t rest;        /* and how long it does not wake up for another */
    struct lt_spin spin; /* for news, before it sleeps */
    unsigned index;
    void *fault_stack;              /* LT_FAULT_STACK bytes for sched/guard.h */
    struct lt_stack_batch returned; /* what there was no room for in the magazine */
    pthread_t thread;
    struct lt_tally tally; /* read by others */
    struct lt_wheel wheel;
    struct lt_bells bells; /* written by others, too: see sched/bell.h */

    struct lt_ring ring;

    /* Written by others. */
    _Alignas(LT_CACHE_LINE) _Atomic(struct lt_party *) inbox;
    _Atomic(struct lt_task *) nudges; /* tasks whose scope may have been cancelled */
    _Atomic uint32_t asleep;          /* LT_SLEEPS: sleeps on this word, or is about to */
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

/* The worker: adds a party to its own ready queue. */
static inline void lt_worker_append(struct lt_worker *worker, struct lt_party *party)
{
    party->next = NULL;
    *worker->ready_end = party;
    worker->ready_end = &party->next;
}

/* The worker this thread is; NULL for other threads. */
struct lt_worker *lt_worker_self(void);

/* The worker's thread: runs until the runtime stops. */
void *lt_worker_main(void *worker);

/* The calling thread becomes the worker; and is itself again. */
void lt_worker_begin(struct lt_worker *worker);
void lt_worker_end(struct lt_worker *worker);

/* The scheduler, after it has run something: unmaps a stack that was left for good. */
void lt_worker_tidy(struct lt_worker *worker);

/* Puts a party into a worker's inbox, from any thread. */
void lt_worker_post(struct lt_worker *worker, struct lt_party *party);

/* Wakes the worker if it sleeps. */
void lt_worker_wake(struct lt_worker *worker);

/* The same, looking first: cheap when it does not. */
void lt_worker_wake_sleeping(struct lt_worker *worker);

/* Whether there is something that a worker which is about to sleep should see to. */
bool lt_worker_has_news(struct lt_worker *worker);

/* Puts a task at home there on the worker's list of nudges, from any thread; the caller, who has set
 * task->nudged, wakes the worker. And the worker's look at that list. */
void lt_worker_nudge(struct lt_worker *worker, struct lt_task *task);
void lt_worker_look_at_nudges(struct lt_worker *worker);

/* Whether there are any. The worker only. */
static inline bool lt_worker_is_nudged(const struct lt_worker *worker)
{
    /* Relaxed: only asked whether it is worth a look. */
    return atomic_load_explicit(&worker->told, memory_order_relaxed) ||
           atomic_load_explicit(&worker->nudges, memory_order_relaxed);
}

/* Moves what lies in the inbox to the ready queue. False when it was empty. */
bool lt_worker_drain(struct lt_worker *worker);

#endif
