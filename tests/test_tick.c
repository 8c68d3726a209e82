/* test_tick.c: channels that tick, and workers that do not wake without need. */
#define _GNU_SOURCE
#include "switches.h"

#include "sched/current.h"

/* In the seeded world each tick would come, one at a time. */
#define FINEST (IN_SIM ? LEAT_US : 1)

static void refuses_wrong_arguments(void **state)
{
    (void)state;
    CHECK(!leat_tick(NULL, LEAT_S));
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK(!leat_tick(NULL, LEAT_S));
    CHECK(!leat_tick(s, 0));
    CHECK(!leat_tick(s, -1));
    CHECK(!leat_tick(s, INT64_MIN));
    leat_chan *never = leat_tick(s, LEAT_NEVER), *late = leat_tick(s, LEAT_NEVER - 1);
    CHECK(never && late);
    CHECK_IS(-EAGAIN, leat_try_recv(never, NULL));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

/* Each tick comes a whole number of periods after the start, never early, always later. */
static int count_ticks(void *arg)
{
    int64_t period = *(int64_t *)arg, before = leat_now(), first = 0, last = 0, at;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *tick = leat_tick(s, period);
    CHECK(tick);
    int64_t after = leat_now();
    for (int i = 0; i < 20; i++) {
        CHECK_IS(0, leat_recv(tick, &at));
        CHECK(at <= leat_now());
        first = first ? first : at;
        CHECK(before + period <= at);
        CHECK(i > 0 || after + period >= at || at - after > period);
        CHECK_IS(0, (at - first) % period);
        CHECK(at > last);
        last = at;
    }
    return leat_scope_close(s);
}

static int ticks(void *arg)
{
    (void)arg;
    int64_t periods[] = { LEAT_MS, 100 * LEAT_US, LEAT_US, 1, 777777 };
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < 15; i++)
        crew_go(&crew, kind_of(i), count_ticks, &periods[i % 5]);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(ticks);

/* A receiver that sleeps through many ticks gets the first, and then the next to come. */
static int drops_ticks_that_come_too_fast(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int64_t before = leat_now(), at;
    leat_chan *tick = leat_tick(s, LEAT_MS);
    int64_t after = leat_now();
    WAIT_UNTIL(leat_chan_len(tick) == 1);
    CHECK_IS(0, leat_sleep(20 * LEAT_MS));
    int64_t woken = leat_now();
    CHECK_IS(1, leat_chan_len(tick));
    CHECK_IS(0, leat_recv(tick, &at));
    CHECK(before + LEAT_MS <= at && at < woken);
    CHECK(at <= after + LEAT_MS);
    int64_t first = at;
    CHECK_IS(0, leat_recv(tick, &at));
    /* A worker that the system has held up sends a tick that was due before that. */
    CHECK(at > (IN_SIM ? woken - 2 * LEAT_MS : first));
    return leat_scope_close(s);
}
ON_WORKERS(drops_ticks_that_come_too_fast);

/* After a stop no tick comes, not even one that was buffered or due. */
static int read_to_the_end(void *arg)
{
    int64_t at;
    while (leat_recv(arg, &at) == 0)
        CHECK(at <= leat_now());
    CHECK_IS(-EPIPE, leat_try_recv(arg, &at));
    return 0;
}

static int is_stopped(void *arg)
{
    (void)arg;
    for (int i = 0; i < 300 / SCALE; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *tick = leat_tick(s, FINEST + i % 7 * 10 * LEAT_US);
        int64_t at;
        if (i % 2)
            CHECK_IS(0, leat_go(s, read_to_the_end, tick));
        if (i % 4 == 0)
            WAIT_UNTIL(leat_chan_len(tick) == 1);
        else
            CHECK_IS(0, leat_sleep(i % 5 * 13 * LEAT_US));
        CHECK_IS(0, leat_close(tick));
        CHECK_IS(-EPIPE, leat_try_recv(tick, &at));
        if (i % 3 == 0)
            CHECK_IS(0, leat_sleep(30 * LEAT_US));
        CHECK_IS(-EPIPE, leat_recv(tick, &at));
        CHECK_IS(0, leat_close(tick));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(is_stopped);

/* The end of the scope stops ticks at any moment, in any thread. */
static int open_and_close(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200 / SCALE; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        for (int k = 0; k < 10; k++)
            CHECK(leat_tick(s, FINEST + k * 5 * LEAT_US));
        if (i % 3)
            CHECK_IS(0, leat_sleep(i % 9 * 10 * LEAT_US));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

static int ends_with_its_scope(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < 6; i++)
        crew_go(&crew, kind_of(i), open_and_close, NULL);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(ends_with_its_scope);

/* ---- no needless wake-ups ---- */

static _Atomic int worker_id, late_calls;

static void is_late(leat_timer *timer, int status)
{
    (void)timer;
    CHECK_IS(0, status);
    atomic_fetch_add(&late_calls, 1);
}

/* Ticks that a worker itself starts and stops leave nothing that would wake it. */
static int start_and_stop(void *arg)
{
    (void)arg;
    atomic_store(&worker_id, gettid());
    static leat_timer timers[20];
    leat_chan *timeouts[20];
    for (int i = 0; i < 20; i++) {
        timers[i] = (leat_timer)LEAT_TIMER(NULL);
        CHECK_IS(0, leat_after_func(&timers[i], (30 + i * 7 % 20) * LEAT_MS, is_late));
        timeouts[i] = leat_timeout((30 + i) * LEAT_MS);
        CHECK_IS(-EAGAIN, leat_recv_until(timeouts[i], NULL, LEAT_NOW));
        CHECK_IS(-ETIMEDOUT, leat_recv_until(timeouts[i], NULL, leat_after(1)));
    }
    leat_scope *s = leat_scope_open(leat_after(30 * LEAT_MS));
    CHECK(leat_tick(s, 30 * LEAT_MS));
    for (int i = 0; i < 20; i++) {
        if (leat_timer_stop(&timers[i]) != 0)
            return leat_scope_close(s), -EAGAIN; /* on a slow machine */
        CHECK_IS(0, leat_chan_unref(timeouts[i]));
    }
    int result = leat_scope_close(s);
    return result == -ETIMEDOUT ? -EAGAIN : result;
}

static void wakes_no_worker_in_vain(void **state)
{
    (void)state;
    for (int attempt = 0; attempt < 50; attempt++) {
        atomic_store(&late_calls, 0);
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(s, start_and_stop, NULL));
        bool fit = leat_scope_close(s) == 0;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL); /* the worker falls asleep */
        long before = switches_of(atomic_load(&worker_id));
        nanosleep(&(struct timespec){ .tv_nsec = 80000000 }, NULL);
        long after = switches_of(atomic_load(&worker_id));
        CHECK_IS(0, leat_stop());
        if (before < 0)
            skip(); /* the system has no such file */
        if (fit)
            CHECK_IS(0, atomic_load(&late_calls)); /* all were stopped in time */
        if (fit && before == after)
            return;
    }
    check_failed(__FILE__, __LINE__, "a worker wakes though it has nothing to do");
}

static int work_a_little(void *arg)
{
    (void)arg;
    for (int64_t end = leat_after(100 * LEAT_US); leat_now() < end;)
        leat_yield();
    return leat_sleep(100 * LEAT_US);
}

/* Some time after the last work, no worker wakes up, nor does any other thread of leat's. */
static void sleeps_when_idle(void **state)
{
    (void)state;
    enum { TASKS = 20, WINDOW = 150000000 };
    if (UNDER_TSAN)
        skip(); /* a thread of ThreadSanitizer's own wakes up */
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 4 }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < TASKS; i++)
        CHECK_IS(0, leat_go(s, work_a_little, NULL));
    CHECK_IS(0, leat_scope_close(s));
    long before = -1, after = -2;
    for (int attempt = 0; attempt < 50 && before != after; attempt++) {
        before = switches_of_others();
        nanosleep(&(struct timespec){ .tv_nsec = WINDOW }, NULL);
        after = switches_of_others();
    }
    CHECK_IS(0, leat_stop());
    if (before < 0)
        skip(); /* the system has no such files */
    CHECK_IS(before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_wrong_arguments),
        TESTS_ON_WORKERS(ticks),
        TESTS_ON_WORKERS(drops_ticks_that_come_too_fast),
        TESTS_ON_WORKERS(is_stopped),
        TESTS_ON_WORKERS(ends_with_its_scope),
        cmocka_unit_test(wakes_no_worker_in_vain),
        cmocka_unit_test(sleeps_when_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
