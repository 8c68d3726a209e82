/* test_runtime.c: starting and stopping the runtime, and its use beside threads of the program. */
#define _GNU_SOURCE /* environ */
#include "support.h"

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int return_value(void *arg)
{
    return *(int *)arg;
}

static void returns_its_version(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", LEAT_VERSION_MAJOR, LEAT_VERSION_MINOR,
             LEAT_VERSION_PATCH);
    CHECK(strcmp(leat_version(), expected) == 0);
}

static void returns_what_the_first_task_returns(void **state)
{
    (void)state;
    static int values[] = { 0, 1, 99, -1, -EPIPE, -ECANCELED, INT32_MIN };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        CHECK_IS(values[i], leat_main(return_value, &values[i]));
        CHECK_IS(values[i], leat_main_with(return_value, &values[i], NULL));
        CHECK_IS(values[i], leat_main_with(return_value, &values[i], &(leat_options){ 0 }));
    }
}

static void refuses_wrong_arguments(void **state)
{
    (void)state;
    int value = 0;
    leat_options many = { .workers = 257 }, small = { .stack_size = 16 * 1024 - 1 };
    leat_options large = { .stack_size = ((size_t)1 << 30) + 1 };
    CHECK_IS(-EINVAL, leat_main(NULL, &value));
    CHECK_IS(-EINVAL, leat_main_with(NULL, &value, &(leat_options){ .workers = 1 }));
    CHECK_IS(-EINVAL, leat_main_with(return_value, &value, &many));
    CHECK_IS(-EINVAL, leat_main_with(return_value, &value, &small));
    CHECK_IS(-EINVAL, leat_main_with(return_value, &value, &large));
    CHECK_IS(-EINVAL, leat_start(&many));
    CHECK_IS(-EINVAL, leat_start(&small));
    CHECK_IS(-EINVAL, leat_start(&large));
    CHECK_IS(-EINVAL, leat_start(&(leat_options){ .workers = UINT32_MAX }));
    CHECK_IS(-EINVAL, leat_start(&(leat_options){ .stack_size = SIZE_MAX }));
    CHECK_IS(-EINVAL, leat_stop());
    CHECK_IS(0, leat_workers());
}

static void starts_once(void **state)
{
    (void)state;
    int value = 0;
    CHECK_IS(-EINVAL, leat_stop());
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 3 }));
    CHECK_IS(3, leat_workers());
    CHECK_IS(-EBUSY, leat_start(NULL));
    CHECK_IS(-EBUSY, leat_start(&(leat_options){ .workers = 1 }));
    CHECK_IS(-EBUSY, leat_main(return_value, &value));
    CHECK_IS(3, leat_workers());
    CHECK_IS(0, leat_stop());
    CHECK_IS(0, leat_workers());
    CHECK_IS(-EINVAL, leat_stop());
}

static int try_from_inside(void *arg)
{
    int value = 0;
    CHECK_IS(*(unsigned *)arg, leat_workers());
    CHECK_IS(-EDEADLK, leat_main(return_value, &value));
    CHECK_IS(-EDEADLK, leat_main_with(return_value, &value, NULL));
    CHECK_IS(-EDEADLK, leat_start(NULL));
    CHECK_IS(-EDEADLK, leat_stop());
    return 0;
}

static int try_from_pool_and_task(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(s, try_from_inside, arg));
    CHECK_IS(0, leat_go_blocking(s, try_from_inside, arg));
    CHECK_IS(0, leat_scope_close(s));
    return leat_blocking(try_from_inside, arg);
}

static void refuses_from_inside(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++)
        CHECK_IS(0, leat_main_with(try_from_pool_and_task, &workers,
                                   &(leat_options){ .workers = workers }));
}

static void is_busy_while_a_scope_is_open(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(NULL));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK(s);
    CHECK_IS(-EBUSY, leat_stop());
    CHECK_IS(0, leat_go(s, return_value, &(int){ 0 }));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

static void heeds_the_environment(void **state)
{
    (void)state;
    static const char *const bad[] = { "0",          "-1",
                                       "257",        "x",
                                       "2x",         " ",
                                       "1 2",        "99999999999999999999",
                                       "4294967297", "18446744073709551617",
                                       "1.5",        "0x2",
                                       "+4",         " 4" };
    const char *given = getenv("LEAT_WORKERS");
    char *saved = given ? strdup(given) : NULL;
    int value = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("LEAT_WORKERS", bad[i], 1);
        if (leat_start(NULL) != -EINVAL)
            check_failed(__FILE__, __LINE__, "LEAT_WORKERS='%s' was accepted", bad[i]);
        CHECK_IS(-EINVAL, leat_main(return_value, &value));
        CHECK_IS(0, leat_workers());
    }
    static const char *const good[] = { "1", "2", "7", "256" };
    for (size_t i = 0; i < (UNDER_TSAN ? 3 : 4); i++) {
        setenv("LEAT_WORKERS", good[i], 1);
        CHECK_IS(0, leat_start(NULL));
        CHECK_IS(atoi(good[i]), leat_workers());
        CHECK_IS(0, leat_stop());
        CHECK_IS(0, leat_main(return_value, &value));
    }
    /* An option overrides the environment. */
    setenv("LEAT_WORKERS", "5", 1);
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    CHECK_IS(2, leat_workers());
    CHECK_IS(0, leat_stop());
    unsetenv("LEAT_WORKERS");
    CHECK_IS(0, leat_start(NULL));
    CHECK_IS(leat_cores() > 256 ? 256 : leat_cores(), leat_workers());
    CHECK_IS(0, leat_stop());
    if (saved)
        setenv("LEAT_WORKERS", saved, 1);
    free(saved);
}

static int count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
    return 0;
}

static int spread_out(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 20; i++)
        CHECK_IS(0, i % 10 ? leat_go(s, count_up, arg) : leat_go_blocking(s, count_up, arg));
    return leat_scope_close(s);
}

static void restarts(void **state)
{
    (void)state;
    _Atomic int count = 0;
    const int times = 200 / SCALE;
    for (int i = 0; i < times; i++) {
        leat_options options = { .workers = 1 + (unsigned)i % 4,
                                 .stack_size = i % 3 ? 0 : 16384 + (size_t)i * 1000 };
        if (i % 2) {
            CHECK_IS(0, leat_main_with(spread_out, &count, &options));
        } else {
            CHECK_IS(0, leat_start(&options));
            if (i % 4)
                CHECK_IS(0, spread_out(&count));
            else
                atomic_fetch_add(&count, 20);
            CHECK_IS(0, leat_stop());
        }
    }
    CHECK_IS(20 * times, count);
}

/* Threads of the program use leat at the same time, each with its own scopes. */
struct caller {
    leat_chan *shared;
    int rounds, sum;
};

static int send_numbers(void *arg)
{
    struct caller *caller = arg;
    for (int i = 1; i <= 10; i++)
        CHECK_IS(0, leat_send(caller->shared, &i));
    return 0;
}

static int call_in(void *arg)
{
    struct caller *caller = arg;
    CHECK(!leat_task_name());
    for (int round = 0; round < caller->rounds; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        CHECK(s);
        CHECK_IS(-EBUSY, leat_stop());
        CHECK_IS(0, round % 8 ? leat_go(s, send_numbers, caller)
                              : leat_go_blocking(s, send_numbers, caller));
        /* Some caller sent these numbers; each call receives as many as it sends. */
        for (int i = 0, x; i < 10; i++) {
            CHECK_IS(0, leat_recv(caller->shared, &x));
            caller->sum += x;
        }
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

static void runs_inside_a_threaded_program(void **state)
{
    (void)state;
    enum { CALLERS = 6 };
    CHECK_IS(0, leat_start(NULL));
    leat_chan *shared = leat_chan_of(NULL, int, 2);
    struct foreign foreign[CALLERS];
    struct caller callers[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){ shared, 200 / SCALE, 0 };
        foreign_start(&foreign[i], call_in, &callers[i]);
    }
    int sum = 0;
    for (int i = 0; i < CALLERS; i++) {
        CHECK_IS(0, foreign_join(&foreign[i]));
        sum += callers[i].sum;
    }
    CHECK_IS(CALLERS * (200 / SCALE) * 55, sum);
    CHECK_IS(0, leat_chan_unref(shared));
    CHECK_IS(0, leat_stop());
}

/* Timers without a scope keep the runtime from stopping, also while they set themselves again. Only
 * a count on the worker that sets them shows this. */
struct relay {
    leat_timer timer;
    _Atomic int left;
};

static void pass_on(leat_timer *timer, int status)
{
    struct relay *relay = (struct relay *)(void *)timer;
    CHECK_IS(0, status);
    if (atomic_fetch_sub(&relay->left, 1) > 1)
        CHECK_IS(0, leat_after_func(timer, atomic_load(&relay->left) % 3 * 5 * LEAT_US, pass_on));
}

enum { RELAYS = 4, LEGS = 6 };

static int start_relays(void *arg)
{
    struct relay *relays = arg;
    for (int i = 0; i < RELAYS; i++) {
        relays[i] = (struct relay){ .timer = LEAT_TIMER(NULL), .left = LEGS };
        CHECK_IS(0, leat_after_func(&relays[i].timer, i * 3 * LEAT_US, pass_on));
    }
    return 0;
}

static int set_far(void *timer)
{
    return leat_after_func(timer, 3600 * LEAT_S, pass_on);
}

static void waits_for_timers(void **state)
{
    (void)state;
    struct relay relays[3][RELAYS];
    for (int round = 0; round < 400 / SCALE; round++) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(s, start_relays, relays[0]));
        CHECK_IS(0, leat_go(s, start_relays, relays[1]));
        if (round % 2)
            start_relays(relays[2]); /* from this thread */
        CHECK_IS(0, leat_scope_close(s));
        int err;
        while ((err = leat_stop()) == -EBUSY)
            sched_yield();
        CHECK_IS(0, err);
        for (int i = 0; i < (2 + round % 2) * RELAYS; i++)
            CHECK_IS(0, relays[i / RELAYS][i % RELAYS].left);
    }
    /* A worker sets the timer, and another thread stops it. */
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    leat_timer far = LEAT_TIMER(NULL);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(s, set_far, &far));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-EBUSY, leat_stop());
    CHECK_IS(0, leat_timer_stop(&far));
    CHECK_IS(0, leat_stop());
}

/* A thread that stops a timer may learn under the lock of the timer's worker that the timer has
 * fired, and so late that the runtime has started again. It still holds that lock. */
static void late_stoppers_may_hold_a_lock(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    struct lt_biased *lock = &lt_runtime.workers[0]->shared_timers.lock;
    CHECK_IS(0, leat_stop());
    lt_biased_lock(lock, NULL);
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    CHECK(lock == &lt_runtime.workers[0]->shared_timers.lock);
    CHECK_IS(1, lock->lock.held);
    lt_biased_unlock(lock);
    CHECK_IS(0, leat_stop());
}

/* Many threads start the runtime; one succeeds. */
static _Atomic int started;

static int start_it(void *arg)
{
    (void)arg;
    int err = leat_start(&(leat_options){ .workers = 2 });
    CHECK(err == 0 || err == -EBUSY);
    if (err == 0)
        atomic_fetch_add(&started, 1);
    return 0;
}

static int stop_it(void *arg)
{
    (void)arg;
    int err = leat_stop();
    CHECK(err == 0 || err == -EINVAL || err == -EBUSY);
    if (err == 0)
        atomic_fetch_sub(&started, 1);
    return 0;
}

static void starts_and_stops_from_many_threads(void **state)
{
    (void)state;
    for (int round = 0; round < 100 / SCALE; round++) {
        struct foreign foreign[4];
        for (int i = 0; i < 4; i++)
            foreign_start(&foreign[i], start_it, NULL);
        for (int i = 0; i < 4; i++)
            CHECK_IS(0, foreign_join(&foreign[i]));
        CHECK_IS(1, started);
        CHECK_IS(2, leat_workers());
        for (int i = 0; i < 4; i++)
            foreign_start(&foreign[i], stop_it, NULL);
        for (int i = 0; i < 4; i++)
            CHECK_IS(0, foreign_join(&foreign[i]));
        if (started) /* the first call returned -EBUSY because of another */
            CHECK_IS(0, stop_it(NULL));
        CHECK_IS(0, started);
    }
}

/* The program's own threads get the signals. */
static int look_at_signals(void *arg)
{
    (void)arg;
    sigset_t blocked;
    CHECK_IS(0, pthread_sigmask(SIG_BLOCK, NULL, &blocked));
    CHECK(sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGINT));
    CHECK(sigismember(&blocked, SIGCHLD) && sigismember(&blocked, SIGUSR1));
    CHECK(!sigismember(&blocked, SIGSEGV) && !sigismember(&blocked, SIGBUS));
    CHECK(!sigismember(&blocked, SIGFPE) && !sigismember(&blocked, SIGILL));
    return 0;
}

static void leaves_signals_alone(void **state)
{
    (void)state;
    struct sigaction before, after;
    sigaction(SIGSEGV, NULL, &before);
    run_on(2, look_at_signals);
    sigaction(SIGSEGV, NULL, &after);
    CHECK(before.sa_handler == after.sa_handler);
    sigset_t blocked;
    CHECK_IS(0, pthread_sigmask(SIG_BLOCK, NULL, &blocked));
    CHECK(!sigismember(&blocked, SIGTERM));
}

/* Blocking functions and their child processes have the signal mask of the runtime's starter. */
static int is_as_where_it_was_started(void *arg)
{
    (void)arg;
    sigset_t blocked;
    CHECK_IS(0, pthread_sigmask(SIG_BLOCK, NULL, &blocked));
    CHECK(sigismember(&blocked, SIGUSR2));
    CHECK(!sigismember(&blocked, SIGTERM) && !sigismember(&blocked, SIGINT));
    CHECK(!sigismember(&blocked, SIGCHLD) && !sigismember(&blocked, SIGUSR1));
    return 0;
}

static int starts_a_process(void *arg)
{
    (void)arg;
    char *words[] = { "sleep", "1000", NULL };
    pid_t child;
    int status;
    CHECK_IS(0, posix_spawnp(&child, words[0], NULL, NULL, words, environ));
    CHECK_IS(0, kill(child, SIGTERM));
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    return 0;
}

static int blocks_on_threads(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_blocking(s, is_as_where_it_was_started, NULL));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_blocking(is_as_where_it_was_started, NULL));
    if (!getenv("LEAT_EMULATED"))
        CHECK_IS(0, leat_blocking(starts_a_process, NULL));
    return 0;
}

static void blocking_functions_keep_the_signal_mask(void **state)
{
    (void)state;
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK_IS(0, pthread_sigmask(SIG_BLOCK, &set, &before));
    run_on(2, blocks_on_threads);
    CHECK_IS(0, pthread_sigmask(SIG_SETMASK, &before, NULL));
}

/* ---- at any time ---- */

static _Atomic bool over;

static void *ask(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        unsigned workers = leat_workers();
        CHECK(workers == 0 || workers == 2);
    }
    return NULL;
}

static void workers_are_counted_at_any_time(void **state)
{
    (void)state;
    pthread_t thread;
    CHECK_IS(0, pthread_create(&thread, NULL, ask, NULL));
    for (int i = 0; i < 40; i++) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
        CHECK_IS(2, leat_workers());
        CHECK_IS(0, leat_stop());
        CHECK_IS(0, leat_workers());
    }
    atomic_store(&over, true);
    CHECK_IS(0, pthread_join(thread, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_its_version),
        cmocka_unit_test(returns_what_the_first_task_returns),
        cmocka_unit_test(refuses_wrong_arguments),
        cmocka_unit_test(starts_once),
        cmocka_unit_test(refuses_from_inside),
        cmocka_unit_test(is_busy_while_a_scope_is_open),
        cmocka_unit_test(heeds_the_environment),
        cmocka_unit_test(restarts),
        cmocka_unit_test(runs_inside_a_threaded_program),
        cmocka_unit_test(waits_for_timers),
        cmocka_unit_test(late_stoppers_may_hold_a_lock),
        cmocka_unit_test(starts_and_stops_from_many_threads),
        cmocka_unit_test(leaves_signals_alone),
        cmocka_unit_test(blocking_functions_keep_the_signal_mask),
        cmocka_unit_test(workers_are_counted_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
