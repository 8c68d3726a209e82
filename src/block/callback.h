/* callback.h: callbacks, for the rooms above. */
#ifndef LT_BLOCK_CALLBACK_H
#define LT_BLOCK_CALLBACK_H

#include "chan/chan.h"

#include <leat/callback.h>

/* Calls the function of a ready operation. */
void lt_callback_run(struct lt_party *party);

/* A status that no leat_recv_then ends with. */
enum { LT_WITHDRAWN = LT_UNDECIDED };

/* As leat_recv_then without an item. But leat_withdraw, if it takes the operation back, calls fn
 * with LT_WITHDRAWN before it returns. */
int lt_callback_await(leat_op *op, leat_chan *ch, leat_op_fn *fn);

#endif
