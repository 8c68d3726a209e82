/* choose.h: which party runs next in a seeded world. */
#ifndef LT_SIM_CHOOSE_H
#define LT_SIM_CHOOSE_H

#include "sim/sim.h"

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

#endif
