/* test_sim_unended.c: the seeded world cancels runs that do not end. */
#include "reports.h"

#include <leat/sim.h>
#include <leat/task.h>
#include <leat/time.h>
#include <leat/timer.h>

static int waits_for_ever(void *ch)
{
    return leat_recv(ch, NULL) == -ECANCELED ? 0 : -EBADMSG;
}

static int sleeps_a_little(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++)
        leat_sleep(LEAT_US);
    return 0;
}

static int talks_for_ever(void *arg)
{
    leat_chan **ch = arg;
    int x = 0;
    while (leat_send(ch[0], &x) == 0 && leat_recv(ch[1], &x) == 0)
        x++;
    return 0;
}

static int echoes(void *arg)
{
    leat_chan **ch = arg;
    int x;
    while (leat_recv(ch[0], &x) == 0 && leat_send(ch[1], &x) == 0)
        leat_sleep(LEAT_US);
    return 0;
}

static int two_talk_for_ever(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch[] = { leat_chan_of(s, int, 0), leat_chan_of(s, int, 0) };
    CHECK_IS(0, leat_go(s, talks_for_ever, ch));
    CHECK_IS(0, leat_go(s, echoes, ch));
    return leat_scope_close(s);
}

/* A timer that sets itself again, beside a task that waits. */
static void set_again(leat_timer *timer, int status)
{
    if (status == 0)
        leat_after_func(timer, LEAT_MS, set_again);
}

static int fires_for_ever(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_timer timer;
    CHECK_IS(0, leat_timer_init(&timer, s));
    CHECK_IS(0, leat_after_func(&timer, LEAT_MS, set_again));
    CHECK_IS(0, leat_go(s, waits_for_ever, leat_chan_of(s, int, 0)));
    return leat_scope_close(s);
}

static void cancels_what_does_not_end(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 20; seed++) {
        struct report report;
        leat_sim_outcome outcome;
        leat_sim_options options = { .seed = seed,
                                     .report = report_open(&report),
                                     .schedule = 4,
                                     .most_turns = 1000,
                                     .outcome = &outcome };
        CHECK_IS(-ETIMEDOUT, leat_sim_with(&options, two_talk_for_ever, NULL));
        CHECK_IS(1, outcome.unended);
        CHECK_IS(0, outcome.deadlock);
        CHECK(outcome.turns > 1000 && outcome.turns < 1100);
        char *text = report_close(&report);
        CHECK(strstr(text, "turn 1000: the program has not ended"));
        CHECK(strstr(text, "talks_for_ever ("));
        CHECK(strstr(text, "ended with -110"));
        free(text);
        options.report = report_open(&report);
        CHECK_IS(-ETIMEDOUT, leat_sim_with(&options, fires_for_ever, NULL));
        free(report_close(&report));
        /* One that ends, and takes all turns that it may take. */
        options.report = report_open(&report);
        CHECK_IS(0, leat_sim_with(&options, sleeps_a_little, NULL));
        free(report_close(&report));
        options = (leat_sim_options){ .seed = seed, .most_turns = outcome.turns };
        CHECK_IS(0, leat_sim_with(&options, sleeps_a_little, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancels_what_does_not_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
