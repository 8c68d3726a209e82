/* sim.h: a seeded world from the inside.
 *
 * A seeded world is a runtime with another scheduler. The thread that called leat_sim is all of its
 * workers in turn, and runs lt_sim_live instead of lt_worker_main. Everything else is the ordinary
 * library, on paths that exist anyway: `direct_left` at 1 sends each task that leaves to the
 * scheduler, and `budget` at 1 sends each operation to lt_budget_renew. What the library asks of
 * the system goes through the doors in base/world.h.
 *
 * A chosen party may first be moved to another worker, as a thief moves it, and one worker may see
 * to another's nudges and timers. What one worker tells another, through an inbox or a nudge,
 * arrives when the scheduler gets there.
 *
 * A task may be held up in the middle of its turn, wherever it is about to go inside its worker: in
 * the middle of a wait, say, whose waiter partners find already. Its worker then computes, as far
 * as others can see. What it had is in its queues again. The other worker runs its own parties, and
 * visits this one as any thief does (sched/steal.h), once or several times, until the task goes on.
 * No two threads run at once, so the memory accesses within a step are not among the choices:
 * models/owned.pml and models/move.pml check these.
 *
 * What the world may know. Choices depend on the seed, on the order in which parties became able to
 * run, and on the virtual time: never on an address, the real clock, or earlier worlds.
 *
 * Locking. None: a world belongs to one thread. One world exists at a time. */
#ifndef LT_SIM_SIM_H
#define LT_SIM_SIM_H

#include "base/config.h"
#include "base/world.h"
#include "sched/pool.h"
#include "sched/worker.h"

#include <leat/sim.h>

enum { LT_SIM_WORKERS = 2, LT_SIM_DEEPEST = 64, LT_SIM_REMEMBERED = 128, LT_SIM_NAME = 64 };

/* A party that can run. */
struct lt_candidate {
    struct lt_party *party;
    struct lt_worker *worker; /* that has the party */
    int64_t priority;         /* for PCT: the highest runs */
    uint32_t number;          /* lt_task.number; 0 if the party is no task */
};

/* How a turn ended, as far as the world can see. */
enum lt_turn_end { LT_TURN_WAITS, LT_TURN_INTERRUPTED, LT_TURN_YIELDS, LT_TURN_ENDS };

/* What is remembered of a turn. */
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
    char name[LT_SIM_NAME]; /* a copy: the party may be gone when this is read */
};

struct lt_sim {
    struct lt_world doors;
    struct lt_worker *worker; /* the one that the thread is at present */
    uint32_t stillness;       /* one turn in that many begins with a move; 0: none */
    struct lt_task *held;     /* computes, in the middle of its turn, or NULL */
    leat_sim_options options; /* resolved: no field is a default any more */
    uint64_t chance; /* for the world's own choices: the program's chance is another stream */

    /* The parties that can run, in no order; and the jobs, in theirs. */
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
    struct lt_party *ran;
    struct lt_turn turns[LT_SIM_REMEMBERED];
    uint64_t turn; /* the current turn's number, from 1; its index is turn % LT_SIM_REMEMBERED */
    uint64_t digest;
    unsigned at_once; /* turns since the clock moved */
    unsigned yields;  /* turns in a row that ended in a yield */

    /* The program. */
    struct lt_node threads; /* struct lt_sim_thread */
    struct lt_work root;
    leat_fn *fn;
    void *arg;
    leat_scope *scope; /* the program's outermost, while it is open */
    int result;
    bool ended, deadlock;
};

/* Whether the worker computes: it runs nothing else, and only thieves see to it. */
static inline bool lt_sim_computes(const struct lt_sim *sim, const struct lt_worker *worker)
{
    return sim->held && lt_task_home(sim->held) == worker;
}

static inline struct lt_turn *lt_sim_turn(struct lt_sim *sim)
{
    return &sim->turns[sim->turn % LT_SIM_REMEMBERED];
}

#endif
