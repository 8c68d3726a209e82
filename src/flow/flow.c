#include "flow/flow.h"

#include "base/alloc.h"
#include "block/block.h"

void lt_flow_free(struct lt_owned *owned)
{
    lt_free(LT_CONTAINER(owned, struct lt_flow, owned));
}

void *lt_flow_make(leat_scope *scope, leat_chan *in, leat_chan *out, size_t bytes,
                   const struct lt_owned_kind *kind)
{
    static const struct lt_owned_kind plain = { .free = lt_flow_free, .see = lt_flow_see };
    size_t head = lt_flow_aligned(bytes);
    struct lt_flow *flow = scope ? lt_alloc(head + leat_chan_item_size(in ? in : out)) : NULL;
    if (!flow)
        return NULL;
    flow->item = (unsigned char *)flow + head;
    flow->scope = scope;
    flow->in = in;
    flow->out = out;
    flow->drop = in ? lt_chan_drop_received(in) : leat_chan_drop_fn(out);
    flow->owned.kind = kind ? kind : &plain;
    lt_scope_own(scope, &flow->owned);
    return flow;
}

void lt_flow_sees(struct lt_flow *flow, const leat_chan *in, const leat_chan *out)
{
    if (in && flow->ins++ < LT_SIGHT_ENDS)
        flow->seen_in[flow->ins - 1] = lt_chan_number(in);
    if (out && flow->outs++ < LT_SIGHT_ENDS)
        flow->seen_out[flow->outs - 1] = lt_chan_number(out);
}

void lt_flow_go(struct lt_flow *flow, const char *what, const leat_block_type *type)
{
    /* Before the operator runs: it may end, and others may free its channels. */
    lt_flow_sees(flow, flow->in, flow->out);
    leat_go_block_typed(flow->scope, &flow->block, type);
    /* Only then: before, the block's head belongs to no thing. The caller keeps the scope open. */
    lt_flow_show(flow, what);
}

/* Looks name the operator by its owned part, since the block at the head is a thing itself. */
bool lt_flow_sight(struct lt_owned *owned, struct lt_sight *sight)
{
    struct lt_flow *flow = LT_CONTAINER(owned, struct lt_flow, owned);
    const char *what = atomic_load_explicit(&flow->what, memory_order_acquire);
    *sight = (struct lt_sight){ .kind = LT_SEES_STAGE,
                                .self = what ? owned : NULL,
                                .scope = flow->scope,
                                .what = what,
                                .steps = sight->steps };
    if (what) {
        memcpy(sight->in, flow->seen_in, sizeof flow->seen_in);
        memcpy(sight->out, flow->seen_out, sizeof flow->seen_out);
        sight->ins = flow->ins;
        sight->outs = flow->outs;
    }
    return what;
}

void lt_flow_see(struct lt_owned *owned, struct lt_sight *sight)
{
    struct lt_flow *flow = LT_CONTAINER(owned, struct lt_flow, owned);
    if (!lt_flow_sight(owned, sight))
        return;
    sight->block = &flow->block;
    if (lt_block_is_over(&flow->block))
        sight->self = NULL;
}

leat_chan *lt_flow_chan(leat_scope *scope, const leat_chan *like, size_t capacity)
{
    leat_chan_spec spec = { .item_size = leat_chan_item_size(like),
                            .capacity = capacity,
                            .drop = lt_chan_drop_received(like) };
    return leat_chan_open(scope, &spec);
}

void lt_flow_end(leat_chan *out, leat_ending ending, int status)
{
    bool cut = status == -ECANCELED;
    if (ending == LEAT_ENDS_DONE)
        lt_chan_end_one(out, cut);
    else if (ending == LEAT_ENDS_CLOSED)
        cut ? leat_cut(out) : leat_close(out);
}

void lt_flow_conclude(struct lt_flow *flow, int verdict, int status)
{
    if (verdict)
        lt_scope_cancel(flow->scope, verdict);
    lt_flow_end(flow->out, LEAT_ENDS_CLOSED, verdict ? -ECANCELED : status);
}
