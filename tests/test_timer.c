/* test_timer.c: functions that are called after some time, unless they are stopped. */
#include "support.h"

#include "sched/current.h"

#include <leat/runtime.h>

struct call {
    leat_timer timer;
    int64_t deadline;
    _Atomic int calls, status;
    int rank, *next;
};

static void note(leat_timer *timer, int status)
{
    struct call *call = (struct call *)(void *)timer;
    CHECK(status || leat_now() >= call->deadline);
    if (call->next)
        call->rank = (*call->next)++;
    atomic_store(&call->status, status);
    atomic_fetch_add(&call->calls, 1);
}

static void set_at(struct call *call, leat_scope *scope, int64_t deadline)
{
    *call = (struct call){ .timer = LEAT_TIMER(scope), .status = 1, .next = call->next };
    call->deadline = deadline;
    CHECK_IS(0, leat_at_func(&call->timer, deadline, note));
}

static void set(struct call *call, leat_scope *scope, int64_t ns)
{
    set_at(call, scope, leat_after(ns));
}

static void refuses_wrong_arguments(void **state)
{
    (void)state;
    struct call call = { .timer = LEAT_TIMER(NULL) };
    CHECK_IS(-EINVAL, leat_after_func(&call.timer, 1, note)); /* no runtime */
    CHECK_IS(-EALREADY, leat_timer_stop(&call.timer));
    CHECK_IS(-EINVAL, leat_timer_stop(NULL));
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    CHECK_IS(-EINVAL, leat_after_func(NULL, 1, note));
    CHECK_IS(-EINVAL, leat_after_func(&call.timer, 1, NULL));
    CHECK_IS(-EINVAL, leat_at_func(&call.timer, -1, note));
    CHECK_IS(-EALREADY, leat_timer_stop(&call.timer));
    set(&call, NULL, 600 * LEAT_S);
    CHECK_IS(-EBUSY, leat_after_func(&call.timer, 1, note));
    CHECK_IS(-EBUSY, leat_stop());
    CHECK_IS(0, leat_timer_stop(&call.timer));
    CHECK_IS(-EALREADY, leat_timer_stop(&call.timer));
    CHECK_IS(0, leat_stop());
    CHECK_IS(0, call.calls);
}

/* The timer's memory may hold anything before. */
static struct call *made_of_garbage(leat_scope *scope, int garbage)
{
    struct call *call = malloc(sizeof *call);
    CHECK(call);
    memset(call, garbage, sizeof *call);
    CHECK_IS(0, leat_timer_init(&call->timer, scope));
    CHECK_IS(-EALREADY, leat_timer_stop(&call->timer));
    call->deadline = 0;
    call->next = NULL;
    call->calls = 0;
    call->status = 1;
    return call;
}

static int needs_only_init(void *unused)
{
    (void)unused;
    CHECK_IS(-EINVAL, leat_timer_init(NULL, NULL));
    for (int garbage = 0; garbage < 256; garbage += 51) {
        struct call *stopped = made_of_garbage(NULL, garbage);
        CHECK_IS(0, leat_after_func(&stopped->timer, 600 * LEAT_S, note));
        CHECK_IS(-EBUSY, leat_after_func(&stopped->timer, 600 * LEAT_S, note));
        CHECK_IS(0, leat_timer_stop(&stopped->timer));
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct call *rung = made_of_garbage(s, garbage), *cancelled = made_of_garbage(s, garbage);
        CHECK_IS(0, leat_after_func(&rung->timer, 1, note));
        while (!rung->calls)
            leat_yield();
        CHECK_IS(0, leat_after_func(&cancelled->timer, 600 * LEAT_S, note));
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(0, stopped->calls);
        CHECK_IS(0, rung->status);
        CHECK_IS(1, cancelled->calls);
        CHECK_IS(-ECANCELED, cancelled->status);
        free(stopped);
        free(rung);
        free(cancelled);
    }
    return 0;
}

ON_WORKERS(needs_only_init);

/* Tasks and threads set timers in no scope, and in a scope, which waits for them. */
static int set_some(void *arg)
{
    leat_scope *scope = arg;
    static const int64_t lengths[] = {
        INT64_MIN, -1, 0, 1, 1000, 1001, 300 * LEAT_US, 7 * LEAT_MS
    };
    enum { N = sizeof lengths / sizeof *lengths };
    struct call alone[N] = { 0 }, inside[N] = { 0 };
    leat_scope *s = scope ? scope : leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < N; i++) {
        set(&alone[i], NULL, lengths[i]);
        set(&inside[i], s, lengths[i]);
    }
    if (s != scope) {
        CHECK_IS(0, leat_scope_close(s));
        for (int i = 0; i < N; i++)
            CHECK_IS(1, inside[i].calls);
    }
    for (int i = 0; i < N; i++) {
        WAIT_UNTIL(alone[i].calls && inside[i].calls);
        CHECK_IS(0, alone[i].status);
        CHECK_IS(0, inside[i].status);
        CHECK_IS(1, alone[i].calls);
        CHECK_IS(-EALREADY, leat_timer_stop(&alone[i].timer));
    }
    return 0;
}

static int is_never_early(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < 12; i++)
        crew_go(&crew, kind_of(i), set_some, i % 2 ? crew.scope : NULL);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(is_never_early);

enum { MANY = 300 };

static int calls_in_order(void *arg)
{
    (void)arg;
    for (int64_t patience = 20 * LEAT_MS;; patience *= 2) {
        static struct call calls[MANY];
        int next = 0;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        int64_t first = leat_after(patience);
        for (int i = 0; i < MANY; i++) {
            calls[i].next = &next;
            set_at(&calls[i], s, first + i * 7 % MANY * 20 * LEAT_US);
        }
        bool in_time = leat_now() < first;
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(MANY, next);
        if (!in_time)
            continue; /* on a slow machine */
        for (int i = 0; i < MANY; i++)
            CHECK_IS(i * 7 % MANY, calls[i].rank);
        return 0;
    }
}

static void calls_by_deadline(void **state)
{
    (void)state;
    run_on(1, calls_in_order);
}

/* More timers at one moment than a worker calls in one turn. Each sets itself again. */
static void call_next(leat_timer *timer, int status)
{
    struct call *call = (struct call *)(void *)timer;
    note(timer, status);
    if (call->calls == 1)
        CHECK_IS(0, leat_at_func(timer, call->deadline, call_next));
}

static int calls_a_crowd(void *arg)
{
    (void)arg;
    static struct call calls[2000];
    enum { CROWD = sizeof calls / sizeof *calls };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int64_t deadline = leat_after(5 * LEAT_MS);
    for (int i = 0; i < CROWD; i++) {
        calls[i] = (struct call){ .timer = LEAT_TIMER(s), .deadline = deadline };
        CHECK_IS(0, leat_at_func(&calls[i].timer, deadline, call_next));
    }
    CHECK_IS(0, leat_scope_close(s));
    for (int i = 0; i < CROWD; i++)
        CHECK_IS(2, calls[i].calls);
    return 0;
}
ON_WORKERS(calls_a_crowd);

/* A timer that was stopped in time has left the wheel, and its memory may be reused at once. */
static int stops(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct lt_wheel *wheel = &lt_current_worker()->shared_timers.wheel,
                    *own = &lt_current_worker()->wheel;
    uint64_t own_before = own->count;
    CHECK_IS(0, wheel->count);
    static struct call calls[MANY];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < MANY; i++)
            set(&calls[i], i % 2 ? s : NULL, LEAT_S + i * LEAT_MS);
        CHECK_IS(MANY, wheel->count);
        for (int i = 0; i < MANY; i++) {
            struct call *call = &calls[(i * 7 + round) % MANY];
            CHECK_IS(0, leat_timer_stop(&call->timer));
            CHECK_IS(0, call->calls);
            memset(call, 0xA5, sizeof *call);
            CHECK_IS(MANY - 1 - i, wheel->count);
        }
        /* Nor does the worker wake without need, once it has slept. (On a slow machine a short
         * sleep of a task may be over before its worker falls asleep.) */
        for (int naps = 0; naps < 100 && own->count != own_before; naps++)
            CHECK_IS(0, leat_sleep(LEAT_MS));
        CHECK_IS(own_before, own->count);
        memset(calls, 0, sizeof calls);
    }
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

static void stops_at_once(void **state)
{
    (void)state;
    run_on(1, stops);
}

/* Two timers are due at the same moment. The first to be called stops the other. */
struct pair {
    struct call call;
    struct pair *other;
    _Atomic int *ended;
};

static void stop_other(leat_timer *timer, int status)
{
    struct pair *pair = (struct pair *)(void *)timer;
    CHECK_IS(0, status);
    atomic_fetch_add(&pair->call.calls, 1);
    CHECK_IS(0, leat_timer_stop(&pair->other->call.timer));
    CHECK_IS(-EALREADY, leat_timer_stop(timer));
    CHECK_IS(-EDEADLK, leat_sleep(LEAT_S)); /* runs on a worker, but not in a task */
    atomic_fetch_add(pair->ended, 1);
}

static int stops_what_is_due(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        _Atomic int ended = 0;
        struct pair a = { .ended = &ended }, b = { .other = &a, .ended = &ended };
        a.other = &b;
        a.call.timer = b.call.timer = (leat_timer)LEAT_TIMER(NULL);
        int64_t deadline = leat_after(100 * LEAT_US);
        CHECK_IS(0, leat_at_func(&a.call.timer, deadline, stop_other));
        CHECK_IS(0, leat_at_func(&b.call.timer, deadline, stop_other));
        WAIT_UNTIL(ended);
        CHECK_IS(1, a.call.calls + b.call.calls);
    }
    return 0;
}

static void stops_at_the_last_moment(void **state)
{
    (void)state;
    run_on(1, stops_what_is_due);
}

/* A timer sets itself again, and another party stops it at any moment. */
struct pulse {
    leat_timer timer;
    _Atomic int64_t beats;
    _Atomic bool enough;
};

static void beat(leat_timer *timer, int status)
{
    struct pulse *pulse = (struct pulse *)(void *)timer;
    CHECK_IS(0, status);
    atomic_fetch_add(&pulse->beats, 1);
    if (!atomic_load(&pulse->enough))
        CHECK_IS(0, leat_after_func(timer, atomic_load(&pulse->beats) % 3 * 20 * LEAT_US, beat));
}

static int stop_pulse(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 200 / SCALE; i++) {
        struct pulse *pulse = malloc(sizeof *pulse);
        *pulse = (struct pulse){ .timer = LEAT_TIMER(i % 2 ? s : NULL) };
        CHECK_IS(0, leat_after_func(&pulse->timer, 1, beat));
        WAIT_UNTIL(atomic_load(&pulse->beats) >= 3);
        int64_t tries = 0;
        while (leat_timer_stop(&pulse->timer) != 0) { /* its function runs just now */
            tries++;
            leat_yield();
        }
        int64_t beats = atomic_load(&pulse->beats);
        if (tries % 8 == 0)
            leat_sleep(100 * LEAT_US);
        CHECK_IS(beats, atomic_load(&pulse->beats));
        free(pulse);
    }
    return leat_scope_close(s);
}

static int can_be_set_again(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < 6; i++)
        crew_go(&crew, kind_of(i), stop_pulse, NULL);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(can_be_set_again);

/* A cancel calls the functions of all timers that are set, and of those set later. */
static int is_cancelled(void *arg)
{
    (void)arg;
    static struct call calls[MANY], late;
    for (int round = 0; round < 5; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
        int64_t start = leat_now();
        for (int i = 0; i < MANY; i++)
            set(&calls[i], i % 2 ? s : inner, i % 3 ? 3600 * LEAT_S : LEAT_NEVER);
        WAIT_UNTIL(leat_scope_tasks(s) + leat_scope_tasks(inner) == MANY);
        CHECK_IS(0, leat_scope_cancel(s));
        set(&late, s, 3600 * LEAT_S);
        CHECK_IS(-EALREADY, leat_timer_stop(&late.timer));
        CHECK_IS(-ECANCELED, leat_scope_close(inner));
        CHECK_IS(0, leat_scope_close(s));
        CHECK(leat_now() - start < 1800 * LEAT_S);
        for (int i = 0; i < MANY; i++) {
            CHECK_IS(1, calls[i].calls);
            CHECK_IS(-ECANCELED, calls[i].status);
        }
        CHECK_IS(1, late.calls);
        CHECK_IS(-ECANCELED, late.status);
    }
    return 0;
}
ON_WORKERS(is_cancelled);

/* Many timers that are only called when their scope is cancelled do not keep others from being
 * called, nor their worker from sleeping. */
static int never_calls_some(void *arg)
{
    (void)arg;
    static struct call calls[MANY], others[10];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < MANY; i++)
        set(&calls[i], s, LEAT_NEVER);
    for (int i = 0; i < 10; i++) {
        set(&others[i], NULL, LEAT_MS);
        CHECK_IS(0, leat_sleep(2 * LEAT_MS));
        WAIT_UNTIL(others[i].calls);
    }
    CHECK_IS(MANY, leat_scope_tasks(s));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    for (int i = 0; i < MANY; i++)
        CHECK_IS(1, calls[i].calls);
    return 0;
}
ON_WORKERS(never_calls_some);

/* A timer that was set in a cancelled scope is set until its function is called. */
static int is_set_once(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_scope_cancel(s));
    for (int i = 0; i < 20; i++) {
        struct call call = { 0 };
        set(&call, s, LEAT_S);
        int again = leat_after_func(&call.timer, LEAT_S, note);
        CHECK(again == -EBUSY || (again == 0 && call.calls));
        WAIT_UNTIL(leat_scope_tasks(s) == 0);
        CHECK_IS(again ? 1 : 2, call.calls);
        CHECK_IS(-ECANCELED, call.status);
    }
    return leat_scope_close(s);
}
ON_WORKERS(is_set_once);

static int yield_on(void *arg)
{
    while (!atomic_load((_Atomic bool *)arg))
        leat_yield();
    return 0;
}

/* Busy tasks do not delay timers, and a timer that never rests does not delay tasks. (In the seeded
 * world, a clock that busy tasks keep still takes thousands of turns for a tick.) */
enum { BUSY = IN_SIM ? 3 : 8, TIMERS = IN_SIM ? 2 : 10, BEATS = IN_SIM ? 20 : 100 };

static int tasks_and_timers_take_turns(void *arg)
{
    (void)arg;
    _Atomic bool enough = false;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < BUSY; i++)
        CHECK_IS(0, leat_go(s, yield_on, &enough));
    struct pulse pulse = { .timer = LEAT_TIMER(s) };
    CHECK_IS(0, leat_after_func(&pulse.timer, 1, beat));
    for (int i = 0; i < TIMERS; i++) {
        struct call call = { 0 };
        set(&call, s, LEAT_MS);
        WAIT_UNTIL(call.calls);
        CHECK(leat_now() < call.deadline + 30 * LEAT_S);
    }
    WAIT_UNTIL(atomic_load(&pulse.beats) > BEATS);
    atomic_store(&pulse.enough, true);
    atomic_store(&enough, true);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(tasks_and_timers_take_turns);

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_wrong_arguments),
        TESTS_ON_WORKERS(needs_only_init),
        TESTS_ON_WORKERS(is_never_early),
        cmocka_unit_test(calls_by_deadline),
        TESTS_ON_WORKERS(calls_a_crowd),
        cmocka_unit_test(stops_at_once),
        cmocka_unit_test(stops_at_the_last_moment),
        TESTS_ON_WORKERS(can_be_set_again),
        TESTS_ON_WORKERS(is_cancelled),
        TESTS_ON_WORKERS(never_calls_some),
        TESTS_ON_WORKERS(is_set_once),
        TESTS_ON_WORKERS(tasks_and_timers_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
