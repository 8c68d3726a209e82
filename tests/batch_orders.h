/* batch_orders.h: for test_batch_exact.c: the function of the batchers, which notes what it gets,
 * and parties that do as they are ordered to. */
#pragma once

#include "batch_reference.h"

enum { TICKETS = 6, UNTOUCHED = -77 };
enum way { ONE, MANY, GET, BLOCK, CALLBACK };

struct held {
    leat_ticket ticket;
    int run;
    bool is_held, is_awaited;
};

/* A party that does as it is ordered to, with all that its call works on. */
struct caller {
    char name[24];
    leat_chan *orders;
    enum way way;
    int batcher, n;
    struct held *held;
    int64_t deadline, scope_deadline;
    leat_scope *scope;
    leat_block block;
    leat_ticket ticket;
    leat_batch_op op;
    unsigned flags;
    int items[LONGEST], statuses[LONGEST], run;
    int64_t results[LONGEST];
    _Atomic bool at_work, returned;
    int status;
    int64_t at;
};

static struct {
    uint64_t chance;
    bool solo; /* one party does everything, and no time is known */
    leat_scope *scope;
    leat_batcher *batchers[BATCHERS];
    leat_mutex *mutex[BATCHERS];
    struct held held[TICKETS];
    struct caller callers[CALLERS];
    struct execution executions[STEPS];
    int executed, checked, runs, step, used;
} test;

/* ---- the function ---- */

static int64_t result_of(int id)
{
    return id * 1000003LL + 1;
}

static uint64_t key_fn(void *arg, const void *item)
{
    (void)arg;
    return key_of_run(*(const int *)item / LONGEST);
}

static size_t bytes_fn(void *arg, const void *item)
{
    (void)arg;
    return 1 + trait(*(const int *)item / LONGEST, 1, 4);
}

static int leader_now(int batcher)
{
    if (test.solo || ref.spec[batcher].blocking)
        return UNKNOWN;
    for (int i = 0; i < CALLERS; i++)
        if (leat_task_name() == test.callers[i].name)
            return i;
    return STAND_IN;
}

static int serve(void *arg, leat_batch_view *view)
{
    int batcher = (int)((leat_batcher_spec *)arg - ref.spec);
    CHECK(test.executed < STEPS && view->n >= 1 && view->n <= STEPS * LONGEST);
    struct execution *e = &test.executions[test.executed++];
    *e = (struct execution){ .batcher = batcher,
                             .leader = leader_now(batcher),
                             .n = (int)view->n,
                             .key = view->key,
                             .begin = leat_now() };
    memcpy(e->items, view->items, view->n * sizeof *e->items);
    int first = e->items[0] / LONGEST;
    int64_t end = end_of(first, e->begin), *results = view->results;
    for (size_t i = 0; i < view->n; i++) {
        CHECK(view->status[i] == LEAT_NOT_DONE && results[i] == 0);
        view->status[i] = said_of(e->items[i]);
        results[i] = result_of(e->items[i]);
    }
    leat_ticket ticket;
    int error = leat_batch_put(test.batchers[batcher], e->items, 1, &ticket);
    CHECK(error == -EDEADLK || (error == -EPIPE && ref.closed[batcher]) ||
          (error == -ECANCELED && leat_cancelled(NULL)));
    if (end > e->begin)
        CHECK_IS(0, leat_sleep_until(end));
    return whole_of(first);
}

/* ---- what a caller does ---- */

static void answer(struct caller *c, int status)
{
    CHECK(!atomic_load(&c->returned));
    c->status = status;
    c->at = leat_now();
    atomic_store(&c->returned, true);
}

static int ask(leat_block *b)
{
    struct caller *c = (struct caller *)((char *)b - offsetof(struct caller, block));
    LEAT_BEGIN(b);
    LEAT_AWAIT_BATCH(b, &c->ticket, test.batchers[c->batcher], c->items, c->results);
    answer(c, b->status);
    LEAT_END(b);
}

static void called(leat_batch_op *op, int status)
{
    answer((struct caller *)((char *)op - offsetof(struct caller, op)), status);
}

/* Each call is in a scope of its own, which only this call's cancelling or deadline ends. */
static void obey(struct caller *c)
{
    leat_batcher *b = test.batchers[c->batcher];
    int error;
    CHECK(c->scope = leat_scope_open(c->scope_deadline));
    switch (c->way) {
    case ONE: answer(c, leat_batch_until(b, c->items, c->results, c->deadline)); break;
    case MANY:
        answer(c, leat_batch_many(b, c->items, (size_t)c->n, c->results, c->statuses, c->deadline));
        break;
    case GET:
        answer(c, leat_batch_get(&c->held->ticket, c->results, c->statuses, c->deadline));
        break;
    case BLOCK: CHECK_IS(0, leat_go_block(c->scope, &c->block, ask)); break;
    default:
        c->op = (leat_batch_op)LEAT_BATCH_OP(c->scope, c->flags);
        error = leat_batch_then(&c->op, b, c->items, c->results, called);
        if (error)
            answer(c, error);
    }
    int why = leat_scope_close(c->scope);
    CHECK(why == 0 || (why == -ETIMEDOUT && leat_now() >= c->scope_deadline));
    atomic_store(&c->at_work, false);
}

static int follow_orders(void *arg)
{
    struct caller *c = arg;
    while (leat_recv(c->orders, NULL) == 0)
        obey(c);
    return 0;
}
