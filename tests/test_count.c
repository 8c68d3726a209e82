/* test_count.c: counts add up. */
#include "support.h"

enum { ROUNDS = 1000 };

static leat_counts counts(void)
{
    leat_counts c;
    CHECK_IS(0, leat_count(&c));
    return c;
}

static int yields(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        leat_yield();
    return 0;
}

static int naps(void *unused)
{
    (void)unused;
    return leat_sleep(1000 * LEAT_S) == -ECANCELED ? 0 : -EPROTO;
}

static int returns(void *unused)
{
    (void)unused;
    return 0;
}

static int on_one(void *unused)
{
    (void)unused;
    leat_yield();
    leat_counts before = counts();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(s, yields, NULL));
    CHECK_IS(0, leat_go(s, yields, NULL));
    CHECK_IS(0, leat_scope_close(s));
    leat_yield();
    leat_yield();
    leat_counts after = counts();
    CHECK_IS(2, after.started - before.started);
    /* Workers count switches late: the last may be missing, and some from before may be in. */
    CHECK(after.switches - before.switches >= 2 * ROUNDS - 32);
    CHECK(after.switches - before.switches <= 2 * ROUNDS + 64);
    CHECK_IS(0, after.stolen);

    s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 100; i++)
        CHECK_IS(0, leat_go(s, naps, NULL));
    WAIT_UNTIL(counts().timers == 100);
    CHECK(counts().stacks >= 101);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_sleep(LEAT_MS));
    WAIT_UNTIL(counts().timers == 0);
    CHECK(counts().stacks < 100 && counts().stacks_free > 0);
    CHECK(counts().sleeps > 0);

    CHECK_IS(0, leat_blocking(returns, NULL));
    WAIT_UNTIL(counts().threads_free == 1);
    CHECK_IS(1, counts().threads);
    CHECK(counts().received > before.received); /* from the blocking call's thread */
    return 0;
}

static int starts_many(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_counts sum = { 0 }, of_one, before = counts();
    for (int i = 0; i < ROUNDS; i++)
        CHECK_IS(0, leat_go(s, returns, NULL));
    CHECK_IS(0, leat_scope_close(s));
    for (unsigned i = 0; i < leat_workers(); i++) {
        CHECK_IS(0, leat_count_worker(&of_one, i));
        sum.started += of_one.started;
        CHECK_IS(0, of_one.threads);
    }
    CHECK_IS(ROUNDS, sum.started - before.started);
    CHECK_IS(ROUNDS, counts().started - before.started);
    CHECK_IS(-EINVAL, leat_count_worker(&of_one, leat_workers()));
    return 0;
}

static void test_one_worker(void **state)
{
    (void)state;
    run_on(1, on_one);
}

static void test_more_workers(void **state)
{
    (void)state;
    run_on(1, starts_many);
    run_on(4, starts_many);
}

static void test_errors(void **state)
{
    (void)state;
    leat_counts c;
    CHECK_IS(-EINVAL, leat_count(&c)); /* no runtime */
    CHECK_IS(-EINVAL, leat_count_worker(&c, 0));
    CHECK_IS(0, leat_start(NULL));
    CHECK_IS(-EINVAL, leat_count(NULL));
    CHECK_IS(-EINVAL, leat_count_worker(NULL, 0));
    CHECK_IS(0, leat_count(&c));
    CHECK_IS(0, c.started);
    CHECK_IS(0, c.stacks);
    CHECK_IS(0, leat_stop());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker),
        cmocka_unit_test(test_more_workers),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
