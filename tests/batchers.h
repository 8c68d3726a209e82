/* batchers.h: for the tests of batchers: a batcher that adds one, and that may be slowed down. */
#pragma once

#include "support.h"

#include "batch/batch.h"
#include "flow/mutex.h"

struct adder {
    leat_scope *scope;
    leat_batcher *batcher;
    leat_chan *entered, *go_on; /* a slow function sends to one, then receives */
    _Atomic int running;
    int error; /* the function returns it */
    size_t n;  /* items in the last batch */
    int items[64];
    uint64_t key;
};

/* Refuses negative numbers, and leaves the status of those above 1000 as it is. */
static inline int add_one(void *arg, leat_batch_view *batch)
{
    struct adder *a = arg;
    CHECK_IS(0, atomic_fetch_add(&a->running, 1));
    const int *items = batch->items;
    int *results = batch->results;
    a->n = batch->n;
    a->key = batch->key;
    for (size_t i = 0; i < batch->n; i++) {
        CHECK_IS(LEAT_NOT_DONE, batch->status[i]);
        CHECK_IS(0, results[i]);
        results[i] = items[i] + 1;
        a->items[i % 64] = items[i];
        if (items[i] <= 1000)
            batch->status[i] = items[i] < 0 ? -EDOM : 0;
    }
    if (a->entered) {
        CHECK_IS(0, leat_send(a->entered, NULL));
        CHECK_IS(0, leat_recv(a->go_on, NULL));
    }
    CHECK_IS(1, atomic_fetch_sub(&a->running, 1));
    return a->error;
}

static inline leat_batcher_spec adds(struct adder *a)
{
    return (leat_batcher_spec){
        .item_size = sizeof(int), .result_size = sizeof(int), .run = add_one, .arg = a
    };
}

static inline void adder_open_with(struct adder *a, leat_scope *scope, leat_batcher_spec spec)
{
    a->scope = scope;
    a->batcher = leat_batcher_open(scope, &spec);
    CHECK(a->batcher);
}

static inline void adder_open(struct adder *a, leat_scope *scope)
{
    adder_open_with(a, scope, adds(a));
}

/* Slows the function down from the next batch on. */
static inline void adder_slow_down(struct adder *a)
{
    a->entered = leat_chan_make(a->scope, 0, 0);
    a->go_on = leat_chan_make(a->scope, 0, 0);
}

static inline void adder_wait_for_entry(struct adder *a)
{
    CHECK_IS(0, leat_recv(a->entered, NULL));
}

static inline void adder_let_go(struct adder *a)
{
    CHECK_IS(0, leat_send(a->go_on, NULL));
}

/* ---- what the tests see inside a batcher ---- */

/* How many items the forming batches have. */
static inline size_t forming(leat_batcher *batcher)
{
    size_t n = 0;
    lt_lock(&batcher->lock);
    for (struct lt_node *node = batcher->forming.next; node != &batcher->forming; node = node->next)
        n += LT_CONTAINER(node, struct lt_batch, node)->n;
    lt_unlock(&batcher->lock);
    return n;
}

/* How many batches exist: they form, or have a holder. */
static inline int batches_held(leat_batcher *batcher)
{
    int n = 0;
    lt_lock(&batcher->lock);
    for (struct lt_node *node = batcher->forming.next; node != &batcher->forming; node = node->next)
        n++;
    for (struct lt_node *node = batcher->held.next; node != &batcher->held; node = node->next)
        n++;
    lt_unlock(&batcher->lock);
    return n;
}

/* True when a leader lingers. */
static inline bool lingers(leat_batcher *batcher)
{
    bool found = false;
    lt_lock(&batcher->lock);
    for (struct lt_node *node = batcher->forming.next; node != &batcher->forming; node = node->next)
        found |= !lt_list_empty(&LT_CONTAINER(node, struct lt_batch, node)->lingerer);
    lt_unlock(&batcher->lock);
    return found;
}

static inline leat_batcher_counts counts_of(leat_batcher *batcher)
{
    leat_batcher_counts counts;
    CHECK_IS(0, leat_batcher_count(batcher, &counts));
    return counts;
}

/* ---- callers ---- */

struct caller {
    struct adder *adder;
    int item, result;
    _Atomic int status; /* 1: still waits, or has not begun */
    int64_t deadline;
};

static inline struct caller caller_of(struct adder *a, int item, int64_t deadline)
{
    return (
        struct caller){ .adder = a, .item = item, .result = -7, .status = 1, .deadline = deadline };
}

static inline int call(void *arg)
{
    struct caller *c = arg;
    int status = leat_batch_until(c->adder->batcher, &c->item, &c->result, c->deadline);
    atomic_store(&c->status, status);
    return 0;
}

/* Starts callers, each when the one before is in a batch, or is out of it again. */
static inline void callers_go(leat_scope *scope, struct caller *callers, int n)
{
    for (int i = 0; i < n; i++) {
        leat_batcher *batcher = callers[i].adder->batcher;
        size_t before = forming(batcher);
        CHECK_IS(0, leat_go(scope, call, &callers[i]));
        WAIT_UNTIL(forming(batcher) == before + 1 || callers[i].status != 1);
    }
}

static inline void caller_was_served(const struct caller *c)
{
    CHECK_IS(0, c->status);
    CHECK_IS(c->item + 1, c->result);
}

/* Opens an adder whose function is slow, and makes the function begin with this caller's item, a 0,
 * alone. */
static inline void adder_begin(struct adder *a, leat_scope *scope, struct caller *first)
{
    *a = (struct adder){ .error = 0 };
    adder_open(a, scope);
    adder_slow_down(a);
    *first = caller_of(a, 0, LEAT_NEVER);
    CHECK_IS(0, leat_go(scope, call, first));
    adder_wait_for_entry(a);
}
