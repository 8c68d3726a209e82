/* world.h: the doors through which a seeded world (src/sim) takes the system's place, for the one thread
 * that lives in it: time, sleeping, threads, and the moments at which others may go first. Everywhere
 * else lt_world() is NULL, and each door is one branch that is never taken, on no way that is hot. */
#ifndef LT_BASE_WORLD_H
#define LT_BASE_WORLD_H

#include "base/fresh.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_work;

struct lt_world {
    int64_t now; /* virtual nanoseconds */
    /* As lt_futex_wait and lt_futex_wake; false: this is no matter of the world's. */
    bool (*sleep)(_Atomic uint32_t *word, uint32_t expected, int64_t deadline);
    bool (*wake)(_Atomic uint32_t *word);
    /* As lt_pool_submit. */
    int (*start)(struct lt_work *work);
    /* The running party has done an operation, holds no lock, and may be interrupted here. */
    void (*point)(void);
    /* As sched_yield. */
    void (*yield)(void);
};

/* The world that the calling thread lives in; NULL nearly always. And where that stands. */
LT_FRESH_PART(struct lt_world *, lt_world, lt_world_of_thread, 0)
LT_FRESH(struct lt_world *, lt_world_place, lt_world_of_thread)

#endif
