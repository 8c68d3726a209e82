/* compose.c: one transform made of two, and a transform with a function for failures. */
#include "flow/transform.h"

#include "base/alloc.h"
#include "base/util.h"

#include <errno.h>

struct composed {
    leat_transform t;
    leat_transform *first, *second;
    bool enough; /* `second` returned LEAT_ENOUGH: it does not want what `first` still holds */
};

/* Passes on no more outputs than a transform may emit in one call. */
struct limit {
    leat_emit emit;
    leat_emit *out;
    size_t left;
    bool refused; /* `out` has returned an error */
};

static int put_within(leat_emit *emit, const void *item)
{
    struct limit *limit = LT_CONTAINER(emit, struct limit, emit);
    if (!limit->left)
        return -ENOSPC;
    limit->left--;
    int error = limit->out->put(limit->out, item);
    limit->refused |= error != 0;
    return error;
}

static struct limit limit_for(const leat_transform *t, leat_emit *out, bool inner)
{
    return (struct limit){ .emit = { .put = put_within, .passage = out->passage, .inner = inner },
                           .out = out,
                           .left = t->most };
}

/* Passes what `first` emits through `second`. */
struct relay {
    leat_emit emit;
    leat_transform *second;
    leat_emit *out;
    size_t left; /* how many outputs `first` may still emit */
    int result;  /* LEAT_ENOUGH or an error, once `second` has returned it */
    bool at_end; /* there a failed item does not hold up the items after it */
};

static int relay_item(leat_emit *emit, const void *item)
{
    struct relay *relay = LT_CONTAINER(emit, struct relay, emit);
    if (!relay->left)
        return -ENOSPC;
    relay->left--;
    if (relay->result == LEAT_ENOUGH)
        return 0;
    if (relay->result < 0 && !relay->at_end)
        return relay->result;
    leat_transform *second = relay->second;
    /* What `second` is made of says nothing about the input of `first`. */
    bool taken = emit->passage->taken;
    struct limit limit = limit_for(second, relay->out, true);
    int result = second->step(second, item, &limit.emit);
    /* If it was refused, a transform behind it has failed. */
    if (result < 0 && !limit.refused)
        result = lt_transform_failed(second, result, item, &limit.emit);
    emit->passage->taken = taken;
    relay->result = result;
    return result < 0 ? result : 0;
}

static struct relay relay_to(struct composed *c, leat_emit *out)
{
    return (struct relay){
        .emit = { .put = relay_item, .passage = out->passage, .inner = out->inner },
        .second = c->second,
        .out = out,
        .left = c->first->most,
    };
}

static int composed_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct composed *c = (struct composed *)t;
    struct relay relay = relay_to(c, emit);
    int result = c->first->step(c->first, item, &relay.emit);
    if (result < 0 && relay.result >= 0)
        result = lt_transform_failed(c->first, result, item, &relay.emit);
    if (relay.result < 0)
        emit->passage->taken = true;
    if (relay.result < 0 && result == LEAT_ENOUGH)
        emit->passage->enough = true;
    /* The caller learns only that this was enough. */
    if (result < 0 && relay.result == LEAT_ENOUGH && !c->first->failed && !emit->passage->taken)
        leat_leave_out(emit, item);
    c->enough |= relay.result == LEAT_ENOUGH;
    return relay.result ? relay.result : result;
}

static int composed_finish(leat_transform *t, leat_emit *emit)
{
    struct composed *c = (struct composed *)t;
    struct relay relay = relay_to(c, emit);
    relay.at_end = true;
    if (c->first->finish && !c->enough)
        c->first->finish(c->first, &relay.emit);
    struct limit limit = limit_for(c->second, emit, true);
    return c->second->finish ? c->second->finish(c->second, &limit.emit) : 0;
}

static void composed_free(leat_transform *t)
{
    struct composed *c = (struct composed *)t;
    leat_transform_free(c->first);
    leat_transform_free(c->second);
    lt_free(t);
}

leat_transform *leat_compose(leat_transform *first, leat_transform *second)
{
    size_t most;
    struct composed *c = NULL;
    if (first && second && first->out_size == second->in_size &&
        !__builtin_mul_overflow(first->most, second->most, &most) &&
        !__builtin_add_overflow(most, second->most, &most)) /* for the finish functions of both */
        c = lt_transform_make(sizeof *c, first->in_size, second->out_size, most, composed_step);
    if (!c) {
        leat_transform_free(first);
        leat_transform_free(second);
        return NULL;
    }
    if (first->step == lt_transform_take_none || second->step == lt_transform_take_none)
        c->t.step = lt_transform_take_none;
    c->t.finish = composed_finish;
    c->t.free = composed_free;
    c->first = first;
    c->second = second;
    return &c->t;
}

/* ---- failures ---- */

struct guarded {
    leat_transform t;
    leat_transform *inner;
    leat_failed_fn *fn;
    void *arg;
};

static int guarded_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct guarded *g = (struct guarded *)t;
    struct limit limit = limit_for(g->inner, emit, emit->inner); /* leaves room for `fn` */
    return g->inner->step(g->inner, item, &limit.emit);
}

static int guarded_finish(leat_transform *t, leat_emit *emit)
{
    struct guarded *g = (struct guarded *)t;
    struct limit limit = limit_for(g->inner, emit, emit->inner);
    return g->inner->finish ? g->inner->finish(g->inner, &limit.emit) : 0;
}

static int guarded_failed(leat_transform *t, int error, const void *item, leat_emit *emit)
{
    struct guarded *g = (struct guarded *)t;
    return g->fn(g->arg, error, item, emit);
}

static void guarded_free(leat_transform *t)
{
    leat_transform_free(((struct guarded *)t)->inner);
    lt_free(t);
}

leat_transform *leat_on_failure(leat_transform *t, leat_failed_fn *fn, void *arg)
{
    struct guarded *g = NULL;
    if (t && fn) {
        size_t most = t->most < SIZE_MAX ? t->most + 1 : SIZE_MAX;
        g = lt_transform_make(sizeof *g, t->in_size, t->out_size, most, guarded_step);
    }
    if (!g) {
        leat_transform_free(t);
        return NULL;
    }
    if (t->step == lt_transform_take_none)
        g->t.step = lt_transform_take_none;
    g->t.finish = guarded_finish;
    g->t.failed = guarded_failed;
    g->t.free = guarded_free;
    g->inner = t;
    g->fn = fn;
    g->arg = arg;
    return &g->t;
}
