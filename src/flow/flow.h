/* flow.h: the base of all operators: a block, in memory that its scope frees.
 *
 * An operator's step function owns all of its struct and needs no lock: one worker at a time runs a
 * block. Cancelling ends the operator's awaits, not its code: it reaches its own end, where it
 * drops what it holds and ends its output. The scope frees the memory after that.
 *
 * An await returns -ECANCELED if the scope is cancelled, or if an operator of another, cancelled
 * scope cut the input short. In both cases items are missing: the output is cut short, too. */
#pragma once

#include "base/item.h"
#include "chan/more.h"
#include "scope/owned.h"
#include "scope/sight.h"

#include <leat/block.h>
#include <leat/flow.h>

#include <errno.h>
#include <stdatomic.h>

/* The beginning of every operator's struct. */
struct lt_flow {
    leat_block block;
    struct lt_owned owned;
    leat_scope *scope;
    leat_chan *in, *out; /* NULL: there is none, or there are several */
    leat_drop_fn *drop;  /* for items of `in`, or without an `in` of `out`; or NULL */
    void *item;          /* memory for one of these items, for operators that hold one */
    /* Its name in looks, such as "merge"; NULL: looks do not see it. lt_flow_show writes it when
     * everything that looks read has been set; read with acquire. */
    const char *_Atomic what;
    /* For looks: the numbers of its first channels, and their count. The channels may be gone when
     * the operator has ended. */
    uint32_t seen_in[LT_SIGHT_ENDS], seen_out[LT_SIGHT_ENDS], ins, outs;
};

/* Zeroed memory, and after it that for the item, which the scope frees by `kind`, or with a NULL
 * kind by lt_flow_free. Returns NULL for a NULL scope, or when memory has run out. `in` and `out`
 * may be NULL. */
void *lt_flow_make(leat_scope *scope, leat_chan *in, leat_chan *out, size_t bytes,
                   const struct lt_owned_kind *kind);
void lt_flow_free(struct lt_owned *owned);

/* Lets looks see these channels of the operator, too; each may be NULL. */
void lt_flow_sees(struct lt_flow *flow, const leat_chan *in, const leat_chan *out);

/* Starts the block of an operator that looks call `what`, and lets them see its `in` and `out`. If
 * its channels change while it runs, the `see` function of its kind adds them. */
void lt_flow_go(struct lt_flow *flow, const char *what, const leat_block_type *type);

/* Lets looks see the operator from now on. */
static inline void lt_flow_show(struct lt_flow *flow, const char *what)
{
    /* Release: a look that reads `what` also sees the fields that were written before. */
    atomic_store_explicit(&flow->what, what, memory_order_release);
}

/* The `see` function of an operator that is one block. */
void lt_flow_see(struct lt_owned *owned, struct lt_sight *sight);

/* Called first in each `see` function. False: there is nothing to see. */
bool lt_flow_sight(struct lt_owned *owned, struct lt_sight *sight);

/* A channel of the scope for items of `like`; NULL: items of 0 bytes. */
leat_chan *lt_flow_chan(leat_scope *scope, const leat_chan *like, size_t capacity);

/* Ends an output. `status` is why the operator ends: -ECANCELED cuts the output short. */
void lt_flow_end(leat_chan *out, leat_ending ending, int status);

/* Closes the output at the end of an operator with a verdict; one that is not 0 cuts it short. The
 * verdict cancels the scope before that: the first reason counts, and a receiver that finds the
 * output cut short may return -ECANCELED. */
void lt_flow_conclude(struct lt_flow *flow, int verdict, int status);

/* Whether an operator may send to `out`: it exists, and not only leat itself sends to it. */
static inline bool lt_flow_may_fill(const leat_chan *out)
{
    return out && !lt_chan_is_kept(out);
}

/* Whether items of `in` may go to `out`: the two are different, and have the same item size. */
static inline bool lt_flow_fits(const leat_chan *in, const leat_chan *out)
{
    return in && in != out && lt_flow_may_fill(out) &&
           leat_chan_item_size(in) == leat_chan_item_size(out);
}

/* Hands an item to a drop function, if there is one. */
static inline void lt_flow_drop(leat_drop_fn *drop, void *item)
{
    if (drop)
        drop(item);
}

/* Hands the operator's item to its drop function, if there is one. */
static inline void lt_flow_drop_item(const struct lt_flow *flow)
{
    lt_flow_drop(flow->drop, flow->item);
}

/* Whether more can be sent after a send with that result. */
static inline bool lt_flow_goes_on(int status)
{
    return status != -EPIPE && status != -ECANCELED;
}

/* After a send of the operator's item: drops the item if it has not arrived. False: nothing more
 * can be sent. */
static inline bool lt_flow_sent(const struct lt_flow *flow, int status)
{
    if (status)
        lt_flow_drop_item(flow);
    return lt_flow_goes_on(status);
}

/* `bytes`, rounded up so that another field may follow. */
static inline size_t lt_flow_aligned(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Whether a mult has taps whose channels are open, at some moment during the call. */
bool lt_mult_is_tapped(leat_mult *mult);
