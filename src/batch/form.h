/* form.h: how batches form, and are left by their holders. */
#ifndef LT_BATCH_FORM_H
#define LT_BATCH_FORM_H

#include "batch/batch.h"

struct lt_party;

/* Puts items into a batch. 0, with a ticket; or -EPIPE, -ENOMEM, -EINVAL. Before the call *leads
 * says whether the caller wants to lead a batch that it creates; after it, whether the caller
 * leads. */
int lt_batch_join(leat_batcher *batcher, const void *items, size_t n, leat_ticket *ticket,
                  bool *leads);

/* Spends a ticket without a look at the results. A caller that `leads` gives the right back. */
void lt_batch_leave(leat_ticket *ticket, bool leads);

/* Gives the right to lead to the next party that waits for it. */
void lt_batch_pass_on(struct lt_batch *batch);

/* With the lock held: whether the leader need not linger for it any longer. */
bool lt_batch_is_enough(const struct lt_batch *batch);
/* With the lock held: if so, adds the leader that lingers to the chain of the woken. */
void lt_batch_wake(struct lt_batch *batch, struct lt_party **woken);

#endif
