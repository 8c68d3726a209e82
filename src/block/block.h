/* block.h: blocks, for the rooms above. */
#ifndef LT_BLOCK_BLOCK_H
#define LT_BLOCK_BLOCK_H

#include "sched/party.h"

#include <leat/block.h>

/* Runs a ready block's next step. */
void lt_block_run(struct lt_party *party);

/* The party that awaits the block's end, or NULL. For dumps: the answer stays true while the caller
 * holds the lock of the list that the block is on. */
const struct lt_party *lt_block_awaiter(const leat_block *block);

/* Whether a block has ended and is not touched any more. */
bool lt_block_is_over(const leat_block *block);

#endif
