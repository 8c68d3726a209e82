/* test_batch_model.c: batchers and callers of every kind in the seeded world, while scopes are
 * cancelled and batchers are closed at any moment. The record of each run of items is a sequential
 * model: it knows what the function may see and what a call may return. Each seed is another round,
 * see batch_round.h.
 *
 * LEAT_SIM=from:to tries other seeds, LEAT_SEED=n repeats one. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
#define TESTS_IN_SIM 2000
#else
#define TESTS_IN_SIM 20000
#endif

#include "batch_round.h"

static unsigned long long rounds;
static bool clock_slips;

static int round_in_sim(void *arg)
{
    (void)arg;
    static struct round round;
    make_round(&round, seed_of_test());
    run_round(&round, !clock_slips);
    rounds++;
    return 0;
}

/* The round runs in a thread that is no worker, instead of in a task. */
static int round_by_a_thread(void *arg)
{
    (void)arg;
    return leat_blocking(round_in_sim, NULL);
}

static void rounds_by_a_task(void **state)
{
    (void)state;
    run_on(1, round_in_sim);
}

static void rounds_by_a_thread(void **state)
{
    (void)state;
    run_on(2, round_by_a_thread);
}

static void rounds_where_computing_takes_time(void **state)
{
    (void)state;
    clock_slips = true;
    run_on(4, round_in_sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_by_a_task),
        cmocka_unit_test(rounds_by_a_thread),
        cmocka_unit_test(rounds_where_computing_takes_time),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_happenings(rounds);
    return failed;
}
