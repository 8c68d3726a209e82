/* test_value.c: tasks that return a value on a channel. */
#include "support.h"

static _Atomic int dropped;

static void drop_value(void *value)
{
    (void)value;
    atomic_fetch_add(&dropped, 1);
}

static const leat_chan_spec number = { .item_size = sizeof(int), .drop = drop_value };

static int twice(void *arg, void *value)
{
    CHECK_IS(0, *(int *)value);
    int error = leat_sleep(LEAT_MS);
    *(int *)value = 2 * *(int *)arg;
    return error;
}

static int refuse(void *arg, void *value)
{
    *(int *)value = 1;
    return *(int *)arg;
}

static int nothing(void *arg, void *value)
{
    (void)value;
    atomic_store((_Atomic bool *)arg, true);
    return 0;
}

static leat_chan *start(leat_scope *s, int *arg, bool blocking)
{
    leat_chan *ch = blocking ? leat_go_blocking_value(s, twice, arg, &number)
                             : leat_go_value(s, twice, arg, &number);
    CHECK(ch);
    return ch;
}

static int gives_a_value(void *arg)
{
    (void)arg;
    int one = 1, two = 2, x = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *chs[] = { start(s, &one, false), start(s, &two, true) };
    leat_case cases[] = { LEAT_RECV(chs[0], &x), LEAT_RECV(chs[1], &x) };
    int first = leat_select(cases, 2, LEAT_NEVER);
    CHECK(first >= 0);
    CHECK_IS(2 * (first + 1), x);
    CHECK_IS(0, leat_recv(chs[!first], &x));
    CHECK_IS(2 * (!first + 1), x);
    CHECK_IS(-EPIPE, leat_recv(chs[0], &x));
    CHECK_IS(-EPIPE, leat_recv(chs[1], &x));
    return leat_scope_close(s);
}
ON_WORKERS(gives_a_value);

/* If the value is not received, the task still ends, and the value is dropped. */
static int ends_without_a_receiver(void *arg)
{
    (void)arg;
    int one = 1;
    dropped = 0;
    for (int blocking = 0; blocking <= 1; blocking++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        start(s, &one, blocking);
        WAIT_UNTIL(leat_scope_tasks(s) == 0);
        CHECK_IS(blocking, dropped);
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(blocking + 1, dropped);
    }
    return 0;
}
ON_WORKERS(ends_without_a_receiver);

struct gate {
    leat_chan *runs, *goes_on;
};

static int wait_at(void *arg, void *value)
{
    struct gate *gate = arg;
    *(int *)value = 1;
    int error = leat_send(gate->runs, NULL);
    return error ? error : leat_recv(gate->goes_on, NULL);
}

/* If the channel was closed meanwhile, nobody else can drop the value. */
static int drops_a_value_that_nobody_wants(void *arg)
{
    (void)arg;
    dropped = 0;
    for (int blocking = 0; blocking <= 1; blocking++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct gate gate = { leat_chan_make(s, 0, 0), leat_chan_make(s, 0, 0) };
        leat_chan *ch = blocking ? leat_go_blocking_value(s, wait_at, &gate, &number)
                                 : leat_go_value(s, wait_at, &gate, &number);
        CHECK_IS(0, leat_recv(gate.runs, NULL));
        CHECK_IS(0, leat_close(ch));
        CHECK_IS(0, leat_send(gate.goes_on, NULL));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(blocking + 1, dropped);
    }
    return 0;
}
ON_WORKERS(drops_a_value_that_nobody_wants);

static int the_end_of_a_task_can_be_received(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    _Atomic bool ran = false;
    leat_chan *end = leat_go_value(s, nothing, &ran, &(leat_chan_spec){ .name = "end" });
    CHECK_IS(0, leat_recv(end, NULL));
    CHECK(atomic_load(&ran));
    CHECK_IS(-EPIPE, leat_recv(end, NULL));
    CHECK_IS(0, strcmp("end", leat_chan_name(end)));
    return leat_scope_close(s);
}
ON_WORKERS(the_end_of_a_task_can_be_received);

static int cuts_the_channel_of_a_failure(void *arg)
{
    (void)arg;
    int failure = -EIO, one = 1, x = 0;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    dropped = 0;
    CHECK_IS(-ECANCELED, leat_recv(leat_go_value(s, refuse, &failure, &number), &x));
    CHECK_IS(-EIO, leat_scope_close(s));
    s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_scope_cancel(s));
    leat_chan *ch = start(s, &one, false);
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(-ECANCELED, leat_try_recv(ch, &x));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, x);
    CHECK_IS(0, dropped);
    return leat_scope_close(outer);
}
ON_WORKERS(cuts_the_channel_of_a_failure);

static int refuses(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int one = 1;
    CHECK(!leat_go_value(NULL, twice, &one, &number));
    CHECK(!leat_go_value(s, NULL, &one, &number));
    CHECK(!leat_go_value(s, twice, &one, NULL));
    CHECK(!leat_go_value(s, twice, &one,
                         &(leat_chan_spec){ .item_size = 4, .buffer = LEAT_PROMISE }));
    CHECK(!leat_go_blocking_value(s, twice, &one, &(leat_chan_spec){ .item_size = SIZE_MAX }));
    return leat_scope_close(s);
}
ON_WORKERS(refuses);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(gives_a_value),
        TESTS_ON_WORKERS(ends_without_a_receiver),
        TESTS_ON_WORKERS(drops_a_value_that_nobody_wants),
        TESTS_ON_WORKERS(the_end_of_a_task_can_be_received),
        TESTS_ON_WORKERS(cuts_the_channel_of_a_failure),
        TESTS_ON_WORKERS(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
