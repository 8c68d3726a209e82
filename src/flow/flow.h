/* flow.h: what all operators are made of: a block in memory of the scope's.
 *
 * An operator's step function owns all of its struct and needs no lock: a block is run by one worker at a
 * time. Cancelling ends its awaits, not its code: each leaves by way of its own end, where it drops what it
 * holds and ends its output. The memory is freed with the scope, after that.
 *
 * An await says -ECANCELED when the scope is cancelled, and when the input was cut short by an operator of another
 * scope that was. In both cases more was to come, and the output is cut short, too. */
#ifndef LT_FLOW_FLOW_H
#define LT_FLOW_FLOW_H

#include "chan/chan.h"
#include "scope/scope.h"

#include <leat/block.h>
#include <leat/flow.h>

/* What every operator's struct begins with. */
struct lt_flow {
    leat_block block;
    struct lt_owned owned;
    leat_scope *scope;
    struct lt_flow *next; /* for who makes several at a time */
};

/* Zeroed memory that the scope frees with `free`, or, NULL, simply frees. NULL: there is none, or no
 * scope. */
void *lt_flow_make(leat_scope *scope, size_t bytes, void (*free)(struct lt_owned *owned));

/* A channel of the scope's for the same items as `like`: their size, and what drops them. With NULL: of no
 * bytes. */
leat_chan *lt_flow_chan(leat_scope *scope, const leat_chan *like, size_t capacity);

/* Whether a mult has taps, at some moment during the call. */
bool lt_mult_is_tapped(leat_mult *mult);

/* Ends an output; `status` is what the operator ends for: -ECANCELED cuts it short. */
void lt_flow_end(leat_chan *out, leat_ending ending, int status);

/* Hands an item to a drop function, if there is one. */
static inline void lt_flow_drop(leat_drop_fn *drop, void *item)
{
    if (drop)
        drop(item);
}

/* After a send: an item that has not arrived falls. False: nothing more can be sent. */
static inline bool lt_flow_sent(int status, leat_drop_fn *drop, void *item)
{
    if (status)
        lt_flow_drop(drop, item);
    return status != -EPIPE && status != -ECANCELED;
}

/* How many bytes a field of `bytes` takes where another is to follow. */
static inline size_t lt_flow_aligned(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

#endif
