/* test_sync.c: latches, once, shared calls. */
#include "dumps.h"

static const char WAITS_FOR_CALL[] = "waits for a call of";

/* ---- latches ---- */

static int count_down(void *arg)
{
    leat_yield();
    return leat_chan_done(arg);
}

static int wait_for_latch(void *arg)
{
    return leat_latch_wait(arg, LEAT_NEVER);
}

static int opens_at_zero(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *latch = leat_latch(crew.scope, 7);
    for (int i = 0; i < 5; i++)
        crew_go(&crew, kind_of(i), wait_for_latch, latch);
    CHECK_IS(-EAGAIN, leat_latch_wait(latch, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_latch_wait(latch, leat_after(LEAT_MS)));
    CHECK_IS(0, leat_chan_senders(latch, 2));
    for (int i = 0; i < 9; i++)
        crew_go(&crew, kind_of(i), count_down, latch);
    CHECK_IS(0, leat_latch_wait(latch, LEAT_NEVER));
    CHECK_IS(0, leat_latch_wait(leat_latch(crew.scope, 0), LEAT_NOW));
    CHECK_IS(-EINVAL, leat_latch_wait(NULL, LEAT_NEVER));
    crew_close(&crew);
    return 0;
}
ON_WORKERS(opens_at_zero);

/* ---- once ---- */

struct doing {
    leat_once once;
    _Atomic int calls, callers, returned;
    int result;
    leat_chan *gate;
};

static int do_it(void *arg)
{
    struct doing *d = arg;
    atomic_fetch_add(&d->calls, 1);
    CHECK_IS(-EDEADLK, leat_once_do(&d->once, do_it, d));
    CHECK_IS(-EPIPE, leat_recv(d->gate, NULL));
    return d->result;
}

static int call_once(void *arg)
{
    struct doing *d = arg;
    atomic_fetch_add(&d->callers, 1);
    CHECK_IS(d->result, leat_once_do(&d->once, do_it, d));
    atomic_fetch_add(&d->returned, 1);
    return 0;
}

static int does_it_once(void *arg)
{
    (void)arg;
    for (int result = 0; result > -2; result--) {
        struct crew crew;
        crew_open(&crew);
        struct doing d = { .result = result, .gate = leat_chan_make(crew.scope, 0, 0) };
        for (int i = 0; i < 9; i++)
            crew_go(&crew, kind_of(i), call_once, &d);
        WAIT_UNTIL(d.callers == 9 && receivers_of(d.gate) == 1);
        CHECK_IS(0, d.returned);
        CHECK_IS(0, leat_close(d.gate));
        WAIT_UNTIL(d.returned == 9);
        CHECK_IS(result, leat_once_do(&d.once, do_it, &d));
        CHECK_IS(1, d.calls);
        crew_close(&crew);
        CHECK_IS(-EINVAL, leat_once_do(NULL, do_it, NULL));
        CHECK_IS(-EINVAL, leat_once_do(&d.once, NULL, NULL));
    }
    return 0;
}
ON_WORKERS(does_it_once);

static int call_cancelled(void *arg)
{
    struct doing *d = arg;
    CHECK_IS(-ECANCELED, leat_once_do(&d->once, do_it, d));
    atomic_fetch_add(&d->returned, 1);
    return 0;
}

static int cancelled_callers_leave(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct doing d = { .gate = leat_chan_make(s, 0, 0) };
    CHECK_IS(0, leat_go(s, call_once, &d));
    WAIT_UNTIL(receivers_of(d.gate) == 1);
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 4; i++)
        CHECK_IS(0, i % 2 ? leat_go(inner, call_cancelled, &d)
                          : leat_go_blocking(inner, call_cancelled, &d));
    WAIT_UNTIL(times_in_dump(WAITS_FOR_CALL) == 2); /* the tasks: dumps show no thread here */
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(4, d.returned);
    CHECK_IS(0, leat_close(d.gate));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(5, d.returned);
    return 0;
}
ON_WORKERS(cancelled_callers_leave);

/* ---- shared calls ---- */

struct lookups {
    leat_singleflight *flights;
    leat_chan *gate;
    _Atomic int calls, callers, returned;
};

static int look_up(void *arg, const void *key, void *value)
{
    struct lookups *l = arg;
    int x = *(const int *)key;
    atomic_fetch_add(&l->calls, 1);
    int status = leat_recv(l->gate, NULL);
    if (status == -ECANCELED)
        return status;
    memcpy(value, &(int){ 2 * x }, sizeof x);
    return x == 3 ? -EIO : 0;
}

static int ask(void *arg)
{
    struct lookups *l = arg;
    int key = atomic_fetch_add(&l->callers, 1) % 4, value = -1;
    int status = leat_singleflight_do(l->flights, &key, &value, LEAT_NEVER);
    CHECK_IS(key == 3 ? -EIO : 0, status);
    CHECK_IS(key == 3 ? -1 : 2 * key, value);
    atomic_fetch_add(&l->returned, 1);
    return 0;
}

static leat_singleflight *open_flights(leat_scope *s, struct lookups *l)
{
    return leat_singleflight_open(s, &(leat_singleflight_spec){ look_up, l, 4, 4 });
}

/* Twenty callers with four keys. Threads are not seen to wait, so some may come after the call that
 * they would have shared. */
static void share_calls(bool threads)
{
    struct crew crew;
    crew_open(&crew);
    struct lookups l = { .gate = leat_chan_make(crew.scope, 0, 0) };
    l.flights = open_flights(crew.scope, &l);
    for (int i = 0; i < 20; i++)
        crew_go(&crew, threads ? kind_of(i) : TASK, ask, &l);
    WAIT_UNTIL(receivers_of(l.gate) == 4 && (threads || times_in_dump(WAITS_FOR_CALL) == 20));
    CHECK_IS(4, l.calls);
    CHECK_IS(0, leat_close(l.gate));
    WAIT_UNTIL(l.returned == 20);
    CHECK(threads ? l.calls <= 20 : l.calls == 4);
    int key = 1, value; /* no result is kept */
    int before = l.calls;
    CHECK_IS(0, leat_singleflight_do(l.flights, &key, &value, LEAT_NEVER));
    CHECK_IS(2, value);
    CHECK_IS(before + 1, l.calls);
    crew_close(&crew);
}

static int shares_calls(void *arg)
{
    (void)arg;
    share_calls(false);
    share_calls(true);
    return 0;
}
ON_WORKERS(shares_calls);

/* After a call was forgotten, the next caller begins another one beside it. */
static int forgets_a_call(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct lookups l = { .gate = leat_chan_make(s, 0, 0), .callers = 1 };
    l.flights = open_flights(s, &l);
    int key = 1, other = 2;
    CHECK_IS(-ENOENT, leat_singleflight_forget(l.flights, &key));
    for (int calls = 1; calls <= 3; calls++) {
        l.callers = 1;
        CHECK_IS(0, leat_go(s, ask, &l));
        WAIT_UNTIL((int)receivers_of(l.gate) == calls);
        CHECK_IS(calls, l.calls);
        CHECK_IS(-ENOENT, leat_singleflight_forget(l.flights, &other));
        if (calls < 3)
            CHECK_IS(0, leat_singleflight_forget(l.flights, &key));
    }
    CHECK_IS(0, leat_close(l.gate));
    WAIT_UNTIL(l.returned == 3);
    CHECK_IS(-ENOENT, leat_singleflight_forget(l.flights, &key));
    CHECK_IS(-EINVAL, leat_singleflight_forget(l.flights, NULL));
    CHECK_IS(-EINVAL, leat_singleflight_forget(NULL, &key));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(3, l.calls);
    return 0;
}
ON_WORKERS(forgets_a_call);

static int ask_in_vain(void *arg)
{
    struct lookups *l = arg;
    int key = 1, value = -1;
    CHECK_IS(-ECANCELED, leat_singleflight_do(l->flights, &key, &value, LEAT_NEVER));
    CHECK_IS(-1, value);
    return 0;
}

/* The caller for whom the call began leaves, and no other caller notices. */
static int a_leaving_caller_disturbs_no_other(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct lookups l = { .gate = leat_chan_make(s, 0, 0) };
    l.flights = open_flights(s, &l);
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(inner, ask_in_vain, &l));
    WAIT_UNTIL(receivers_of(l.gate) == 1);
    l.callers = 1;
    CHECK_IS(0, leat_go(s, ask, &l));
    WAIT_UNTIL(receivers_of(l.gate) == 1 && times_in_dump(WAITS_FOR_CALL) == 2);
    int key = 1, value = -1;
    CHECK_IS(-ETIMEDOUT, leat_singleflight_do(l.flights, &key, &value, leat_after(LEAT_MS * 5)));
    CHECK_IS(-EAGAIN, leat_singleflight_do(l.flights, &key, &value, LEAT_NOW));
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(1, l.calls);
    CHECK_IS(0, leat_close(l.gate));
    CHECK_IS(-EINVAL, leat_singleflight_do(NULL, &key, &value, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_singleflight_do(l.flights, NULL, &value, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_singleflight_do(l.flights, &key, NULL, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_singleflight_do(l.flights, &key, &value, -1));
    CHECK(!leat_singleflight_open(s, NULL));
    CHECK(!leat_singleflight_open(NULL, &(leat_singleflight_spec){ look_up, &l, 4, 4 }));
    CHECK(!leat_singleflight_open(s, &(leat_singleflight_spec){ NULL, &l, 4, 4 }));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(1, l.calls);
    return 0;
}
ON_WORKERS(a_leaving_caller_disturbs_no_other);

/* ---- what dumps show ---- */

struct event_once {
    leat_once once;
    leat_chan *gate;
};

static int wait_at_gate(void *arg)
{
    return leat_recv(((struct event_once *)arg)->gate, NULL) == -EPIPE ? 0 : -EIO;
}

static int do_at_gate(void *arg)
{
    return leat_once_do(&((struct event_once *)arg)->once, wait_at_gate, arg);
}

static int dumps_name_the_wait(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct event_once o = { .gate = leat_chan_make(s, 0, 0) };
    CHECK_IS(0, leat_go(s, do_at_gate, &o));
    WAIT_UNTIL(receivers_of(o.gate) == 1);
    CHECK_IS(0, times_in_dump(WAITS_FOR_CALL));
    CHECK_IS(0, leat_go(s, do_at_gate, &o));
    WAIT_UNTIL(times_in_dump(WAITS_FOR_CALL) == 1);
    CHECK_IS(0, leat_close(o.gate));
    CHECK_IS(0, leat_scope_close(s));
    s = leat_scope_open(LEAT_NEVER);
    struct lookups l = { .gate = leat_chan_make(s, 0, 0) };
    l.flights = open_flights(s, &l);
    CHECK_IS(0, times_in_dump(WAITS_FOR_CALL));
    CHECK_IS(0, leat_go(s, ask, &l));
    WAIT_UNTIL(times_in_dump(WAITS_FOR_CALL) == 1);
    CHECK_IS(0, leat_close(l.gate));
    return leat_scope_close(s);
}
ON_WORKERS(dumps_name_the_wait);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(opens_at_zero),
        TESTS_ON_WORKERS(does_it_once),
        TESTS_ON_WORKERS(cancelled_callers_leave),
        TESTS_ON_WORKERS(shares_calls),
        TESTS_ON_WORKERS(forgets_a_call),
        TESTS_ON_WORKERS(a_leaving_caller_disturbs_no_other),
        TESTS_ON_WORKERS(dumps_name_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
