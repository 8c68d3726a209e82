/* test_timer_race.c: timers fire, are stopped and are cancelled at once in several threads. Each is
 * called once or stopped in time, never both; a stopped one is freed at once. */
#include "support.h"

enum { BATCH = 64, STOPPERS = 2 };

struct racer {
    leat_timer timer;
    _Atomic int fate; /* 0, CALLED, STOPPED */
    _Atomic int *called;
};

enum { CALLED = 1, STOPPED = 2 };

static void fire(leat_timer *timer, int status)
{
    struct racer *racer = (struct racer *)(void *)timer;
    _Atomic int *called = racer->called;
    CHECK(status == 0 || status == -ECANCELED);
    CHECK_IS(0, atomic_exchange(&racer->fate, CALLED));
    atomic_fetch_add(called, 1);
}

struct race {
    struct racer *racers[BATCH];
    _Atomic int called, stopped;
    _Atomic unsigned taken; /* the next racer to stop */
    _Atomic int stoppers;   /* that still run, with the canceller */
    leat_scope *scope;
};

/* Tries to stop each racer once. Nobody may touch a racer that was freed here. */
static int stop_all(void *arg)
{
    struct race *race = arg;
    unsigned i;
    while ((i = atomic_fetch_add(&race->taken, 1)) < BATCH) {
        struct racer *racer = race->racers[i];
        int result = leat_timer_stop(&racer->timer);
        CHECK(result == 0 || result == -EALREADY);
        if (result)
            continue;
        CHECK_IS(0, atomic_exchange(&racer->fate, STOPPED));
        race->racers[i] = NULL;
        memset(racer, 0x5A, sizeof *racer);
        free(racer);
        atomic_fetch_add(&race->stopped, 1);
    }
    atomic_fetch_sub(&race->stoppers, 1);
    return 0;
}

static int cancel(void *arg)
{
    struct race *race = arg;
    CHECK_IS(0, leat_scope_cancel(race->scope));
    atomic_fetch_sub(&race->stoppers, 1);
    return 0;
}

static void run_race(uint64_t *chance, int round)
{
    bool scoped = round % 3 != 0, cancels = round % 3 == 2;
    struct race race = { .stoppers = STOPPERS + cancels };
    struct crew crew;
    crew_open(&crew);
    race.scope = leat_scope_open(LEAT_NEVER);
    int64_t spread = (int64_t)1 + below(chance, 120);
    for (int i = 0; i < BATCH; i++) {
        race.racers[i] = malloc(sizeof(struct racer));
        CHECK(race.racers[i]);
        *race.racers[i] = (struct racer){ .timer = LEAT_TIMER(scoped ? race.scope : NULL),
                                          .called = &race.called };
        CHECK_IS(0, leat_after_func(&race.racers[i]->timer,
                                    below(chance, (uint32_t)spread) * LEAT_US, fire));
    }
    for (int i = 0; i < STOPPERS; i++)
        crew_go(&crew, kind_of(round + i), stop_all, &race);
    if (cancels)
        crew_go(&crew, kind_of(round / 3), cancel, &race);
    if (cancels) /* the canceller needs an open scope */
        WAIT_UNTIL(atomic_load(&race.stoppers) == 0);
    CHECK_IS(0, leat_scope_close(race.scope));
    WAIT_UNTIL(atomic_load(&race.stoppers) == 0 &&
               atomic_load(&race.called) + atomic_load(&race.stopped) == BATCH);
    crew_close(&crew);
    for (int i = 0; i < BATCH; i++) {
        CHECK(!race.racers[i] || atomic_load(&race.racers[i]->fate) == CALLED);
        free(race.racers[i]);
    }
}

static int is_called_or_stopped(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    for (int round = 0; round < 600 / SCALE; round++)
        run_race(&chance, round);
    return 0;
}
ON_WORKERS(is_called_or_stopped);

/* One thread sets a timer and another one stops it, again and again in the same memory. */
struct handed {
    leat_chan *there, *back;
};

static int stop_handed(void *arg)
{
    struct handed *handed = arg;
    struct racer *racer;
    while (leat_recv(handed->there, &racer) == 0) {
        int result = leat_timer_stop(&racer->timer);
        if (result == 0)
            memset(racer, 0x5A, sizeof *racer);
        else
            WAIT_UNTIL(atomic_load(&racer->fate) == CALLED);
        CHECK_IS(0, leat_send(handed->back, &result));
    }
    return 0;
}

static int set_and_hand(void *arg)
{
    leat_scope *scope = arg;
    struct handed handed = { leat_chan_of(scope, struct racer *, 0), leat_chan_of(scope, int, 0) };
    uint64_t chance = (uint64_t)leat_now();
    struct crew crew;
    crew_open(&crew);
    crew_go(&crew, kind_of((int)(chance % KINDS)), stop_handed, &handed);
    _Atomic int called = 0;
    int stopped = 0, rounds = 3000 / SCALE;
    struct racer *racer = malloc(sizeof *racer);
    for (int i = 0; i < rounds; i++) {
        *racer =
            (struct racer){ .timer = LEAT_TIMER(i % 2 ? crew.scope : NULL), .called = &called };
        CHECK_IS(0, leat_after_func(&racer->timer, below(&chance, 60) * LEAT_US, fire));
        CHECK_IS(0, leat_send(handed.there, &racer));
        int result;
        CHECK_IS(0, leat_recv(handed.back, &result));
        stopped += result == 0;
        WAIT_UNTIL(atomic_load(&called) + stopped == i + 1);
    }
    CHECK_IS(0, leat_close(handed.there));
    crew_close(&crew);
    free(racer);
    return 0;
}

static int one_thread_sets_another_stops(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < KINDS; i++)
        crew_go(&crew, kind_of(i), set_and_hand, crew.scope);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(one_thread_sets_another_stops);

/* A timer is set until its function is called. An attempt to set it again is refused until then,
 * and takes nothing from that call. */
struct twice {
    leat_timer timer;
    _Atomic int first, second;
};

static void call_first(leat_timer *timer, int status)
{
    CHECK_IS(0, status);
    atomic_fetch_add(&((struct twice *)(void *)timer)->first, 1);
}

static void call_second(leat_timer *timer, int status)
{
    CHECK_IS(0, status);
    atomic_fetch_add(&((struct twice *)(void *)timer)->second, 1);
}

static int set_twice(void *arg)
{
    leat_scope *scope = arg;
    uint64_t chance = (uint64_t)leat_now();
    for (int i = 0; i < 3000 / SCALE; i++) {
        struct twice twice = { .timer = LEAT_TIMER(i % 2 ? scope : NULL) };
        CHECK_IS(0, leat_after_func(&twice.timer, below(&chance, 20) * LEAT_US, call_first));
        int error;
        while ((error = leat_after_func(&twice.timer, 600 * LEAT_S, call_second)) == -EBUSY)
            leat_yield();
        CHECK_IS(0, error);
        WAIT_UNTIL(atomic_load(&twice.first) || atomic_load(&twice.second));
        CHECK_IS(0, atomic_load(&twice.second));
        CHECK_IS(0, leat_timer_stop(&twice.timer));
        CHECK_IS(1, atomic_load(&twice.first));
    }
    return 0;
}

static int is_set_until_it_is_called(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < KINDS; i++)
        crew_go(&crew, kind_of(i), set_twice, crew.scope);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(is_set_until_it_is_called);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(is_called_or_stopped),
        TESTS_ON_WORKERS(one_thread_sets_another_stops),
        TESTS_ON_WORKERS(is_set_until_it_is_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
