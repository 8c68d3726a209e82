/* test_link_used.c: which results a near end reports as used, and when; so which of them come again
 * when it is started again. The test takes the far ends' part. */
#include "link_engine.h"

enum { ITEMS = 10, STEADY = 200 };

static struct test_engine engine;
static redisContext *own; /* the test's connection */

static void order(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void order(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = redisvCommand(own, format, values);
    va_end(values);
    CHECK(reply && reply->type != REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static long long field(const char *run, const char *name)
{
    redisReply *reply = redisCommand(own, "HGET leat:{s}:%s:run %s", run, name);
    CHECK(reply && reply->type != REDIS_REPLY_ERROR);
    long long value = reply->type == REDIS_REPLY_STRING ? atoll(reply->str) : 0;
    freeReplyObject(reply);
    return value;
}

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

static void receive(leat_chan *out, int n)
{
    while (n--)
        CHECK_IS(0, leat_recv_until(out, &(int){ 0 }, leat_after(60 * LEAT_S)));
}

static void end(leat_scope *scope)
{
    leat_scope_cancel(scope);
    CHECK_IS(0, leat_scope_close(scope));
}

static void on_workers(leat_fn *body)
{
    CHECK_IS(0, leat_main_with(body, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- a receiver that is slower than the results ---- */

static int slow_receiver(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_remote_spec spec = spec_of(scope, "slow");
    leat_chan *out = open_stage(scope, &spec);
    order("XADD leat:{s}:slow:results * 0 a 1 a 2 a 3 a 4 a 5 a 6 a 7 a 8 a 9 a");
    receive(out, 5);
    WAIT_UNTIL(field("slow", "delivered") == 4);
    end(scope);
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
        order("XADD leat:{s}:steady:results * %d a", i);
        receive(out, 1);
        leat_sleep(5 * LEAT_MS);
    }
    CHECK(field("steady", "delivered") > STEADY / 2);
    end(scope);
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
    order("XADD leat:{s}:dropped:results * 0:-5 x 1 a 2:-5 x 3:-5 x");
    receive(out, 1);
    WAIT_UNTIL(field("dropped", "delivered") >= 1);
    leat_sleep(100 * LEAT_MS);
    CHECK_IS(1, field("dropped", "delivered"));
    order("XADD leat:{s}:dropped:results * 4 a 5:-5 x");
    receive(out, 1);
    WAIT_UNTIL(field("dropped", "delivered") == 4);
    end(scope);
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
        order("XADD leat:{s}:many:results * %d%s a", i, i ? ":-5" : "");
        receive(out, !i);
    }
    WAIT_UNTIL(field("many", "delivered") == STEADY - 3);
    end(scope);
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
    order("XADD leat:{s}:%s:results 1-1 0 a", spec.run);
    receive(out, 1);
    order("MULTI");
    order("XDEL leat:{s}:%s:results 1-1", spec.run);
    order("CLIENT KILL TYPE normal");
    order("EXEC");
    order("XADD leat:{s}:%s:results 2-1 0 a", spec.run);
    CHECK(leat_recv_until(out, &(int){ 0 }, leat_after(60 * LEAT_S)) == -ECANCELED);
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
        order("XADD leat:{s}:kept:results * %d a", i);
        receive(out, 1);
        WAIT_UNTIL(field("kept", "delivered") == i);
        order("CLIENT KILL TYPE normal");
    }
    end(scope);
    return 0;
}

static void test_kept(void **state)
{
    (void)state;
    on_workers(kept);
}

/* ---- main ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_receiver), cmocka_unit_test(test_steady),
        cmocka_unit_test(test_dropped),       cmocka_unit_test(test_dropped_many),
        cmocka_unit_test(test_lost),          cmocka_unit_test(test_kept),
    };
    if (!engine_start(&engine))
        return 77;
    own = engine_ask(&engine);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    redisFree(own);
    engine_stop(&engine);
    return failed;
}
