/* party.h: parties: all that can wait and be made ready. The code that makes a party ready never
 * asks which kind it is:
 *  - a task continues on its home worker;
 *  - a thread sleeps on its own futex;
 *  - a block or a callback keeps nothing on a stack. It runs on the worker that woke it; but while
 *    it has a timer, on the worker that has the timer;
 *  - a user's timer has a function that a worker calls;
 *  - a job is a function that a worker runs between tasks.
 *
 * A party is ready at most once at a time. The caller of lt_ready has claimed the wake-up, by the
 * rules of scope/wait.h, and touches neither the party nor its wait afterwards. */
#pragma once

#include "base/list.h"
#include "sched/spin.h"

#include <leat/scope.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_worker;
struct lt_wait;
struct pollfd;

enum lt_party_kind { LT_TASK, LT_THREAD, LT_JOB, LT_BLOCK, LT_CALLBACK, LT_TIMER, LT_KINDS };

struct lt_party {
    struct lt_party *next; /* in a queue, an inbox or a chain of woken parties */
    uint8_t kind;
    bool enlisted;          /* the scope it belongs to can find it: see scope/scope.h */
    _Atomic bool unclaimed; /* waits, and the one that ends the wait has to claim it first: see
                             * lt_claim */
    /* A stackless party: what it waits in, see block/machine.h. Others: how deep they are in
     * callbacks, see block/callback.c. */
    uint8_t operation;
    uint16_t shields; /* leat_shield calls that hold for the innermost scope */
    /* Stackless parties only. Not beside lt_stackless.member: its neighbours in that list write
     * there. */
    uint16_t listed : 1;     /* on its scope's list */
    uint16_t timer_home : 9; /* 1 + the index of the worker whose wheel has its timer; or 0 */
    leat_scope *scope;       /* the innermost scope: cancelling it ends the party's waits */
    union {
        /* A task: what it is parked in, or NULL; read inside its home, while it does not run. */
        struct lt_wait *wait;
        _Atomic(struct lt_party *) awaiter; /* a block: see block/block.c */
    };
};

_Static_assert(sizeof(struct lt_party) == 32, "a block has no room for more");

/* A party without a home: a block or a callback. */
struct lt_stackless {
    struct lt_party party;
    struct lt_node member; /* in its scope's list, once it has parked */
};

/* A function that a worker runs on its own stack, between tasks. It does not wait. */
struct lt_job {
    struct lt_party party;
    void (*run)(struct lt_job *job);
    bool inside; /* it runs inside the worker that it was sent to; else outside, on any worker */
};

/* A thread as a party: every thread of the process has one. */
struct lt_thread {
    struct lt_party party;
    _Atomic uint32_t word; /* what it sleeps on: LT_WOKEN and so on */
    _Atomic bool pinned;   /* a canceller holds a pointer to it, outside the scope's lock */
    struct lt_node member; /* in the scope it belongs to */
    _Atomic int bell;      /* while it polls: the descriptor that a nudge writes to; -1: none */
    const char *name;      /* of the task that it runs by itself (scope/blocking.c); else NULL */
    struct lt_spin spin;
    /* When its wait began, while LT_PROBE_WAITS is set; 0: it does not wait. */
    _Atomic int64_t since;
};

enum {
    LT_WOKEN = 1,  /* its wait is over: a partner has claimed it */
    LT_NUDGED = 2, /* its scope may have been cancelled: look */
    LT_ASLEEP = 4, /* it sleeps, or is about to: a thread that writes to the word wakes it, */
    LT_SLEEPS_COUNTED = LT_ASLEEP | 8, /* and lt_threads_asleep counts it, or soon will */
    LT_POLLS = 16 /* it sleeps in poll(2), or is about to: a nudge rings its bell */
};

/* Lower half: threads that sleep without a deadline and have not been woken; for a moment it may be
 * one too low, also below 0. Upper half: how many such sleeps have begun. Counted while
 * LT_PROBE_THREADS is set. */
extern _Atomic uint64_t lt_threads_asleep;

/* The calling thread sleeps while its word is 0, until the deadline at most. */
void lt_thread_sleep(struct lt_thread *thread, int64_t deadline);

/* The calling thread sleeps until a descriptor is ready, while its word is 0; until the deadline at
 * most. `bell` is one of the descriptors, or -1. The thread waits for no partner: only a nudge
 * finds it here, and keeps it from going meanwhile. The call may change errno, and is a
 * cancellation point. False: the system refuses the poll, as by RLIMIT_NOFILE. */
bool lt_thread_poll(struct lt_thread *thread, struct pollfd *fds, unsigned n, int bell,
                    int64_t deadline);

/* The calling thread's own party, also while it runs tasks. */
struct lt_thread *lt_this_thread(void);

/* The calling thread's state for lt_rng_next. */
uint64_t *lt_chance(void);

void lt_job_run(struct lt_party *party);

/* For a party that waits in more than one place, or has no home. True for one caller only: that one
 * may end the wait. */
static inline bool lt_claim(struct lt_party *party)
{
    bool unclaimed = true;
    /* Acquire: sees what the party wrote before it could be claimed. Sequentially consistent for
     * lt_claim_recheck in scope/wait.h, which costs no more on today's processors. */
    return atomic_compare_exchange_strong_explicit(&party->unclaimed, &unclaimed, false,
                                                   memory_order_seq_cst, memory_order_seq_cst);
}

/* lt_ready (sched/current.h), for parties that are not at home on the calling worker. */
void lt_ready_elsewhere(struct lt_party *party);

/* Makes a sleeping thread look at its scope. */
void lt_thread_nudge(struct lt_thread *thread);
