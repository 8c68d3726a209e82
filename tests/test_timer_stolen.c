/* test_timer_stolen.c: a thief runs a worker's job, whose first timer takes long. If that worker
 * sleeps by then, it wakes for its other timers. If it corrects its anchor, it still helps. */
#include "support.h"

#include "sched/current.h"

#include <leat/runtime.h>

struct robbed {
    leat_timer slow, next, third;
    _Atomic bool slow_called, next_called;
    struct lt_shared_timers *timers;
    int64_t due;
    bool was_robbed, in_time;
};

static void note_next(leat_timer *timer, int status)
{
    CHECK_IS(0, status);
    LT_CONTAINER(timer, struct robbed, next)->next_called = true;
}

static void wait_for_next(leat_timer *timer, int status)
{
    CHECK_IS(0, status);
    struct robbed *robbed = LT_CONTAINER(timer, struct robbed, slow);
    int64_t end = leat_after(5 * LEAT_S);
    robbed->slow_called = true;
    while (!robbed->next_called && leat_now() < end)
        lt_pause();
    robbed->in_time = robbed->next_called;
}

static int run_stolen_job(void *arg)
{
    struct robbed *robbed = arg;
    robbed->was_robbed = &lt_current_worker()->shared_timers != robbed->timers;
    while (leat_now() < robbed->due + 3 * LEAT_MS)
        lt_pause();
    lt_job_run(&robbed->timers->job.party);
    return 0;
}

/* From here on the job is in the thief's ready list. */
static void start_theft(leat_scope *scope, struct robbed *robbed)
{
    lt_biased_lock(&robbed->timers->lock, lt_current_worker());
    robbed->timers->called = true;
    lt_biased_unlock(&robbed->timers->lock);
    CHECK_IS(0, leat_go_spread(scope, run_stolen_job, robbed));
}

static int wakes_the_robbed(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct robbed robbed = { .due = leat_after(2 * LEAT_MS) };
    CHECK_IS(0, leat_pin());
    robbed.timers = &lt_current_worker()->shared_timers;
    CHECK_IS(0, leat_timer_init(&robbed.slow, s) | leat_timer_init(&robbed.next, s));
    CHECK_IS(0, leat_at_func(&robbed.slow, robbed.due, wait_for_next));
    CHECK_IS(0, leat_at_func(&robbed.next, robbed.due + 10 * LEAT_MS, note_next));
    start_theft(s, &robbed);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_unpin());
    CHECK(robbed.in_time);
    *(int *)arg += robbed.was_robbed;
    return 0;
}

/* Started anew each time: later the robbed worker watches the others, and so wakes anyway. */
static void wakes_a_worker_whose_job_was_stolen(void **state)
{
    (void)state;
    int thefts = 0;
    for (int round = 0; round < 40; round++)
        CHECK_IS(0, leat_main_with(wakes_the_robbed, &thefts, &(leat_options){ .workers = 3 }));
    CHECK(thefts > 0);
}

/* The job has called for help, and the worker has not heard of that when it corrects its anchor. */
static int helps_after_a_stop(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct lt_worker *here = lt_current_worker();
    struct robbed robbed = { .timers = &here->shared_timers, .due = leat_after(2 * LEAT_MS) };
    CHECK_IS(0, leat_pin());
    CHECK_IS(0, leat_timer_init(&robbed.slow, s) | leat_timer_init(&robbed.next, s) |
                    leat_timer_init(&robbed.third, s));
    CHECK_IS(0, leat_at_func(&robbed.slow, robbed.due, wait_for_next));
    CHECK_IS(0, leat_at_func(&robbed.next, robbed.due, note_next));
    CHECK_IS(0, leat_at_func(&robbed.third, leat_after(600 * LEAT_S), note_next));
    start_theft(s, &robbed);
    while (!robbed.slow_called)
        lt_pause();
    CHECK(robbed.was_robbed);
    CHECK_IS(0, leat_timer_stop(&robbed.third));
    lt_worker_go_in(here);
    lt_shared_timers_settle_all(&here->shared_timers);
    lt_worker_go_out(here);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_unpin());
    CHECK(robbed.in_time);
    return 0;
}

/* With one thief, who is busy then. */
static void helps_a_thief_after_a_stop(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(helps_after_a_stop, NULL, &(leat_options){ .workers = 2 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wakes_a_worker_whose_job_was_stolen),
        cmocka_unit_test(helps_a_thief_after_a_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
