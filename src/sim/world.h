/* world.h: the scheduler of a seeded world. */
#ifndef LT_SIM_WORLD_H
#define LT_SIM_WORLD_H

#include "sim/sim.h"

/* The caller's world. The caller must live in one. */
struct lt_sim *lt_sim_current(void);

/* The thread is that worker from here on. */
void lt_sim_become(struct lt_sim *sim, struct lt_worker *worker);

/* Runs the program until nothing is left of it, in a runtime that the caller has opened. */
void lt_sim_live(struct lt_sim *sim);

/* A door: see struct lt_world. */
void lt_sim_point(void);

/* For the table of kinds (sched/kinds.h), instead of lt_scope_task_ended. */
bool lt_sim_task_ended(struct lt_task *task, int result);

#endif
