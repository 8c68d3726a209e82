/* test_busy.c: with two workers or more, no party waits for ever beside tasks that compute; and how
 * often a busy worker looks at its timers. */
#include "enough.h"

#include "base/clock.h"
#include "sched/duties.h"
#include "sched/steal.h"

#include <limits.h>

static int compute_on(void *arg)
{
    (void)arg;
    for (int64_t since = leat_now(); go_on(since);)
        ;
    return 0;
}

/* It does not delay the task that it has started. */
static int start_and_compute(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(s, say_enough, NULL));
    compute_on(NULL);
    return leat_scope_close(s);
}

static int is_stolen_from_a_computing_task(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200 / SCALE; i++) {
        atomic_store(&enough, false);
        if (i % 2) {
            start_and_compute(NULL);
            continue;
        }
        /* The free worker has been busy just before, or asleep for a while. */
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        if (i % 4)
            leat_sleep(LEAT_MS);
        CHECK_IS(0, leat_go(s, start_and_compute, NULL));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

static void idle_workers_steal(void **state)
{
    (void)state;
    run_on(2, is_stolen_from_a_computing_task);
    run_on(4, is_stolen_from_a_computing_task);
}

static _Atomic bool yields;

static int say_and_yield_on(void *arg)
{
    atomic_store(&yields, true);
    return yield_on(arg);
}

/* The other worker is never idle: a task yields there. */
static int is_taken_by_a_busy_worker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        atomic_store(&enough, false);
        atomic_store(&yields, false);
        CHECK_IS(0, leat_go(s, say_and_yield_on, NULL));
        for (int64_t since = leat_now(); !atomic_load(&yields);)
            CHECK(leat_now() - since < 60 * LEAT_S);
        start_and_compute(NULL);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

static void busy_workers_steal(void **state)
{
    (void)state;
    run_on(2, is_taken_by_a_busy_worker);
}

/* The same if the other worker's parties are slow: it looks after others by time, not only once in
 * a thousand parties. */
enum { SOON = 256 };
static _Atomic int parties;

static int yield_slowly(void *arg)
{
    (void)arg;
    atomic_store(&yields, true);
    for (int64_t since = leat_now(); go_on(since); leat_yield()) {
        for (int64_t until = leat_now() + 300 * LEAT_US; leat_now() < until;)
            ;
        atomic_fetch_add(&parties, 1);
    }
    return 0;
}

static int sleep_and_say_enough(void *arg)
{
    leat_sleep(LEAT_MS);
    return say_enough(arg);
}

static int is_helped_by_a_slow_worker(void *arg)
{
    (void)arg;
    for (int sleeps = 0; sleeps <= 1; sleeps++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        atomic_store(&enough, false);
        atomic_store(&yields, false);
        CHECK_IS(0, leat_go(s, yield_slowly, NULL));
        for (int64_t since = leat_now(); !atomic_load(&yields);)
            CHECK(leat_now() - since < 60 * LEAT_S);
        CHECK_IS(0, leat_go(s, sleeps ? sleep_and_say_enough : say_enough, NULL));
        if (sleeps)
            leat_yield(); /* it starts here, and so does its timer */
        int before = atomic_load(&parties);
        compute_on(NULL);
        int meanwhile = atomic_load(&parties) - before;
        if (meanwhile > SOON)
            fail_msg("%d parties ran before one that waited", meanwhile);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

static void slow_workers_help_soon(void **state)
{
    (void)state;
    run_on(2, is_helped_by_a_slow_worker);
}

enum { AT_ONCE = 32 /* that a thief takes */, WAITING = 2 * AT_ONCE };
static _Atomic int seen, begun;
static leat_chan *end;

static int wait_for_end(void *arg)
{
    (void)arg;
    atomic_fetch_add(&begun, 1);
    CHECK_IS(-EPIPE, leat_recv(end, NULL));
    return 0;
}

static int end_at_once(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_END(b);
}

/* Waits for a sign without looking at other workers. */
static void wait_blindly(struct lt_worker *here, int sign)
{
    here->duties.until_look = INT_MAX;
    WAIT_UNTIL(atomic_load(&seen) >= sign);
}

/* Runs first after this worker has looked at the others: it has a stack for each task that waits in
 * its local queue. */
static int count_stacks(void *arg)
{
    (void)arg;
    struct lt_worker *here = lt_current_worker();
    CHECK(lt_magazine_tasks(&here->magazine) >= lt_local_queue_length(&here->local_queue));
    return wait_for_end(NULL);
}

/* Lets its worker look when a block has ended there and a task is about to start, with as many
 * stacks as a thief wants to have for others' tasks. */
static int take_while_another_is_to_start(void *scope)
{
    static leat_block block;
    struct lt_worker *here = lt_current_worker();
    atomic_store(&seen, 1);
    wait_blindly(here, 2);
    CHECK(lt_steal_look(here, lt_clock_now()));
    for (int64_t since = leat_now(); leat_now() - since < 2 * LT_LATE_US * LEAT_US;)
        ;
    lt_stack_credits_return(here->magazine.credits);
    here->magazine.credits = AT_ONCE - here->magazine.count;
    CHECK(lt_stack_credits_get(here->magazine.credits));
    CHECK_IS(0, leat_go_block(scope, &block, end_at_once));
    CHECK_IS(0, leat_go(scope, count_stacks, NULL));
    here->direct_left =
        here->duties.stride; /* so this task and the block count as one party each, */
    here->duties.until_look = 2;
    here->duties.tick = 0; /* the look is due whatever the cheap clock says, */
    here->duties.pace = 0; /* and this worker's parties are fast */
    lt_duties_begin(here, lt_clock_now());
    CHECK_IS(-EPIPE, leat_recv(end, NULL));
    return 0;
}

static int start_many_and_compute(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    end = leat_chan_make(s, 0, 0);
    CHECK(s && end);
    CHECK_IS(0, leat_go_spread(s, take_while_another_is_to_start, s));
    for (int64_t since = leat_now(); !atomic_load(&seen);)
        CHECK(leat_now() - since < 60 * LEAT_S);
    for (int i = 0; i < WAITING; i++)
        CHECK_IS(0, leat_go(s, wait_for_end, NULL));
    atomic_store(&seen, 2);
    for (int64_t since = leat_now(); atomic_load(&begun) < AT_ONCE;)
        CHECK(leat_now() - since < 60 * LEAT_S);
    CHECK_IS(0, leat_close(end));
    return leat_scope_close(s);
}

static void takes_no_more_than_it_has_stacks_for(void **state)
{
    (void)state;
#ifdef LEAT_HARSH
    skip(); /* too little fits into a local queue */
#endif
    run_on(2, start_many_and_compute);
}

/* As many computing tasks as workers run at the same time. */
enum { ALL = 3 };
static _Atomic int arrived;

static int compute_together(void *arg)
{
    (void)arg;
    atomic_fetch_add(&arrived, 1);
    for (int64_t since = leat_now(); atomic_load(&arrived) < ALL;)
        CHECK(leat_now() - since < 60 * LEAT_S);
    return 0;
}

static int gather(void *arg)
{
    (void)arg;
    for (int round = 0; round < 20; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        atomic_store(&arrived, 0);
        for (int i = 0; i < ALL; i++)
            CHECK_IS(0, leat_go(s, compute_together, NULL));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

static void uses_all_workers(void **state)
{
    (void)state;
    run_on(ALL, gather);
    /* They do so, too, when a foreign thread starts them. */
    CHECK_IS(0, leat_start(&(leat_options){ .workers = ALL }));
    gather(NULL);
    CHECK_IS(0, leat_stop());
}

static int yield_once(void *arg)
{
    (void)arg;
    return leat_yield();
}

/* Tasks that a foreign thread starts run while one task yields, or computes on another worker. */
static int start_from_outside(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        for (int j = 0; j < 10; j++)
            CHECK_IS(0, leat_go(s, yield_once, NULL));
        CHECK_IS(0, leat_scope_close(s));
    }
    atomic_store(&enough, true);
    return 0;
}

static int busy_workers_hear_from_outside(void *arg)
{
    (void)arg;
    for (int computing = 0; computing <= 1; computing++) {
        if (computing && leat_workers() == 1)
            break;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        atomic_store(&enough, false);
        struct foreign foreign;
        CHECK_IS(0, leat_go(s, computing ? compute_on : yield_on, NULL));
        foreign_start(&foreign, start_from_outside, NULL);
        CHECK_IS(0, foreign_join(&foreign));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(busy_workers_hear_from_outside);

/* A worker looks at its timers after a stride of parties, not after each: that reads the clock. But
 * if it has nothing to run, it looks at once. */
static int looks_at_timers_by_strides(void *arg)
{
    (void)arg;
    static leat_block block;
    leat_scope *s = leat_scope_open(leat_after(600 * LEAT_S));
    struct lt_worker *here = lt_current_worker();
    uint64_t tick = here->wheel.tick;
    here->duties.stride = LT_DIRECT_SWITCHES;
    here->duties.until_look = INT_MAX; /* so the stride stays */
    here->duties.timed_at = atomic_load(&here->tally.switches);
    for (int i = 0; i < LT_DIRECT_SWITCHES / 4; i++) { /* two parties each time */
        CHECK_IS(0, leat_go_block(s, &block, end_at_once));
        CHECK_IS(0, leat_block_join(&block));
    }
    CHECK_IS(tick, here->wheel.tick);
    CHECK_IS(0, leat_sleep(LEAT_MS));
    CHECK(here->wheel.tick > tick);
    return leat_scope_close(s);
}

static void busy_workers_look_at_timers_by_strides(void **state)
{
    (void)state;
    run_on(1, looks_at_timers_by_strides);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_workers_steal),
        cmocka_unit_test(busy_workers_steal),
        cmocka_unit_test(slow_workers_help_soon),
        cmocka_unit_test(takes_no_more_than_it_has_stacks_for),
        cmocka_unit_test(uses_all_workers),
        cmocka_unit_test(busy_workers_look_at_timers_by_strides),
        TESTS_ON_WORKERS(busy_workers_hear_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
