/* party.h: who can wait and be resumed.
 *
 * Whatever a channel, a timer or a scope wakes is a party: a task, which is woken at its home worker; a thread, which sleeps on a futex of its own; a block or a callback, which keep nothing
 * on a stack and run on the worker that woke them (unless they have a timer running: then on the worker
 * that has the timer); a timer of the user's, whose function a worker is to call; or a job, a function
 * that a worker runs between tasks. The code that wakes never asks which.
 *
 * A party is ready at most once at a time: who calls lt_ready has claimed the wake-up, by the rules of
 * scope/wait.h, and touches neither the party nor its wait afterwards. */
#ifndef LT_SCHED_PARTY_H
#define LT_SCHED_PARTY_H

#include "base/list.h"
#include "sched/spin.h"

#include <leat/scope.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_worker;
struct lt_wait;

enum lt_party_kind { LT_TASK, LT_THREAD, LT_JOB, LT_BLOCK, LT_CALLBACK, LT_TIMER, LT_KINDS };

struct lt_party {
    struct lt_party *next; /* in a run queue, an inbox or a chain of the woken */
    uint8_t kind;
    bool enlisted;          /* the scope it belongs to can find it: see scope/scope.h */
    _Atomic bool unclaimed; /* waits under a claim, and nobody has claimed it: see lt_claim */
    uint8_t
        operation; /* a stackless party's: what it waits in, see block/machine.h; others': how deep it is
                               in callbacks, see block/callback.c */
    uint16_t shields; /* leat_shield calls that hold for the innermost scope */
    /* A stackless party's. Its node, others write to. */
    uint16_t list : 7;       /* of its scope's, on which it is: see scope/wait_list.h */
    uint16_t timer_home : 9; /* 1 + the index of the worker whose wheel has its timer; or 0 */
    leat_scope *scope;       /* the innermost scope: the one whose cancelling ends its waits */
    union {
        struct lt_wait *
            wait; /* a task's: what it is parked in, or NULL; read inside its home, while it does not run */
        _Atomic(struct lt_party *) awaiter; /* a block's: see block/block.c */
    };
};

_Static_assert(sizeof(struct lt_party) == 32, "a block has no room for more");

/* A party without a home: a block or a callback. */
struct lt_stackless {
    struct lt_party party;
    struct lt_node member; /* in its scope's list, once it has parked */
};

/* Who runs a job: any worker; a worker that was sent it, inside; or who is inside that worker, be it a thief. */
enum lt_job_place { LT_ANYWHERE, LT_AT_HOME, LT_INSIDE };

/* A function that a worker runs on its own stack, between tasks. It does not wait. */
struct lt_job {
    struct lt_party party;
    void (*run)(struct lt_job *job);
    enum lt_job_place place;
};

/* A thread that takes part: every thread of the process has one. */
struct lt_thread {
    struct lt_party party;
    _Atomic uint32_t word; /* LT_WOKEN and so on: what it sleeps on */
    _Atomic bool pinned;   /* a canceller holds a pointer to it, outside the scope's lock */
    struct lt_node member; /* in the scope it belongs to */
    const char *name;      /* as a task; NULL when it is none */
    struct lt_spin spin;
    _Atomic int64_t
        since; /* when its wait began, if that is noted: LT_PROBE_WAITS; 0: it does not wait */
};

enum {
    LT_WOKEN = 1,  /* its wait is over: somebody claimed it */
    LT_NUDGED = 2, /* its scope may have been cancelled: look */
    LT_ASLEEP = 4, /* it sleeps, or is about to: who writes to the word must wake it, */
    LT_SLEEPS_COUNTED = LT_ASLEEP | 8 /* and it is counted: see lt_threads_asleep */
};

/* Threads that sleep without a deadline and have not been woken, in the lower half, and in the upper how
 * often one began to: while LT_PROBE_THREADS is set. */
extern _Atomic uint64_t lt_threads_asleep;

/* The calling thread: sleeps while its word is 0, and until the deadline. */
void lt_thread_sleep(struct lt_thread *thread, int64_t deadline);

/* The calling thread's own party, also while it runs tasks. */
struct lt_thread *lt_this_thread(void);

/* This thread's source of chance. */
uint64_t *lt_chance(void);

/* What a worker does with a ready party of a kind that a higher floor brings along. Set before the first
 * of the kind is made ready. */
extern void (*lt_party_run[LT_KINDS])(struct lt_party *party);

/* What is to be done, inside both, when a ready party of a kind goes from one worker to another. NULL: nothing. */
extern void (*lt_party_moves[LT_KINDS])(struct lt_party *party, struct lt_worker *from,
                                        struct lt_worker *to);

/* How such a party's wait is ended for `reason`: true when it was waiting; it must then be made ready. */
extern bool (*lt_party_end[LT_KINDS])(struct lt_party *party, int reason);

/* For a party that waits in more than one place, or has no home: true for the one caller who may end its wait. */
static inline bool lt_claim(struct lt_party *party)
{
    bool unclaimed = true;
    /* Acquire: what the party wrote before it could be claimed is seen. Sequentially consistent for
     * lt_claim_recheck in scope/wait.h; on the processors at hand it costs no more. */
    return atomic_compare_exchange_strong_explicit(&party->unclaimed, &unclaimed, false,
                                                   memory_order_seq_cst, memory_order_seq_cst);
}

/* lt_ready, see sched/current.h, for all but tasks at home on the calling worker. */
void lt_ready_elsewhere(struct lt_party *party);

/* Makes a sleeping thread look at its scope. */
void lt_thread_nudge(struct lt_thread *thread);

#endif
