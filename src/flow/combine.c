/* combine.c: makes one output from one item of each input.
 *
 * A round starts a receive from each input, as a callback. The receives run side by side: a sender
 * may serve the inputs in any order. The last receive to end lets the block go on. If the scope is
 * cancelled, the block does not wait for the receives, which then end as well; whichever of them
 * and the block is last drops the round's items. */
#include "flow/flow.h"

#include <leat/callback.h>

struct combine;

struct side {
    leat_op op; /* must be first: `received` finds the side by it */
    struct combine *combine;
    leat_chan *in;
    int status; /* of its receive in this round */
};

struct combine {
    struct lt_flow flow;
    size_t n;
    _Atomic size_t pending; /* receives of this round, plus 1 for the block */
    leat_chan *done;
    leat_combine_fn *fn;
    void *arg;
    struct side *sides;
    void **items; /* where each item is, after this struct */
};

static void drop_round(struct combine *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!c->sides[i].status)
            lt_flow_drop(lt_chan_drop_received(c->sides[i].in), c->items[i]);
}

/* Returns how many receives are left, plus 1 unless the block has left. */
static size_t leave_round(struct combine *c)
{
    /* Both: the last to leave sees what the others have received. */
    size_t left = atomic_fetch_sub_explicit(&c->pending, 1, memory_order_acq_rel) - 1;
    if (!left)
        drop_round(c);
    return left;
}

static void received(leat_op *op, int status)
{
    struct side *side = (struct side *)op;
    struct combine *c = side->combine;
    side->status = status;
    if (leave_round(c) == 1)
        leat_try_send(c->done, NULL);
}

static void begin_round(struct combine *c)
{
    /* Relaxed: no receive is under way, and starting one orders this before its end. */
    atomic_store_explicit(&c->pending, c->n + 1, memory_order_relaxed);
    for (size_t i = 0; i < c->n; i++)
        leat_recv_then(&c->sides[i].op, c->sides[i].in, c->items[i], received);
}

static int status_of_round(const struct combine *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->sides[i].status)
            return c->sides[i].status;
    return 0;
}

static void zip(struct combine *c)
{
    unsigned char *to = c->flow.item;
    for (size_t i = 0; i < c->n; to += leat_chan_item_size(c->sides[i++].in))
        lt_item_copy(to, c->items[i], leat_chan_item_size(c->sides[i].in));
}

static int combine(leat_block *b)
{
    struct combine *c = LT_CONTAINER(b, struct combine, flow.block);
    LEAT_BEGIN(b);
    for (;;) {
        begin_round(c);
        LEAT_AWAIT_RECV(b, c->done, NULL);
        if (b->status) {
            leave_round(c);
            break;
        }
        b->status = status_of_round(c);
        if (b->status) {
            drop_round(c);
            break;
        }
        if (!c->fn)
            zip(c);
        else if (c->fn(c->arg, c->items, c->flow.item) != 0)
            continue;
        LEAT_AWAIT_SEND(b, c->flow.out, c->flow.item);
        if (b->status && !c->fn)
            drop_round(c);
        if (!lt_flow_sent(&c->flow, b->status))
            break;
    }
    lt_flow_end(c->flow.out, LEAT_ENDS_CLOSED, b->status);
    LEAT_END(b);
}

leat_chan *leat_combine(leat_scope *scope, leat_chan *const *ins, size_t n, leat_combine_fn *fn,
                        void *arg, const leat_chan_spec *out_spec)
{
    if (!scope || (!ins && n) || n > LT_ITEM_MAX || !out_spec)
        return NULL;
    size_t bytes = 0, packed = 0;
    for (size_t i = 0; i < n; i++) {
        if (!ins[i])
            return NULL;
        bytes += lt_flow_aligned(leat_chan_item_size(ins[i]));
        packed += leat_chan_item_size(ins[i]);
    }
    leat_chan_spec spec = *out_spec;
    if (!fn)
        spec.item_size = packed;
    leat_chan *out = leat_chan_open(scope, &spec);
    if (!out || !n) {
        leat_close(out);
        return out;
    }
    size_t head =
        lt_flow_aligned(sizeof(struct combine) + n * (sizeof(struct side) + sizeof(void *)));
    struct combine *c = lt_flow_make(scope, NULL, out, head + bytes, NULL);
    leat_chan *done = c ? leat_chan_make(scope, 0, 1) : NULL;
    if (!done)
        return NULL;
    unsigned char *memory = (unsigned char *)c + head;
    c->n = n;
    c->done = done;
    c->fn = fn;
    c->flow.drop = fn ? c->flow.drop : NULL; /* a zip drops the items of the round */
    c->arg = arg;
    c->sides = (struct side *)(c + 1);
    c->items = (void **)(c->sides + n);
    for (size_t i = 0; i < n; i++) {
        c->sides[i] = (struct side){ .op = LEAT_OP(scope, 0), .combine = c, .in = ins[i] };
        lt_flow_sees(&c->flow, ins[i], NULL);
        c->items[i] = memory;
        memory += lt_flow_aligned(leat_chan_item_size(ins[i]));
    }
    lt_flow_go(&c->flow, "combine", LEAT_BLOCK_TYPE_(combine));
    return out;
}
