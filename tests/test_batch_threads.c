/* test_batch_threads.c: the rounds of test_batch_model.c on real workers and threads. The records
 * knows less here about what came first; ThreadSanitizer checks the rest.
 *
 * LEAT_SEED=n             makes rounds from this number on; a failure prints it
 * LEAT_STRESS_SECONDS=n   for this long; 2 by default */
#include "batch_round.h"

static _Atomic unsigned rounds_done;
static _Atomic bool all_done;

/* Fails when a round hangs. */
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

/* Each round runs in the program's own thread or in a task. */
static void rounds_on(unsigned workers)
{
    static struct round round;
    int64_t end = stress_end(3);
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

/* ---- a thread that has served a batch ---- */

struct served {
    leat_batcher *batcher;
    _Atomic bool called, awaited, served, asked;
};

static int serve_and_report(void *arg, leat_batch_view *view)
{
    struct served *s = arg;
    atomic_store(&s->called, true);
    while (!atomic_load(&s->awaited))
        nap();
    atomic_store(&s->served, true);
    return leat_batch_all_done(view);
}

static int call_it(void *arg)
{
    return leat_batch(((struct served *)arg)->batcher, NULL, NULL);
}

static int ask_it(void *arg)
{
    struct served *s = arg;
    leat_ticket ticket;
    CHECK_IS(0, leat_batch_put(s->batcher, NULL, 1, &ticket));
    CHECK_IS(0, leat_batch_forget(&ticket));
    atomic_store(&s->asked, true);
    return 0;
}

/* The thread that ran the function does other work before the leader runs again, because the
 * leader's worker is busy. The batcher must not take this thread for the holder of the lock. */
static int ask_before_the_leader_goes_on(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct served s = { .served = false };
    s.batcher = leat_batcher_open(
        scope, &(leat_batcher_spec){ .run = serve_and_report, .arg = &s, .blocking = 1 });
    CHECK_IS(0, leat_go(scope, call_it, &s));
    WAIT_UNTIL(atomic_load(&s.called));
    atomic_store(&s.awaited, true); /* from here on no other task of this worker runs */
    while (!atomic_load(&s.served))
        nap();
    for (int i = 0; i < 20; i++)
        nap();
    CHECK_IS(0, leat_go_blocking(scope, ask_it, &s));
    while (!atomic_load(&s.asked))
        nap();
    return leat_scope_close(scope);
}

static void serving_threads_do_not_hold_the_lock(void **state)
{
    (void)state;
    CHECK_IS(0,
             leat_main_with(ask_before_the_leader_goes_on, NULL, &(leat_options){ .workers = 1 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serving_threads_do_not_hold_the_lock),
        cmocka_unit_test(rounds_on_1),
        cmocka_unit_test(rounds_on_2),
        cmocka_unit_test(rounds_on_4),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_happenings(rounds_done);
    return failed;
}
