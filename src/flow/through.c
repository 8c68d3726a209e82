/* through.c: the operator that passes items through a transform. It takes an item, makes a step,
 * and sends the outputs of that step before it takes the next item. */
#include "base/alloc.h"
#include "flow/flow.h"
#include "flow/transform.h"

struct through {
    struct lt_flow flow;
    leat_transform *transform;
    leat_emit emit;
    struct lt_passage passage;
    size_t count, sent;
    int result; /* 0: it goes on. Else why it ends: LEAT_ENOUGH, or an error */
    bool finished;
    _Alignas(16) unsigned char outputs[]; /* room for the outputs of one step */
};

static void free_through(struct lt_owned *owned)
{
    struct through *t = LT_CONTAINER(owned, struct through, flow.owned);
    leat_transform_free(t->transform);
    lt_free(t);
}

static const struct lt_owned_kind owned_kind = { .free = free_through, .see = lt_flow_see };

static unsigned char *output(struct through *t, size_t i)
{
    return t->outputs + i * t->transform->out_size;
}

static int add_output(leat_emit *emit, const void *item)
{
    struct through *t = LT_CONTAINER(emit, struct through, emit);
    if (t->count == t->transform->most)
        return -ENOSPC;
    lt_item_copy(output(t, t->count++), item, t->transform->out_size);
    return 0;
}

/* Returns 0, LEAT_ENOUGH, or an error that ends the operator. */
static int step(struct through *t)
{
    leat_transform *transform = t->transform;
    t->passage.taken = false;
    t->count = t->sent = 0;
    int result = transform->step(transform, t->flow.item, &t->emit);
    if (result < 0)
        result = lt_transform_failed(transform, result, t->flow.item, &t->emit);
    if (t->passage.failure)
        return t->passage.failure;
    if (result < 0 && !t->passage.taken)
        leat_leave_out(&t->emit, t->flow.item);
    return result == LEAT_ENOUGH || t->passage.enough ? LEAT_ENOUGH : 0;
}

/* Takes the outputs that the transform still holds. */
static void finish(struct through *t)
{
    t->finished = true;
    t->count = t->sent = 0;
    if (t->transform->finish)
        t->transform->finish(t->transform, &t->emit);
}

static int pass(leat_block *b)
{
    struct through *t = LT_CONTAINER(b, struct through, flow.block);
    LEAT_BEGIN(b);
    while (!t->finished) {
        if (t->result == 0) {
            LEAT_AWAIT_RECV(b, t->flow.in, t->flow.item);
            t->result = b->status ? b->status : step(t);
        } else {
            finish(t);
        }
        for (; t->sent < t->count && !t->passage.failure; t->sent++) {
            LEAT_AWAIT_SEND(b, t->flow.out, output(t, t->sent));
            if (b->status) {
                t->result = b->status;
                break;
            }
        }
        for (; t->sent < t->count; t->sent++)
            lt_flow_drop(leat_chan_drop_fn(t->flow.out), output(t, t->sent));
    }
    lt_flow_conclude(&t->flow, t->passage.failure, t->result);
    LEAT_RETURN(b, t->passage.failure);
}

static struct through *make(leat_scope *scope, leat_chan *in, leat_transform *transform)
{
    size_t bytes;
    if (!in || !transform || !transform->step || transform->in_size != leat_chan_item_size(in) ||
        transform->out_size > LT_ITEM_MAX ||
        __builtin_mul_overflow(transform->most, transform->out_size, &bytes) ||
        bytes > SIZE_MAX / 2)
        return NULL;
    return lt_flow_make(scope, in, NULL, sizeof(struct through) + bytes, &owned_kind);
}

leat_chan *leat_through(leat_scope *scope, leat_chan *in, leat_transform *transform,
                        size_t capacity, leat_drop_fn *drop)
{
    struct through *t = make(scope, in, transform);
    if (!t) {
        leat_transform_free(transform);
        return NULL;
    }
    t->transform = transform; /* the scope frees it from now on */
    t->flow.out = leat_chan_open(
        scope,
        &(leat_chan_spec){ .item_size = transform->out_size, .capacity = capacity, .drop = drop });
    if (!t->flow.out)
        return NULL;
    t->result = transform->step == lt_transform_take_none ? LEAT_ENOUGH : 0;
    t->passage.drop = t->flow.drop;
    t->emit = (leat_emit){ .put = add_output, .passage = &t->passage };
    lt_flow_go(&t->flow, "through", LEAT_BLOCK_TYPE_(pass));
    return t->flow.out;
}
