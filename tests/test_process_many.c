/* test_process_many.c: very many processes, one after the other and at once; very much output for a
 * slow reader; starts that fail; processes that run while the runtime is to stop; and a program
 * that is killed while it starts others. */
#define _GNU_SOURCE
#include "processes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

/* 10,000 in a long run. */
static int children(void)
{
    return (in_long_run() ? 10000 : 1000) / (SCALE > 1 ? 4 : 1);
}

/* ---- one after the other ---- */

struct work {
    _Atomic int left;
};

static int run_many(void *arg)
{
    struct work *work = arg;
    for (int i; (i = atomic_fetch_sub(&work->left, 1)) > 0;) {
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        leat_process *process = spawn(scope, i % 2 ? ARGV("true") : ARGV("false"), NULL);
        CHECK_IS(!(i % 2), code_of(process));
        CHECK(is_gone(leat_process_id(process)));
        CHECK_IS(0, leat_scope_close(scope));
    }
    return 0;
}

static int many_come_and_go(void *arg)
{
    (void)arg;
    struct work work = { 8 };
    enum { LANES = 8 };
    int before = 0;
    for (int round = 0; round < 2; round++) {
        struct crew crew;
        crew_open(&crew);
        for (int i = 0; i < LANES; i++)
            crew_go(&crew, i == LANES - 1 ? FOREIGN : TASK, run_many, &work);
        crew_close(&crew);
        before = round ? before : open_descriptors();
        atomic_store(&work.left, children() / 3);
    }
    CHECK_IS(before, open_descriptors());
    CHECK(!has_children());
    return 0;
}
ON_WORKERS(many_come_and_go);

/* ---- at once ---- */

static int many_end_at_once(void *arg)
{
    (void)arg;
    enum { AT_ONCE = SCALE > 1 ? 50 : 200 };
    leat_process *processes[AT_ONCE];
    pid_t pids[AT_ONCE];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < AT_ONCE; i++) {
        processes[i] = spawn(scope, ARGV("sleep", "1000"), NULL);
        pids[i] = leat_process_id(processes[i]);
        CHECK_IS(0, leat_kill(processes[i], 0));
    }
    CHECK_IS(0, leat_scope_cancel(scope));
    CHECK_IS(0, leat_scope_close(scope));
    for (int i = 0; i < AT_ONCE; i++)
        CHECK(is_gone(pids[i]));
    CHECK(!has_children());
    return 0;
}
ON_WORKERS(many_end_at_once);

/* ---- much output, read slowly ---- */

static const char line[] = "abcdefg\n";

enum { LINE = sizeof line - 1, BLOCK = 64 * 1024, MORE_MEMORY = 4 << 20 };

/* A gigabyte in a long run. The writer is held up by the pipe, and what has been read is gone:
 * memory does not grow. Each byte is in its place. */
static int much_is_read_slowly(void *arg)
{
    (void)arg;
    int64_t total = (in_long_run() ? INT64_C(1000000000) : INT64_C(100000000)) / SCALE, got = 0, n;
    char script[64], *bytes = malloc(BLOCK), *expected = malloc(BLOCK + LINE);
    for (size_t i = 0; i < BLOCK + LINE; i++)
        expected[i] = line[i % LINE];
    memset(bytes, 0, BLOCK);
    snprintf(script, sizeof script, "yes abcdefg | head -c %lld", (long long)total);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope, SHELL(script), &(leat_spawn_options){ .flags = LEAT_PIPE_OUT });
    int64_t before = 0, most = 0;
    for (int i = 0; (n = leat_read(leat_process_out(process), bytes, BLOCK)) > 0; i++) {
        CHECK(memcmp(bytes, expected + got % LINE, (size_t)n) == 0);
        got += n;
        if (i % 256 != 0)
            continue;
        CHECK_IS(0, leat_sleep(LEAT_MS));
        int64_t now = resident();
        before = before ? before : now;
        most = now > most ? now : most;
    }
    CHECK_IS(0, n);
    CHECK_IS(total, got);
    CHECK_IS(0, code_of(process));
    if (SCALE == 1)
        CHECK(most - before < MORE_MEMORY);
    free(bytes);
    free(expected);
    return leat_scope_close(scope);
}
ON_WORKERS(much_is_read_slowly);

/* ---- several, in order, for a slow reader ---- */

enum { JOBS = 24, LINES = 20000 };

static int run_job(void *arg, const void *in, void *out)
{
    (void)arg;
    char from[16], to[16];
    leat_captured *captured = out;
    snprintf(from, sizeof from, "%d", *(const int *)in * LINES + 1000001);
    snprintf(to, sizeof to, "%d", (*(const int *)in + 1) * LINES + 1000000);
    CHECK_IS(0, leat_capture(ARGV("seq", from, to), NULL, captured, 1 << 20, LEAT_NEVER));
    return 0;
}

/* At most three results and those that are being made are there at a time: the stage waits for its
 * reader. */
static int outputs_come_in_order(void *arg)
{
    (void)arg;
    int jobs[JOBS], number = 1000001;
    for (int i = 0; i < JOBS; i++)
        jobs[i] = i;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *list = leat_to_chan(scope, jobs, sizeof *jobs, JOBS, NULL);
    leat_chan *results = leat_pipeline(
        scope, list,
        &(leat_pipeline_spec){ .n = 3, .run = run_job, .out_size = sizeof(leat_captured) });
    int64_t before = 0, most = 0;
    leat_captured got;
    for (int i = 0; leat_recv(results, &got) == 0; i++) {
        CHECK_IS(LINES * 8, got.out_size);
        for (size_t at = 0; at < got.out_size; at += 8, number++)
            CHECK_IS(number, atoi(got.out + at));
        CHECK_IS(0, leat_captured_free(&got));
        CHECK_IS(0, leat_sleep(2 * LEAT_MS)); /* the jobs are faster */
        int64_t now = resident();
        before = i == 6 ? now : before;
        most = now > most ? now : most;
    }
    CHECK_IS(1000001 + JOBS * LINES, number);
    if (SCALE == 1)
        CHECK(most - before < MORE_MEMORY);
    return leat_scope_close(scope);
}
ON_WORKERS(outputs_come_in_order);

/* ---- starts that fail ---- */

/* With `more` descriptors to spare: whether the program is started. */
static bool starts_with(int more, int out)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct rlimit before, few;
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &before));
    int next = dup(0);
    few = before;
    few.rlim_cur = (rlim_t)(next + more);
    close(next);
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &few));
    leat_process *process;
    int error = leat_spawn(scope, ARGV("echo"), &(leat_spawn_options){ .out = out }, &process);
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &before));
    CHECK(error == 0 || error == -EMFILE);
    if (!error)
        CHECK_IS(0, code_of(process));
    CHECK_IS(0, leat_scope_close(scope));
    return !error;
}

/* A caller whose start has failed may try again: so the program must not have run. */
static int what_fails_to_start_does_not_run(void *arg)
{
    (void)arg;
    int out = open("/tmp", O_TMPFILE | O_WRONLY | O_APPEND, 0600), started = 1;
    CHECK(out >= 0);
    CHECK(starts_with(100, out)); /* the reactors' own descriptors come with the first */
    for (int i = 0; i < often(400) + 10; i++)
        started += starts_with(i % 10, out);
    CHECK(started > 1);
    CHECK_IS(started, lseek(out, 0, SEEK_END));
    close(out);
    return 0;
}
ON_WORKERS(what_fails_to_start_does_not_run);

/* ---- the runtime is to stop ---- */

/* leat_stop does not wait for processes: their scope is open, and it says so. When the scope is
 * closed, no process is left. */
static void does_not_stop_before_them(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        pid_t pids[4];
        CHECK_IS(0, leat_start(&(leat_options){ .workers = workers }));
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        for (int i = 0; i < 4; i++) {
            leat_process *process = spawn(scope, ARGV("sleep", "1000"), NULL);
            pids[i] = leat_process_id(process);
        }
        for (int i = 0; i < 3; i++)
            CHECK_IS(-EBUSY, leat_stop());
        for (int i = 0; i < 4; i++)
            CHECK(!has_ended(pids[i]));
        CHECK_IS(0, leat_scope_cancel(scope));
        CHECK_IS(-EBUSY, leat_stop());
        CHECK_IS(0, leat_scope_close(scope));
        for (int i = 0; i < 4; i++)
            CHECK(is_gone(pids[i]));
        CHECK(!has_children());
        CHECK_IS(0, leat_stop());
    }
}

/* ---- a program that is killed while it starts others ---- */

static int start_for_ever(void *begun)
{
    static struct work work = { INT32_MAX };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 8; i++)
        CHECK_IS(0, leat_go(scope, run_many, &work));
    CHECK_IS(1, write(*(int *)begun, "", 1));
    return leat_scope_close(scope);
}

/* Where a start forks, the child waits until its parent lets it go on: no such child may stay. Each
 * has the writing end of the pipe; a program that it has become does not. */
static void leaves_no_child_when_killed(void **state)
{
    (void)state;
    skip_under_emulation();
    for (int round = 0; round < 20; round++) {
        int ends[2];
        char byte;
        CHECK_IS(0, pipe(ends));
        pid_t parent = fork();
        CHECK(parent >= 0);
        if (parent == 0) {
            leat_main_with(start_for_ever, &ends[1], &(leat_options){ .workers = 2 });
            _exit(0);
        }
        close(ends[1]);
        CHECK_IS(1, read(ends[0], &byte, 1));
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 + 1000000 * round }, NULL);
        CHECK_IS(0, kill(parent, SIGKILL));
        CHECK_IS(parent, waitpid(parent, NULL, 0));
        CHECK_IS(1, poll(&(struct pollfd){ .fd = ends[0], .events = POLLIN }, 1, 20000));
        CHECK_IS(0, read(ends[0], &byte, 1));
        close(ends[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(many_come_and_go),
        TESTS_ON_WORKERS(many_end_at_once),
        TESTS_ON_WORKERS(much_is_read_slowly),
        TESTS_ON_WORKERS(outputs_come_in_order),
        TESTS_ON_WORKERS(what_fails_to_start_does_not_run),
        cmocka_unit_test(does_not_stop_before_them),
        cmocka_unit_test(leaves_no_child_when_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
