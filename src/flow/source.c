/* source.c: sources and sinks of items: arrays, functions, reductions. */
#include "flow/flow.h"

#include "base/alloc.h"

/* ---- from an array ---- */

struct onto {
    struct lt_flow flow;
    leat_ending ending;
    const unsigned char *items;
    size_t left, size;
};

static int send_items(leat_block *b)
{
    struct onto *o = LT_CONTAINER(b, struct onto, flow.block);
    LEAT_BEGIN(b);
    for (; o->left; o->left--, o->items += o->size) {
        LEAT_AWAIT_SEND(b, o->flow.out, o->items);
        if (b->status)
            break;
    }
    lt_flow_end(o->flow.out, o->ending, b->status);
    LEAT_END(b);
}

leat_chan *leat_onto(leat_scope *scope, leat_chan *ch, const void *items, size_t n,
                     leat_ending ending)
{
    if (!lt_flow_may_fill(ch) || (!items && n && leat_chan_item_size(ch)) ||
        ending > LEAT_ENDS_OPEN)
        return NULL;
    struct onto *o = lt_flow_make(scope, NULL, ch, sizeof *o, NULL);
    if (!o)
        return NULL;
    o->ending = ending;
    o->items = items;
    o->left = n;
    o->size = items ? leat_chan_item_size(ch) : 0;
    lt_flow_go(&o->flow, "onto", LEAT_BLOCK_TYPE_(send_items));
    return ch;
}

leat_chan *leat_to_chan(leat_scope *scope, const void *items, size_t item_size, size_t n,
                        leat_drop_fn *drop)
{
    if (!scope || (!items && n && item_size))
        return NULL;
    leat_chan *ch = leat_chan_open(
        scope, &(leat_chan_spec){ .item_size = item_size, .capacity = n, .drop = drop });
    if (!ch)
        return NULL;
    for (size_t i = 0; i < n; i++) /* leat_send_many does nothing in a cancelled scope */
        leat_try_send(ch, items ? (const unsigned char *)items + i * item_size : NULL);
    leat_close(ch);
    return ch;
}

/* ---- from a function ---- */

struct generator {
    struct lt_flow flow;
    leat_next_fn *next;
    void *arg;
    int result;
};

static int generate(leat_block *b)
{
    struct generator *g = LT_CONTAINER(b, struct generator, flow.block);
    LEAT_BEGIN(b);
    while ((g->result = g->next(g->arg, g->flow.item)) == 0) {
        LEAT_AWAIT_SEND(b, g->flow.out, g->flow.item);
        if (!lt_flow_sent(&g->flow, b->status))
            break;
    }
    int verdict = g->result < 0 ? g->result : 0;
    lt_flow_conclude(&g->flow, verdict, b->status);
    LEAT_RETURN(b, verdict);
}

leat_chan *leat_generate(leat_scope *scope, leat_next_fn *next, void *arg,
                         const leat_chan_spec *spec)
{
    leat_chan *out = scope && next ? leat_chan_open(scope, spec) : NULL;
    struct generator *g = out ? lt_flow_make(scope, NULL, out, sizeof *g, NULL) : NULL;
    if (!g)
        return NULL;
    g->next = next;
    g->arg = arg;
    lt_flow_go(&g->flow, "generate", LEAT_BLOCK_TYPE_(generate));
    return out;
}

/* ---- into a value ---- */

int leat_reduce(leat_chan *in, leat_reduce_fn *fn, void *state)
{
    if (!in || !fn)
        return -EINVAL;
    void *item = lt_alloc(leat_chan_item_size(in) ? leat_chan_item_size(in) : 1);
    if (!item)
        return -ENOMEM;
    int status, result = 0;
    while ((status = leat_recv(in, item)) == 0 && (result = fn(state, item)) == 0) {
    }
    lt_free(item);
    if (status)
        return status == -EPIPE ? 0 : status;
    return result == LEAT_ENOUGH ? 0 : result;
}

struct reduce {
    struct lt_flow flow;
    leat_reduce_fn *fn;
    void *state;
    int result;
};

static int reduce(leat_block *b)
{
    struct reduce *r = LT_CONTAINER(b, struct reduce, flow.block);
    LEAT_BEGIN(b);
    do {
        LEAT_AWAIT_RECV(b, r->flow.in, r->flow.item);
        r->result = b->status ? 0 : r->fn(r->state, r->flow.item);
    } while (!b->status && !r->result);
    if (r->result == LEAT_ENOUGH)
        r->result = 0;
    bool whole = !r->result && (!b->status || b->status == -EPIPE);
    if (whole)
        leat_try_send(r->flow.out, r->state); /* its channel has room for it */
    lt_flow_conclude(&r->flow, r->result, whole ? 0 : -ECANCELED);
    LEAT_RETURN(b, r->result);
}

leat_chan *leat_reduce_into(leat_scope *scope, leat_chan *in, leat_reduce_fn *fn, void *state,
                            size_t state_size)
{
    if (!scope || !in || !fn || (!state && state_size))
        return NULL;
    leat_chan *out = leat_chan_make(scope, state_size, 1);
    struct reduce *r = out ? lt_flow_make(scope, in, out, sizeof *r, NULL) : NULL;
    if (!r)
        return NULL;
    r->fn = fn;
    r->state = state;
    lt_flow_go(&r->flow, "reduce", LEAT_BLOCK_TYPE_(reduce));
    return out;
}

/* ---- into an array ---- */

int64_t leat_into(leat_chan *in, void *items, size_t n)
{
    if (!in || n > INT64_MAX || (!items && n && leat_chan_item_size(in)))
        return -EINVAL;
    size_t got = 0;
    while (got < n) {
        unsigned char *at = items ? (unsigned char *)items + got * leat_chan_item_size(in) : NULL;
        int64_t more = leat_recv_many(in, at, n - got, LEAT_NEVER);
        if (more == -EPIPE)
            break;
        if (more < 0)
            return got ? (int64_t)got : more;
        got += (size_t)more;
    }
    return (int64_t)got;
}
