/* test_time.c: the clock, deadlines, sleeping. */
#include "support.h"

#include <time.h>

static void returns_the_time(void **state)
{
    (void)state;
    struct timespec ts;
    int64_t before = leat_now();
    clock_gettime(CLOCK_MONOTONIC, &ts);
    int64_t between = ts.tv_sec * LEAT_S + ts.tv_nsec, after = leat_now();
    CHECK(before > LEAT_NOW);
    CHECK(before <= between && between <= after);
}

static void makes_deadlines(void **state)
{
    (void)state;
    CHECK(leat_after(LEAT_NEVER) == LEAT_NEVER);
    CHECK(leat_after(INT64_MAX - 1) == LEAT_NEVER);
    CHECK(leat_after(INT64_MAX - leat_now()) == LEAT_NEVER);
    static const int64_t past[] = { 0, -1, -LEAT_S, INT64_MIN, INT64_MIN + 1 };
    for (size_t i = 0; i < sizeof past / sizeof *past; i++) {
        int64_t deadline = leat_after(past[i]);
        CHECK(deadline > LEAT_NOW); /* LEAT_NOW would mean: do not wait */
        CHECK(deadline <= leat_now());
    }
    int64_t before = leat_now(), deadline = leat_after(5 * LEAT_S), after = leat_now();
    CHECK(before + 5 * LEAT_S <= deadline && deadline <= after + 5 * LEAT_S);
    CHECK(leat_after(100 * 365 * INT64_C(86400) * LEAT_S) < LEAT_NEVER);
}

static void refuses_endless_sleep(void **state)
{
    (void)state;
    CHECK_IS(-EDEADLK, leat_sleep_until(LEAT_NEVER));
    CHECK_IS(-EDEADLK, leat_sleep(LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_sleep_until(-1));
    CHECK_IS(0, leat_sleep(LEAT_MS)); /* needs no runtime */
}

static int sleep_various(void *arg)
{
    (void)arg;
    static const int64_t lengths[] = { 1, 999, 1000, 1001, 50 * LEAT_US, LEAT_MS, 7 * LEAT_MS };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int64_t start = leat_now();
        CHECK_IS(0, leat_sleep(lengths[i]));
        CHECK(leat_now() - start >= lengths[i]);
        int64_t deadline = leat_after(lengths[i]);
        CHECK_IS(0, leat_sleep_until(deadline));
        CHECK(leat_now() >= deadline);
    }
    CHECK_IS(0, leat_sleep(0));
    CHECK_IS(0, leat_sleep(-LEAT_S));
    CHECK_IS(0, leat_sleep(INT64_MIN));
    CHECK_IS(0, leat_sleep_until(LEAT_NOW));
    CHECK_IS(0, leat_sleep_until(1));
    CHECK_IS(0, leat_sleep_until(leat_now()));
    CHECK_IS(-EINVAL, leat_sleep_until(-1));
    CHECK_IS(-EINVAL, leat_sleep_until(INT64_MIN));
    return 0;
}

static int is_never_early(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < 40; i++)
        crew_go(&crew, i < 20 ? TASK : i < 24 ? BLOCKING : FOREIGN, sleep_various, NULL);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(is_never_early);

/* On one worker, sleepers wake in the order of their deadlines, not in that of their arrival. */
enum { SLEEPERS = 300 };

struct bed {
    int64_t deadline;
    int *asleep, *next, rank;
};

static int sleep_in_turn(void *arg)
{
    struct bed *bed = arg;
    (*bed->asleep)++;
    CHECK_IS(0, leat_sleep_until(bed->deadline));
    bed->rank = (*bed->next)++;
    return 0;
}

static int wakes_in_order(void *arg)
{
    (void)arg;
    for (int64_t patience = 20 * LEAT_MS;; patience *= 2) {
        struct bed beds[SLEEPERS];
        int asleep = 0, next = 0;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        int64_t first = leat_after(patience);
        for (int i = 0; i < SLEEPERS; i++) {
            beds[i] = (struct bed){ first + i * 7 % SLEEPERS * 20 * LEAT_US, &asleep, &next, -1 };
            CHECK_IS(0, leat_go(s, sleep_in_turn, &beds[i]));
        }
        WAIT_UNTIL(asleep == SLEEPERS);
        bool in_time = leat_now() < first;
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(SLEEPERS, next);
        if (!in_time)
            continue; /* on a slow machine */
        for (int i = 0; i < SLEEPERS; i++)
            CHECK_IS(i * 7 % SLEEPERS, beds[i].rank);
        return 0;
    }
}

static void wakes_sleepers_in_order(void **state)
{
    (void)state;
    run_on(1, wakes_in_order);
}

/* Tasks that never stop talking do not delay the timers of their worker. */
static _Atomic bool enough;

static int yield_on(void *arg)
{
    (void)arg;
    while (!atomic_load(&enough))
        leat_yield();
    return 0;
}

static int pass_on(void *arg)
{
    leat_chan **pair = arg;
    int x = 0;
    while (!atomic_load(&enough)) {
        if (leat_recv(pair[0], &x) || leat_send(pair[1], &x))
            break;
    }
    leat_close(pair[0]);
    leat_close(pair[1]);
    return 0;
}

static int buffer_on(void *arg)
{
    int x = 0;
    while (!atomic_load(&enough)) {
        CHECK_IS(0, leat_send(arg, &x));
        CHECK_IS(0, leat_recv(arg, &x));
    }
    return 0;
}

/* In the seeded world a sleep takes ten thousand turns of tasks that keep the clock still. */
enum { SLEEPS = IN_SIM ? 4 : 10 };

static int busy_workers_fire_timers(void *arg)
{
    (void)arg;
    for (int busy = 0; busy < 3; busy++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        atomic_store(&enough, false);
        leat_chan *a = leat_chan_of(s, int, 0), *b = leat_chan_of(s, int, 0);
        leat_chan *there[2] = { a, b }, *back[2] = { b, a };
        for (int i = 0; i < 8; i++) {
            switch (busy) {
            case 0: CHECK_IS(0, leat_go(s, yield_on, NULL)); break;
            case 1: CHECK_IS(0, leat_go(s, pass_on, i % 2 ? there : back)); break;
            default: CHECK_IS(0, leat_go(s, buffer_on, leat_chan_of(s, int, 1)));
            }
        }
        if (busy == 1)
            CHECK_IS(0, leat_send(a, &(int){ 1 }));
        for (int i = 0; i < SLEEPS; i++) {
            int64_t deadline = leat_after(LEAT_MS);
            CHECK_IS(0, leat_sleep_until(deadline));
            CHECK(leat_now() >= deadline);
            CHECK(leat_now() < deadline + 30 * LEAT_S);
        }
        atomic_store(&enough, true);
        if (busy == 1) {
            leat_close(a);
            leat_close(b);
        }
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(busy_workers_fire_timers);

static int sleep_long(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
    int64_t start = leat_now();
    CHECK_IS(-ECANCELED, leat_sleep(3600 * LEAT_S));
    CHECK(leat_now() - start < 1800 * LEAT_S);
    CHECK_IS(-ECANCELED, leat_sleep(LEAT_US));
    CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER));
    return 0;
}

static int is_cancelled(void *arg)
{
    (void)arg;
    _Atomic int asleep = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 50; i++)
        CHECK_IS(0, i % 10 ? leat_go(s, sleep_long, &asleep)
                           : leat_go_blocking(s, sleep_long, &asleep));
    WAIT_UNTIL(asleep == 50);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(is_cancelled);

/* Many deadlines at the same moment, and many at different ones. */
static int sleep_a_little(void *arg)
{
    int64_t deadline = *(int64_t *)arg;
    CHECK_IS(0, leat_sleep_until(deadline));
    CHECK(leat_now() >= deadline);
    return 0;
}

static int tells_if_it_was_late(void *late)
{
    CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER));
    CHECK_IS(*(int *)late, leat_scope_deadline(NULL) <= leat_now());
    return 0;
}

/* The wait ends in a scope inside the one that is cancelled or has the deadline. */
static int tells_a_deadline_from_a_cancel(void *arg)
{
    (void)arg;
    for (int i = 0; i < 8; i++) {
        int late = i % 2;
        leat_scope *s = leat_scope_open(leat_after(late ? i * LEAT_MS : 600 * LEAT_S));
        leat_scope *inside = leat_scope_open(leat_after(900 * LEAT_S));
        CHECK_IS(0, leat_go(inside, tells_if_it_was_late, &late));
        CHECK_IS(0, leat_go_blocking(s, tells_if_it_was_late, &late));
        if (!late)
            CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, tells_if_it_was_late(&late));
        CHECK_IS(-ECANCELED, leat_scope_close(inside));
        CHECK_IS(late ? -ETIMEDOUT : 0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(tells_a_deadline_from_a_cancel);

static int many_sleep(void *arg)
{
    (void)arg;
    const int many = 5000 / SCALE;
    int64_t *deadlines = calloc((size_t)many, sizeof *deadlines);
    CHECK(deadlines);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    uint64_t chance = seed_of_test();
    int64_t common = leat_after(3 * LEAT_MS);
    for (int i = 0; i < many; i++) {
        deadlines[i] = i % 2 ? common : leat_after(below(&chance, 20000) * LEAT_US);
        CHECK_IS(0, leat_go(s, sleep_a_little, &deadlines[i]));
    }
    CHECK_IS(0, leat_scope_close(s));
    free(deadlines);
    return 0;
}
ON_WORKERS(many_sleep);

static void compute_until(int64_t deadline)
{
    while (leat_now() < deadline)
        leat_sim_point();
}

/* The timer fires between parties. If each worker runs a task that computes, none fires it. */
static int computes_beyond_a_deadline(void *arg)
{
    (void)arg;
    int64_t deadline = leat_after(LEAT_MS);
    leat_scope *s = leat_scope_open(deadline), *inner = leat_scope_open(leat_after(600 * LEAT_S));
    CHECK_IS(0, leat_shield());
    leat_scope *apart = leat_scope_open(LEAT_NEVER);
    compute_until(deadline);
    CHECK_IS(0, leat_cancelled(apart));
    CHECK_IS(0, leat_scope_close(apart));
    CHECK_IS(0, leat_unshield());
    CHECK_IS(1, leat_cancelled(NULL));
    CHECK_IS(1, leat_cancelled(s));
    CHECK_IS(-ECANCELED, leat_scope_close(inner));
    CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
    return 0;
}
ON_WORKERS(computes_beyond_a_deadline);

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_the_time),
        cmocka_unit_test(makes_deadlines),
        cmocka_unit_test(refuses_endless_sleep),
        TESTS_ON_WORKERS(is_never_early),
        cmocka_unit_test(wakes_sleepers_in_order),
        TESTS_ON_WORKERS(busy_workers_fire_timers),
        TESTS_ON_WORKERS(is_cancelled),
        TESTS_ON_WORKERS(tells_a_deadline_from_a_cancel),
        TESTS_ON_WORKERS(many_sleep),
        TESTS_ON_WORKERS(computes_beyond_a_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
