/* block.h: blocks, for the rooms above. */
#ifndef LT_BLOCK_BLOCK_H
#define LT_BLOCK_BLOCK_H

#include "sched/party.h"

#include <leat/block.h>

struct lt_call;

/* Runs a ready block's next step. */
void lt_block_run(struct lt_party *party);

/* As leat_go_block_typed, at a worker of the caller's choice. At the end of the block `ended` runs,
 * on any worker. From then on nobody uses the block, and its verdict is in block->status. `ended`
 * leaves the scope in the block's place (lt_scope_leave). */
void lt_go_block_at(struct lt_worker *worker, leat_scope *scope, leat_block *block,
                    const leat_block_type *type, struct lt_job *ended);

/* The party that awaits the block's end, or NULL. For dumps: the answer stays true while the caller
 * holds the lock of the list that the block is on. */
const struct lt_party *lt_block_awaiter(const leat_block *block);

/* For a block's own step function, as the functions of leat/block.h for macros: the answer of an
 * operation that did not wait; and a wait for a call (block/machine.h), whose result is the status.
 * Both return LEAT_DONE_ or LEAT_PARKED_. */
int lt_block_answer(leat_block *block, int status);
int lt_block_call(leat_block *block, struct lt_call *call);

/* Whether a block has ended and is not touched any more. */
bool lt_block_is_over(const leat_block *block);

#endif
