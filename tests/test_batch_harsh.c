/* test_batch_harsh.c: each request of a batcher for memory or a thread fails once, in turn: its
 * call gets an error, the others are served, and nothing leaks. This needs the harsh build. */
#include "batchers.h"
#include "faults.h"

static void use_tickets(struct adder *a)
{
    leat_ticket tickets[6];
    bool put[6];
    size_t sum = 0;
    const int items[3] = { 1, 2, 3 };
    for (int i = 0; i < 6; i++) {
        put[i] = worked(leat_batch_put(a->batcher, items, 1 + (size_t)i % 3, &tickets[i]));
        sum += put[i] ? 1 + (size_t)i % 3 : 0;
        CHECK_IS(sum, forming(a->batcher));
    }
    for (int i = 0; i < 6; i++) {
        int results[3] = { 0 };
        if (put[i])
            CHECK_IS(0, leat_batch_get(&tickets[i], results, NULL, LEAT_NEVER));
        for (int k = 0; put[i] && k <= i % 3; k++)
            CHECK_IS(k + 2, results[k]);
    }
}

struct asker {
    leat_block block;
    struct adder *adder;
    leat_ticket ticket;
    int item, result;
};

static int ask(leat_block *b)
{
    struct asker *me = (struct asker *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_BATCH(b, &me->ticket, me->adder->batcher, &me->item, &me->result);
    if (worked(b->status))
        CHECK_IS(me->item + 1, me->result);
    LEAT_END(b);
}

static void answered(leat_batch_op *op, int status)
{
    (void)op;
    CHECK_IS(0, status);
}

static void use_all_ways(leat_scope *s, int blocking)
{
    struct adder a = { .error = 0 };
    leat_batcher_spec spec = adds(&a);
    spec.blocking = blocking;
    a.batcher = leat_batcher_open(s, &spec);
    if (!made(a.batcher))
        return;
    int x = 1, y = 0;
    if (worked(leat_batch(a.batcher, &x, &y)))
        CHECK_IS(2, y);
    if (!blocking)
        use_tickets(&a);
    struct asker asker = { .adder = &a, .item = 5 };
    CHECK_IS(0, leat_go_block(s, &asker.block, ask));
    CHECK_IS(0, leat_block_join(&asker.block));
    leat_batch_op op = LEAT_BATCH_OP(s, 0);
    if (!blocking)
        worked(leat_batch_then(&op, a.batcher, &x, &y, answered));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(0, batches_held(a.batcher));
}

static int use_batchers(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    if (!made(s))
        return 0;
    use_all_ways(s, 0);
    use_all_ways(s, 1);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

static void survives_each_failure(void **state)
{
    (void)state;
    fail_each_request(use_batchers, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(survives_each_failure) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
