/* test_process_end.c: processes whose scope is cancelled, and whose status others take. */
#define _GNU_SOURCE
#include "processes.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* ---- cancelling ---- */

/* Of an orphan, init takes the status when it likes. */
static bool is_dead(pid_t pid)
{
    char path[32], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return true;
    CHECK_IS(1, fscanf(file, "%*d (%*[^)]) %c", &state));
    fclose(file);
    return state == 'Z' || state == 'X';
}

static bool is_sleep(pid_t pid)
{
    char path[32], name[16] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    bool read = file && fgets(name, sizeof name, file);
    CHECK(!file || fclose(file) == 0);
    return read && strcmp(name, "sleep\n") == 0;
}

/* Reads a number that a program writes. */
static pid_t read_pid(leat_process *process)
{
    char text[32] = { 0 };
    size_t n = 0;
    while (!n || text[n - 1] != '\n') {
        CHECK(n < sizeof text - 1);
        CHECK_IS(1, leat_read(leat_process_out(process), &text[n++], 1));
    }
    return (pid_t)atoi(text);
}

/* The grace is so long that only SIGTERM can have ended them. */
static int end_by_cancelling(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT, .grace = 3600 * LEAT_S };
    pid_t sleeper = leat_process_id(spawn(scope, ARGV("sleep", "1000"), &options));
    leat_process *shell = spawn(scope, SHELL("sleep 1000 & echo $!; wait"), &options);
    leat_process *stopped = spawn(scope, ARGV("sleep", "1000"), &options);
    pid_t pids[] = { sleeper, leat_process_id(shell), read_pid(shell), leat_process_id(stopped) };
    CHECK_IS(0, leat_kill(stopped, SIGSTOP));
    CHECK_IS(0, leat_scope_cancel(scope));
    CHECK_IS(-ECANCELED, leat_spawn(scope, ARGV("true"), NULL, &stopped));
    CHECK_IS(0, leat_scope_close(scope));
    for (size_t i = 0; i < sizeof pids / sizeof *pids; i++)
        WAIT_UNTIL(is_dead(pids[i]));
    CHECK(!has_children());
    CHECK(is_gone(sleeper));
    return 0;
}

static int leaves_nothing_when_cancelled(void *arg)
{
    (void)arg;
    on_task_and_thread(end_by_cancelling);
    return 0;
}
ON_WORKERS(leaves_nothing_when_cancelled);

static _Atomic bool is_held, may_go;

static void hold(int signal)
{
    (void)signal;
    is_held = true;
    while (!may_go)
        sched_yield();
}

struct waiting {
    leat_scope *scope;
    leat_process *process;
    _Atomic bool began;
};

static int wait_for_it(void *arg)
{
    struct waiting *me = arg;
    sigset_t all;
    sigfillset(&all);
    CHECK_IS(0, pthread_sigmask(SIG_UNBLOCK, &all, NULL)); /* it has a worker's mask */
    me->scope = leat_scope_open(LEAT_NEVER);
    me->process = spawn(me->scope, ARGV("sleep", "100"), NULL);
    me->began = true;
    int error = leat_wait(me->process, NULL, LEAT_NEVER);
    CHECK_IS(0, leat_scope_close(me->scope));
    return error;
}

/* The process has ended before the thread sees the cancel that has ended it. */
static int a_cancel_is_no_result(void *arg)
{
    (void)arg;
    struct foreign thread;
    struct waiting waiting = { .began = false };
    is_held = may_go = false;
    void (*before)(int) = signal(SIGUSR1, hold);
    foreign_start(&thread, wait_for_it, &waiting);
    WAIT_UNTIL(waiting.began);
    leat_chan *ended = leat_process_ended(waiting.process);
    WAIT_UNTIL(receivers_of(ended) == 1);
    CHECK_IS(0, pthread_kill(thread.thread, SIGUSR1));
    WAIT_UNTIL(is_held);
    CHECK_IS(0, leat_scope_cancel(waiting.scope));
    CHECK_IS(0, leat_recv(ended, NULL));
    may_go = true;
    CHECK_IS(-ECANCELED, foreign_join(&thread));
    signal(SIGUSR1, before);
    return 0;
}
ON_WORKERS(a_cancel_is_no_result);

static int kills_what_ignores_sigterm(void *arg)
{
    (void)arg;
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT, .grace = 30 * LEAT_MS };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope, SHELL("trap '' TERM; sleep 100 & echo $!; while :; do wait; done"), &options);
    pid_t child = read_pid(process), pid = leat_process_id(process);
    int64_t start = leat_now();
    CHECK_IS(0, leat_scope_cancel(scope));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(leat_now() - start >= 30 * LEAT_MS);
    CHECK(is_gone(pid));
    WAIT_UNTIL(is_dead(child));
    return 0;
}
ON_WORKERS(kills_what_ignores_sigterm);

/* The scope stays open, and so do other processes of it. */
static int end_alone(void *arg)
{
    (void)arg;
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT, .grace = 3600 * LEAT_S };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_exit how;
    leat_process *other = spawn(scope, ARGV("sleep", "100"), NULL);
    leat_process *process =
        spawn(scope, SHELL("trap 'exit 7' HUP; sleep 100 & echo $!; wait"), &options);
    pid_t child = read_pid(process);
    WAIT_UNTIL(is_sleep(child)); /* before, it might take the signal as the shell does */
    CHECK_IS(0, leat_kill(process, SIGSTOP));
    CHECK_IS(-EINVAL, leat_process_end(NULL, SIGHUP));
    CHECK_IS(-EINVAL, leat_process_end(process, 0));
    CHECK_IS(-EINVAL, leat_process_end(process, 1000));
    CHECK_IS(0, leat_process_end(process, SIGHUP));
    CHECK_IS(0, leat_wait(process, &how, LEAT_NEVER));
    CHECK_IS(7, how.code);
    WAIT_UNTIL(is_dead(child));
    CHECK_IS(-ESRCH, leat_process_end(process, SIGHUP));
    CHECK_IS(0, leat_kill(other, 0));
    CHECK_IS(0, leat_process_end(other, SIGKILL));
    CHECK_IS(SIGKILL, signal_of(other));
    return leat_scope_close(scope);
}

static int ends_one_process(void *arg)
{
    (void)arg;
    on_task_and_thread(end_alone);
    return 0;
}
ON_WORKERS(ends_one_process);

static int kills_what_ignores_the_end(void *arg)
{
    (void)arg;
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT, .grace = 30 * LEAT_MS };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope, SHELL("trap '' HUP; sleep 100 & echo $!; while :; do wait; done"), &options);
    pid_t child = read_pid(process);
    int64_t start = leat_now();
    CHECK_IS(0, leat_process_end(process, SIGHUP));
    int again = leat_process_end(process, SIGHUP);
    CHECK(again == 0 || again == -ESRCH); /* the grace may be over */
    CHECK_IS(SIGKILL, signal_of(process));
    CHECK(leat_now() - start >= 30 * LEAT_MS);
    WAIT_UNTIL(is_dead(child));
    return leat_scope_close(scope);
}
ON_WORKERS(kills_what_ignores_the_end);

/* ---- the rest of the group ---- */

/* The leader's end is noticed by the reactor, or by a thread that attends to it. `body` gets a
 * pointer to the flag. */
static int in_both_ways(leat_fn *body)
{
    static unsigned none, attended = LEAT_ATTENDED;
    struct foreign foreign;
    CHECK_IS(0, body(&none));
    foreign_start(&foreign, body, &attended);
    CHECK_IS(0, foreign_join(&foreign));
    return 0;
}

/* The process itself dies of SIGTERM at once; another one of its group has something to do. */
static int let_a_group_finish(void *arg)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT | *(unsigned *)arg,
                                         .grace = LEAT_NEVER };
    leat_process *process =
        spawn(scope,
              SHELL("(trap 'sleep 0.1; echo late; exit' TERM; exec 2>/dev/null; echo 0;"
                    " while :; do sleep 0.01; done) & exec sleep 100"),
              &options);
    char late[8] = { 0 };
    read_pid(process);
    CHECK_IS(0, leat_process_end(process, SIGTERM));
    CHECK_IS(SIGTERM, signal_of(process));
    CHECK_IS(5, leat_read(leat_process_out(process), late, sizeof late));
    CHECK(strcmp(late, "late\n") == 0);
    return leat_scope_close(scope);
}

static int kill_a_deaf_group(void *arg)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT | *(unsigned *)arg,
                                         .grace = 30 * LEAT_MS };
    leat_process *process =
        spawn(scope, SHELL("(trap '' TERM; exec sh -c 'echo $$; exec sleep 100') & exec sleep 100"),
              &options);
    pid_t deaf = read_pid(process);
    int64_t start = leat_now();
    CHECK_IS(0, leat_process_end(process, SIGTERM));
    CHECK_IS(SIGTERM, signal_of(process));
    CHECK(leat_now() - start >= 30 * LEAT_MS);
    WAIT_UNTIL(is_dead(deaf));
    return leat_scope_close(scope);
}

static int late_words = -1;

static void end_late(int signal)
{
    (void)signal;
    usleep(100000);
    _exit(write(late_words, "late", 4) != 4);
}

static int go_on(void *arg)
{
    for (;;)
        pause();
    return arg != NULL;
}

/* In a forked process: only a second thread goes on. */
static void leave_to_a_thread(void)
{
    static _Alignas(16) char stack[64 * 1024];
    enum { THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD };
    sigset_t none;
    sigemptyset(&none);
    signal(SIGTERM, end_late);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    if (clone(go_on, stack + sizeof stack, THREAD, NULL) < 0)
        _exit(1);
    syscall(SYS_exit, 0);
}

/* /proc calls a process whose first thread has ended a zombie. */
static int let_a_thread_finish(void *arg)
{
    int ends[2], status;
    char late[4];
    if (UNDER_TSAN || getenv("LEAT_EMULATED"))
        return 0; /* not made for a fork beside threads */
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = *(unsigned *)arg, .grace = 3600 * LEAT_S };
    leat_process *process = spawn(scope, ARGV("sleep", "100"), &options);
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    late_words = ends[1];
    pid_t follower = fork();
    CHECK(follower >= 0);
    if (follower == 0)
        leave_to_a_thread();
    close(ends[1]);
    CHECK_IS(0, setpgid(follower, leat_process_id(process)));
    WAIT_UNTIL(is_dead(follower));
    CHECK_IS(0, leat_process_end(process, SIGTERM));
    CHECK_IS(SIGTERM, signal_of(process));
    CHECK_IS(4, read(ends[0], late, sizeof late));
    close(ends[0]);
    CHECK_IS(follower, waitpid(follower, &status, 0));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return leat_scope_close(scope);
}

/* Its parent, in its own session, never takes its status: no shell is left that might. */
static int pass_by_a_zombie(void *arg)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT | *(unsigned *)arg,
                                         .grace = 3600 * LEAT_S };
    leat_process *process =
        spawn(scope,
              SHELL("(sh -c 'echo $$; exec sleep 100' & exec setsid sh -c 'echo $$; exec sleep "
                    "100') & exec sleep 100"),
              &options);
    pid_t one = read_pid(process), other = read_pid(process);
    pid_t zombie = getpgid(one) == leat_process_id(process) ? one : other;
    WAIT_UNTIL(is_sleep(one) && is_sleep(other));
    CHECK_IS(0, kill(zombie, SIGKILL));
    WAIT_UNTIL(is_dead(zombie));
    CHECK_IS(0, leat_process_end(process, SIGTERM));
    CHECK_IS(SIGTERM, signal_of(process));
    CHECK_IS(0, kill(zombie == one ? other : one, SIGKILL));
    return leat_scope_close(scope);
}

static int end_groups(void *flags)
{
    CHECK_IS(0, let_a_group_finish(flags));
    CHECK_IS(0, let_a_thread_finish(flags));
    CHECK_IS(0, kill_a_deaf_group(flags));
    return pass_by_a_zombie(flags);
}

static int gives_the_group_its_grace(void *arg)
{
    (void)arg;
    return in_both_ways(end_groups);
}
ON_WORKERS(gives_the_group_its_grace);

/* As leat/process.h says: only what stays in the group. */
static int does_not_reach_another_session(void *arg)
{
    (void)arg;
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope, SHELL("setsid sh -c 'echo $$; exec sleep 100' & wait"), &options);
    pid_t escaped = read_pid(process);
    CHECK_IS(0, leat_scope_cancel(scope));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!is_gone(escaped));
    CHECK_IS(0, kill(escaped, SIGKILL));
    return 0;
}
ON_WORKERS(does_not_reach_another_session);

/* The process itself stays in reach: else the close would wait for it without end. */
static int end_what_left_its_group(void *arg)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT | *(unsigned *)arg,
                                         .grace = 30 * LEAT_MS };
    for (int deaf = 0; deaf < 2; deaf++) {
        leat_process *process =
            spawn(scope,
                  ARGV("perl", "-e",
                       "$SIG{TERM} = 'IGNORE' if shift; setpgrp(0, getpgrp(getppid)) or die;"
                       "$| = 1; print \"$$\\n\"; sleep 100",
                       deaf ? "1" : "0"),
                  &options);
        CHECK_IS(leat_process_id(process), read_pid(process));
        CHECK_IS(0, leat_kill_all(process, 0));
        CHECK_IS(0, leat_process_end(process, SIGTERM));
        CHECK_IS(deaf ? SIGKILL : SIGTERM, signal_of(process));
    }
    return leat_scope_close(scope);
}

static int ends_what_left_its_group(void *arg)
{
    (void)arg;
    return in_both_ways(end_what_left_its_group);
}
ON_WORKERS(ends_what_left_its_group);

/* Nothing can be read in /proc, and the grace goes on. poll(2) takes no more entries than this. */
static int let_a_group_finish_without_descriptors(void *flags)
{
    struct rlimit before, none;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_PIPE_OUT | *(unsigned *)flags,
                                         .grace = 3600 * LEAT_S };
    leat_process *process =
        spawn(scope,
              SHELL("(trap 'sleep 0.1; echo late; exit' TERM; exec 2>/dev/null; echo 0;"
                    " while :; do sleep 0.01; done) & exec sleep 100"),
              &options);
    char late[8] = { 0 };
    read_pid(process);
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &before));
    int lowest = dup(STDIN_FILENO);
    none = (struct rlimit){ (rlim_t)(lowest < 4 ? lowest : 4), before.rlim_max };
    CHECK_IS(0, close(lowest));
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &none));
    CHECK_IS(0, leat_process_end(process, SIGTERM));
    CHECK_IS(LEAT_PIPE_OUT, leat_attend(process, LEAT_PIPE_OUT, LEAT_NEVER));
    CHECK_IS(5, leat_read(leat_process_out(process), late, sizeof late));
    CHECK(strcmp(late, "late\n") == 0);
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &before));
    CHECK_IS(SIGTERM, signal_of(process));
    return leat_scope_close(scope);
}

static int gives_the_grace_without_descriptors(void *arg)
{
    (void)arg;
    return in_both_ways(let_a_group_finish_without_descriptors);
}
ON_WORKERS(gives_the_grace_without_descriptors);

static int cancels_at_any_moment(void *arg)
{
    (void)arg;
    for (int i = 0; i < often(200) + 10; i++) {
        leat_scope *scope = leat_scope_open(leat_after(i * 20 * LEAT_US));
        leat_process *process;
        int error = 0;
        while (!error)
            error = leat_spawn(scope, ARGV("sleep", "100"), NULL, &process);
        CHECK_IS(-ECANCELED, error);
        CHECK_IS(-ETIMEDOUT, leat_scope_close(scope));
    }
    CHECK(!has_children());
    return 0;
}
ON_WORKERS(cancels_at_any_moment);

/* ---- a program that takes the statuses of leat's processes ---- */

static int survives_a_thief(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope, ARGV("cat"), &(leat_spawn_options){ .flags = LEAT_PIPE_IN | LEAT_NO_GROUP });
    CHECK_IS(0, leat_kill(process, SIGKILL));
    while (waitpid(-1, NULL, 0) < 0 && errno == EINTR)
        ;
    /* leat and the thief may each have been first. */
    leat_exit how;
    int error = leat_wait(process, &how, LEAT_NEVER);
    CHECK(error == 0 || error == -ECHILD);
    return leat_scope_close(scope);
}
ON_WORKERS(survives_a_thief);

static int survives_ignored_children(void *arg)
{
    (void)arg;
    if (UNDER_TSAN)
        return 0;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope, ARGV("cat"), &(leat_spawn_options){ .flags = LEAT_PIPE_IN });
    CHECK_IS(0, leat_io_close(leat_process_in(process)));
    CHECK_IS(-ECHILD, leat_wait(process, NULL, LEAT_NEVER));
    CHECK_IS(-ECHILD, leat_wait(process, NULL, LEAT_NEVER));
    CHECK_IS(-ESRCH, leat_kill_all(process, SIGTERM));
    CHECK_IS(0, leat_scope_close(scope));
    signal(SIGCHLD, before);
    return 0;
}
ON_WORKERS(survives_ignored_children);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(leaves_nothing_when_cancelled),
        TESTS_ON_WORKERS(a_cancel_is_no_result),
        TESTS_ON_WORKERS(kills_what_ignores_sigterm),
        TESTS_ON_WORKERS(ends_one_process),
        TESTS_ON_WORKERS(kills_what_ignores_the_end),
        TESTS_ON_WORKERS(gives_the_group_its_grace),
        TESTS_ON_WORKERS(does_not_reach_another_session),
        TESTS_ON_WORKERS(ends_what_left_its_group),
        TESTS_ON_WORKERS(gives_the_grace_without_descriptors),
        TESTS_ON_WORKERS(cancels_at_any_moment),
        TESTS_ON_WORKERS(survives_a_thief),
        TESTS_ON_WORKERS(survives_ignored_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
