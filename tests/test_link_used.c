/* test_link_used.c: which results a near end reports as used, and when; so which of them come again
 * when it is started again. The test takes the far ends' part. */
#include "link_stage.h"

enum { ITEMS = 10, STEADY = 200 };

static leat_remote_spec spec_of(leat_scope *scope, const char *run)
{
    leat_link *link;
    CHECK_IS(0, leat_link_open(scope, engine.url, &(leat_link_spec){ .trust = 1 }, &link));
    return (leat_remote_spec){ .link = link,
                               .stage = "s",
                               .run = run,
                               .n = 1,
                               .in_size = sizeof(int),
                               .out_size = sizeof(int) };
}

/* With ITEMS items, which are published, and an input that stays open. */
static leat_chan *open_stage(leat_scope *scope, const leat_remote_spec *spec)
{
    leat_chan *in = leat_chan_of(scope, int, ITEMS), *out = leat_remote(scope, in, spec);
    CHECK(out);
    for (int i = 0; i < ITEMS; i++)
        CHECK_IS(0, leat_try_send(in, &i));
    WAIT_UNTIL(field(spec->run, "published") == ITEMS);
    return out;
}

/* ---- a receiver that is slower than the results ---- */

static int slow_receiver(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, "slow");
    leat_chan *out = open_stage(scope, &spec);
    done(ask("XADD leat:{s}:slow:results * 0 a 1 a 2 a 3 a 4 a 5 a 6 a 7 a 8 a 9 a"));
    for (int i = 0; i < 5; i++)
        receive(out);
    WAIT_UNTIL(field("slow", "delivered") == 4);
    cancel_and_close(scope);
    return 0;
}

static void test_slow_receiver(void **state)
{
    (void)state;
    on_workers(slow_receiver);
}

/* ---- inputs and results that keep coming ---- */

static int steady(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, "steady");
    leat_chan *in = leat_chan_of(scope, int, 1), *out = leat_remote(scope, in, &spec);
    CHECK(out);
    for (int i = 0; i < STEADY; i++) {
        CHECK_IS(0, leat_try_send(in, &i));
        WAIT_UNTIL(field("steady", "published") == i + 1);
        done(ask("XADD leat:{s}:steady:results * %d a", i));
        receive(out);
        leat_sleep(5 * LEAT_MS);
    }
    CHECK(field("steady", "delivered") > STEADY / 2);
    cancel_and_close(scope);
    return 0;
}

static void test_steady(void **state)
{
    (void)state;
    on_workers(steady);
}

/* ---- items that fail and are dropped ---- */

/* Only the first output is received, and not used yet. */
static int dropped(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, "dropped");
    spec.failing = LEAT_FAIL_DROPS;
    leat_chan *out = open_stage(scope, &spec);
    done(ask("XADD leat:{s}:dropped:results * 0:-5 x 1 a 2:-5 x 3:-5 x"));
    receive(out);
    WAIT_UNTIL(field("dropped", "delivered") >= 1);
    leat_sleep(100 * LEAT_MS);
    CHECK_IS(1, field("dropped", "delivered"));
    done(ask("XADD leat:{s}:dropped:results * 4 a 5:-5 x"));
    receive(out);
    WAIT_UNTIL(field("dropped", "delivered") == 4);
    cancel_and_close(scope);
    return 0;
}

static void test_dropped(void **state)
{
    (void)state;
    on_workers(dropped);
}

/* So many of them that the window has no room for more. */
static int dropped_many(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, "many");
    spec.failing = LEAT_FAIL_DROPS;
    spec.window = 2;
    leat_chan *in = leat_chan_of(scope, int, STEADY), *out = leat_remote(scope, in, &spec);
    for (int i = 0; i < STEADY; i++) {
        CHECK_IS(0, leat_try_send(in, &i));
        WAIT_UNTIL(field("many", "published") == i + 1);
        done(ask("XADD leat:{s}:many:results * %d%s a", i, i ? ":-5" : ""));
        if (i == 0)
            receive(out);
    }
    WAIT_UNTIL(field("many", "delivered") == STEADY - 3);
    cancel_and_close(scope);
    return 0;
}

static void test_dropped_many(void **state)
{
    (void)state;
    on_workers(dropped_many);
}

/* ---- an engine that comes back without results that it had given ---- */

/* Another far end works on the first item again: its result must not count for another item. */
static int lost(void *arg)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, arg ? "lost" : "lost-in-order");
    spec.unordered = arg != NULL;
    leat_chan *out = open_stage(scope, &spec);
    done(ask("XADD leat:{s}:%s:results 1-1 0 a", spec.run));
    receive(out);
    done(ask("MULTI"));
    done(ask("XDEL leat:{s}:%s:results 1-1", spec.run));
    done(ask("CLIENT KILL TYPE normal"));
    done(ask("EXEC"));
    done(ask("XADD leat:{s}:%s:results 2-1 0 a", spec.run));
    CHECK(leat_recv_until(out, &(int){ 0 }, a_minute()) == -ECANCELED);
    CHECK_IS(-EIO, leat_scope_close(scope));
    return 0;
}

static void test_lost(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main(lost, "unordered"));
    CHECK_IS(0, leat_main(lost, NULL));
}

/* The same, but the engine has all, and only the connection is lost. */
static int kept(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, "kept");
    leat_chan *out = open_stage(scope, &spec);
    for (int i = 0; i < ITEMS; i++) {
        done(ask("XADD leat:{s}:kept:results * %d a", i));
        receive(out);
        WAIT_UNTIL(field("kept", "delivered") == i);
        done(ask("CLIENT KILL TYPE normal"));
    }
    cancel_and_close(scope);
    return 0;
}

static void test_kept(void **state)
{
    (void)state;
    on_workers(kept);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_receiver), cmocka_unit_test(test_steady),
        cmocka_unit_test(test_dropped),       cmocka_unit_test(test_dropped_many),
        cmocka_unit_test(test_lost),          cmocka_unit_test(test_kept),
    };
    return RUN_WITH_ENGINE(tests, argc, argv);
}
