/* test_attend.c: processes that a thread attends to (LEAT_ATTENDED), and leat_attend of others. */
#define _GNU_SOURCE
#include "processes.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

static const unsigned outputs = LEAT_PIPE_OUT | LEAT_PIPE_ERR;

static leat_process *attended(leat_scope *scope, const char *const *argv, unsigned flags)
{
    return spawn(scope, argv, &(leat_spawn_options){ .flags = flags | LEAT_ATTENDED });
}

/* Reads the pipes until the process has ended, and what they hold then. */
struct heard {
    char text[2][100];
    size_t n[2];
    bool over[2];
};

static void hear_one(struct heard *heard, int i, leat_io *io)
{
    int64_t n = leat_read_until(io, heard->text[i] + heard->n[i],
                                sizeof heard->text[i] - 1 - heard->n[i], LEAT_NOW);
    CHECK(n >= 0 || n == -EAGAIN);
    heard->n[i] += n > 0 ? (size_t)n : 0;
    heard->over[i] = n == 0;
}

static struct heard hear(leat_process *process)
{
    struct heard heard = { 0 };
    leat_io *from[] = { leat_process_out(process), leat_process_err(process) };
    int ready;
    while ((ready = leat_attend(
                process, (heard.over[0] ? 0 : LEAT_PIPE_OUT) | (heard.over[1] ? 0 : LEAT_PIPE_ERR),
                LEAT_NEVER)) > 0) {
        CHECK(!(ready & ~(int)outputs));
        for (int i = 0; i < 2; i++)
            if (ready & (i == 0 ? LEAT_PIPE_OUT : LEAT_PIPE_ERR))
                hear_one(&heard, i, from[i]);
    }
    CHECK_IS(0, ready);
    for (int i = 0; i < 2; i++)
        while (!heard.over[i])
            hear_one(&heard, i, from[i]);
    return heard;
}

static int talk_and_end(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        attended(scope, SHELL("echo one; echo two >&2; sleep 0.02; echo three; exit 3"), outputs);
    struct heard heard = hear(process);
    CHECK(strcmp(heard.text[0], "one\nthree\n") == 0 && strcmp(heard.text[1], "two\n") == 0);
    CHECK_IS(0, leat_attend(process, outputs, LEAT_NOW));
    CHECK_IS(3, code_of(process));
    CHECK_IS(3, code_of(process));
    CHECK_IS(-ESRCH, leat_kill(process, SIGTERM));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!has_children());
    return 0;
}

/* As a sandbox may want it: poll(2) then refuses each wait. */
static int attend_without_poll(void *arg)
{
    (void)arg;
    struct rlimit before, none;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        attended(scope, SHELL("sleep 0.02; echo one; sleep 0.02; exit 3"), outputs);
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &before));
    none = (struct rlimit){ 0, before.rlim_max };
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &none));
    struct heard heard = hear(process);
    CHECK_IS(3, code_of(process));
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &before));
    CHECK(strcmp(heard.text[0], "one\n") == 0);
    return leat_scope_close(scope);
}

static int reports_pipes_and_the_end(void *arg)
{
    (void)arg;
    on_task_and_thread(talk_and_end);
    return leat_blocking(attend_without_poll, NULL);
}
ON_WORKERS(reports_pipes_and_the_end);

static int refuse(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process = attended(scope, ARGV("sleep", "100"), LEAT_NULL_IN);
    CHECK_IS(-EINVAL, leat_attend(NULL, 0, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_attend(process, LEAT_NULL_IN, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_attend(process, 0, -1));
    CHECK_IS(-EINVAL, leat_wait(process, NULL, -1));
    errno = 33;
    CHECK_IS(-EAGAIN, leat_attend(process, outputs, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_attend(process, outputs, leat_after(LEAT_MS)));
    CHECK_IS(-EAGAIN, leat_wait(process, NULL, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_wait(process, NULL, leat_after(LEAT_MS)));
    CHECK_IS(33, errno);
    CHECK_IS(0, leat_kill(process, SIGUSR1));
    CHECK_IS(SIGUSR1, signal_of(process));
    CHECK_IS(-ENOENT,
             leat_spawn(scope, ARGV("/no/such"),
                        &(leat_spawn_options){ .flags = LEAT_ATTENDED | outputs }, &process));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!has_children());
    return 0;
}

static int refuses_and_times_out(void *arg)
{
    (void)arg;
    on_task_and_thread(refuse);
    return 0;
}
ON_WORKERS(refuses_and_times_out);

static int descriptors_of(const char *kind)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder));) {
        char to[64] = { 0 };
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, to, sizeof to - 1);
        n += length > 0 && strstr(to, kind);
    }
    CHECK_IS(0, closedir(folder));
    return n;
}

/* Bells and reactors stay until the runtime ends. */
static int passing_descriptors(void)
{
    return descriptors_of("pipe:") + descriptors_of("pidfd");
}

static int leave_no_descriptor(void *arg)
{
    (void)arg;
    int before = passing_descriptors();
    for (int i = 0; i < 3; i++) {
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        leat_process *process = attended(scope, ARGV("cat"), LEAT_PIPE_IN | outputs);
        CHECK(passing_descriptors() > before);
        CHECK_IS(LEAT_PIPE_IN, leat_attend(process, LEAT_PIPE_IN, LEAT_NEVER));
        CHECK_IS(2, leat_write(leat_process_in(process), "hi", 2));
        CHECK_IS(0, leat_io_close(leat_process_in(process)));
        struct heard heard = hear(process);
        CHECK(strcmp(heard.text[0], "hi") == 0);
        CHECK_IS(0, leat_scope_close(scope));
    }
    CHECK_IS(before, passing_descriptors());
    return 0;
}

static int leaves_no_descriptor(void *arg)
{
    (void)arg;
    on_task_and_thread(leave_no_descriptor);
    return 0;
}
ON_WORKERS(leaves_no_descriptor);

/* The worker's own bell stays for the next runtime. */
static void leaves_no_bell(void **state)
{
    (void)state;
    const leat_options one = { .workers = 1 };
    CHECK_IS(0, leat_main_with(talk_and_end, NULL, &one));
    int before = descriptors_of("eventfd");
    CHECK_IS(0, leat_main_with(reports_pipes_and_the_end, NULL, &one));
    CHECK_IS(before, descriptors_of("eventfd"));
}

/* A number that was used again: the thread does not look at what is not the process's. */
static int attend_a_closed_pipe(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process = attended(scope, ARGV("sleep", "100"), LEAT_PIPE_OUT);
    int number = leat_io_fd(leat_process_out(process));
    CHECK_IS(0, leat_io_close(leat_process_out(process)));
    /* If the copy gets another number, a worker has just opened something with this one. */
    int idle = eventfd(0, EFD_CLOEXEC), copy = fcntl(idle, F_DUPFD_CLOEXEC, number);
    CHECK_IS(LEAT_PIPE_OUT, leat_attend(process, LEAT_PIPE_OUT, leat_after(LEAT_S)));
    close(idle);
    close(copy);
    CHECK_IS(LEAT_PIPE_OUT, leat_attend(process, LEAT_PIPE_OUT, LEAT_NEVER));
    CHECK_IS(-EAGAIN, leat_attend(process, 0, LEAT_NOW));
    CHECK_IS(0, leat_kill(process, SIGKILL));
    CHECK_IS(SIGKILL, signal_of(process));
    CHECK_IS(0, leat_attend(process, LEAT_PIPE_OUT, LEAT_NEVER));
    return leat_scope_close(scope);
}

static int attends_no_closed_pipe(void *arg)
{
    (void)arg;
    on_task_and_thread(attend_a_closed_pipe);
    return 0;
}
ON_WORKERS(attends_no_closed_pipe);

/* ---- ending ---- */

/* Both processes of the group ignore `signal`; the script prints when they do. */
#define STUBBORN(signal) SHELL("trap '' " signal "; sleep 100 & echo ready; while :; do wait; done")

static void await_ready(leat_process *process)
{
    char byte;
    CHECK_IS(1, leat_read(leat_process_out(process), &byte, 1));
}

struct pair {
    leat_process *process;
    leat_chan *order;
};

static int end_it(void *arg)
{
    struct pair *pair = arg;
    CHECK_IS(0, leat_recv(pair->order, NULL));
    leat_sleep(5 * LEAT_MS);
    CHECK_IS(0, leat_process_end(pair->process, SIGHUP));
    /* Others learn of the end from the channel. */
    CHECK_IS(SIGKILL, signal_of(pair->process));
    return 0;
}

/* Another party ends the process, and the thread that attends to it kills what is stubborn. */
static int end_on_order(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = { .order = leat_chan_make(scope, 0, 1) };
    CHECK_IS(0, leat_go(scope, end_it, &pair));
    const leat_spawn_options options = { .flags = LEAT_ATTENDED | LEAT_PIPE_OUT,
                                         .grace = 20 * LEAT_MS };
    pair.process = spawn(scope, STUBBORN("HUP"), &options);
    await_ready(pair.process);
    int64_t start = leat_now();
    CHECK_IS(0, leat_send(pair.order, NULL));
    CHECK_IS(SIGKILL, signal_of(pair.process));
    CHECK(leat_now() - start >= 20 * LEAT_MS);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!has_children());
    return 0;
}

static int ends_on_order(void *arg)
{
    (void)arg;
    on_task_and_thread(end_on_order);
    return 0;
}
ON_WORKERS(ends_on_order);

/* A stubborn process is killed while the thread that attends to it does something else. */
static int be_elsewhere(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    const leat_spawn_options options = { .flags = LEAT_ATTENDED | LEAT_PIPE_OUT,
                                         .grace = 20 * LEAT_MS };
    leat_process *process = spawn(scope, STUBBORN("TERM"), &options);
    await_ready(process);
    int64_t start = leat_now();
    CHECK_IS(0, leat_process_end(process, SIGTERM));
    WAIT_UNTIL(has_ended(leat_process_id(process)));
    CHECK(leat_now() - start >= 20 * LEAT_MS);
    CHECK_IS(SIGKILL, signal_of(process));
    return leat_scope_close(scope);
}

static int kills_while_it_is_elsewhere(void *arg)
{
    (void)arg;
    on_task_and_thread(be_elsewhere);
    return 0;
}
ON_WORKERS(kills_while_it_is_elsewhere);

static int cancel_soon(void *arg)
{
    leat_sleep(5 * LEAT_MS);
    return leat_scope_cancel(arg);
}

/* The thread polls when its scope is cancelled. */
static int attend_while_cancelled(void *arg)
{
    (void)arg;
    leat_scope *around = leat_scope_open(LEAT_NEVER), *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process = attended(scope, ARGV("sleep", "100"), 0);
    CHECK_IS(0, leat_go(scope, cancel_soon, scope));
    CHECK_IS(0, leat_attend(process, 0, LEAT_NEVER));
    CHECK_IS(SIGTERM, signal_of(process));
    leat_scope_close(scope);
    CHECK_IS(0, leat_scope_close(around));
    return 0;
}

/* The thread comes back late, or never. */
static int close_early(void *arg)
{
    (void)arg;
    const leat_spawn_options options = { .flags = LEAT_ATTENDED | LEAT_PIPE_OUT,
                                         .grace = 20 * LEAT_MS };
    leat_scope *scope = leat_scope_open(leat_after(300 * LEAT_MS));
    leat_process *process = attended(scope, ARGV("sleep", "100"), 0);
    pid_t one = leat_process_id(process);
    CHECK_IS(0, leat_wait(process, NULL, LEAT_NEVER)); /* its scope's deadline ends it */
    CHECK_IS(-ETIMEDOUT, leat_scope_close(scope));
    CHECK(is_gone(one));

    scope = leat_scope_open(LEAT_NEVER);
    process = spawn(scope, STUBBORN("TERM"), &options);
    pid_t other = leat_process_id(process);
    await_ready(process);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(is_gone(other));
    CHECK(!has_children());
    return 0;
}

/* The script tells how often it has got SIGTERM: also when its scope closes, it has got it. */
static int cancel_once(void *arg)
{
    (void)arg;
    char text[8] = { 0 };
    int ends[2];
    CHECK_IS(0, pipe(ends));
    const leat_spawn_options options = { .flags = LEAT_ATTENDED | LEAT_PIPE_OUT,
                                         .err = ends[1],
                                         .grace = 3600 * LEAT_S };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process =
        spawn(scope,
              SHELL("n=0; trap 'n=$((n+1)); echo' TERM; echo; exec 3>&2 2>/dev/null;"
                    " while [ $n = 0 ]; do sleep 0.01; done;"
                    " for i in 1 2 3 4 5 6 7 8 9; do sleep 0.02; done; echo $n >&3"),
              &options);
    close(ends[1]);
    await_ready(process);
    CHECK_IS(0, leat_go(scope, cancel_soon, scope));
    CHECK_IS(LEAT_PIPE_OUT, leat_attend(process, LEAT_PIPE_OUT, LEAT_NEVER));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(2, read(ends[0], text, sizeof text));
    CHECK(strcmp(text, "1\n") == 0);
    close(ends[0]);
    return 0;
}

/* These are only for threads: of a task's process, a warden waits for the end. */
static int ends_with_its_scope(void *arg)
{
    (void)arg;
    struct foreign foreign;
    foreign_start(&foreign, attend_while_cancelled, NULL);
    CHECK_IS(0, foreign_join(&foreign));
    foreign_start(&foreign, close_early, NULL);
    CHECK_IS(0, foreign_join(&foreign));
    foreign_start(&foreign, cancel_once, NULL);
    CHECK_IS(0, foreign_join(&foreign));
    return 0;
}
ON_WORKERS(ends_with_its_scope);

static int leave_a_stubborn_one(void *scope)
{
    const leat_spawn_options options = { .flags = LEAT_ATTENDED | LEAT_PIPE_OUT,
                                         .grace = 20 * LEAT_MS };
    await_ready(spawn(scope, STUBBORN("TERM"), &options));
    return 0;
}

/* The only worker blocks, and with it the timer of the grace. */
static int close_on_the_worker(void *arg)
{
    (void)arg;
    leat_scope *around = leat_scope_open(LEAT_NEVER), *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_blocking(scope, leave_a_stubborn_one, scope));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!has_children());
    return leat_scope_close(around);
}

static void kills_in_time_on_one_worker(void **state)
{
    (void)state;
    run_on(1, close_on_the_worker);
}

/* ---- many ---- */

enum { THREADS = 4 };

static int run_several(void *arg)
{
    (void)arg;
    for (int i = 0; i < often(100) + 10; i++) {
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        leat_process *process = attended(scope, SHELL("echo x; exit 5"), outputs);
        struct heard heard = hear(process);
        CHECK(strcmp(heard.text[0], "x\n") == 0);
        CHECK_IS(5, code_of(process));
        CHECK_IS(0, leat_scope_close(scope));
    }
    return 0;
}

static int goes_on_in_many_threads(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < THREADS; i++)
        CHECK_IS(0, leat_go_blocking(scope, run_several, NULL));
    return leat_scope_close(scope);
}
ON_WORKERS(goes_on_in_many_threads);

/* ---- without a free descriptor ---- */

/* The only worker's reactor would need some, and the worker is kept until there are none. */
struct shortage {
    _Atomic bool began, over;
};

static int attend_in_a_shortage(void *arg)
{
    struct shortage *shortage = arg;
    struct rlimit before, none;
    char text[2];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *process = spawn(scope, SHELL("echo x; exec sleep 100"),
                                  &(leat_spawn_options){ .flags = LEAT_PIPE_OUT });
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &before));
    int lowest = dup(STDIN_FILENO);
    none = (struct rlimit){ .rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max };
    CHECK_IS(0, close(lowest));
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &none));
    atomic_store(&shortage->began, true);
    CHECK_IS(LEAT_PIPE_OUT, leat_attend(process, LEAT_PIPE_OUT, leat_after(10 * LEAT_S)));
    CHECK_IS(LEAT_PIPE_OUT, leat_attend(process, LEAT_PIPE_OUT, LEAT_NOW));
    CHECK_IS(2, leat_read_until(leat_process_out(process), text, 2, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_attend(process, LEAT_PIPE_OUT, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_attend(process, LEAT_PIPE_OUT, leat_after(LEAT_MS)));
    CHECK_IS(0, leat_kill(process, SIGKILL));
    CHECK_IS(0, leat_attend(process, 0, leat_after(10 * LEAT_S)));
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &before));
    atomic_store(&shortage->over, true);
    return leat_scope_close(scope);
}

static int keep_the_worker(void *arg)
{
    struct shortage shortage = { false, false };
    struct foreign foreign;
    (void)arg;
    foreign_start(&foreign, attend_in_a_shortage, &shortage);
    while (!atomic_load(&shortage.began))
        nap();
    WAIT_UNTIL(atomic_load(&shortage.over));
    return foreign_join(&foreign);
}

static void sees_pipes_without_descriptors(void **state)
{
    (void)state;
    run_on(1, keep_the_worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_no_bell), /* first: no thread has attended yet */
        TESTS_ON_WORKERS(reports_pipes_and_the_end),
        TESTS_ON_WORKERS(refuses_and_times_out),
        TESTS_ON_WORKERS(leaves_no_descriptor),
        TESTS_ON_WORKERS(ends_on_order),
        TESTS_ON_WORKERS(kills_while_it_is_elsewhere),
        TESTS_ON_WORKERS(ends_with_its_scope),
        TESTS_ON_WORKERS(goes_on_in_many_threads),
        TESTS_ON_WORKERS(attends_no_closed_pipe),
        cmocka_unit_test(sees_pipes_without_descriptors),
        cmocka_unit_test(kills_in_time_on_one_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
