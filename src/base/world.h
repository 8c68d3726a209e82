/* world.h: the parts of the system that a seeded world (src/sim) replaces for the one thread that
 * lives in it: time, sleeping, threads, and the moments at which others may run first.
 *
 * For other threads lt_world() is NULL, and each check costs one branch that is never taken, on no
 * hot path. */
#pragma once

#include "base/fresh.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_work;
struct lt_worker;

struct lt_world {
    int64_t now; /* virtual nanoseconds */
    /* As lt_futex_wait and lt_futex_wake. False: the world leaves this call to the system. */
    bool (*sleep)(_Atomic uint32_t *word, uint32_t expected, int64_t deadline);
    bool (*wake)(_Atomic uint32_t *word);
    /* As lt_pool_submit. */
    int (*start)(struct lt_work *work);
    /* The running party has done an operation and holds no lock: others may run here. */
    void (*point)(void);
    /* The caller is outside that worker, is about to go inside, and holds no lock. */
    void (*entry)(const struct lt_worker *worker);
    /* As sched_yield. */
    void (*yield)(void);
    /* A tick has become due and found the one before it, so nothing changes. `since` is the tick's
     * own word, 0 at first: the world's, to tell ticks apart. */
    void (*vain)(uint64_t *since);
    /* A number below `bound`, by the seed. */
    uint32_t (*below)(uint32_t bound);
    /* For simulated pipes and pairs, as in leat_sim_options. */
    uint32_t io_resets;
    int64_t io_delay;
};

/* The calling thread's world, nearly always NULL; and the address of that word. */
LT_FRESH_PART(struct lt_world *, lt_world, lt_world_of_thread, 0)
LT_FRESH(struct lt_world *, lt_world_place, lt_world_of_thread)
