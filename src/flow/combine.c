/* combine.c: makes one output from one item of each input. It receives from the inputs in turn: a
 * round takes as long as the slowest input. */
#include "chan/more.h"
#include "flow/flow.h"

struct combine {
    struct lt_flow flow;
    size_t n, have; /* `have`: items received in this round */
    leat_combine_fn *fn;
    void *arg;
    leat_chan **ins;
    void **items; /* where each item is, after this struct */
    unsigned char *result;
};

static void drop_round(struct combine *c)
{
    for (size_t i = 0; i < c->have; i++)
        lt_flow_drop(lt_chan_drop_received(c->ins[i]), c->items[i]);
}

static int combine(leat_block *b)
{
    struct combine *c = LT_CONTAINER(b, struct combine, flow.block);
    LEAT_BEGIN(b);
    for (;;) {
        for (c->have = 0; c->have < c->n; c->have++) {
            LEAT_AWAIT_RECV(b, c->ins[c->have], c->items[c->have]);
            if (b->status) {
                drop_round(c);
                goto end;
            }
        }
        if (c->fn && c->fn(c->arg, c->items, c->result) != 0)
            continue;
        LEAT_AWAIT_SEND(b, c->flow.out, c->result);
        if (b->status && !c->fn)
            drop_round(c);
        if (!lt_flow_sent(b->status, c->fn ? c->flow.drop : NULL, c->result))
            break;
    }
end:
    lt_flow_end(c->flow.out, LEAT_ENDS_CLOSED, b->status);
    LEAT_END(b);
}

leat_chan *leat_combine(leat_scope *scope, leat_chan *const *ins, size_t n, leat_combine_fn *fn,
                        void *arg, const leat_chan_spec *out_spec)
{
    if (!scope || (!ins && n) || n > LT_ITEM_MAX || !out_spec)
        return NULL;
    /* A zip (no `fn`) sends its output from where the items are. */
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (!ins[i])
            return NULL;
        bytes += fn ? lt_flow_aligned(leat_chan_item_size(ins[i])) : leat_chan_item_size(ins[i]);
    }
    leat_chan_spec spec = *out_spec;
    if (!fn)
        spec.item_size = bytes;
    leat_chan *out = leat_chan_open(scope, &spec);
    if (!out || !n) {
        leat_close(out);
        return out;
    }
    size_t head = lt_flow_aligned(sizeof(struct combine) + n * (sizeof(void *) + sizeof *ins));
    size_t out_size = leat_chan_item_size(out);
    struct combine *c = lt_flow_make(scope, NULL, out, head + bytes + out_size, NULL);
    if (!c)
        return NULL;
    unsigned char *memory = (unsigned char *)c + head;
    c->n = n;
    c->fn = fn;
    c->arg = arg;
    c->items = (void **)(c + 1);
    c->ins = (leat_chan **)(c->items + n);
    c->result = fn ? memory + bytes : memory;
    for (size_t i = 0; i < n; i++) {
        c->ins[i] = ins[i];
        lt_flow_sees(&c->flow, ins[i], NULL);
        c->items[i] = memory;
        memory += fn ? lt_flow_aligned(leat_chan_item_size(ins[i])) : leat_chan_item_size(ins[i]);
    }
    lt_flow_go(&c->flow, "combine", LEAT_BLOCK_TYPE_(combine));
    return out;
}
