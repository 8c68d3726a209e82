/* thread.h: the threads of a seeded world. */
#ifndef LT_SIM_THREAD_H
#define LT_SIM_THREAD_H

#include "sim/sim.h"

/* A simulated thread: an lt_thread like any other, on the stack of a task, its carrier. While the
 * thread runs, lt_current_worker is NULL. Where the thread sleeps, its carrier parks. */
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

#endif
