/* sim.h: a seeded world from the inside.
 *
 * It is a runtime whose scheduler is another: the thread that called leat_sim is all of its workers in
 * turn, and runs lt_sim_live instead of lt_worker_main. Everything else is the ordinary library, entered
 * by ways that are there anyway: `direct_left` at 1 sends each task that leaves to the scheduler, and
 * `budget` at 1 each operation to lt_budget_renew. What is asked of the system comes through the doors in
 * base/world.h.
 *
 * A party that is chosen may first be moved to another worker, as a thief moves it, and a worker's nudges
 * and timers may be seen to by another. What one worker tells another, through its inbox or a nudge,
 * arrives when the scheduler gets there. The steps inside a theft are not among the choices, since no two
 * workers run at once: models/owned.pml and models/move.pml are about these.
 *
 * What the world may know. Choices depend on the seed, the order in which parties came to be able to run,
 * and the virtual time: never on an address, the real clock, or what earlier worlds left behind.
 *
 * Locking. None: all of a world is one thread's. One world is there at a time. */
#ifndef LT_SIM_SIM_H
#define LT_SIM_SIM_H

#include "base/config.h"
#include "base/world.h"
#include "sched/pool.h"
#include "sched/worker.h"

#include <leat/sim.h>

enum { LT_SIM_WORKERS = 2, LT_SIM_DEEPEST = 64, LT_SIM_REMEMBERED = 128, LT_SIM_NAME = 64 };

/* Somebody who can run. */
struct lt_candidate {
    struct lt_party *party;
    struct lt_worker *worker; /* that has it */
    int64_t priority;         /* for PCT: the highest runs */
    uint32_t number;          /* a task's: lt_task.number; 0 in others */
};

/* How a turn ended, as far as the world can see. */
enum lt_turn_end { LT_TURN_WAITS, LT_TURN_INTERRUPTED, LT_TURN_YIELDS, LT_TURN_ENDS };

/* What is remembered of a turn. */
struct lt_turn {
    uint64_t number;
    int64_t now;
    uint32_t task, line; /* its number; where a block goes on */
    uint8_t kind;        /* enum lt_party_kind */
    uint8_t end;         /* enum lt_turn_end */
    bool starts, thread;
    /* A task's that waits: for how many things at once, and the first of them. */
    uint8_t aim; /* enum lt_aim */
    uint32_t aims, object;
    char name[LT_SIM_NAME]; /* a copy: it may be gone when this is read */
};

struct lt_sim {
    struct lt_world doors;
    struct lt_worker *worker; /* that the thread is at present */
    uint32_t stillness;       /* of that many turns one begins with a move; 0: none does */
    leat_sim_options options; /* resolved: no field is a default any more */
    uint64_t chance; /* for the world's own choices: the program's chance is another stream */

    /* Who can run, in no order; and jobs, which keep theirs. */
    struct lt_candidate *candidates, embedded[LT_SIM_ROOM];
    size_t count, room;
    struct lt_sim_jobs {
        struct lt_party *first, **end;
    } jobs[LT_SIM_WORKERS];

    /* PCT. */
    uint64_t changes[LT_SIM_DEEPEST]; /* at which turns who runs falls behind */
    struct {
        uint32_t number;
        int64_t priority;
    } lowered[LT_SIM_DEEPEST];
    unsigned lowered_count;
    int64_t lowest; /* the priority of who yielded last */

    /* The turn. */
    struct lt_party *ran;
    struct lt_turn turns[LT_SIM_REMEMBERED];
    uint64_t turn; /* number of the current one, from 1 on; its place is turn % LT_SIM_REMEMBERED */
    uint64_t digest;
    unsigned at_once; /* turns since the clock has moved */
    unsigned yields;  /* the last so many of them ended in one */

    /* The program. */
    struct lt_node threads; /* struct lt_sim_thread */
    struct lt_work root;
    leat_fn *fn;
    void *arg;
    leat_scope *scope; /* the first one, while it is open */
    int result;
    bool ended, deadlock;
};

/* The caller's world; only in one. */
struct lt_sim *lt_sim_current(void);

/* ---- world.c ---- */

/* The thread is that worker from here on. */
void lt_sim_become(struct lt_sim *sim, struct lt_worker *worker);

/* Runs the program, in a runtime that the caller opened, until nothing is left of it. */
void lt_sim_live(struct lt_sim *sim);

/* The doors of such a world, but for those of threads. */
void lt_sim_point(void);

/* ---- choose.c ---- */

void lt_sim_choose_open(struct lt_sim *sim);
void lt_sim_choose_close(struct lt_sim *sim);

/* Makes candidates of all who can run. */
void lt_sim_gather(struct lt_sim *sim);

/* Takes one of the candidates, of whom there are some. */
struct lt_candidate lt_sim_choose(struct lt_sim *sim);

/* A number below `bound` from the world's chance; becomes part of the digest. */
uint32_t lt_sim_below(struct lt_sim *sim, uint32_t bound);

/* ---- thread.c ---- */

/* A simulated thread: an lt_thread like any other, whose stack is a task's, its carrier. While it runs, this
 * is no worker; where it sleeps, its carrier parks. */
struct lt_sim_thread {
    struct lt_thread thread;
    struct lt_node node;
    struct lt_task *carrier;
    struct lt_work *work;
    struct lt_timer timer;
    _Atomic uint32_t *sleeps_on; /* NULL: it is awake */
};

/* The thread that a task carries; NULL when it is a task of the program's. */
struct lt_sim_thread *lt_sim_carried(const struct lt_task *task);

/* Doors. */
int lt_sim_start(struct lt_work *work);
bool lt_sim_sleep(_Atomic uint32_t *word, uint32_t expected, int64_t deadline);
bool lt_sim_wake(_Atomic uint32_t *word);

/* The running thread lets others go first. */
void lt_sim_thread_yield(struct lt_sim_thread *thread);

/* ---- report.c ---- */

/* Remembers that a party's turn begins. */
void lt_sim_remember(struct lt_sim *sim, const struct lt_candidate *who);

/* And that a task's has ended in a wait. */
void lt_sim_remember_wait(struct lt_sim *sim, const struct lt_task *task);

static inline struct lt_turn *lt_sim_turn(struct lt_sim *sim)
{
    return &sim->turns[sim->turn % LT_SIM_REMEMBERED];
}

/* Tells who waits, now that everybody does. */
void lt_sim_report(struct lt_sim *sim);

/* Prints the result and the last turns, as many as the options say. */
void lt_sim_print_failure(struct lt_sim *sim, int result);

/* Until the latter, an abort or a fault in the world names its seed. */
void lt_sim_catch_faults(struct lt_sim *sim);
void lt_sim_uncatch_faults(void);

#endif
