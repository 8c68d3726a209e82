/* stress_cancel.c: all parties open, cancel and close scopes all the time.
 *
 * In each round a scope holds tasks that open, cancel and close their own scopes; blocks and
 * tasks that pass items to each other; blocks that sleep; and a blocking task. A foreign thread
 * begins to cancel the scope at a random moment, and repeats that until the round sees it. If a
 * cancel missed a party, closing would never end. Nothing is freed while a canceller uses it. */
#include "support.h"

enum { OPENERS = 3, PASSERS = 4, SLEEPERS = 2, BALLS = 8 };

static leat_chan *doors, *balls;
static _Atomic(leat_scope *) target;
static _Atomic int holds; /* above 0 while the thread may use the target */
static _Atomic bool over;
static _Atomic uint64_t rounds, opened, cancels, passed, slept;

static int wait_at_door(void *arg)
{
    (void)arg;
    int result = leat_recv(doors, NULL);
    CHECK(result == 0 || result == -ECANCELED);
    return 0;
}

static int open_and_cancel(void *arg)
{
    uint64_t chance = (uint64_t)(uintptr_t)arg;
    while (!leat_cancelled(NULL)) {
        bool late = below(&chance, 4) == 0;
        leat_scope *s =
            leat_scope_open(late ? leat_after(below(&chance, 40) * LEAT_US) : LEAT_NEVER);
        CHECK(s);
        atomic_fetch_add(&opened, 1);
        CHECK_IS(0, leat_go(s, wait_at_door, NULL));
        if (below(&chance, 2))
            leat_yield();
        leat_try_send(doors, NULL);
        if (below(&chance, 2))
            leat_send_until(doors, NULL, leat_after(20 * LEAT_US));
        CHECK_IS(0, leat_scope_cancel(s));
        int why = leat_scope_close(s);
        CHECK(why == 0 || why == -ECANCELED || (late && why == -ETIMEDOUT));
    }
    return 0;
}

struct passer {
    leat_block block;
    leat_alarm alarm;
    long ball;
};

static int pass_in_block(leat_block *b)
{
    struct passer *me = (struct passer *)b;
    LEAT_BEGIN(b);
    do {
        LEAT_AWAIT_SEND(b, balls, &me->ball);
        if (b->status == 0)
            LEAT_AWAIT_RECV(b, balls, &me->ball);
        atomic_fetch_add_explicit(&passed, 1, memory_order_relaxed);
    } while (b->status == 0);
    CHECK_IS(-ECANCELED, b->status);
    LEAT_END(b);
}

static int sleep_in_block(leat_block *b)
{
    struct passer *me = (struct passer *)b;
    LEAT_BEGIN(b);
    do {
        LEAT_AWAIT_SLEEP(b, LEAT_US, &me->alarm);
        atomic_fetch_add_explicit(&slept, 1, memory_order_relaxed);
    } while (b->status == 0);
    CHECK_IS(-ECANCELED, b->status);
    LEAT_END(b);
}

static int pass(void *arg)
{
    (void)arg;
    long ball;
    int result;
    while ((result = leat_recv(balls, &ball)) == 0 && (result = leat_send(balls, &ball)) == 0)
        ;
    CHECK_IS(-ECANCELED, result);
    return 0;
}

static int cancel_target(void *arg)
{
    uint64_t chance = (uint64_t)(uintptr_t)arg;
    while (!atomic_load(&over)) {
        atomic_fetch_add(&holds, 1);
        leat_scope *scope = atomic_load(&target);
        if (scope) {
            for (volatile unsigned i = below(&chance, 3000); i > 0; i--)
                ;
            CHECK_IS(0, leat_scope_cancel(scope));
            atomic_fetch_add(&cancels, 1);
        }
        atomic_fetch_sub(&holds, 1);
        if (!scope)
            nap();
    }
    return 0;
}

static int live_a_round(void *arg)
{
    static struct passer passers[PASSERS + SLEEPERS];
    uint64_t *chance = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < OPENERS; i++)
        CHECK_IS(0, leat_go(s, open_and_cancel, (void *)(uintptr_t)lt_rng_next(chance)));
    for (int i = 0; i < PASSERS; i++)
        CHECK_IS(0, leat_go_block(s, &passers[i].block, pass_in_block));
    for (int i = PASSERS; i < PASSERS + SLEEPERS; i++)
        CHECK_IS(0, leat_go_block(s, &passers[i].block, sleep_in_block));
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_go(s, pass, NULL));
    CHECK_IS(0, leat_go_blocking(s, pass, NULL));
    if (below(chance, 2))
        CHECK_IS(0, leat_sleep(below(chance, 300) * LEAT_US));
    atomic_store(&target, s);
    while (!leat_cancelled(s))
        nap();
    atomic_store(&target, NULL);
    while (atomic_load(&holds))
        nap();
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

/* Fails when a round hangs. */
static void *watch(void *arg)
{
    (void)arg;
    uint64_t seen = 0;
    for (int quiet = 0;; quiet = rounds == seen ? quiet + 1 : 0, seen = rounds) {
        nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
        if (quiet > 60)
            check_failed(__FILE__, __LINE__, "round %llu hangs", (unsigned long long)seen);
    }
    return NULL;
}

/* Runs rounds in a thread of the program or in a task. */
static int live_some(void *arg)
{
    for (int i = 0; i < 50; i++, rounds++)
        live_a_round(arg);
    return 0;
}

static void cancels_everything(void **state)
{
    (void)state;
    int64_t end = stress_end(1);
    uint64_t chance = seed_of_test();
    fprintf(stderr, "  %s\n", check_note);
    struct foreign foreign;
    pthread_t watcher;
    CHECK_IS(0, pthread_create(&watcher, NULL, watch, NULL));
    CHECK_IS(0, pthread_detach(watcher));
    while (leat_now() < end) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 + below(&chance, 4) }));
        doors = leat_chan_make(NULL, 0, 8);
        balls = leat_chan_of(NULL, long, BALLS);
        atomic_store(&over, false);
        foreign_start(&foreign, cancel_target, (void *)(uintptr_t)lt_rng_next(&chance));
        if (below(&chance, 2)) {
            live_some(&chance);
        } else {
            leat_scope *s = leat_scope_open(LEAT_NEVER);
            CHECK_IS(0, leat_go(s, live_some, &chance));
            CHECK_IS(0, leat_scope_close(s));
        }
        atomic_store(&over, true);
        CHECK_IS(0, pthread_join(foreign.thread, NULL));
        CHECK_IS(0, leat_chan_unref(doors));
        CHECK_IS(0, leat_chan_unref(balls));
        CHECK_IS(0, leat_stop());
    }
    fprintf(stderr, "  %llu rounds, %llu scopes opened, %llu cancels, %llu passed, %llu slept\n",
            (unsigned long long)rounds, (unsigned long long)opened, (unsigned long long)cancels,
            (unsigned long long)passed, (unsigned long long)slept);
    CHECK(rounds == 0 || (opened > 0 && cancels > 0 && passed > 0 && slept > 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(cancels_everything) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
