/* test_io_wait.c: what waits for descriptors meet: crowds, busy workers and calm ones, signals, a
 * sandbox, and the search for deadlocks. */
#define _GNU_SOURCE
#include "descriptors.h"
#include "refuse.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- the same number from many ---- */

static int poll_it(void *arg)
{
    int found = leat_poll(*(int *)arg, LEAT_IN, late());
    CHECK_IS(LEAT_IN, found);
    return 0;
}

static int polls_from_many(void *arg)
{
    (void)arg;
    for (int round = 0; round < 40 / SCALE + 1; round++) {
        struct crew crew;
        int ends[2];
        crew_open(&crew);
        CHECK_IS(0, pipe2(ends, O_CLOEXEC));
        leat_io *twice[2] = { adopt(NULL, ends[0]), adopt(NULL, ends[0]) };
        for (int i = 0; i < 2; i++)
            CHECK_IS(0, leat_ready(twice[i], LEAT_IN, LEAT_NOW) + EAGAIN);
        for (int i = 0; i < 10; i++)
            crew_go(&crew, kind_of(i), poll_it, &ends[0]);
        if (round % 2)
            leat_yield();
        CHECK_IS(1, write(ends[1], "x", 1));
        crew_close(&crew);
        CHECK_IS(LEAT_IN, leat_ready(twice[0], LEAT_IN, late()));
        CHECK_IS(LEAT_IN, leat_ready(twice[1], LEAT_IN, late()));
        CHECK_IS(0, leat_io_unref(twice[0]));
        CHECK_IS(ends[0], leat_io_fd(twice[1]));
        CHECK_IS(0, leat_io_unref(twice[1]));
        close(ends[1]);
    }
    return 0;
}
ON_WORKERS(polls_from_many);

/* ---- fairness ---- */

struct fair {
    leat_io *io;
    _Atomic bool stop;
    _Atomic int turns;
};

static int read_always(void *arg)
{
    struct fair *fair = arg;
    char byte;
    while (!atomic_load(&fair->stop))
        CHECK_IS(1, leat_read(fair->io, &byte, 1));
    return 0;
}

static int yield_always(void *arg)
{
    struct fair *fair = arg;
    while (!atomic_load(&fair->stop)) {
        atomic_fetch_add(&fair->turns, 1);
        leat_yield();
    }
    return 0;
}

static int lets_others_run(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct fair zero = { .io = adopt(scope, open("/dev/zero", O_RDONLY | O_CLOEXEC)) },
                busy = { 0 };
    leat_io *a, *b;
    char byte;
    CHECK_IS(0, leat_go(scope, read_always, &zero));
    CHECK_IS(0, leat_go(scope, yield_always, &busy));
    for (int i = 0; i < 10; i++) {
        int turns = atomic_load(&busy.turns);
        WAIT_UNTIL(atomic_load(&busy.turns) > turns);
    }
    atomic_store(&zero.stop, true);
    /* A busy run queue does not keep descriptors waiting. */
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    for (int i = 0; i < 10; i++) {
        find_empty(a);
        CHECK_IS(1, write(leat_io_fd(b), "x", 1));
        CHECK_IS(1, leat_read_until(a, &byte, 1, late()));
    }
    atomic_store(&busy.stop, true);
    return leat_scope_close(scope);
}
ON_WORKERS(lets_others_run);

/* ---- many, and none that is active ---- */

static int reads_one_of_many(void *arg)
{
    (void)arg;
    enum { MANY = 5000 / SCALE };
    struct rlimit limit;
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &limit));
    int n = limit.rlim_cur < 2 * MANY + 200 ? (int)limit.rlim_cur / 2 - 200 : MANY;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io **near = malloc((size_t)n * sizeof *near), **far = malloc((size_t)n * sizeof *far);
    for (int i = 0; i < n; i++) {
        char byte;
        adopt_pair(scope, SOCK_STREAM, &near[i], &far[i]);
        CHECK_IS(-EAGAIN, leat_read_until(near[i], &byte, 1, LEAT_NOW));
    }
    for (int i = 0; i < n; i += n / 50) {
        char byte = 0, sent = (char)i;
        CHECK_IS(1, leat_write(far[i], &sent, 1));
        CHECK_IS(1, leat_read_until(near[i], &byte, 1, late()));
        CHECK_IS(sent, byte);
    }
    free(near);
    free(far);
    return leat_scope_close(scope);
}
ON_WORKERS(reads_one_of_many);

static uint64_t sleeps(void)
{
    leat_counts counts;
    CHECK_IS(0, leat_count(&counts));
    return counts.sleeps;
}

/* With descriptors on all workers, no worker wakes while nothing comes. Other programs may delay
 * the workers' way to sleep: so one calm interval of many is enough. */
static void rests_without_wakeups(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        leat_io *a[8], *b[8];
        struct user readers[8];
        CHECK_IS(0, leat_start(&(leat_options){ .workers = workers }));
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        for (int i = 0; i < 8; i++) {
            adopt_pair(scope, SOCK_STREAM, &a[i], &b[i]);
            readers[i] = (struct user){ a[i], 0, LEAT_NEVER };
            CHECK_IS(0, leat_go(scope, read_one, &readers[i]));
        }
        uint64_t before;
        int tries = 0;
        do {
            CHECK(tries++ < 100);
            nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
            before = sleeps();
            nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
        } while (sleeps() != before);
        for (int i = 0; i < 8; i++)
            CHECK_IS(1, leat_write(b[i], "x", 1));
        CHECK_IS(0, leat_scope_close(scope));
        for (int i = 0; i < 8; i++)
            CHECK_IS(1, readers[i].result);
        CHECK_IS(0, leat_stop());
    }
}

/* ---- signals while a thread waits ---- */

static void ignore_signal(int signal)
{
    (void)signal;
}

static int read_in_a_storm(void *arg)
{
    struct user *user = arg;
    char byte;
    int64_t begin = leat_now();
    user->result = leat_read_until(user->io, &byte, 1, leat_after(50 * LEAT_MS));
    CHECK(leat_now() - begin >= 50 * LEAT_MS);
    CHECK_IS(-ETIMEDOUT, user->result);
    user->result = leat_read(user->io, &byte, 1);
    return 0;
}

static void waits_through_signals(void **state)
{
    (void)state;
    struct sigaction before, nothing = { .sa_handler = ignore_signal };
    CHECK_IS(0, sigaction(SIGUSR1, &nothing, &before));
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    leat_io *a, *b;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    struct user reader = { a, 0, LEAT_NEVER };
    struct foreign thread;
    foreign_start(&thread, read_in_a_storm, &reader);
    /* Until it waits for the second time, and for 200 ms at least. */
    for (int i = 0; i < 200 || atomic_load(&reader.result) != -ETIMEDOUT; i++) {
        CHECK_IS(0, pthread_kill(thread.thread, SIGUSR1));
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    CHECK_IS(1, leat_write(b, "x", 1));
    CHECK_IS(0, foreign_join(&thread));
    CHECK_IS(1, reader.result);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, leat_stop());
    CHECK_IS(0, sigaction(SIGUSR1, &before, NULL));
}

/* ---- a sandbox ---- */

static int wait_and_read(void *arg)
{
    leat_io *a, *b;
    char byte;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    find_empty(a);
    for (int later = 0; later < 2; later++) {
        int64_t begin = leat_now();
        CHECK_IS(-ETIMEDOUT, leat_read_until(a, &byte, 1, leat_after(3 * LEAT_MS / 2)));
        CHECK(leat_now() - begin >= 3 * LEAT_MS / 2);
        CHECK_IS(1, write(leat_io_fd(b), "x", 1));
        CHECK_IS(1, leat_read_until(a, &byte, 1, late()));
        if (arg && !later)
            refuse(SYS_epoll_pwait2, *(int *)arg);
    }
    return leat_scope_close(scope);
}

static void waits_in_a_sandbox(void **state)
{
    (void)state;
    skip_under_emulation();
    for (int i = 0; i < 4; i++) {
        int status, error = i % 2 ? EPERM : ENOSYS;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(100);
            if (i < 2)
                refuse(SYS_epoll_pwait2, error);
            CHECK_IS(0, leat_main_with(wait_and_read, i < 2 ? NULL : &error,
                                       &(leat_options){ .workers = 2 }));
            _exit(0);
        }
        CHECK_IS(child, waitpid(child, &status, 0));
        CHECK_IS(0, status);
    }
}

/* Reads, writes and copies of files need a thread that may block, and do without. */
static int use_files(void *arg)
{
    (void)arg;
    char bytes[4] = "";
    FILE *file = tmpfile();
    leat_io *pair[2];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_io_pair(scope, pair));
    leat_io *io = adopt(scope, dup(fileno(file)));
    refuse(SYS_clone3, ENOSYS);
    refuse(SYS_clone, EAGAIN);
    CHECK_IS(-ENOMEM, leat_go_blocking(scope, use_files, NULL));
    CHECK_IS(4, leat_write(io, "abcd", 4));
    rewind(file);
    CHECK_IS(1, leat_read(io, bytes, 1));
    CHECK_IS(3, leat_copy(pair[0], io, INT64_MAX, late()));
    CHECK_IS(3, leat_read_full(pair[1], bytes, 3, late()));
    CHECK(memcmp(bytes, "bcd", 4) == 0);
    fclose(file);
    return leat_scope_close(scope);
}

static void uses_files_without_threads(void **state)
{
    (void)state;
    skip_under_emulation();
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(100);
        CHECK_IS(0, leat_main_with(use_files, NULL, &(leat_options){ .workers = 1 }));
        _exit(0);
    }
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK_IS(0, status);
}

/* ---- the search for deadlocks ---- */

/* The parent process writes: no thread of this one could. */
static void is_no_deadlock(void **state)
{
    (void)state;
    skip_under_emulation();
    int ends[2], status;
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct user reader = { NULL, 0, LEAT_NEVER };
        alarm(100);
        CHECK_IS(0,
                 leat_start(&(leat_options){ .workers = 2, .watch = LEAT_WATCH_DEADLOCK_ABORT }));
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        reader.io = adopt(scope, ends[0]);
        CHECK_IS(0, leat_go(scope, read_one, &reader));
        CHECK_IS(0, leat_scope_close(scope));
        CHECK_IS(1, reader.result);
        _exit(0);
    }
    nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
    CHECK_IS(1, write(ends[1], "x", 1));
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK_IS(0, status);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(polls_from_many),       TESTS_ON_WORKERS(lets_others_run),
        TESTS_ON_WORKERS(reads_one_of_many),     cmocka_unit_test(waits_in_a_sandbox),
        cmocka_unit_test(is_no_deadlock),        cmocka_unit_test(rests_without_wakeups),
        cmocka_unit_test(waits_through_signals), cmocka_unit_test(uses_files_without_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
