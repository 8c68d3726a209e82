/* test_link_harsh.c: each request of leat_remote and leat_serve_stage to leat for memory fails
 * once, in turn: without an engine, and with one, where there is a Redis. The call fails, or the
 * stage does; and a call that fails leaves the caller's output alone. The output is in order.
 * This needs the harsh build. */
#include "faults.h"
#include "link_engine.h"
#include "src/keys.h"

static leat_link some_link = { .prefix = "p:", .lease = LEAT_S, .away = LEAT_MS };

static int remote(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_chan_make(NULL, 0, 0);
    leat_chan *in = scope ? leat_chan_make(scope, 0, 0) : NULL;
    if (made(scope) && made(out) && made(in)) {
        leat_remote_spec spec = { .link = &some_link, .stage = "s", .run = "r", .n = 1 };
        spec.out = out;
        bool has = made(leat_remote(scope, in, &spec));
        if (has)
            leat_scope_cancel(scope);
        int result = leat_scope_close(scope);
        CHECK(result == 0 || result == -ENOMEM || result == -EHOSTDOWN);
        CHECK(has || !leat_chan_closed(out));
    } else if (scope) {
        CHECK_IS(0, leat_scope_close(scope));
    }
    if (out)
        CHECK_IS(0, leat_chan_unref(out));
    return 0;
}

static int nothing(void *arg, const leat_far_item *item, leat_bytes *result)
{
    (void)arg;
    (void)item;
    (void)result;
    return 0;
}

static int serve(void *arg)
{
    (void)arg;
    leat_serve_stage_spec spec = { .stage = "s", .n = 1, .run = nothing };
    int result = leat_serve_stage(&some_link, &spec);
    CHECK(result == -ENOMEM || result == -EHOSTDOWN);
    if (result == -ENOMEM)
        atomic_fetch_add(&failures, 1);
    return 0;
}

/* ---- with an engine ---- */

static struct test_engine engine;
static bool has_engine;

static int far_end(void *arg)
{
    leat_serve_stage_spec spec = { .stage = "s", .n = 2, .run = nothing, .grace = LEAT_MS };
    int error = leat_serve_stage(arg, &spec);
    return error == -ECANCELED ? 0 : error;
}

/* The scope may have failed already. */
static int feed(leat_chan *in, leat_chan *out)
{
    leat_outcome outcome;
    int error = 0;
    for (int i = 0; !error && i < 3; i++)
        error = leat_send(in, &i);
    leat_close(in);
    for (uint64_t i = 0; !error; i++) {
        error = leat_recv(out, &outcome);
        CHECK(error || outcome.index == i);
        CHECK(error != -EPIPE || i == 3);
    }
    return error == -EPIPE ? 0 : error;
}

static int use_stage(leat_scope *scope, leat_link *link)
{
    static unsigned run;
    char name[16];
    snprintf(name, sizeof name, "%u", ++run);
    leat_remote_spec spec = { .link = link, .stage = "s", .run = name, .n = 2 };
    spec.in_size = sizeof(int);
    spec.out_size = sizeof(leat_outcome);
    spec.failing = LEAT_FAIL_TELLS;
    leat_chan *in = leat_chan_make(scope, sizeof(int), 0);
    leat_chan *out = in ? leat_remote(scope, in, &spec) : NULL;
    int error = out ? leat_go(scope, far_end, link) : -ENOMEM;
    error = error ? error : feed(in, out);
    leat_scope_cancel(scope);
    int why = leat_scope_close(scope);
    return error ? error : why;
}

static int connected(void *arg)
{
    (void)arg;
    leat_link *link;
    leat_link_spec spec = { .lease = 100 * LEAT_MS, .trust = 1 };
    leat_scope *around = leat_scope_open(LEAT_NEVER);
    leat_scope *scope = around ? leat_scope_open(LEAT_NEVER) : NULL;
    int error = scope ? leat_link_open(around, engine.url, &spec, &link) : -ENOMEM;
    if (!error)
        error = use_stage(scope, link);
    else if (scope)
        leat_scope_close(scope);
    if (around)
        leat_scope_close(around);
    CHECK(error == 0 || error == -ENOMEM || error == -ECANCELED);
    if (error)
        atomic_fetch_add(&failures, 1);
    return 0;
}

static void test_connected(void **state)
{
    (void)state;
    if (!has_engine)
        skip();
    fail_each_request(connected, 20);
}

static void test_remote(void **state)
{
    (void)state;
    fail_each_request(remote, 10);
}

static void test_serve(void **state)
{
    (void)state;
    fail_each_request(serve, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_remote), cmocka_unit_test(test_serve),
                                        cmocka_unit_test(test_connected) };
    CHECK_IS(0, lk_url_parse(&some_link.url, "redis+unix:/nowhere/at/all"));
    has_engine = engine_start(&engine);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (has_engine)
        engine_stop(&engine);
    lk_url_free(&some_link.url);
    return failed;
}
