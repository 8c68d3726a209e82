/* test_spread.c: leat_go_spread begins a task at once, on the worker that has the fewest tasks. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

#include "sched/runtime.h"

enum { MOST_WORKERS = 4, EACH = 8 };

/* The threads in which tasks began. */
struct census {
    leat_scope *scope;
    leat_chan *begun;
    int settled;
    _Atomic bool over;
    pid_t where[MOST_WORKERS * EACH];
};

/* Lives long and stays where it began, so that the tasks after it count it there. */
static int settle(void *arg)
{
    struct census *census = arg;
    CHECK_IS(0, leat_pin());
    CHECK(census->settled < MOST_WORKERS * EACH);
    census->where[census->settled++] = gettid();
    CHECK_IS(0, leat_send(census->begun, NULL));
    while (!atomic_load(&census->over))
        CHECK_IS(0, leat_sleep(500 * LEAT_US));
    return 0;
}

static int most_at_one(const struct census *census, int n)
{
    int most = 0;
    for (int i = 0; i < n; i++) {
        int same = 0;
        for (int j = 0; j < n; j++)
            same += census->where[j] == census->where[i];
        most = same > most ? same : most;
    }
    return most;
}

static int processors(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* The caller, and the task that waits for it, may be counted, too. */
static bool is_even(const struct census *census, int workers)
{
    return workers > processors() || most_at_one(census, workers * EACH) <= EACH + 2;
}

static bool spread_once(struct census *census)
{
    int workers = (int)leat_workers();
    census->settled = 0;
    atomic_store(&census->over, false);
    census->scope = leat_scope_open(LEAT_NEVER);
    census->begun = leat_chan_make(census->scope, 0, 0);
    for (int i = 0; i < workers * EACH; i++) {
        CHECK_IS(0, leat_go_spread(census->scope, settle, census));
        CHECK_IS(0, leat_recv(census->begun, NULL));
    }
    bool even = is_even(census, workers);
    atomic_store(&census->over, true);
    CHECK_IS(0, leat_scope_close(census->scope));
    return even;
}

/* On a loaded machine another worker may steal the task first: one success in ROUNDS is enough. */
static int spread_evenly(void *arg)
{
    enum { ROUNDS = 20 };
    bool even = false;
    for (int i = 0; i < ROUNDS && !even; i++)
        even = spread_once(arg);
    CHECK(even);
    return 0;
}

static int spreads_from_a_task(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20 / SCALE + 1; i++) {
        struct census census = { .over = false };
        CHECK_IS(0, spread_evenly(&census));
    }
    return 0;
}
ON_WORKERS(spreads_from_a_task);

static int spreads_from_a_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10 / SCALE + 1; i++) {
        struct census census = { .over = false };
        CHECK_IS(0, leat_blocking(spread_evenly, &census));
    }
    return 0;
}
ON_WORKERS(spreads_from_a_thread);

static void spreads_from_the_main_thread(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= MOST_WORKERS; workers++) {
        struct census census = { .over = false };
        CHECK_IS(0, leat_start(&(leat_options){ .workers = workers }));
        CHECK_IS(0, spread_evenly(&census));
        CHECK_IS(0, leat_stop());
    }
}

/* Tasks start without a wait in between: each worker gets its share, and all compute at once. */
static _Atomic int together;

static int compute_together(void *arg)
{
    atomic_fetch_add(&together, 1);
    COMPUTE_UNTIL(atomic_load(&together) == *(int *)arg);
    return 0;
}

static int begins_on_all(void *arg)
{
    (void)arg;
    int n = (int)leat_workers();
    for (int i = 0; i < 200 / SCALE; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        atomic_store(&together, 0);
        for (int k = 0; k < n; k++)
            CHECK_IS(0, leat_go_spread(s, compute_together, &n));
        if (i % 2)
            leat_sleep(LEAT_US);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(begins_on_all);

/* A sleeping worker wakes and runs the task, while the caller computes. */
static _Atomic bool ran;

static int say_ran(void *arg)
{
    (void)arg;
    atomic_store(&ran, true);
    return 0;
}

static int begins_while_its_starter_computes(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200 / SCALE; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        atomic_store(&ran, false);
        if (i % 2)
            CHECK_IS(0, leat_sleep(2 * LEAT_MS)); /* so that the others sleep, too */
        CHECK_IS(0, leat_go_spread(s, say_ran, NULL));
        COMPUTE_UNTIL(atomic_load(&ran));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_MOVING_WORKERS(begins_while_its_starter_computes);

/* A worker that sleeps as the watcher gets two tasks: one is sent, the other is woken there. They
 * compute at once, so the other worker, which has more tasks, takes one of them. */
enum { AT_ONCE, COMPUTE, TOGETHER };

struct parked {
    leat_chan *go;
    struct lt_worker *_Atomic home;
    _Atomic bool computes;
};

static int compute_as_one_of_two(void *arg)
{
    (void)arg;
    return compute_together(&(int){ 2 });
}

static int park_again(void *arg)
{
    struct parked *parked = arg;
    int how = AT_ONCE;
    do {
        int64_t end = leat_after(how == COMPUTE ? 2 * LEAT_MS : 0);
        parked->home = lt_current_worker();
        atomic_store(&parked->computes, how == COMPUTE);
        while (leat_now() < end)
            ;
        if (how == TOGETHER)
            compute_as_one_of_two(NULL);
    } while (leat_recv(parked->go, &how) == 0);
    return 0;
}

static bool all_rest(const struct parked parked[3])
{
    for (int i = 0; i < 3; i++)
        if (receivers_of(parked[i].go) != 1 || !lt_runtime.workers[i % 2]->asleep)
            return false;
    return true;
}

/* The task that is alone on its worker. NULL: there is none, since a task was stolen. */
static struct parked *alone(struct parked parked[3])
{
    for (int i = 0; i < 3; i++)
        if (parked[i].home != parked[(i + 1) % 3].home &&
            parked[i].home != parked[(i + 2) % 3].home)
            return &parked[i];
    return NULL;
}

/* Its worker becomes idle while the other one computes, and so becomes the watcher. */
static struct parked *alone_on_the_watcher(struct parked parked[3])
{
    struct parked *one = alone(parked), *other = &parked[one == parked];
    if (!one)
        return NULL;
    CHECK_IS(0, leat_send(other->go, &(int){ COMPUTE }));
    WAIT_UNTIL(atomic_load(&other->computes));
    CHECK_IS(0, leat_send(one->go, &(int){ AT_ONCE }));
    WAIT_UNTIL(all_rest(parked));
    CHECK_IS(0, leat_sleep(2 * LEAT_MS)); /* it no longer naps */
    return alone(parked);
}

static void wake_and_send(leat_scope *s)
{
    struct parked parked[3] = { { .go = NULL } };
    for (int i = 0; i < 3; i++) {
        parked[i].go = leat_chan_of(s, int, 0);
        CHECK_IS(0, leat_go_spread(s, park_again, &parked[i]));
        WAIT_UNTIL(receivers_of(parked[i].go) == 1);
    }
    struct parked *one = alone_on_the_watcher(parked);
    atomic_store(&together, 0);
    if (one) {
        CHECK_IS(0, leat_go_spread(s, compute_as_one_of_two, NULL));
        CHECK_IS(0, leat_send(one->go, &(int){ TOGETHER }));
    }
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_close(parked[i].go));
    CHECK_IS(0, leat_scope_close(s));
}

static void begins_beside_one_that_is_woken(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    for (int i = 0; i < 100 / SCALE; i++)
        wake_and_send(leat_scope_open(LEAT_NEVER));
    CHECK_IS(0, leat_stop());
}

/* In a cancelled scope the task still runs, and its verdict counts like that of any task. */
static int end_badly(void *arg)
{
    CHECK_IS(*(bool *)arg ? -ECANCELED : 0, leat_sleep(LEAT_US));
    return -EIO;
}

static int is_like_other_tasks(void *arg)
{
    (void)arg;
    for (int pinned = 0; pinned <= 1; pinned++) {
        bool cancelled = true;
        leat_scope *s = leat_scope_open(LEAT_NOW);
        CHECK_IS(0, pinned ? leat_go_pinned(s, end_badly, &cancelled)
                           : leat_go_spread(s, end_badly, &cancelled));
        CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
        cancelled = false;
        s = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, pinned ? leat_go_pinned(s, end_badly, &cancelled)
                           : leat_go_spread(s, end_badly, &cancelled));
        CHECK_IS(-EIO, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(is_like_other_tasks);

/* A task that is sent away takes a credit along. Its starter may have none, and only a stack that
 * has been used before. */
static int wait_for_all(void *arg)
{
    return leat_recv(arg, NULL) == -EPIPE ? 0 : -EINVAL;
}

static void crowd(int n)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *end = leat_chan_make(scope, 0, 0);
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_go(scope, wait_for_all, end));
    WAIT_UNTIL(receivers_of(end) == (unsigned)n);
    CHECK_IS(0, leat_close(end));
    CHECK_IS(0, leat_scope_close(scope));
}

static int keeps_count_of_stacks(void *arg)
{
    (void)arg;
    for (int round = 0; round < 10; round++) {
        crowd(64 + 13 * round);
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        leat_chan *end = leat_chan_make(scope, 0, 0);
        for (int i = 0; i < 100; i++)
            CHECK_IS(0, leat_go_spread(scope, wait_for_all, end));
        CHECK_IS(0, leat_sleep(LEAT_MS));
        CHECK_IS(0, leat_close(end));
        CHECK_IS(0, leat_scope_close(scope));
    }
    crowd(3000 / SCALE);
    return 0;
}
ON_WORKERS(keeps_count_of_stacks);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(spreads_from_a_task),
        TESTS_ON_WORKERS(spreads_from_a_thread),
        cmocka_unit_test(spreads_from_the_main_thread),
        TESTS_ON_WORKERS(begins_on_all),
        TESTS_ON_MOVING_WORKERS(begins_while_its_starter_computes),
        cmocka_unit_test(begins_beside_one_that_is_woken),
        TESTS_ON_WORKERS(is_like_other_tasks),
        TESTS_ON_WORKERS(keeps_count_of_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
