/* batcher.h: what all kinds of parties do before a put and after their wait. */
#ifndef LT_BATCH_BATCHER_H
#define LT_BATCH_BATCHER_H

#include "batch/batch.h"

bool lt_batch_is_done(struct lt_batch *batch);

/* When the batch is done: spends the ticket for its results, by the rules of leat_batch_get. */
int lt_batch_collect(leat_ticket *ticket, void *results, int *status);

#endif
