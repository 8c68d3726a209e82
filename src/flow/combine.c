/* combine.c: one item of each input becomes one of the output. The inputs are received from in turn: a round
 * is complete when the last has given, whichever was slow. */
#include "flow/flow.h"

struct combine {
    struct lt_flow flow;
    size_t n, have; /* `have`: items of this round */
    leat_combine_fn *fn;
    void *arg;
    leat_chan *out;
    leat_drop_fn *drop; /* the output's */
    leat_chan **ins;
    void **items; /* where each is, in `memory` */
    unsigned char *result;
};

static void drop_round(struct combine *c)
{
    for (size_t i = 0; i < c->have; i++)
        lt_flow_drop(c->ins[i]->drop, c->items[i]);
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
        LEAT_AWAIT_SEND(b, c->out, c->result);
        if (b->status) {
            if (c->fn)
                lt_flow_drop(c->drop, c->result);
            else
                drop_round(c);
            break;
        }
    }
end:
    leat_close(c->out);
    LEAT_END(b);
}

leat_chan *leat_combine(leat_scope *scope, leat_chan *const *ins, size_t n, leat_combine_fn *fn,
                        void *arg, size_t out_size, size_t capacity)
{
    if (!scope || !ins || !n || n > LT_ITEM_MAX)
        return NULL;
    /* For a zip the items lie where the output is sent from. */
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (!ins[i])
            return NULL;
        bytes += fn ? lt_flow_aligned(ins[i]->item_size) : ins[i]->item_size;
    }
    if (!fn)
        out_size = bytes;
    if (out_size > LT_ITEM_MAX)
        return NULL;
    size_t head = lt_flow_aligned(sizeof(struct combine) + n * (sizeof(void *) + sizeof *ins));
    struct combine *c = lt_flow_make(scope, head + bytes + out_size, NULL);
    leat_chan *out = c ? leat_chan_make(scope, out_size, capacity) : NULL;
    if (!out)
        return NULL;
    unsigned char *memory = (unsigned char *)c + head;
    c->n = n;
    c->fn = fn;
    c->arg = arg;
    c->out = out;
    c->items = (void **)(c + 1);
    c->ins = (leat_chan **)(c->items + n);
    c->result = fn ? memory + bytes : memory;
    for (size_t i = 0; i < n; i++) {
        c->ins[i] = ins[i];
        c->items[i] = memory;
        memory += fn ? lt_flow_aligned(ins[i]->item_size) : ins[i]->item_size;
    }
    leat_go_block(scope, &c->flow.block, combine);
    return out;
}
