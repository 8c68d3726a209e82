/* test_batch_threads.c: the rounds of test_batch_model.c on real workers and threads. There is less that can be known
 * there of what came first; ThreadSanitizer looks at the rest.
 *
 * LEAT_SEED=n             makes rounds from that number on, which is what a failure prints
 * LEAT_STRESS_SECONDS=n   for so long; else 2 */
#include "batch_round.h"

static _Atomic unsigned rounds_done;
static _Atomic bool all_done;

/* A hang is a failure too. */
static void *watch(void *arg)
{
    (void)arg;
    unsigned before = 0, still = 0;
    while (!atomic_load(&all_done)) {
        nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
        unsigned now = atomic_load(&rounds_done);
        still = now == before ? still + 1 : 0;
        before = now;
        if (still > 20 * 60)
            check_failed(__FILE__, __LINE__, "a round has not ended for a minute");
    }
    return NULL;
}

static int one_round(void *arg)
{
    run_round(arg, false);
    return 0;
}

/* By the program's own thread, or by a task. */
static void rounds_on(unsigned workers)
{
    static struct round round;
    const char *given = getenv("LEAT_STRESS_SECONDS");
    int64_t end = leat_after((given ? atoll(given) : 2) * LEAT_S / 3);
    uint64_t seed = seed_of_test();
    const leat_options options = { .workers = workers };
    pthread_t watcher;
    atomic_store(&all_done, false);
    CHECK_IS(0, pthread_create(&watcher, NULL, watch, NULL));
    do {
        snprintf(check_note, sizeof check_note, "LEAT_SEED=%llu, %u workers",
                 (unsigned long long)seed, workers);
        make_round(&round, seed++);
        if (below(&round.chance, 2)) {
            CHECK_IS(0, leat_main_with(one_round, &round, &options));
        } else {
            CHECK_IS(0, leat_start(&options));
            one_round(&round);
            CHECK_IS(0, leat_stop());
        }
        atomic_fetch_add(&rounds_done, 1);
    } while (leat_now() < end);
    atomic_store(&all_done, true);
    pthread_join(watcher, NULL);
}

static void rounds_on_1(void **state)
{
    (void)state;
    rounds_on(1);
}

static void rounds_on_2(void **state)
{
    (void)state;
    rounds_on(2);
}

static void rounds_on_4(void **state)
{
    (void)state;
    rounds_on(4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_on_1),
        cmocka_unit_test(rounds_on_2),
        cmocka_unit_test(rounds_on_4),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_happenings(rounds_done);
    return failed;
}
