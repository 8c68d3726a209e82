/* lead.h: what a leader does with its batch. */
#ifndef LT_BATCH_LEAD_H
#define LT_BATCH_LEAD_H

#include "batch/batch.h"

enum lt_leader {
    LT_BEGINNER, /* created the batch just now */
    LT_LEADER,   /* received the right to lead from `turn` */
    LT_STAND_IN  /* has no item in the batch: so the batch may die meanwhile */
};

/* Runs the batch, as its leader. 0: the batch has run, or is dead. -EAGAIN, -ETIMEDOUT or
 * -ECANCELED: the batch has not begun, and the caller still has the right to lead. */
int lt_batch_lead(struct lt_batch *batch, enum lt_leader leader, int64_t deadline);

/* The same with the execution lock held, without waiting. 0, -EAGAIN or -ECANCELED. */
int lt_batch_lead_now(struct lt_batch *batch);

#endif
