/* sim.h: a seeded world from the inside.
 *
 * A seeded world is a runtime with another scheduler. The thread that called leat_sim is all of its
 * workers in turn, and runs lt_sim_live instead of lt_worker_main. Everything else is the ordinary
 * library, on paths that exist anyway: `direct_left` at 1 sends each task that leaves to the
 * scheduler, and `budget` at 1 sends each operation to lt_budget_renew. The library's calls to the
 * system go through the doors in base/world.h.
 *
 * A chosen party may first be moved to another worker, as a thief moves it, and one worker may
 * handle another's nudges and timers. A message from one worker to another, through an inbox or a
 * nudge, arrives when the scheduler gets there.
 *
 * A task may be held up in the middle of its turn, wherever it is about to go inside its worker:
 * for instance in the middle of a wait, when partners already find its waiter. Its worker then
 * computes, as far as others can see, and has its parties in its queues again. The other worker
 * runs its own parties, and visits this one as any thief does (sched/steal.h), once or several
 * times, until the task goes on. No two threads run at once, so the memory accesses within a step
 * are not among the choices: models/owned.pml and models/move.pml check these.
 *
 * Determinism. Choices depend on the seed, on the order in which parties became able to run, and on
 * the virtual time: never on an address, the real clock, or earlier worlds.
 *
 * Locking. None: a world belongs to one thread. One world exists at a time. */
#pragma once

#include "base/config.h"
#include "base/world.h"
#include "sched/pool.h"
#include "sched/worker.h"

#include <leat/sim.h>

enum { LT_SIM_WORKERS = 2, LT_SIM_DEEPEST = 64, LT_SIM_REMEMBERED = 128, LT_SIM_NAME = 64 };

/* A party that can run. */
struct lt_candidate {
    struct lt_party *party;
    struct lt_worker *worker; /* the worker that has the party */
    int64_t priority;         /* for PCT: the highest runs */
    uint32_t number;          /* lt_task.number; 0 if the party is no task */
};

/* How a turn ended, as far as the world can see. */
enum lt_turn_end { LT_TURN_WAITS, LT_TURN_INTERRUPTED, LT_TURN_YIELDS, LT_TURN_ENDS };

/* A remembered turn. */
struct lt_turn {
    uint64_t number;
    int64_t now;
    uint32_t task, line; /* a task's number; the line at which a block resumes */
    uint8_t kind;        /* enum lt_party_kind */
    uint8_t end;         /* enum lt_turn_end */
    bool starts, thread;
    /* Of a task that waits: the number of things that it waits for, and the first of them. */
    uint8_t aim; /* enum lt_aim */
    uint32_t aims, object;
    int64_t until;          /* its deadline; LEAT_NEVER: none */
    char name[LT_SIM_NAME]; /* a copy: the party may be gone when this is read */
};

struct lt_sim {
    struct lt_world doors;
    struct lt_worker *worker; /* the worker that the thread is at present */
    uint32_t stillness;       /* one turn in this many begins with a move; 0: none */
    struct lt_task *held;     /* a task that computes, in the middle of its turn; or NULL */
    leat_sim_options options; /* resolved: no field is a default any more */
    uint64_t chance; /* for the world's own choices: the program's chance is another stream */

    /* The parties that can run, in no order; and the jobs, in order. */
    struct lt_candidate *candidates, embedded[LT_SIM_ROOM];
    size_t count, room;
    struct lt_sim_jobs {
        struct lt_party *first, **end;
    } jobs[LT_SIM_WORKERS];

    /* PCT. */
    uint64_t changes[LT_SIM_DEEPEST]; /* the turns at which the highest priority is lowered */
    struct {
        uint32_t number;
        int64_t priority;
    } lowered[LT_SIM_DEEPEST];
    unsigned lowered_count;
    int64_t lowest; /* the priority of the party that yielded last */

    /* The turn. */
    struct lt_party *ran; /* NULL: the turn is over */
    struct lt_turn turns[LT_SIM_REMEMBERED];
    uint64_t turn; /* the current turn's number, from 1; its index is turn % LT_SIM_REMEMBERED */
    uint64_t digest;
    unsigned at_once;    /* turns since the clock moved */
    unsigned yields;     /* turns in a row that ended in a yield */
    bool in_vain;        /* the clock should have moved, and there was no deadline */
    uint64_t vain_since; /* a turn, and how many ticks have become due in vain since then */
    size_t vain;

    /* The program. */
    struct lt_node threads; /* struct lt_sim_thread */
    struct lt_work root;
    leat_fn *fn;
    void *arg;
    leat_scope *scope; /* the program's outermost, while it is open */
    int result;
    bool ended;
    int given_up;       /* why the world has cancelled the program; or 0 */
    uint64_t last_turn; /* if the program has not ended then, the world gives it up; */
    uint64_t duties;    /* or after as many duties since the last turn */
    bool hunted;        /* LEAT_SEED can choose the seed */
};

/* Whether the worker computes: it runs nothing else, and only thieves handle its duties. */
static inline bool lt_sim_computes(const struct lt_sim *sim, const struct lt_worker *worker)
{
    return sim->held && lt_task_home(sim->held) == worker;
}

static inline struct lt_turn *lt_sim_turn(struct lt_sim *sim)
{
    return &sim->turns[sim->turn % LT_SIM_REMEMBERED];
}

/* ---- thread.c: the threads of the world ---- */

/* A simulated thread: an lt_thread like any other, on the stack of a task, its carrier. While the
 * thread runs, lt_current_worker is NULL. When the thread sleeps, its carrier parks. */
struct lt_sim_thread {
    struct lt_thread thread;
    struct lt_node node;
    struct lt_task *carrier;
    struct lt_work *work;
    struct lt_timer timer;
    _Atomic uint32_t *sleeps_on; /* NULL: the thread is awake */
};

/* The thread that a task carries; NULL for a task of the program. */
struct lt_sim_thread *lt_sim_carried(const struct lt_task *task);

/* Doors. */
int lt_sim_start(struct lt_work *work);
bool lt_sim_sleep(_Atomic uint32_t *word, uint32_t expected, int64_t deadline);
bool lt_sim_wake(_Atomic uint32_t *word);

/* The running thread lets others go first. */
void lt_sim_thread_yield(struct lt_sim_thread *thread);

/* ---- choose.c: the party that runs next ---- */

void lt_sim_choose_open(struct lt_sim *sim);
void lt_sim_choose_close(struct lt_sim *sim);

/* Makes candidates of all parties that can run. */
void lt_sim_gather(struct lt_sim *sim);

/* The running task computes from here on: its worker has its other candidates and jobs again. */
void lt_sim_hold_up(struct lt_sim *sim, struct lt_worker *worker);

/* Takes one of the candidates. There must be at least one. */
struct lt_candidate lt_sim_choose(struct lt_sim *sim);

/* A number below `bound` from the world's chance. The number becomes a part of the digest. */
uint32_t lt_sim_below(struct lt_sim *sim, uint32_t bound);

/* ---- report.c: the world's memory, and its report when the world fails ---- */

/* Remembers that a party's turn begins. */
void lt_sim_remember(struct lt_sim *sim, const struct lt_candidate *candidate);

/* Remembers that a task's turn has ended in a wait. */
void lt_sim_remember_wait(struct lt_sim *sim, const struct lt_task *task);

/* Prints why the world gives the program up, and what each party waits for. */
void lt_sim_report(struct lt_sim *sim, const char *why);

/* Prints the result and the last turns; the options have their number. */
void lt_sim_print_failure(struct lt_sim *sim, int result);

/* Between these two calls, an abort or a fault in the world prints the world's seed. */
void lt_sim_catch_faults(struct lt_sim *sim);
void lt_sim_uncatch_faults(void);

/* ---- world.c: the scheduler ---- */

/* The caller's world. The caller must live in one. */
struct lt_sim *lt_sim_current(void);

/* The thread is that worker from here on. */
void lt_sim_become(struct lt_sim *sim, struct lt_worker *worker);

/* Runs the program to its end, in a runtime that the caller has opened. */
void lt_sim_live(struct lt_sim *sim);

/* For the table of kinds (sched/kinds.h), instead of lt_scope_task_ended. */
bool lt_sim_task_ended(struct lt_task *task, int result);
