/* test_link_harsh.c: each request of leat_remote and leat_serve_stage to leat for memory fails
 * once, in turn. The call fails, or the stage does; and a call that fails leaves the caller's
 * output alone. This needs the harsh build. */
#include "faults.h"
#include "src/keys.h"

#include <leat/link.h>

static leat_link some_link = {
    .prefix = (char *)(uintptr_t) "p:", .lease = LEAT_S, .away = LEAT_MS
};

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
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_remote),
                                        cmocka_unit_test(test_serve) };
    CHECK_IS(0, lk_url_parse(&some_link.url, "redis+unix:/nowhere/at/all"));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lk_url_free(&some_link.url);
    return failed;
}
