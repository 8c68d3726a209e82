/* test_process.c: programs that are started: how they start, talk and end. */
#define _GNU_SOURCE
#include "processes.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- starting ---- */

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_process *process = NULL;
    leat_captured captured;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const unsigned wrong[] = { 256, 1U << 31, LEAT_PIPE_IN | LEAT_NULL_IN,
                               LEAT_PIPE_ERR | LEAT_ERR_TO_OUT };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_IS(-EINVAL, leat_spawn(scope, ARGV("true"),
                                     &(leat_spawn_options){ .flags = wrong[i] }, &process));
    const leat_spawn_options options[] = { { .in = -1 },
                                           { .grace = -1 },
                                           { .out = 5, .flags = LEAT_PIPE_OUT },
                                           { .in = 5, .flags = LEAT_NULL_IN },
                                           { .err = 5, .flags = LEAT_ERR_TO_OUT } };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        CHECK_IS(-EINVAL, leat_spawn(scope, ARGV("true"), &options[i], &process));
    CHECK_IS(-EINVAL, leat_spawn(NULL, ARGV("true"), NULL, &process));
    CHECK_IS(-EINVAL, leat_spawn(scope, NULL, NULL, &process));
    CHECK_IS(-EINVAL, leat_spawn(scope, (const char *const[]){ NULL }, NULL, &process));
    CHECK_IS(-EINVAL, leat_spawn(scope, ARGV("true"), NULL, NULL));
    CHECK(!process);
    CHECK_IS(-EINVAL, leat_wait(NULL, NULL, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_kill(NULL, SIGTERM));
    CHECK_IS(-EINVAL, leat_kill_all(NULL, SIGTERM));
    CHECK_IS(-EINVAL, leat_process_id(NULL));
    CHECK(!leat_process_in(NULL) && !leat_process_out(NULL) && !leat_process_err(NULL));
    CHECK(!leat_process_ended(NULL));
    CHECK_IS(-EINVAL, leat_capture(ARGV("true"), NULL, NULL, 0, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_capture(ARGV("true"), NULL, &captured, 0, -1));
    CHECK_IS(-EAGAIN, leat_capture(ARGV("true"), NULL, &captured, 0, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_captured_free(NULL));
    return leat_scope_close(scope);
}
ON_WORKERS(refuses_wrong_arguments);

static int try_in_a_seeded_world(void *arg)
{
    (void)arg;
    const int signals[] = { SIGUSR1 };
    leat_process *process;
    leat_captured captured;
    leat_chan *ch;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-ENOTSUP, leat_spawn(scope, ARGV("true"), NULL, &process));
    CHECK_IS(-ENOTSUP, leat_capture(ARGV("true"), NULL, &captured, 10, LEAT_NEVER));
    CHECK_IS(-ENOTSUP, leat_signals(scope, signals, 1, &ch));
    return leat_scope_close(scope);
}

static void is_not_in_seeded_worlds(void **state)
{
    (void)state;
    CHECK_IS(0, leat_sim_each(0, 1, try_in_a_seeded_world, NULL));
}

static int try_to_start(void *arg)
{
    (void)arg;
    leat_process *process = NULL;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-ENOENT, leat_spawn(scope, ARGV("/no/such/program"), NULL, &process));
    CHECK_IS(-ENOENT, leat_spawn(scope, ARGV("no-such-program"), NULL, &process));
    CHECK_IS(-ENOENT, leat_spawn(scope, ARGV(""), NULL, &process));
    CHECK_IS(-EACCES, leat_spawn(scope, ARGV("/etc/passwd"), NULL, &process));
    CHECK_IS(-EACCES, leat_spawn(scope, ARGV("/etc"), NULL, &process));
    CHECK_IS(-ENOENT,
             leat_spawn(scope, ARGV("true"), &(leat_spawn_options){ .folder = "/no" }, &process));
    CHECK_IS(-EBADF,
             leat_spawn(scope, ARGV("true"), &(leat_spawn_options){ .out = 9999 }, &process));
    const char *const elsewhere[] = { "PATH=/no:/etc", NULL };
    leat_spawn_options options = { .environment = elsewhere };
    CHECK_IS(-EACCES, leat_spawn(scope, ARGV("passwd"), &options, &process));
    CHECK_IS(-ENOENT, leat_spawn(scope, ARGV("true"), &options, &process));
    CHECK(!process);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!has_children());
    return 0;
}

static int reports_a_failed_start(void *arg)
{
    (void)arg;
    on_task_and_thread(try_to_start);
    return 0;
}
ON_WORKERS(reports_a_failed_start);

static int refuses_too_many_bytes(void *arg)
{
    (void)arg;
    enum { MANY = 100, LONG = 100000 };
    static char text[LONG];
    const char *argv[MANY + 1] = { "true" };
    memset(text, 'x', LONG - 1);
    for (int i = 1; i < MANY; i++)
        argv[i] = text;
    leat_process *process;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-E2BIG, leat_spawn(scope, argv, NULL, &process));
    return leat_scope_close(scope);
}
ON_WORKERS(refuses_too_many_bytes);

static int end_as_asked(void *arg)
{
    (void)arg;
    leat_exit how;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, code_of(spawn(scope, ARGV("true"), NULL)));
    CHECK_IS(1, code_of(spawn(scope, ARGV("false"), NULL)));
    CHECK_IS(200, code_of(spawn(scope, SHELL("exit 200"), NULL)));
    CHECK_IS(SIGUSR1, signal_of(spawn(scope, SHELL("kill -USR1 $$"), NULL)));
    leat_process *process = spawn(scope, SHELL("exit 3"), NULL);
    WAIT_UNTIL(has_ended(leat_process_id(process)));
    for (int i = 0; i < 3; i++) {
        CHECK_IS(0, leat_wait(process, &how, LEAT_NEVER));
        CHECK_IS(3, how.code);
    }
    CHECK_IS(0, leat_wait(process, NULL, LEAT_NOW));
    CHECK_IS(-ESRCH, leat_kill(process, 0));
    CHECK_IS(-ESRCH, leat_kill(process, SIGKILL));
    CHECK_IS(-ESRCH, leat_kill_all(process, SIGKILL));
    CHECK(is_gone(leat_process_id(process)));
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static int reports_how_it_ended(void *arg)
{
    (void)arg;
    on_task_and_thread(end_as_asked);
    return 0;
}
ON_WORKERS(reports_how_it_ended);

static int wait_for_seven(void *process)
{
    CHECK_IS(7, code_of(process));
    return 0;
}

struct block_wait {
    leat_block block;
    leat_scope *scope;
    leat_process *process;
};

static int wait_as_block(leat_block *b)
{
    struct block_wait *me = (struct block_wait *)b;
    leat_exit how;
    LEAT_BEGIN(b);
    leat_process *none;
    CHECK_IS(-EDEADLK, leat_spawn(me->scope, ARGV("true"), NULL, &none));
    int error = leat_wait(me->process, NULL, LEAT_NEVER);
    CHECK(error == -EDEADLK || error == 0); /* it may have ended */
    LEAT_AWAIT_RECV(b, leat_process_ended(me->process), NULL);
    CHECK_IS(0, leat_wait(me->process, &how, LEAT_NOW));
    CHECK_IS(7, how.code);
    LEAT_END(b);
}

static int wakes_all_that_wait(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope, SHELL("read x; exit 7"), &(leat_spawn_options){ .flags = LEAT_PIPE_IN });
    CHECK_IS(-ETIMEDOUT, leat_wait(process, NULL, leat_after(LEAT_MS)));
    CHECK_IS(-EAGAIN, leat_wait(process, NULL, LEAT_NOW));
    struct block_wait block = { .scope = scope, .process = process };
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < 2 * KINDS; i++)
        crew_go(&crew, kind_of(i), wait_for_seven, process);
    CHECK_IS(0, leat_go_block(scope, &block.block, wait_as_block));
    CHECK_IS(0, leat_kill(process, 0));
    CHECK_IS(1, leat_write(leat_process_in(process), "\n", 1));
    crew_close(&crew);
    CHECK_IS(-EPERM, leat_close(leat_process_ended(process)));
    return leat_scope_close(scope);
}
ON_WORKERS(wakes_all_that_wait);

static int is_not_over_when_stopped(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process = spawn(scope, ARGV("sleep", "100"), NULL);
    CHECK_IS(0, leat_kill(process, SIGSTOP));
    CHECK_IS(-ETIMEDOUT, leat_wait(process, NULL, leat_after(20 * LEAT_MS)));
    CHECK_IS(0, leat_kill(process, SIGCONT));
    CHECK_IS(-ETIMEDOUT, leat_wait(process, NULL, leat_after(20 * LEAT_MS)));
    CHECK_IS(-EINVAL, leat_kill(process, 1000));
    CHECK_IS(0, leat_kill(process, SIGSTOP));
    CHECK_IS(0, leat_kill(process, SIGKILL));
    CHECK_IS(SIGKILL, signal_of(process));
    return leat_scope_close(scope);
}
ON_WORKERS(is_not_over_when_stopped);

/* ---- descriptors ---- */

enum { MEGABYTE = 1 << 20 };

static int feed(void *process)
{
    char *bytes = malloc(MEGABYTE);
    for (size_t i = 0; i < MEGABYTE; i++)
        bytes[i] = (char)(i * i >> 7);
    CHECK_IS(MEGABYTE, leat_write(leat_process_in(process), bytes, MEGABYTE));
    CHECK_IS(0, leat_io_close(leat_process_in(process)));
    free(bytes);
    return 0;
}

static int pass_a_megabyte(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *cat =
        spawn(scope, ARGV("cat"), &(leat_spawn_options){ .flags = LEAT_PIPE_IN | LEAT_PIPE_OUT });
    CHECK_IS(0, leat_go(scope, feed, cat));
    char *bytes = malloc(MEGABYTE + 1);
    CHECK_IS(MEGABYTE, leat_read_full(leat_process_out(cat), bytes, MEGABYTE + 1, LEAT_NEVER));
    for (size_t i = 0; i < MEGABYTE; i++)
        CHECK(bytes[i] == (char)(i * i >> 7));
    free(bytes);
    CHECK_IS(0, code_of(cat));
    CHECK(!leat_process_err(cat));
    return leat_scope_close(scope);
}

static int passes_bytes(void *arg)
{
    (void)arg;
    on_task_and_thread(pass_a_megabyte);
    return 0;
}
ON_WORKERS(passes_bytes);

static int gives_what_was_asked_for(void *arg)
{
    (void)arg;
    const char *const environment[] = { "PATH=/usr/bin:/bin", "A=b c", NULL };
    check_output("A=b c\n", SHELL("env | grep ^A="),
                 &(leat_spawn_options){ .environment = environment });
    check_output("/etc\n", ARGV("pwd"), &(leat_spawn_options){ .folder = "/etc" });
    check_output("", ARGV("cat"), &(leat_spawn_options){ .flags = LEAT_NULL_IN });
    check_output("1\n2\n3\n", SHELL("echo 1; echo 2 >&2; echo 3"),
                 &(leat_spawn_options){ .flags = LEAT_ERR_TO_OUT });
    int ends[2];
    CHECK_IS(0, pipe(ends));
    CHECK_IS(3, write(ends[1], "xyz", 3));
    CHECK_IS(0, close(ends[1]));
    check_output("xyz", ARGV("cat"), &(leat_spawn_options){ .in = ends[0] });
    CHECK_IS(0, close(ends[0]));
    return 0;
}
ON_WORKERS(gives_what_was_asked_for);

static int connects_two_programs(void *arg)
{
    (void)arg;
    int ends[2];
    char text[16] = { 0 };
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *first =
        spawn(scope, SHELL("echo b; echo a"), &(leat_spawn_options){ .out = ends[1] });
    leat_process *second =
        spawn(scope, ARGV("sort"), &(leat_spawn_options){ .in = ends[0], .flags = LEAT_PIPE_OUT });
    CHECK_IS(0, close(ends[0]));
    CHECK_IS(0, close(ends[1]));
    CHECK_IS(4, leat_read_full(leat_process_out(second), text, sizeof text, LEAT_NEVER));
    CHECK(strcmp(text, "a\nb\n") == 0);
    CHECK_IS(0, code_of(first));
    CHECK_IS(0, code_of(second));
    return leat_scope_close(scope);
}
ON_WORKERS(connects_two_programs);

/* The program itself opens the folder. */
static int leaks_no_descriptor(void *arg)
{
    (void)arg;
    int extra = open("/dev/null", O_RDONLY);
    CHECK(extra > 2);
    leat_spawn_options options = { .flags = LEAT_NULL_IN };
    check_output("0\n1\n2\n3\n", ARGV("ls", "/proc/self/fd"), &options);
    leat_captured captured;
    char number[16];
    options.flags |= LEAT_INHERIT;
    snprintf(number, sizeof number, "\n%d\n", extra);
    CHECK_IS(0, leat_capture(ARGV("ls", "/proc/self/fd"), &options, &captured, 1000, LEAT_NEVER));
    CHECK(strstr(captured.out, number));
    CHECK_IS(0, leat_captured_free(&captured));
    CHECK_IS(0, close(extra));
    return 0;
}
ON_WORKERS(leaks_no_descriptor);

/* ---- what it inherits ---- */

static uint64_t field_of(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    CHECK(at);
    return strtoull(at + strlen(name), NULL, 16);
}

static int has_plain_signals(void *arg)
{
    (void)arg;
    leat_captured captured;
    CHECK_IS(0, leat_capture(ARGV("cat", "/proc/self/status"), NULL, &captured, 10000, LEAT_NEVER));
    CHECK_IS(0, field_of(captured.out, "SigBlk:"));
    CHECK_IS(0, field_of(captured.out, "SigIgn:"));
    CHECK_IS(0, field_of(captured.out, "SigCgt:"));
    CHECK_IS(0, leat_captured_free(&captured));
    return 0;
}

static int inherits_no_signals(void *arg)
{
    (void)arg;
    if (getenv("LEAT_EMULATED"))
        return 0; /* the emulator has its own handlers */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN), (*usr)(int) = signal(SIGUSR2, SIG_IGN);
    on_task_and_thread(has_plain_signals);
    signal(SIGPIPE, before);
    signal(SIGUSR2, usr);
    return 0;
}
ON_WORKERS(inherits_no_signals);

static pid_t group_of(unsigned flags)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope, ARGV("cat"), &(leat_spawn_options){ .flags = flags | LEAT_PIPE_IN });
    pid_t group = getpgid(leat_process_id(process));
    CHECK_IS(group == leat_process_id(process), !(flags & LEAT_NO_GROUP));
    CHECK_IS(0, leat_kill_all(process, SIGTERM));
    CHECK_IS(SIGTERM, signal_of(process));
    CHECK_IS(0, leat_scope_close(scope));
    return group;
}

static int has_a_group(void *arg)
{
    (void)arg;
    CHECK(group_of(0) != getpgid(0));
    CHECK_IS(getpgid(0), group_of(LEAT_NO_GROUP));
    return 0;
}
ON_WORKERS(has_a_group);

/* As after clearenv. */
static int start_without_environment(void *arg)
{
    (void)arg;
    char **before = environ;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    environ = NULL;
    leat_process *process = spawn(scope, ARGV("true"), NULL);
    environ = before;
    CHECK_IS(0, leat_wait(process, NULL, LEAT_NEVER));
    return leat_scope_close(scope);
}

static int starts_without_environment(void *arg)
{
    (void)arg;
    on_task_and_thread(start_without_environment);
    return 0;
}
ON_WORKERS(starts_without_environment);

/* The pipe itself is empty. */
static int attend_to_what_came_back(void *arg)
{
    (void)arg;
    static const char bytes[10000];
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT | LEAT_ATTENDED };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process = spawn(scope, SHELL("echo hello; exec sleep 100"), &options);
    leat_io *out = leat_process_out(process), *full[2];
    char text[8] = { 0 };
    CHECK_IS(0, leat_io_pair(scope, full));
    while (leat_write_until(full[0], bytes, sizeof bytes, LEAT_NOW) > 0)
        continue;
    CHECK_IS(LEAT_PIPE_OUT, leat_attend(process, LEAT_PIPE_OUT, LEAT_NEVER));
    CHECK_IS(-EAGAIN, leat_copy(full[0], out, INT64_MAX, LEAT_NOW));
    CHECK_IS(LEAT_PIPE_OUT, leat_attend(process, LEAT_PIPE_OUT, leat_after(10 * LEAT_S)));
    CHECK_IS(6, leat_read_until(out, text, sizeof text, LEAT_NOW));
    CHECK_IS(0, leat_kill(process, SIGKILL));
    CHECK_IS(SIGKILL, signal_of(process));
    return leat_scope_close(scope);
}

static int attends_to_what_came_back(void *arg)
{
    (void)arg;
    on_task_and_thread(attend_to_what_came_back);
    return 0;
}
ON_WORKERS(attends_to_what_came_back);

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* On one worker: beside another task, a yield lets the scheduler look at its descriptors. It puts
 * the warden behind this task, so the warden knows that the leader has ended, and has not run. */
static int end_before_the_warden(void *arg)
{
    const leat_spawn_options options = { .flags = LEAT_PIPE_IN | LEAT_PIPE_OUT,
                                         .grace = 3600 * LEAT_S };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope,
              SHELL("(trap 'sleep 0.05; echo late; exit' TERM; exec 2>/dev/null; echo;"
                    " while :; do sleep 0.01; done) & read line"),
              &options);
    leat_io *out = leat_process_out(process);
    char text[8] = { 0 };
    (void)arg;
    CHECK_IS(1, leat_read(out, text, 1));
    leat_io_close(leat_process_in(process));
    while (!has_ended(leat_process_id(process))) {
    }
    CHECK_IS(0, leat_go(scope, nothing, NULL));
    leat_yield();
    int error = leat_process_end(process, SIGTERM);
    if (error) { /* too late: the child lives on */
        CHECK_IS(-ESRCH, error);
        CHECK_IS(0, kill(-leat_process_id(process), SIGTERM));
    }
    CHECK_IS(5, leat_read_until(out, text, sizeof text, leat_after(10 * LEAT_S)));
    CHECK(strcmp(text, "late\n") == 0);
    CHECK_IS(0, leat_wait(process, NULL, LEAT_NEVER));
    return leat_scope_close(scope);
}

static void ends_the_group_of_one_that_has_ended(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        run_on(1, end_before_the_warden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        cmocka_unit_test(is_not_in_seeded_worlds),
        TESTS_ON_WORKERS(reports_a_failed_start),
        TESTS_ON_WORKERS(refuses_too_many_bytes),
        TESTS_ON_WORKERS(reports_how_it_ended),
        TESTS_ON_WORKERS(wakes_all_that_wait),
        TESTS_ON_WORKERS(is_not_over_when_stopped),
        TESTS_ON_WORKERS(passes_bytes),
        TESTS_ON_WORKERS(attends_to_what_came_back),
        TESTS_ON_WORKERS(gives_what_was_asked_for),
        TESTS_ON_WORKERS(connects_two_programs),
        TESTS_ON_WORKERS(leaks_no_descriptor),
        TESTS_ON_WORKERS(inherits_no_signals),
        TESTS_ON_WORKERS(has_a_group),
        TESTS_ON_WORKERS(starts_without_environment),
        cmocka_unit_test(ends_the_group_of_one_that_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
