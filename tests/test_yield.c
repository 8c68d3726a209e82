/* test_yield.c: a yield lets new tasks begin. */
#include "support.h"

/* As many as the local queue has room for: later ones go to the global queue. */
enum { NEW = LT_LOCAL_QUEUE_SIZE < 10 ? LT_LOCAL_QUEUE_SIZE : 10 };
static int begun;

static int begin(void *arg)
{
    (void)arg;
    begun++;
    return 0;
}

static void make_and_yield(leat_scope *s, int n)
{
    begun = 0;
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_go(s, begin, NULL));
    CHECK_IS(0, leat_yield());
    CHECK_IS(n, begun);
}

/* Yields in its first turn, when it is new itself, and later. */
static int yield_to_new(void *s)
{
    for (int n = 1; n <= NEW; n++)
        make_and_yield(s, n);
    return 0;
}

struct yielding_block {
    leat_block block;
    leat_scope *scope;
};

static int yield_block_to_new(leat_block *b)
{
    struct yielding_block *y = LT_CONTAINER(b, struct yielding_block, block);
    LEAT_BEGIN(b);
    begun = 0;
    CHECK_IS(0, leat_go(y->scope, begin, NULL));
    LEAT_AWAIT_YIELD(b);
    CHECK_IS(1, begun);
    LEAT_END(b);
}

static int lets_new_ones_begin(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct yielding_block y = { .scope = s };
        if (i)
            make_and_yield(s, 1);
        CHECK_IS(0, leat_go(s, yield_to_new, s));
        CHECK_IS(0, leat_scope_close(s));
        s = y.scope = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go_block(s, &y.block, yield_block_to_new));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

/* With more workers, another one may have stolen the new task and not begun it yet. */
static void yields_to_new_tasks(void **state)
{
    (void)state;
    run_on(1, lets_new_ones_begin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yields_to_new_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
