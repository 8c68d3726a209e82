/* test_flow_pace.c: operators that use the clock. Times are never too short, and below a minute. */
#include "flows.h"

#include <limits.h>

#define HOUR (3600 * LEAT_S)

static _Atomic int dropped;

static void drop_item(void *item)
{
    (void)item;
    atomic_fetch_add(&dropped, 1);
}

static leat_chan *input(leat_scope *s, int n, bool closed)
{
    leat_chan *in = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 100, .drop = drop_item });
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_send(in, &i));
    if (closed)
        CHECK_IS(0, leat_close(in));
    dropped = 0;
    return in;
}

static void expect_end(leat_chan *ch)
{
    int got;
    CHECK_IS(-EPIPE, leat_recv_until(ch, &got, leat_after(60 * LEAT_S)));
}

static int debounces(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int64_t begin = leat_now();
    leat_chan *in = input(s, 5, false), *out = leat_debounce(s, in, 20 * LEAT_MS, 0);
    expect(out, 4);
    CHECK(leat_now() - begin >= 20 * LEAT_MS);
    CHECK_IS(4, dropped);
    CHECK_IS(0, leat_send(in, &(int){ 7 }));
    CHECK_IS(0, leat_close(in));
    expect(out, 7);
    expect_end(out);
    out = leat_debounce(s, input(s, 9, true), HOUR, 0); /* the end sends the last item at once */
    expect(out, 8);
    expect_end(out);
    CHECK_IS(8, dropped);
    return leat_scope_close(s);
}
ON_WORKERS(debounces);

static int throttles(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_throttle(s, input(s, 50, true), HOUR, 0);
    expect(out, 0);
    expect_end(out);
    CHECK_IS(49, dropped);
    leat_chan *in = input(s, 0, false);
    out = leat_throttle(s, in, 5 * LEAT_MS, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_IS(0, leat_send(in, &i));
        expect(out, i);
        leat_sleep(6 * LEAT_MS);
    }
    CHECK_IS(0, leat_close(in));
    expect_end(out);
    return leat_scope_close(s);
}
ON_WORKERS(throttles);

static int samples(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = input(s, 10, false), *out = leat_sample(s, in, 20 * LEAT_MS, 0);
    /* On a loaded machine a tick may come while the operator takes these items. */
    int sampled = 0;
    for (int last = -1, x; last != 9; last = x, sampled++) {
        CHECK_IS(0, leat_recv_until(out, &x, leat_after(60 * LEAT_S)));
        CHECK(x > last && x <= 9);
    }
    CHECK(sampled == 1 || !IN_SIM);
    CHECK_IS(10 - sampled, dropped);
    CHECK_IS(0, leat_send(in, &(int){ 20 }));
    expect(out, 20);
    CHECK_IS(0, leat_close(in));
    expect_end(out);
    out = leat_sample(s, input(s, 10, true), HOUR, 0);
    expect(out, 9);
    expect_end(out);
    CHECK_IS(9, dropped);
    return leat_scope_close(s);
}
ON_WORKERS(samples);

struct run {
    leat_run run;
    int items[4];
};

static void expect_run(leat_chan *ch, int from, size_t n)
{
    struct run run = { 0 };
    CHECK_IS(0, leat_recv_until(ch, &run, leat_after(60 * LEAT_S)));
    CHECK_IS(n, run.run.count);
    for (size_t i = 0; i < n; i++)
        CHECK_IS(from + (int)i, run.items[i]);
}

static int gathers_windows(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_window(s, input(s, 10, true), 4, HOUR, 0, NULL);
    expect_run(out, 0, 4);
    expect_run(out, 4, 4);
    expect_run(out, 8, 2);
    CHECK_IS(-EPIPE, leat_recv(out, NULL));
    leat_chan *in = input(s, 2, false);
    out = leat_window(s, in, 4, 100 * LEAT_MS, 0, NULL);
    expect_run(out, 0, 2); /* its time is over */
    CHECK_IS(2, leat_send_many(in, (int[]){ 0, 1 }, 2, LEAT_NEVER));
    expect_run(out, 0, 2);
    CHECK_IS(0, leat_send(in, &(int){ 6 }));
    dropped = 0;
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(1, dropped);
    return 0;
}
ON_WORKERS(gathers_windows);

static int limits_the_rate(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (unsigned burst = 1; burst <= 4; burst += 3) {
        leat_chan *out = leat_rate(s, input(s, 10, true), 3 * LEAT_MS, burst, 0);
        int64_t begin = leat_now();
        for (int i = 0; i < 10; i++) {
            expect(out, i);
            /* The operator may have begun a little earlier. */
            CHECK(leat_now() - begin >= (i - (int)burst) * 3 * LEAT_MS);
        }
        expect_end(out);
    }
    CHECK_IS(0, dropped);
    leat_chan *out = leat_rate(s, input(s, 10, true), HOUR, 3, 0);
    for (int i = 0; i < 3; i++)
        expect(out, i);
    CHECK_IS(-ETIMEDOUT, leat_recv_until(out, &(int){ 0 }, leat_after(5 * LEAT_MS)));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(7, dropped);
    return 0;
}
ON_WORKERS(limits_the_rate);

static int lapses(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = input(s, 3, false), *out = leat_lapse(s, in, 20 * LEAT_MS, 0);
    for (int i = 0; i < 3; i++)
        expect(out, i);
    expect_end(out);
    out = leat_lapse(s, input(s, 3, true), HOUR, 0);
    for (int i = 0; i < 3; i++)
        expect(out, i);
    expect_end(out);
    return leat_scope_close(s);
}
ON_WORKERS(lapses);

static int refuses(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = input(s, 0, true);
    CHECK(!leat_debounce(s, NULL, 1, 0) && !leat_debounce(s, in, 0, 0));
    CHECK(!leat_throttle(s, NULL, 1, 0) && !leat_throttle(s, in, -1, 0));
    CHECK(!leat_sample(NULL, in, 1, 0) && !leat_sample(s, in, 0, 0));
    CHECK(!leat_window(s, NULL, 1, 1, 0, NULL) && !leat_window(s, in, 0, 1, 0, NULL));
    CHECK(!leat_window(s, in, 1 << 19, 1, 0, NULL) && !leat_window(s, in, 1, 0, 0, NULL));
    CHECK(!leat_rate(s, in, 0, 1, 0) && !leat_rate(s, in, 1, 0, 0));
    CHECK(!leat_rate(s, in, INT64_MAX, 2, 0) && !leat_rate(s, NULL, 1, 1, 0));
    CHECK(!leat_lapse(s, NULL, 1, 0) && !leat_lapse(s, in, 0, 0));
    return leat_scope_close(s);
}
ON_WORKERS(refuses);

/* ---- retry ---- */

static int fail_some_times(void *arg)
{
    int *left = arg;
    return --*left > 0 ? -EIO : 0;
}

static int cancel_soon(void *arg)
{
    leat_sleep(LEAT_MS);
    return leat_scope_cancel(arg);
}

static int tries_again(void *arg)
{
    (void)arg;
    leat_retrying how = { .tries = 5, .pause = LEAT_MS, .most = 3 * LEAT_MS, .exact = 1 };
    int left = 5;
    int64_t begin = leat_now();
    CHECK_IS(0, leat_retry(fail_some_times, &left, &how));
    CHECK(leat_now() - begin >= (1 + 2 + 3 + 3) * LEAT_MS);
    left = 6;
    CHECK_IS(-EIO, leat_retry(fail_some_times, &left, &how));
    CHECK_IS(1, left);
    left = 3;
    CHECK_IS(0, leat_retry(fail_some_times, &left, NULL));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(s, cancel_soon, s));
    left = 1000;
    CHECK_IS(-ECANCELED,
             leat_retry(fail_some_times, &left, &(leat_retrying){ .pause = HOUR, .most = HOUR }));
    CHECK_IS(999, left);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-EINVAL, leat_retry(NULL, NULL, NULL));
    CHECK_IS(-EINVAL, leat_retry(fail_some_times, &left, &(leat_retrying){ .pause = -1 }));
    return 0;
}
ON_WORKERS(tries_again);

struct attempt {
    int result, good; /* what the calls return; the number of the first call that works */
    int calls;
};

static int attempt(void *arg)
{
    struct attempt *a = arg;
    return ++a->calls < a->good ? a->result : 0;
}

/* Returns how many calls were made. */
static int calls_until(int expected, int result)
{
    struct attempt a = { .result = result, .good = 3 };
    CHECK_IS(expected, leat_retry(attempt, &a, &(leat_retrying){ .pause = LEAT_US }));
    return a.calls;
}

static int gives_up_after_a_final_error(void *arg)
{
    (void)arg;
    static const int errors[] = { -ENOENT, -ECANCELED, -1, -4095, 1, 4095, 0 };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        CHECK_IS(1, calls_until(errors[i], leat_final(errors[i])));
    static const int unmarked[] = { -4096, 4096, INT_MIN, INT_MIN + 1, INT_MAX };
    for (size_t i = 0; i < sizeof unmarked / sizeof *unmarked; i++)
        CHECK_IS(unmarked[i], leat_final(unmarked[i]));
    /* These are no marked errors, whatever a function means by them. */
    static const int others[] = { -ENOENT, -4096, 4096, INT_MIN, INT_MIN + 8192, INT_MAX };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_IS(3, calls_until(0, others[i]));
    /* Neither the number of tries nor a cancel hides it. */
    struct attempt a = { .result = leat_final(-EPERM), .good = 2 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-EPERM, leat_retry(attempt, &a, &(leat_retrying){ .tries = 1 }));
    a.calls = 0;
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(-EPERM, leat_retry(attempt, &a, NULL));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(gives_up_after_a_final_error);

/* The longest pause there is, which no double can tell from a longer one. */
static int pauses_for_ever(void *arg)
{
    (void)arg;
    for (int exact = 0; exact < 2; exact++) {
        leat_retrying how = { .pause = INT64_MAX, .most = INT64_MAX, .exact = exact };
        leat_scope *s = leat_scope_open(leat_after(LEAT_MS));
        int left = 1000;
        CHECK_IS(-ECANCELED, leat_retry(fail_some_times, &left, &how));
        CHECK_IS(999, left);
        CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(pauses_for_ever);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(debounces),       TESTS_ON_WORKERS(throttles),
        TESTS_ON_WORKERS(samples),         TESTS_ON_WORKERS(gathers_windows),
        TESTS_ON_WORKERS(limits_the_rate), TESTS_ON_WORKERS(lapses),
        TESTS_ON_WORKERS(refuses),         TESTS_ON_WORKERS(tries_again),
        TESTS_ON_WORKERS(pauses_for_ever), TESTS_ON_WORKERS(gives_up_after_a_final_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
