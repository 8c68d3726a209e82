/* report.h: what a seeded world remembers, and prints when it fails. */
#ifndef LT_SIM_REPORT_H
#define LT_SIM_REPORT_H

#include "sim/sim.h"

/* Remembers that a party's turn begins. */
void lt_sim_remember(struct lt_sim *sim, const struct lt_candidate *candidate);

/* Remembers that a task's turn has ended in a wait. */
void lt_sim_remember_wait(struct lt_sim *sim, const struct lt_task *task);

/* Prints what each party waits for, when no party can run. */
void lt_sim_report(struct lt_sim *sim);

/* Prints the result and the last turns, as many as the options say. */
void lt_sim_print_failure(struct lt_sim *sim, int result);

/* Between these two calls, an abort or a fault in the world prints the world's seed. */
void lt_sim_catch_faults(struct lt_sim *sim);
void lt_sim_uncatch_faults(void);

#endif
