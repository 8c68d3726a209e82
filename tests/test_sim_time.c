/* test_sim_time.c: the seeded world's clock: exact, at rest while a party can run, and in order. */
#include "support.h"

static int sleeps_an_hour(void *arg)
{
    (void)arg;
    CHECK_IS(LEAT_SIM_EPOCH, leat_now());
    CHECK_IS(0, leat_sleep(3600 * LEAT_S));
    CHECK_IS(LEAT_SIM_EPOCH + 3600 * LEAT_S, leat_now());
    CHECK_IS(0, leat_sleep(1));
    CHECK_IS(LEAT_SIM_EPOCH + 3600 * LEAT_S + 1, leat_now());
    return 0;
}

static void takes_no_time(void **state)
{
    (void)state;
    int64_t before = leat_now();
    leat_sim_outcome outcome;
    for (unsigned seed = 0; seed < 20; seed++) {
        CHECK_IS(0, leat_sim_with(&(leat_sim_options){ .seed = seed, .outcome = &outcome },
                                  sleeps_an_hour, NULL));
        CHECK_IS(3600 * LEAT_S + 1, outcome.elapsed);
    }
    CHECK(leat_now() - before < 60 * LEAT_S);
}

/* Ten jobs of a second, three at a time, take four seconds, in whatever order things happen. */
static int works_a_second(void *arg)
{
    leat_chan *permits = arg;
    CHECK_IS(0, leat_send(permits, NULL));
    CHECK_IS(0, leat_sleep(LEAT_S));
    return leat_recv(permits, NULL);
}

static int three_at_a_time(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *permits = leat_chan_make(s, 0, 3);
    for (int i = 0; i < 10; i++)
        CHECK_IS(0, i % 2 ? leat_go(s, works_a_second, permits)
                          : leat_go_blocking(s, works_a_second, permits));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(LEAT_SIM_EPOCH + 4 * LEAT_S, leat_now());
    return 0;
}

static int64_t woken[64];
static int woken_count;

static int wakes_at(void *arg)
{
    int64_t deadline = LEAT_SIM_EPOCH + *(int *)arg;
    CHECK_IS(0, leat_sleep_until(deadline));
    CHECK_IS(deadline, leat_now());
    woken[woken_count++] = leat_now();
    return 0;
}

static int wakes_in_order(void *arg)
{
    (void)arg;
    int delays[64];
    woken_count = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 64; i++) {
        delays[i] =
            i * 37 % 64 / 2 * (i % 5 ? 1 : 1000); /* some equal, some in the same microsecond */
        CHECK_IS(0, i % 2 ? leat_go(s, wakes_at, &delays[i])
                          : leat_go_blocking(s, wakes_at, &delays[i]));
    }
    CHECK_IS(0, leat_scope_close(s));
    for (int i = 1; i < 64; i++)
        CHECK(woken[i - 1] <= woken[i]);
    return 0;
}

static void keeps_time(void **state)
{
    (void)state;
    CHECK_IS(0, leat_sim_each(0, 100, three_at_a_time, NULL));
    CHECK_IS(0, leat_sim_each(0, 100, wakes_in_order, NULL));
}

static int polls(void *arg)
{
    int64_t end = leat_after(3600 * LEAT_S);
    leat_scope *s = leat_scope_open(end);
    while (leat_now() < end)
        if (arg)
            leat_yield();
        else
            leat_sleep(-1), leat_try_recv(NULL, NULL), leat_yield();
    CHECK_IS(end, leat_now());
    int result = leat_scope_close(s); /* its timer is due, and may be late */
    CHECK(result == 0 || result == -ETIMEDOUT);
    return 0;
}

/* No timer is set: only the pollers look at the clock. */
static int polls_alone(void *arg)
{
    int64_t end = leat_after(2 * LEAT_MS);
    while (leat_now() < end)
        if (arg)
            leat_yield();
        else
            leat_sim_point();
    CHECK_IS(end, leat_now());
    return 0;
}

static int computes_until_its_deadline(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(leat_after(2 * LEAT_MS));
    while (!leat_cancelled(NULL))
        ;
    return leat_scope_close(s) == -ETIMEDOUT ? 0 : -EIO;
}

static int talks_on(void *arg)
{
    leat_chan *ch = arg;
    for (int x = 0; leat_send(ch, &x) == 0 && leat_recv(ch, &x) == 0;)
        ;
    return 0;
}

/* Two parties that never stop talking hold up neither time nor other parties. */
static int is_not_starved(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_go(s, talks_on, ch));
    CHECK_IS(0, leat_sleep(5 * LEAT_MS));
    CHECK_IS(5 * LEAT_MS, leat_now() - LEAT_SIM_EPOCH);
    CHECK_IS(0, leat_close(ch));
    return leat_scope_close(s);
}

static void time_passes_for_pollers(void **state)
{
    (void)state;
    CHECK_IS(0, leat_sim_each(0, 20, polls, NULL));
    CHECK_IS(0, leat_sim_each(0, 20, polls, &(int){ 1 }));
    CHECK_IS(0, leat_sim_each(0, 10, polls_alone, NULL));
    CHECK_IS(0, leat_sim_each(0, 10, polls_alone, &(int){ 1 }));
    CHECK_IS(0, leat_sim_each(0, 20, computes_until_its_deadline, NULL));
    CHECK_IS(0, leat_sim_each(0, 20, is_not_starved, NULL));
}

/* With a slip, what happens at the moment of a deadline comes before it or after it. */
static int sends_at_the_deadline(void *arg)
{
    CHECK_IS(0, leat_sleep(LEAT_MS));
    int err = leat_send_until(arg, &(int){ 1 }, leat_after(LEAT_MS));
    CHECK(err == 0 || err == -ETIMEDOUT);
    return 0;
}

static int times_out_or_not(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0);
    CHECK_IS(0, leat_go(s, sends_at_the_deadline, ch));
    int x, err = leat_recv_until(ch, &x, leat_after(LEAT_MS));
    CHECK(err == 0 || err == -ETIMEDOUT);
    ((int *)arg)[err == 0]++;
    return leat_scope_close(s);
}

static void what_is_due_at_once_comes_in_any_order(void **state)
{
    (void)state;
    for (int64_t slip = 0; slip <= 1000; slip += 1000) {
        int how[2] = { 0 };
        leat_sim_outcome outcome;
        for (unsigned seed = 0; seed < 100; seed++)
            CHECK_IS(0, leat_sim_with(
                            &(leat_sim_options){ .seed = seed, .slip = slip, .outcome = &outcome },
                            times_out_or_not, how));
        CHECK(how[0] > 0 && how[1] > 0);
        CHECK((outcome.elapsed % LEAT_MS != 0) == (slip != 0));
    }
}

/* Nor does a slip lead past the end of all time. */
static int sleeps_to_the_end(void *arg)
{
    (void)arg;
    CHECK_IS(0, leat_sleep_until(LEAT_NEVER - 2));
    for (int i = 0; i < 3000; i++)
        leat_yield();
    CHECK(leat_now() >= LEAT_NEVER - 2 && leat_now() < LEAT_NEVER);
    return 0;
}

static void time_has_an_end(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 4; seed++)
        CHECK_IS(0, leat_sim_with(&(leat_sim_options){ .seed = seed, .slip = seed / 2 * LEAT_S },
                                  sleeps_to_the_end, NULL));
}

/* What sleeps for ever does not move the clock, however much of it there is: not even when all
 * parties wait for one another. */
struct sleeper {
    leat_block block;
    leat_alarm alarm;
};

static int sleeps_for_ever(leat_block *b)
{
    struct sleeper *me = (struct sleeper *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_SLEEP_UNTIL(b, LEAT_NEVER, &me->alarm);
    CHECK_IS(-ECANCELED, b->status);
    LEAT_END(b);
}

static int waits_for_itself(void *arg)
{
    (void)arg;
    static struct sleeper sleepers[2 * LT_CHAIN_SCAN + 100];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (size_t i = 0; i < sizeof sleepers / sizeof *sleepers; i++)
        CHECK_IS(0, leat_go_block(s, &sleepers[i].block, sleeps_for_ever));
    CHECK_IS(-ECANCELED, leat_recv(leat_chan_make(s, 0, 0), NULL));
    CHECK_IS(0, leat_shield());
    CHECK_IS(0, leat_sleep(LEAT_MS)); /* clean-up */
    CHECK_IS(0, leat_unshield());
    return leat_scope_close(s);
}

static void what_sleeps_for_ever_moves_no_clock(void **state)
{
    (void)state;
    FILE *report = tmpfile();
    for (unsigned seed = 0; seed < 20; seed++) {
        leat_sim_outcome outcome;
        leat_sim_options options = { .seed = seed, .report = report, .outcome = &outcome };
        CHECK_IS(-EDEADLK, leat_sim_with(&options, waits_for_itself, NULL));
        CHECK_IS(LEAT_MS, outcome.elapsed);
    }
    fclose(report);
}

/* ---- ticks ---- */

static int wakes_between_ticks(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *fast = leat_tick(s, LEAT_MS), *slow = leat_tick(s, 5 * LEAT_S);
    CHECK_IS(0, leat_sleep(2 * LEAT_S));
    CHECK_IS(0, leat_recv(slow, NULL));
    CHECK_IS(LEAT_SIM_EPOCH + 5 * LEAT_S, leat_now());
    CHECK_IS(1, leat_chan_len(fast));
    return leat_scope_close(s);
}

static void ticks_in_vain_end_no_wait(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 5; seed++)
        CHECK_IS(0, leat_sim(seed, wakes_between_ticks, NULL));
}

static int nobody_receives_ticks(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *fast = leat_tick(s, LEAT_MS), *slow = leat_tick(s, LEAT_S);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_recv(fast, NULL));
    CHECK_IS(-ECANCELED, leat_recv(leat_chan_make(s, 0, 0), NULL));
    CHECK_IS(1, leat_chan_len(slow));
    return leat_scope_close(s);
}

static void ticks_in_vain_hide_no_deadlock(void **state)
{
    (void)state;
    FILE *report = tmpfile();
    for (unsigned seed = 0; seed < 20; seed++) {
        leat_sim_outcome outcome;
        leat_sim_options options = { .seed = seed, .report = report, .outcome = &outcome };
        CHECK_IS(-EDEADLK, leat_sim_with(&options, nobody_receives_ticks, NULL));
        CHECK_IS(1, outcome.deadlock);
    }
    fclose(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_no_time),
        cmocka_unit_test(keeps_time),
        cmocka_unit_test(time_passes_for_pollers),
        cmocka_unit_test(what_is_due_at_once_comes_in_any_order),
        cmocka_unit_test(time_has_an_end),
        cmocka_unit_test(what_sleeps_for_ever_moves_no_clock),
        cmocka_unit_test(ticks_in_vain_end_no_wait),
        cmocka_unit_test(ticks_in_vain_hide_no_deadlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
