/* test_watch.c: what the monitor thread does on request, from inside; see also tests/watch.sh. */
#include "support.h"

#include "base/fault.h"
#include "base/gap.h"
#include "base/handler.h"
#include "chan/more.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Runs fn, and returns what it printed on standard error. */
static char *said(void (*fn)(void))
{
    static char text[1 << 16];
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    CHECK(file && before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    fn();
    CHECK(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void on_signal(int number)
{
    (void)number;
}

static void is_not_called(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
}

/* Whether the monitor has written to the file: nothing else reports that it has. */
static bool said_something(void)
{
    return lseek(STDERR_FILENO, 0, SEEK_CUR) != 0;
}

static void raise_and_wait(void)
{
    raise(SIGUSR2);
    WAIT_UNTIL(said_something());
}

/* A seeded world has no thread that could make the dump. */
static int asks_in_a_world(void *unused)
{
    (void)unused;
    CHECK_IS(-ENOTSUP, leat_dump_on_signal(SIGUSR2));
    return 0;
}

static void test_signal(void **state)
{
    (void)state;
    struct sigaction ours = { .sa_handler = on_signal }, now;
    struct stat before, after;
    struct lt_handler none = { 0 };
    CHECK(!lt_handler_install(&none, SIGKILL, is_not_called) && !none.fn);
    CHECK_IS(0, sigaction(SIGUSR2, &ours, NULL));
    CHECK_IS(-EINVAL, leat_dump_on_signal(SIGUSR2)); /* no runtime */
    for (int i = 0; i < 2; i++) {
        CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
        CHECK_IS(0, stat("/proc/self/task", &before));
        CHECK_IS(-EINVAL, leat_dump_on_signal(0));
        CHECK_IS(-EINVAL, leat_dump_on_signal(1000));
        for (int k = 0; k < 2; k++)
            CHECK_IS(-EINVAL, leat_dump_on_signal(SIGKILL));
        CHECK_IS(-EINVAL, leat_dump_on_signal(SIGSEGV));
        CHECK_IS(-EINVAL, leat_dump_on_signal(SIGABRT));
        CHECK_IS(-EINVAL, leat_dump_on_signal(SIGPROF));
        CHECK_IS(0, stat("/proc/self/task", &after));
        CHECK_IS(before.st_nlink, after.st_nlink); /* there is no thread for nothing */
        CHECK_IS(0, leat_dump_on_signal(SIGUSR2));
        CHECK_IS(0, leat_dump_on_signal(SIGUSR2));
        CHECK(strncmp(said(raise_and_wait), "leat: 0 tasks, ", 15) == 0);
        CHECK_IS(0, leat_stop());
        CHECK_IS(0, sigaction(SIGUSR2, NULL, &now));
        CHECK(now.sa_handler == on_signal);
    }
    CHECK_IS(0, leat_sim(1, asks_in_a_world, NULL));
}

static void raise_without_descriptors(void)
{
    struct rlimit before, none;
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &before));
    none = (struct rlimit){ 0, before.rlim_max };
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &none));
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    CHECK_IS(0, leat_dump_on_signal(SIGUSR2));
    raise_and_wait();
    CHECK_IS(0, leat_stop());
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &before));
}

/* The monitor needs no descriptor, and no poll(2), which then would refuse to wait. */
static void test_no_descriptors(void **state)
{
    (void)state;
    CHECK(strncmp(said(raise_without_descriptors), "leat: 0 tasks, ", 15) == 0);
}

static void test_options(void **state)
{
    (void)state;
    CHECK_IS(-EINVAL, leat_start(&(leat_options){ .watch = 1024 }));
    CHECK_IS(-EINVAL, leat_start(&(leat_options){ .watchdog = 1 }));
    CHECK_IS(-EINVAL, leat_start(&(leat_options){ .watchdog = -1 }));
    CHECK_IS(0, leat_workers());
    CHECK_IS(0, leat_start(&(leat_options){ .watch = LEAT_WATCH_WAITS | LEAT_WATCH_DEADLOCK,
                                            .watchdog = LEAT_MS }));
    CHECK_IS(0, leat_stop());
}

static int yields(void *unused)
{
    (void)unused;
    for (int64_t end = leat_after(300 * LEAT_MS); leat_now() < end;)
        leat_yield();
    return 0;
}

static int blocked_for_long(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){ .tv_nsec = 300 * 1000000 }, NULL);
    return 0;
}

static int hogs(void *unused)
{
    (void)unused;
    for (int64_t end = leat_after(60 * LEAT_S); !said_something() && leat_now() < end;) {
    }
    return 0;
}

static void held_by_no_one(void)
{
    leat_options options = { .workers = 2, .watchdog = 20 * LEAT_S };
    CHECK_IS(0, leat_main_with(yields, NULL, &options));
    CHECK_IS(0, leat_main_with(blocked_for_long, NULL, &options));
}

static void held(void)
{
    CHECK_IS(0,
             leat_main_with(hogs, NULL, &(leat_options){ .workers = 1, .watchdog = 20 * LEAT_MS }));
}

static void test_watchdog(void **state)
{
    (void)state;
    skip_under_emulation();
    CHECK_IS(0, strlen(said(held_by_no_one)));
    const char *text = said(held);
    CHECK(strncmp(text, "leat: task ", 11) == 0 && strstr(text, " held worker 0 for "));
}

/* A thread that is about to sleep, and is held up just then, has been woken meanwhile. It is held
 * up for several checks of the monitor, which looks by the real clock and tells nobody. */
#ifdef LEAT_HARSH
static _Atomic bool held_up;
static pthread_t sleeper;
static leat_chan *first;

static void hold_up_sleeper(void)
{
    if (pthread_equal(pthread_self(), sleeper) && lt_chan_has_receiver(first) &&
        !atomic_exchange(&held_up, true))
        nanosleep(&(struct timespec){ .tv_nsec = 500 * 1000000 }, NULL);
}

static void *answers(void *second)
{
    WAIT_UNTIL(atomic_load(&held_up));
    CHECK_IS(0, leat_send(first, NULL));
    CHECK_IS(0, leat_recv(second, NULL));
    return NULL;
}

static void sleeps_late(void)
{
    pthread_t thread;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1, .watch = LEAT_WATCH_DEADLOCK }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *second = leat_chan_make(s, 0, 0);
    first = leat_chan_make(s, 0, 0);
    sleeper = pthread_self();
    CHECK_IS(0, pthread_create(&thread, NULL, answers, second));
    atomic_store(&lt_gap_hook, hold_up_sleeper);
    CHECK_IS(0, leat_recv(first, NULL));
    atomic_store(&lt_gap_hook, NULL);
    CHECK_IS(0, leat_send(second, NULL));
    pthread_join(thread, NULL);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}
#endif

static void test_no_deadlock(void **state)
{
    (void)state;
#ifdef LEAT_HARSH
    CHECK_IS(0, strlen(said(sleeps_late)));
#else
    skip();
#endif
}

/* In the harsh build: each request for memory, a thread or a descriptor fails once. */
static void test_starved(void **state)
{
    (void)state;
#ifdef LEAT_HARSH
    leat_options options = { .workers = 1, .watchdog = LEAT_S, .watch = LEAT_WATCH_DEADLOCK };
    for (long n = 1;; n++) {
        lt_fault_arm(n);
        int error = leat_start(&options);
        bool struck = lt_fault_struck();
        lt_fault_arm(0);
        CHECK_IS(struck ? -ENOMEM : 0, error);
        if (!error)
            CHECK_IS(0, leat_stop());
        if (!struck)
            break;
    }
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_descriptors), cmocka_unit_test(test_starved),
        cmocka_unit_test(test_signal),         cmocka_unit_test(test_options),
        cmocka_unit_test(test_watchdog),       cmocka_unit_test(test_no_deadlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
