#include "flow/flow.h"

#include "base/alloc.h"
#include "chan/more.h"

static void free_flow(struct lt_owned *owned)
{
    lt_free(LT_CONTAINER(owned, struct lt_flow, owned));
}

void *lt_flow_make(leat_scope *scope, size_t bytes, const struct lt_owned_kind *kind)
{
    static const struct lt_owned_kind plain = { .free = free_flow };
    struct lt_flow *flow = scope ? lt_alloc(bytes) : NULL;
    if (!flow)
        return NULL;
    flow->scope = scope;
    flow->owned.kind = kind ? kind : &plain;
    lt_scope_own(scope, &flow->owned);
    return flow;
}

leat_chan *lt_flow_chan(leat_scope *scope, const leat_chan *like, size_t capacity)
{
    leat_chan_spec spec = { .item_size = leat_chan_item_size(like),
                            .capacity = capacity,
                            .drop = leat_chan_drop_fn(like) };
    return leat_chan_open(scope, &spec);
}

void lt_flow_end(leat_chan *out, leat_ending ending, int status)
{
    bool cut = status == -ECANCELED;
    switch (ending) {
    case LEAT_ENDS_CLOSED: cut ? leat_cut(out) : leat_close(out); break;
    case LEAT_ENDS_DONE: lt_chan_end_one(out, cut); break;
    case LEAT_ENDS_OPEN: break;
    }
}
