/* test_timeout.c: shared channels that close after some time. */
#include "support.h"

#include "sched/current.h"

/* ---- the text's own example: a value from the future ---- */

struct future {
    leat_chan *c;
    const char *text;
};

static int send_later(void *arg)
{
    struct future *future = arg;
    leat_chan *t = leat_timeout(20 * LEAT_MS);
    CHECK_IS(-EPIPE, leat_recv(t, NULL));
    CHECK_IS(0, leat_chan_unref(t));
    return leat_send(future->c, &future->text);
}

static int hello_from_the_future(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct future future = { leat_chan_of(s, const char *, 0), "hello from the future!" };
    int64_t start = leat_now();
    const char *text;
    CHECK_IS(0, leat_go(s, send_later, &future));
    CHECK_IS(0, leat_recv(future.c, &text));
    CHECK(strcmp(text, "hello from the future!") == 0);
    CHECK(leat_now() - start >= 20 * LEAT_MS);
    CHECK_IS(0, leat_close(future.c));
    return leat_scope_close(s);
}
ON_WORKERS(hello_from_the_future);

/* ---- sharing ---- */

static uint64_t shared_timers_here(void)
{
    return lt_current_worker()->shared_timers.wheel.count;
}

/* All timeouts within one resolution are one channel. Repeats until no call fell across an edge. */
static int shares_one(void *arg)
{
    (void)arg;
    enum { MANY = 1000 };
    static leat_chan *held[MANY];
    CHECK_IS(0, leat_timeout_resolution(LEAT_S));
    for (int edges = 1; edges > 0;) {
        edges = 0;
        CHECK_IS(0, shared_timers_here());
        for (int i = 0; i < MANY; i++) {
            held[i] = leat_timeout(500 * LEAT_MS + 3600 * LEAT_S);
            CHECK(held[i]);
            edges += i && held[i] != held[i - 1];
        }
        CHECK_IS(edges + 1, shared_timers_here());
        for (int i = 0; i < MANY; i++) { /* the last unref frees channel and timer */
            CHECK(shared_timers_here() > 0);
            CHECK_IS(0, leat_chan_unref(held[i]));
        }
        CHECK_IS(0, shared_timers_here());
    }
    leat_chan *a = leat_timeout(3600 * LEAT_S), *b = leat_timeout(3700 * LEAT_S);
    CHECK(a != b);
    CHECK_IS(0, leat_chan_unref(a));
    CHECK_IS(0, leat_chan_unref(b));
    a = leat_timeout(LEAT_NEVER), b = leat_timeout(LEAT_NEVER - 1);
    CHECK(a == b && !leat_chan_closed(a));
    CHECK_IS(-EAGAIN, leat_try_recv(a, NULL));
    CHECK_IS(0, leat_chan_ref(a));
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_chan_unref(a));
    CHECK_IS(0, leat_timeout_resolution(0));
    int64_t before = leat_now();
    a = leat_timeout(LEAT_S), b = leat_timeout(LEAT_S);
    CHECK(a != b);
    CHECK_IS(2, shared_timers_here());
    CHECK_IS(0, leat_chan_unref(b));
    CHECK_IS(-EPIPE, leat_recv(a, NULL));
    CHECK(leat_now() - before >= LEAT_S);
    CHECK_IS(0, leat_chan_unref(a));
    CHECK_IS(-EINVAL, leat_timeout_resolution(-1));
    CHECK_IS(-EINVAL, leat_timeout_resolution(INT64_MIN));
    CHECK_IS(0, leat_timeout_resolution(INT64_MAX));
    a = leat_timeout(1), b = leat_timeout(LEAT_S);
    CHECK(a && a == b);
    CHECK_IS(0, leat_chan_unref(a));
    CHECK_IS(0, leat_chan_unref(b));
    a = leat_timeout(0), b = leat_timeout(-LEAT_S); /* however coarse */
    CHECK_IS(-EPIPE, leat_recv(a, NULL));
    CHECK_IS(-EPIPE, leat_recv(b, NULL));
    CHECK_IS(0, leat_chan_unref(a));
    CHECK_IS(0, leat_chan_unref(b));
    CHECK_IS(0, leat_timeout_resolution(LEAT_TIMEOUT_RESOLUTION));
    return 0;
}

static void is_shared(void **state)
{
    (void)state;
    run_on(1, shares_one);
}

/* ---- what a holder may not do ---- */

static void note_status(leat_op *op, int status)
{
    atomic_store((_Atomic int *)(op + 1), status);
}

struct noted {
    leat_op op;
    _Atomic int status;
};

static int refuses(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch[] = { leat_timeout(3600 * LEAT_S), leat_timeout(0), leat_tick(s, 3600 * LEAT_S) };
    CHECK_IS(-EPIPE, leat_recv(ch[1], NULL));
    for (int i = 0; i < 3; i++) {
        int64_t item = 0;
        for (int closed = 0; closed < 2; closed++) {
            CHECK_IS(-EPERM, leat_send(ch[i], &item));
            CHECK_IS(-EPERM, leat_try_send(ch[i], &item));
            CHECK_IS(-EPERM, leat_send_until(ch[i], &item, LEAT_NOW));
            CHECK_IS(-EPERM, leat_send_until(ch[i], &item, leat_after(LEAT_S)));
            CHECK_IS(-EPERM, leat_send_many(ch[i], &item, 3, LEAT_NEVER));
            CHECK_IS(-EPERM, leat_chan_senders(ch[i], 1));
            CHECK_IS(-EPERM, leat_chan_done(ch[i]));
            leat_case cases[] = { LEAT_SEND(ch[i], &item), LEAT_RECV(NULL, NULL) };
            CHECK_IS(0, leat_select(cases, 2, LEAT_NEVER));
            CHECK_IS(-EPERM, cases[0].status);
            CHECK_IS(0, leat_select(cases, 1, LEAT_NOW));
            CHECK_IS(-EPERM, cases[0].status);
            struct noted noted = { LEAT_OP(s, 0), 1 };
            CHECK_IS(0, leat_send_then(&noted.op, ch[i], &item, note_status));
            CHECK_IS(-EPERM, noted.status);
            CHECK_IS(i == 2 ? 0 : -EPERM, leat_close(ch[i]));
            CHECK_IS(0, leat_chan_len(ch[i]));
            CHECK_IS(i > 0, leat_chan_closed(ch[i]));
        }
    }
    CHECK(strcmp("timeout", leat_chan_name(ch[0])) == 0);
    CHECK(strcmp("tick", leat_chan_name(ch[2])) == 0);
    CHECK_IS(-EINVAL, leat_chan_ref(ch[2]));
    CHECK_IS(-EINVAL, leat_chan_unref(ch[2]));
    CHECK_IS(0, leat_chan_unref(ch[0]));
    CHECK_IS(0, leat_chan_unref(ch[1]));
    return leat_scope_close(s);
}
ON_WORKERS(refuses);

/* ---- time ---- */

static int take_one(void *arg)
{
    uint64_t chance = (uint64_t)leat_now();
    for (int i = 0; i < 12; i++) {
        int64_t ns = i ? below(&chance, 12000) * LEAT_US - LEAT_MS : INT64_MIN, start = leat_now();
        leat_chan *t = leat_timeout(ns);
        CHECK(t);
        if (i % 2) {
            leat_case cases[] = { LEAT_RECV(arg, NULL), LEAT_RECV(t, NULL) };
            CHECK_IS(1, leat_select(cases, 2, LEAT_NEVER));
            CHECK_IS(-EPIPE, cases[1].status);
        } else {
            CHECK_IS(-EPIPE, leat_recv(t, NULL));
        }
        CHECK(ns < 0 || leat_now() - start >= ns);
        CHECK_IS(1, leat_chan_closed(t));
        CHECK_IS(-EPIPE, leat_try_recv(t, NULL));
        CHECK_IS(0, leat_chan_unref(t));
    }
    return 0;
}

static int is_never_early(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *never = leat_chan_make(crew.scope, 0, 0);
    for (int i = 0; i < 30; i++)
        crew_go(&crew, kind_of(i), take_one, never);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(is_never_early);

/* Timeouts close in the order of their times, each at a multiple of the resolution. */
static int closes_in_order(void *arg)
{
    (void)arg;
    enum { N = 6 };
    for (int64_t unit = 20 * LEAT_MS;; unit *= 2) {
        leat_case cases[N];
        int64_t first = leat_after(unit);
        for (int i = 0; i < N; i++)
            cases[i] = (leat_case)LEAT_RECV(leat_timeout(unit + i * 5 % N * unit), NULL);
        bool in_time = leat_now() < first - unit / 2;
        leat_chan *held[N];
        for (int i = 0; i < N; i++)
            held[i] = cases[i].ch;
        for (int i = 0; i < N && in_time; i++) {
            int chosen = leat_select(cases, N, LEAT_NEVER);
            CHECK(chosen >= 0 && cases[chosen].ch);
            in_time &= leat_now() < first + i * unit + unit - LEAT_TIMEOUT_RESOLUTION;
            if (in_time)
                CHECK_IS(i, chosen * 5 % N);
            cases[chosen].ch = NULL;
        }
        for (int i = 0; i < N; i++)
            CHECK_IS(0, leat_chan_unref(held[i]));
        if (in_time)
            return 0;
    }
}

static void closes_by_time(void **state)
{
    (void)state;
    run_on(1, closes_in_order);
}

/* ---- many holders of all kinds ---- */

struct holder {
    leat_block block;
    leat_chan *t;
    _Atomic int *closed;
};

static int hold_as_block(leat_block *b)
{
    struct holder *me = (struct holder *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->t, NULL);
    CHECK_IS(-EPIPE, b->status);
    CHECK_IS(0, leat_chan_unref(me->t));
    atomic_fetch_add(me->closed, 1);
    LEAT_END(b);
}

static int hold(void *arg)
{
    struct holder *me = arg;
    CHECK_IS(-EPIPE, leat_recv(me->t, NULL));
    CHECK_IS(0, leat_chan_unref(me->t));
    atomic_fetch_add(me->closed, 1);
    return 0;
}

static int has_many_holders(void *arg)
{
    (void)arg;
    const int many = 20000 / SCALE;
    struct holder *holders = calloc((size_t)many, sizeof *holders);
    CHECK(holders);
    _Atomic int closed = 0;
    struct crew crew;
    crew_open(&crew);
    int64_t start = leat_now();
    leat_chan *t = leat_timeout(50 * LEAT_MS);
    for (int i = 0; i < many; i++) {
        CHECK_IS(0, leat_chan_ref(t));
        holders[i] = (struct holder){ .t = t, .closed = &closed };
        if (i % 1000 == 0)
            crew_go(&crew, kind_of(i / 1000), hold, &holders[i]);
        else
            CHECK_IS(0, leat_go_block(crew.scope, &holders[i].block, hold_as_block));
    }
    CHECK_IS(0, leat_chan_unref(t));
    crew_close(&crew);
    CHECK(leat_now() - start >= 40 * LEAT_MS);
    CHECK_IS(many, closed);
    free(holders);
    return 0;
}
ON_WORKERS(has_many_holders);

/* ---- release during the close ---- */

static int come_and_go(void *arg)
{
    (void)arg;
    uint64_t chance = (uint64_t)leat_now() ^ (uintptr_t)&chance;
    leat_chan *held[8] = { NULL };
    for (int i = 0; i < 4000 / SCALE; i++) {
        leat_chan **slot = &held[below(&chance, 8)];
        if (!*slot) {
            *slot = leat_timeout(below(&chance, 200) * LEAT_US);
            CHECK(*slot);
        }
        switch (below(&chance, 4)) {
        case 0: CHECK_IS(-EPIPE, leat_recv(*slot, NULL)); break;
        case 1: {
            int err = leat_recv_until(*slot, NULL, leat_after(below(&chance, 50) * LEAT_US));
            CHECK(err == -EPIPE || err == -ETIMEDOUT);
            break;
        }
        case 2: CHECK_IS(-EPERM, leat_close(*slot)); continue;
        default: break;
        }
        CHECK_IS(0, leat_chan_unref(*slot));
        *slot = NULL;
    }
    for (int i = 0; i < 8; i++)
        CHECK_IS(held[i] ? 0 : -EINVAL, leat_chan_unref(held[i]));
    return 0;
}

static int may_be_released_at_any_moment(void *arg)
{
    (void)arg;
    static const int64_t resolutions[] = { 30 * LEAT_US, 0, 100 * LEAT_US };
    for (int round = 0; round < 3; round++) {
        struct crew crew;
        crew_open(&crew);
        CHECK_IS(0, leat_timeout_resolution(resolutions[round]));
        for (int i = 0; i < 9; i++)
            crew_go(&crew, kind_of(i), come_and_go, NULL);
        crew_close(&crew);
    }
    CHECK_IS(0, leat_timeout_resolution(LEAT_TIMEOUT_RESOLUTION));
    return 0;
}
ON_WORKERS(may_be_released_at_any_moment);

/* ---- the end of the runtime ---- */

static int wait_for_close(void *arg)
{
    return leat_recv(arg, NULL);
}

static void ends_with_the_runtime(void **state)
{
    (void)state;
    CHECK(!leat_timeout(1));
    for (unsigned workers = 1; workers < 4; workers++) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = workers }));
        leat_chan *never = leat_timeout(LEAT_NEVER), *late = leat_timeout(3600 * LEAT_S);
        leat_chan *soon = leat_timeout(1), *twice = leat_timeout(LEAT_NEVER);
        CHECK(never && late && soon && twice == never);
        leat_timeout_resolution(0);
        leat_chan *own = leat_timeout(3600 * LEAT_S);
        leat_timeout_resolution(LEAT_TIMEOUT_RESOLUTION);
        struct foreign waits;
        foreign_start(&waits, wait_for_close, late);
        WAIT_UNTIL(receivers_of(late));
        CHECK_IS(0, leat_stop());
        CHECK_IS(-EPIPE, foreign_join(&waits));
        CHECK_IS(1, leat_chan_closed(never) && leat_chan_closed(own) && leat_chan_closed(soon));
        CHECK_IS(-EPERM, leat_close(never));
        CHECK_IS(0, leat_chan_unref(never));
        CHECK_IS(0, leat_chan_unref(late));
        CHECK_IS(0, leat_chan_unref(soon));
        CHECK_IS(0, leat_start(NULL)); /* the next runtime does not know them */
        CHECK_IS(0, leat_chan_unref(own));
        leat_chan *again = leat_timeout(LEAT_NEVER);
        CHECK(again && again != twice && !leat_chan_closed(again));
        CHECK_IS(0, leat_chan_unref(again));
        CHECK_IS(0, leat_chan_unref(twice));
        CHECK_IS(0, leat_stop());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(hello_from_the_future),
        cmocka_unit_test(is_shared),
        TESTS_ON_WORKERS(refuses),
        TESTS_ON_WORKERS(is_never_early),
        cmocka_unit_test(closes_by_time),
        TESTS_ON_WORKERS(has_many_holders),
        TESTS_ON_WORKERS(may_be_released_at_any_moment),
        cmocka_unit_test(ends_with_the_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
