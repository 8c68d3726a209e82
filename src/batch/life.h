/* life.h: the memory of batches. */
#ifndef LT_BATCH_LIFE_H
#define LT_BATCH_LIFE_H

#include "batch/batch.h"

/* NULL: there is no memory, or the size overflows. */
struct lt_batch *lt_batch_make(leat_batcher *batcher);
struct lt_store *lt_store_make(const leat_batcher *batcher, size_t room);

void lt_batch_destroy(struct lt_batch *batch);

/* One holder fewer. After this the batch may be gone. */
void lt_batch_drop(struct lt_batch *batch);

/* All batches of a batcher that has no users any more. */
void lt_batch_destroy_all(leat_batcher *batcher);

#endif
