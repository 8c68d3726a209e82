/* world.h: the doors through which a seeded world (src/sim) takes the system's place, for the one thread
 * that lives in it: time, sleeping, threads, and the moments at which others may go first. Everywhere
 * else lt_world is NULL, and each door is one branch that is never taken, on no way that is hot. */
#ifndef LT_BASE_WORLD_H
#define LT_BASE_WORLD_H

#include <stdatomic.h>
#include <stdint.h>

struct lt_work;

struct lt_world {
    int64_t now; /* virtual nanoseconds */
    /* As lt_futex_wait and lt_futex_wake. */
    void (*sleep)(_Atomic uint32_t *word, uint32_t expected, int64_t deadline);
    void (*wake)(_Atomic uint32_t *word);
    /* As lt_pool_submit. */
    int (*start)(struct lt_work *work);
    /* The running party has done an operation, holds no lock, and may be interrupted here. */
    void (*point)(void);
    /* As sched_yield. */
    void (*yield)(void);
};

/* initial-exec: one load and no call, also in a shared library. */
extern _Thread_local struct lt_world *lt_world __attribute__((tls_model("initial-exec")));

#endif
