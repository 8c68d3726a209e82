/* test_capture.c: programs that run to their end, and what they write. A thread attends to its
 * program. */
#define _GNU_SOURCE
#include "blind.h"
#include "processes.h"

#include "process/process.h"

#include <fcntl.h>
#include <poll.h>

/* Whether poll(2) fails, as in a sandbox that does not know it. */
static _Atomic bool no_poll;

/* In place of the C library's poll. */
int poll_or_refuse(struct pollfd *fds, nfds_t n, int ms) __asm__("poll");

int poll_or_refuse(struct pollfd *fds, nfds_t n, int ms)
{
    const struct timespec time = { ms / 1000, ms % 1000 * (long)LEAT_MS };
    if (!atomic_load(&no_poll))
        return ppoll(fds, n, ms < 0 ? NULL : &time, NULL);
    errno = EPERM;
    return -1;
}

/* ---- capturing ---- */

static int keep_some(void *arg)
{
    (void)arg;
    leat_captured captured;
    CHECK_IS(0, leat_capture(SHELL("echo 0123456789; echo abcdef >&2; exit 4"), NULL, &captured, 7,
                             LEAT_NEVER));
    CHECK(strcmp(captured.out, "0123456") == 0 && strcmp(captured.err, "abcdef\n") == 0);
    CHECK_IS(7, captured.out_size);
    CHECK_IS(7, captured.err_size);
    CHECK(captured.partial);
    CHECK_IS(4, captured.exit.code);
    CHECK_IS(0, leat_captured_free(&captured));
    CHECK_IS(0, leat_capture(ARGV("head", "-c", "1000000", "/dev/zero"), NULL, &captured, 10000,
                             LEAT_NEVER));
    CHECK_IS(10000, captured.out_size);
    CHECK(captured.partial);
    CHECK_IS(0, captured.exit.code);
    CHECK_IS(0, leat_captured_free(&captured));
    CHECK_IS(0, leat_capture(ARGV("head", "-c", "1000000", "/dev/zero"), NULL, &captured, SIZE_MAX,
                             LEAT_NEVER));
    CHECK_IS(1000000, captured.out_size);
    CHECK(!captured.partial);
    CHECK_IS(0, leat_captured_free(&captured));
    CHECK_IS(0, leat_capture(ARGV("echo", "x"), NULL, &captured, 0, LEAT_NEVER));
    CHECK(!*captured.out && captured.partial);
    CHECK_IS(0, leat_captured_free(&captured));
    CHECK_IS(-ENOENT, leat_capture(ARGV("/no"), NULL, &captured, 10, LEAT_NEVER));
    return 0;
}
static int bounds_what_it_keeps(void *arg)
{
    (void)arg;
    on_task_and_thread(keep_some);
    return 0;
}
ON_WORKERS(bounds_what_it_keeps);

static int end_in_time(void *arg)
{
    (void)arg;
    leat_captured captured;
    int64_t start = leat_now();
    CHECK_IS(-ETIMEDOUT, leat_capture(ARGV("yes"), NULL, &captured, 10, leat_after(30 * LEAT_MS)));
    CHECK_IS(0, leat_captured_free(&captured));
    CHECK(leat_now() - start < 20 * LEAT_S);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_scope_cancel(scope);
    CHECK_IS(-ECANCELED, leat_capture(ARGV("true"), NULL, &captured, 10, LEAT_NEVER));
    CHECK(!captured.out && !captured.err);
    CHECK_IS(0, leat_captured_free(&captured));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!has_children());
    return 0;
}
static int ends_at_its_deadline(void *arg)
{
    (void)arg;
    on_task_and_thread(end_in_time);
    return 0;
}
ON_WORKERS(ends_at_its_deadline);

/* Says that it has begun, twice, and that it was asked to end. */
#define SAYS_WHY \
    SHELL("trap 'echo TERM >&2; exit 3' TERM; echo on; echo >&0; while :; do sleep 0.01; done")

static bool has_begun(const leat_captured *captured)
{
    if (!captured->out || strcmp(captured->out, "on\n") != 0)
        return false;
    CHECK(strcmp(captured->err, "TERM\n") == 0);
    CHECK_IS(3, captured->exit.code);
    CHECK(captured->partial);
    return true;
}

struct early {
    leat_scope *scope;
    int begun; /* the program writes to it */
};

static int cancel_when_begun(void *arg)
{
    const struct early *early = arg;
    char byte;
    CHECK_IS(1, read(early->begun, &byte, 1));
    return leat_scope_cancel(early->scope);
}

static int keep_what_came(void *arg)
{
    (void)arg;
    leat_captured captured;
    int ends[2];
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    /* Without a group "sleep" gets no signal, of which the shell would tell. */
    const leat_spawn_options options = { .in = ends[1],
                                         .flags = LEAT_NO_GROUP,
                                         .grace = 100 * LEAT_S };
    bool begun = false;
    for (int64_t time = 50 * LEAT_MS; !begun; time *= 2) {
        CHECK_IS(-ETIMEDOUT, leat_capture(SAYS_WHY, &options, &captured, 10, leat_after(time)));
        begun = has_begun(&captured);
        CHECK_IS(0, leat_captured_free(&captured));
    }
    char byte;
    while (poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, 0) == 1)
        CHECK_IS(1, read(ends[0], &byte, 1));
    struct early early = { leat_scope_open(LEAT_NEVER), ends[0] };
    CHECK_IS(0, leat_go_blocking(early.scope, cancel_when_begun, &early));
    CHECK_IS(-ECANCELED, leat_capture(SAYS_WHY, &options, &captured, 10, LEAT_NEVER));
    CHECK_IS(0, leat_scope_close(early.scope));
    CHECK(has_begun(&captured));
    CHECK_IS(0, leat_captured_free(&captured));
    close(ends[0]);
    close(ends[1]);
    CHECK(!has_children());
    return 0;
}
static int keeps_what_came_before_the_end(void *arg)
{
    (void)arg;
    on_task_and_thread(keep_what_came);
    return 0;
}
ON_WORKERS(keeps_what_came_before_the_end);

/* The pipe never runs dry. */
static void let_go_of_a_busy_pipe(void)
{
    leat_captured captured;
    const leat_spawn_options options = { .grace = 30 * LEAT_MS };
    CHECK_IS(0, leat_capture(SHELL("yes &"), &options, &captured, 100, LEAT_NEVER));
    CHECK(captured.partial);
    CHECK_IS(0, captured.exit.code);
    CHECK_IS(0, leat_captured_free(&captured));
}

/* No written byte is lost, however short the grace. */
static void read_late(void)
{
    leat_captured captured;
    const leat_spawn_options options = { .grace = 1 };
    CHECK_IS(0, leat_capture(ARGV("head", "-c", "60000", "/dev/zero"), &options, &captured, 100000,
                             LEAT_NEVER));
    CHECK_IS(60000, captured.out_size);
    CHECK(!captured.partial);
    CHECK_IS(0, leat_captured_free(&captured));
}

static int let_go_of_a_held_pipe(void *arg)
{
    (void)arg;
    leat_captured captured;
    const leat_spawn_options options = { .grace = 30 * LEAT_MS };
    int64_t start = leat_now();
    CHECK_IS(0, leat_capture(SHELL("sleep 100 & echo $!"), &options, &captured, 100, LEAT_NEVER));
    CHECK(leat_now() - start >= 30 * LEAT_MS && leat_now() - start < 50 * LEAT_S);
    CHECK(captured.partial);
    CHECK_IS(0, captured.exit.code);
    CHECK_IS(0, kill((pid_t)atoi(captured.out), SIGKILL));
    CHECK_IS(0, leat_captured_free(&captured));
    let_go_of_a_busy_pipe();
    for (int i = 0; i < 20; i++)
        read_late();
    return 0;
}
static int lets_go_of_a_held_pipe(void *arg)
{
    (void)arg;
    on_task_and_thread(let_go_of_a_held_pipe);
    return 0;
}
ON_WORKERS(lets_go_of_a_held_pipe);

/* ---- many ---- */

static int run_one(void *arg)
{
    leat_captured captured;
    char text[16];
    snprintf(text, sizeof text, "%d", (int)(intptr_t)arg);
    CHECK_IS(0, leat_capture(ARGV("echo", "-n", text), NULL, &captured, 100, LEAT_NEVER));
    CHECK(strcmp(text, captured.out) == 0);
    return leat_captured_free(&captured);
}

static int runs_many_at_a_time(void *arg)
{
    (void)arg;
    int before = open_descriptors();
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (intptr_t i = 0; i < 200 / (SCALE > 1 ? 4 : 1); i++)
        CHECK_IS(0, leat_go(scope, run_one, (void *)i));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(before, open_descriptors());
    CHECK(!has_children());
    return 0;
}
ON_WORKERS(runs_many_at_a_time);

/* It looks at the pipes now and then. The second program leaves one behind that writes later. */
static int capture_blindly(void *arg)
{
    (void)arg;
    leat_captured captured;
    const leat_spawn_options options = { .flags = LEAT_NO_GROUP };
    CHECK_IS(0, leat_capture(SHELL("echo abc; head -c 300000 /dev/zero >&2"), NULL, &captured,
                             SIZE_MAX, LEAT_NEVER));
    CHECK(strcmp(captured.out, "abc\n") == 0);
    CHECK_IS(300000, captured.err_size);
    CHECK_IS(0, leat_captured_free(&captured));
    CHECK_IS(0, leat_capture(SHELL("(sleep 0.05; echo late) & echo early"), &options, &captured,
                             SIZE_MAX, LEAT_NEVER));
    CHECK(strcmp(captured.out, "early\nlate\n") == 0);
    return leat_captured_free(&captured);
}

/* Where 0, 1 and 2 are closed, the program may write to 1 or 2 all the same. */
static int capture_without_standard_ones(void *arg)
{
    (void)arg;
    int kept[3];
    for (int i = 0; i < 3; i++)
        CHECK((kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 3)) >= 3);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, close(i));
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_PIPE_IN | LEAT_PIPE_OUT | LEAT_PIPE_ERR |
                                                  LEAT_ATTENDED };
    leat_process *process = spawn(scope, SHELL("cat; exit 3"), &options);
    bool low = leat_io_fd(process->pidfd) < 3;
    for (int i = 0; i < 3; i++)
        low |= leat_io_fd(process->pipes[i]) < 3 || (process->kept[i] >= 0 && process->kept[i] < 3);
    for (int i = 0; i < 3; i++) {
        low |= fcntl(i, F_GETFD) >= 0;
        CHECK_IS(i, dup2(kept[i], i));
        CHECK_IS(0, close(kept[i]));
    }
    CHECK(!low);
    CHECK_IS(0, leat_io_close(leat_process_in(process)));
    CHECK_IS(3, code_of(process));
    return leat_scope_close(scope);
}

static int keeps_out_of_the_standard_ones(void *arg)
{
    (void)arg;
    on_task_and_thread(capture_without_standard_ones);
    return 0;
}
ON_WORKERS(keeps_out_of_the_standard_ones);

static int captures_without_watches(void *arg)
{
    (void)arg;
    run_one(NULL); /* the reactor's own descriptors */
    atomic_store(&blind, true);
    on_task_and_thread(capture_blindly);
    atomic_store(&blind_error, ENOMEM);
    on_task_and_thread(capture_blindly);
    atomic_store(&blind_error, ENOSPC);
    atomic_store(&blind, false);
    CHECK(!has_children());
    return 0;
}
ON_WORKERS(captures_without_watches);

/* More than a pipe holds. */
static int capture_without_poll(void *arg)
{
    (void)arg;
    leat_captured captured;
    atomic_store(&no_poll, true);
    CHECK_IS(0, leat_capture(SHELL("echo abc; head -c 300000 /dev/zero >&2"), NULL, &captured,
                             SIZE_MAX, LEAT_NEVER));
    atomic_store(&no_poll, false);
    CHECK(strcmp(captured.out, "abc\n") == 0);
    CHECK_IS(300000, captured.err_size);
    return leat_captured_free(&captured);
}

static int captures_without_poll(void *arg)
{
    (void)arg;
    on_task_and_thread(capture_without_poll);
    return 0;
}
ON_WORKERS(captures_without_poll);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(bounds_what_it_keeps),
        TESTS_ON_WORKERS(ends_at_its_deadline),
        TESTS_ON_WORKERS(keeps_what_came_before_the_end),
        TESTS_ON_WORKERS(lets_go_of_a_held_pipe),
        TESTS_ON_WORKERS(runs_many_at_a_time),
        TESTS_ON_WORKERS(captures_without_watches),
        TESTS_ON_WORKERS(captures_without_poll),
        TESTS_ON_WORKERS(keeps_out_of_the_standard_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
