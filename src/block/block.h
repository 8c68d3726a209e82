/* block.h: blocks, for the rooms above. */
#pragma once

#include "sched/party.h"

#include <leat/block.h>

struct lt_call;

/* Runs a ready block's next step. */
void lt_block_run(struct lt_party *party);

/* As leat_go_block_typed, on the given worker. At the end of the block `ended` runs, on any worker.
 * From then on no party uses the block, and its verdict is in block->status. `ended` leaves the
 * scope in the block's place (lt_scope_leave). */
void lt_go_block_at(struct lt_worker *worker, leat_scope *scope, leat_block *block,
                    const leat_block_type *type, struct lt_job *ended);

/* The party that awaits the block's end, or NULL. For dumps: the result stays true while the caller
 * holds the lock of the list that the block is on. */
const struct lt_party *lt_block_awaiter(const leat_block *block);

/* For a block's own step function, as the functions in leat/block.h for macros. lt_block_answer
 * returns the result of an operation that did not wait. lt_block_call waits for a call
 * (block/machine.h), whose result is the status. Both return LEAT_DONE_ or LEAT_PARKED_. */
int lt_block_answer(leat_block *block, int status);
int lt_block_call(leat_block *block, struct lt_call *call);

/* Whether a block has ended and is no longer touched. */
bool lt_block_is_over(const leat_block *block);
