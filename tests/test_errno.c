/* test_errno.c: errno while a task moves between every two operations of a function. Everywhere it
 * is the errno of the thread that the task runs in, and a wait keeps the task's value. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

#include "sched/runtime.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

/* Optimised: a compiler would compute the C library's errno address once for the whole function. */
#if defined(__GNUC__) && !defined(__clang__)
#define AT_LEVEL(level) __attribute__((noinline, optimize(level)))
#else
#define AT_LEVEL(level) __attribute__((noinline))
#endif

/* Fails in the C library, which sets the thread's errno. */
static void fail_with(int expected)
{
    CHECK_IS(-1, expected == EBADF ? close(-1) : open("/nowhere/at/all", O_RDONLY));
}

/* The errno of the thread that runs now. */
static __attribute__((noinline)) int threads_errno(void)
{
    return *__errno_location();
}

struct talk {
    leat_chan *there, *back, *never;
    leat_mutex *mutex;
};

static int echo(void *arg)
{
    struct talk *talk = arg;
    for (int x; leat_recv(talk->there, &x) == 0;) {
        errno = EXDEV; /* belongs to another task, perhaps in the same thread */
        CHECK_IS(0, leat_send(talk->back, &x));
        CHECK_IS(EXDEV, errno);
    }
    return 0;
}

#define KEEPS(value) \
    do { \
        CHECK_IS(value, errno); \
        CHECK_IS(value, threads_errno()); \
        move_on(); \
        CHECK_IS(value, errno); \
        CHECK_IS(value, threads_errno()); \
    } while (0)

/* One large function, so that a compiler has something to keep. */
#define TALK(name, level) \
    static AT_LEVEL(level) void name(struct talk *talk, int i) \
    { \
        int x = i; \
        leat_case cases[] = { LEAT_RECV(talk->never, &x), LEAT_RECV(talk->back, &x) }; \
        errno = 1000; \
        KEEPS(1000); \
        CHECK_IS(0, leat_send(talk->there, &x)); \
        KEEPS(1000); \
        fail_with(EBADF); \
        KEEPS(EBADF); \
        CHECK(leat_select(cases, 2, LEAT_NEVER) == 1 && x == i); \
        KEEPS(EBADF); \
        errno = 1001; \
        CHECK_IS(-ETIMEDOUT, leat_recv_until(talk->never, &x, leat_after(LEAT_US))); \
        KEEPS(1001); \
        fail_with(ENOENT); \
        CHECK_IS(0, leat_sleep(LEAT_US)); \
        KEEPS(ENOENT); \
        errno++; \
        CHECK_IS(0, leat_mutex_lock(talk->mutex)); \
        KEEPS(ENOENT + 1); \
        CHECK_IS(0, leat_mutex_unlock(talk->mutex)); \
        int *address = &errno; \
        CHECK(address == leat_errno_location() && address == __errno_location()); \
        *address = 1003; \
        leat_scope *s = leat_scope_open(leat_after(100 * LEAT_US)); \
        KEEPS(1003); \
        CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER)); \
        KEEPS(1003); \
        CHECK_IS(-ETIMEDOUT, leat_scope_close(s)); \
        KEEPS(1003); \
    }
TALK(talk_at_o1, "O1")
TALK(talk_at_o2, "O2")
TALK(talk_at_o3, "O3")

static int errno_moves_with_its_task(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct talk talk = { .there = leat_chan_of(s, int, 0),
                         .back = leat_chan_of(s, int, 0),
                         .never = leat_chan_of(s, int, 0),
                         .mutex = leat_mutex_open(s) };
    CHECK_IS(0, leat_go(s, echo, &talk));
    for (int i = 0; i < often(60) + 1; i++) {
        talk_at_o1(&talk, i);
        talk_at_o2(&talk, i);
        talk_at_o3(&talk, i);
    }
    CHECK_IS(0, leat_close(talk.there));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_MOVING_WORKERS(errno_moves_with_its_task);

/* Tasks, each with its own value, in loops from which compilers like to hoist the address. */
static AT_LEVEL("O3") int keep_own(void *arg)
{
    int mine = 2000 + (int)(intptr_t)arg;
    errno = mine;
    for (int i = 0; i < often(100) + 1; i++) {
        try_to_move();
        if (errno != mine)
            check_failed(__FILE__, __LINE__, "errno is %d, not %d", errno, mine);
        leat_yield();
        if (errno != mine)
            check_failed(__FILE__, __LINE__, "errno is %d, not %d", errno, mine);
        errno = ++mine;
        leat_sleep(LEAT_US);
        CHECK_IS(mine, threads_errno());
    }
    return 0;
}

static int each_has_its_own(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 6; i++)
        CHECK_IS(0, leat_go(s, keep_own, (void *)(intptr_t)(1000 * i)));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_MOVING_WORKERS(each_has_its_own);

/* A blocking call keeps its caller's errno, and uses its own thread's. */
static int set_another(void *arg)
{
    (void)arg;
    errno = EDOM;
    CHECK_IS(EDOM, threads_errno());
    return 0;
}

static int calls_that_block_keep_it(void *arg)
{
    (void)arg;
    for (int i = 0; i < often(100) + 1; i++) {
        errno = 3000 + i;
        CHECK_IS(0, leat_blocking(set_another, NULL));
        KEEPS(3000 + i);
    }
    return 0;
}
ON_MOVING_WORKERS(calls_that_block_keep_it);

static int location_in_thread(void *arg)
{
    (void)arg;
    CHECK(leat_errno_location() == __errno_location());
    errno = 77;
    CHECK_IS(77, threads_errno());
    return 0;
}

static void is_each_threads_own(void **state)
{
    (void)state;
    struct foreign foreign;
    location_in_thread(NULL);
    errno = 78;
    foreign_start(&foreign, location_in_thread, NULL);
    CHECK_IS(0, pthread_join(foreign.thread, NULL));
    CHECK_IS(78, errno);
}

/* Signals cut the naps of a thread short that waits inside of leat. */
static _Atomic unsigned alarms;

static void count_alarm(int number)
{
    (void)number;
    atomic_fetch_add(&alarms, 1);
}

static void await_alarms(unsigned n)
{
    for (unsigned since = atomic_load(&alarms); atomic_load(&alarms) - since < n;)
        nap();
}

static void let_signals_come(bool come)
{
    const struct itimerval often_or_never = { .it_interval.tv_usec = come ? 200 : 0,
                                              .it_value.tv_usec = come ? 200 : 0 };
    struct sigaction action = { .sa_handler = come ? count_alarm : SIG_IGN };
    CHECK_IS(0, sigaction(SIGALRM, &action, NULL));
    CHECK_IS(0, setitimer(ITIMER_REAL, &often_or_never, NULL));
}

static int look_for_long(void *looks)
{
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    CHECK_IS(0, pthread_sigmask(SIG_BLOCK, &alarm, NULL));
    CHECK_IS(0, lt_runtime_look()); /* as a dump does */
    atomic_store((_Atomic bool *)looks, true);
    await_alarms(50);
    lt_runtime_look_away();
    return 0;
}

static leat_timer timer;

static void take_a_while(leat_timer *unused, int status)
{
    (void)unused;
    CHECK_IS(0, status);
    await_alarms(10);
}

static int leave_a_timer(void *unused)
{
    (void)unused;
    CHECK_IS(0, leat_timer_init(&timer, NULL));
    CHECK_IS(0, leat_after_func(&timer, 0, take_a_while));
    return 0;
}

static void signals_do_not_change_it(void **state)
{
    (void)state;
    struct foreign looker;
    _Atomic bool looks = false;
    leat_counts counts;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    foreign_start(&looker, look_for_long, &looks);
    WAIT_UNTIL(atomic_load(&looks));
    let_signals_come(true);
    errno = 79;
    CHECK_IS(0, leat_count(&counts));
    CHECK_IS(79, errno);
    let_signals_come(false);
    CHECK_IS(0, pthread_join(looker.thread, NULL));
    CHECK_IS(0, leat_stop());
    let_signals_come(true);
    for (int i = 0; i < 10; i++) {
        errno = 80;
        int result = leat_main(leave_a_timer, NULL);
        CHECK_IS(80, errno);
        CHECK(result == 0 || result == -EBUSY); /* on a loaded machine it runs too long */
        if (result)
            WAIT_UNTIL(leat_stop() == 0);
    }
    let_signals_come(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_MOVING_WORKERS(errno_moves_with_its_task),
        TESTS_ON_MOVING_WORKERS(each_has_its_own),
        TESTS_ON_MOVING_WORKERS(calls_that_block_keep_it),
        cmocka_unit_test(is_each_threads_own),
        cmocka_unit_test(signals_do_not_change_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
