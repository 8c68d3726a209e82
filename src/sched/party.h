/* party.h: who can wait and be resumed.
 *
 * Whatever a channel, a timer or a scope wakes is a party: a task, which runs on its home worker and
 * nowhere else; a thread, which sleeps on a futex of its own; or a job, a function that a worker runs
 * between tasks. The code that wakes never asks which.
 *
 * A party is ready at most once at a time: who calls lt_ready has claimed the wake-up, by the rules of
 * scope/wait.h, and touches neither the party nor its wait afterwards. */
#ifndef LT_SCHED_PARTY_H
#define LT_SCHED_PARTY_H

#include "base/list.h"

#include <leat/scope.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_worker;
struct lt_wait;

enum lt_party_kind { LT_TASK, LT_THREAD, LT_JOB };

struct lt_party {
    struct lt_party *next; /* in a run queue, an inbox or a chain of the woken */
    uint8_t kind;
    bool enlisted;     /* the scope it belongs to can find it: see scope/scope.h */
    uint32_t shields;  /* leat_shield calls that hold for the innermost scope */
    leat_scope *scope; /* the innermost scope: the one whose cancelling ends its waits */
    struct lt_wait *wait;  /* a task's: what it is parked in, or NULL; read on its home worker */
};

/* A function that a worker runs on its own stack, between tasks. It does not wait. */
struct lt_job {
    struct lt_party party;
    void (*run)(struct lt_job *job);
};

/* A thread that takes part: every thread of the process has one. */
struct lt_thread {
    struct lt_party party;
    _Atomic uint32_t word; /* LT_WOKEN, LT_NUDGED: what it sleeps on */
    _Atomic bool pinned;   /* a canceller holds a pointer to it, outside the scope's lock */
    struct lt_node member; /* in the scope it belongs to */
    const char *name;      /* as a task; NULL when it is none */
};

enum {
    LT_WOKEN = 1, /* its wait is over: somebody claimed it */
    LT_NUDGED = 2 /* its scope may have been cancelled: look */
};

/* The party that is running here. */
struct lt_party *lt_self(void);

/* The calling thread's own party, also while it runs tasks. */
struct lt_thread *lt_this_thread(void);

/* This thread's source of chance. */
uint64_t *lt_chance(void);

/* Makes a party that waits go on; from any thread. */
void lt_ready(struct lt_party *party);

/* The same for a chain linked by `next`; NULL is an empty chain. */
void lt_ready_all(struct lt_party *chain);

/* Makes a sleeping thread look at its scope. */
void lt_thread_nudge(struct lt_thread *thread);

#endif
