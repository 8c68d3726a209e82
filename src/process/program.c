#define _GNU_SOURCE
#include "process/program.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/sanitizers.h"
#include "base/util.h"
#include "io/io.h"
#include "sched/pool.h"

#include <leat/base.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sanitizers only know fork. */
#if defined(LT_ASAN) || defined(LT_TSAN)
#define SHARES_MEMORY 0
#else
#define SHARES_MEMORY 1
#endif

enum { STACK = 64 * 1024, STACKS = 8, SIGNALS = 64, WAIT_PIDFD = 3, MOST_NUMBERS = 1 << 20 };

/* Whether a child has been seen to share memory: then all children do, and none needs a pipe.
 * Relaxed: a start that does not see it makes the pipe. */
static _Atomic bool memory_is_shared;

/* Stacks for children that are not in use. Unmapping one after each child would interrupt the
 * processors of the other threads. */
static _Atomic(char *) stacks[STACKS];

/* ---- finding the file ---- */

static const char *path_in(const char *const *environment)
{
    for (; *environment; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0)
            return *environment + 5;
    return "/bin:/usr/bin";
}

/* A path without a folder is relative to the current one. */
static char *add_file(char *to, const char *folder, size_t length, const char *name)
{
    memcpy(to, folder, length);
    to += length;
    if (length)
        *to++ = '/';
    size_t size = strlen(name) + 1;
    memcpy(to, name, size);
    return to + size;
}

char *lt_program_files(const char *name, const char *const *environment)
{
    bool whole = strchr(name, '/') || !*name;
    const char *path = whole ? "" : path_in(environment);
    size_t folders = 1;
    for (const char *at = path; (at = strchr(at, ':')); at++)
        folders++;
    char *files = lt_alloc(strlen(path) + folders * (strlen(name) + 2) + 1), *to = files;
    for (; files; path++) {
        size_t length = strcspn(path, ":");
        to = add_file(to, path, length, name);
        path += length;
        if (!*path)
            break;
    }
    return files;
}

/* ---- the child ---- */

static void reset_signals(void)
{
    uint64_t mask = 0, plain[4] = { 0 }; /* as in the kernel's struct: SIG_DFL, no flags */
    for (int signal = 1; signal <= SIGNALS; signal++)
        syscall(SYS_rt_sigaction, signal, plain, NULL, sizeof mask);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
}

/* Moves the descriptor above 0, 1 and 2. */
static int move_up(int *fd)
{
    if (*fd < 0 || *fd > 2)
        return 0;
    *fd = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
    return *fd < 0 ? -errno : 0;
}

static int put_in_place(int fd, int place)
{
    if (fd == place)
        return fcntl(fd, F_SETFD, 0) == 0 ? 0 : -errno;
    return dup2(fd, place) >= 0 ? 0 : -errno;
}

static int place_descriptors(struct lt_program *program)
{
    int error = 0;
    for (int i = 0; i < 3 && !error; i++)
        if (program->given[i] != i)
            error = move_up(&program->given[i]);
    for (int i = 0; i < 3 && !error; i++)
        if (program->given[i] >= 0)
            error = put_in_place(program->given[i], i);
    if (!error && program->err_to_out)
        error = put_in_place(1, 2);
    return error;
}

static int number_of(const char *name)
{
    int number = 0;
    for (; *name >= '0' && *name <= '9'; name++)
        number = 10 * number + (*name - '0');
    return number;
}

int lt_each_number(const char *path, void (*fn)(int number, void *arg), void *arg)
{
    _Alignas(struct dirent64) char entries[2048];
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t n;
    if (folder < 0)
        return -errno;
    while ((n = getdents64(folder, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            fn(number_of(entry->d_name), arg);
            at += entry->d_reclen;
        }
    int error = n < 0 ? -errno : 0;
    close(folder);
    return error;
}

static void hide_one(int fd, void *arg)
{
    (void)arg;
    if (fd > 2)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Makes execve close all other descriptors. */
static void hide_descriptors(void)
{
#ifdef SYS_close_range
    const unsigned close_on_exec = 4;
    if (syscall(SYS_close_range, 3, UINT32_MAX, close_on_exec) == 0)
        return;
#endif
    /* Needed before Linux 5.11, and in emulators. */
    if (lt_each_number("/proc/self/fd", hide_one, NULL) == 0)
        return;
    /* There is no /proc, or no descriptor to read it. */
    struct rlimit limit = { .rlim_max = MOST_NUMBERS };
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 3; fd < MOST_NUMBERS && (rlim_t)fd < limit.rlim_max; fd++)
        hide_one(fd, NULL);
}

/* The errors after which execvp tries the next file, too. */
static bool is_absent(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ESTALE || error == ENODEV ||
           error == ETIMEDOUT;
}

static int execute(const struct lt_program *program)
{
    int error = -ENOENT;
    for (const char *file = program->files; *file; file += strlen(file) + 1) {
        execve(file, (char **)(uintptr_t)program->argv, (char **)(uintptr_t)program->environment);
        if (errno == EACCES)
            error = -EACCES;
        else if (!is_absent(errno))
            return -errno;
    }
    return error;
}

/* Returns only after an error. */
static int become_program(struct lt_program *program)
{
    reset_signals();
    if (program->group && setpgid(0, 0) != 0)
        return -errno;
    int error = place_descriptors(program);
    if (error)
        return error;
    if (program->folder && chdir(program->folder) != 0)
        return -errno;
    if (!program->inherit)
        hide_descriptors();
    return execute(program);
}

static int child(void *arg)
{
    struct lt_program *program = arg;
    program->shared = true;
    program->error = become_program(program);
    if (program->report >= 0) {
        ssize_t written = write(program->report, &program->error, sizeof program->error);
        (void)written;
    }
    _exit(127);
}

/* ---- the parent ---- */

static int open_pidfd(struct lt_program *program)
{
    program->pidfd = lt_move_up((int)syscall(SYS_pidfd_open, program->pid, 0));
    if (program->pidfd >= 0)
        return 0;
    int error = -errno;
    kill(program->pid, SIGKILL);
    while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    program->pid = 0;
    return error;
}

/* The child waits at a gate until there is a pidfd: without one it ends, and must not have begun to
 * run the program. */
static int start_by_fork(struct lt_program *program)
{
    int gate[2], error = lt_io_open_pipe(gate);
    if (error)
        return error;
    pid_t parent = getpid(), pid = fork();
    error = pid < 0 ? -errno : 0;
    char byte = 0;
    if (pid == 0) {
        /* If the parent dies, the child reads the end; but another child that was forked meanwhile
         * may hold the gate open, and wait at its own. If poll is refused, the read waits. */
        struct pollfd opens = { .fd = gate[0], .events = POLLIN };
        close(gate[1]);
        while (poll(&opens, 1, 100) == 0 && getppid() == parent) {
        }
        if (getppid() == parent && read(gate[0], &byte, 1) == 1)
            child(program);
        _exit(127);
    }
    if (!error) {
        program->pid = pid;
        error = open_pidfd(program);
    }
    if (!error && write(gate[1], &byte, 1) != 1)
        error = -errno;
    close(gate[0]); /* only now, so that the write raises no SIGPIPE */
    close(gate[1]);
    return error;
}

static char *take_stack(void)
{
    char *stack = NULL;
    /* Acquire and release: the stack's last user is done with it. */
    for (int i = 0; i < STACKS && !stack; i++)
        stack = atomic_exchange_explicit(&stacks[i], NULL, memory_order_acquire);
    return stack ? stack : lt_map(STACK);
}

static void put_stack(char *stack)
{
    for (int i = 0; i < STACKS; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&stacks[i], &none, stack, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    lt_unmap(stack, STACK);
}

static int start_in_shared_memory(struct lt_program *program)
{
    char *stack = take_stack();
    if (!stack)
        return -ENOMEM;
    enum { HOW = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD };
    pid_t pid = clone(child, stack + STACK, HOW, program, &program->pidfd);
    int error = pid < 0 ? -errno : 0;
    put_stack(stack);
    program->pid = pid < 0 ? 0 : pid;
    return error;
}

static int start(struct lt_program *program)
{
    int error = SHARES_MEMORY ? start_in_shared_memory(program) : -EINVAL;
    if (error == -EINVAL && program->report >= 0)
        error = start_by_fork(program);
    if (error == -EAGAIN)
        lt_pool_shrink(); /* the next try may have their room */
    if (!error)
        program->pidfd = lt_move_up(program->pidfd);
    return error || program->pidfd >= 0 ? error : open_pidfd(program);
}

/* No handler of the program may run in the child. */
static int start_without_signals(struct lt_program *program)
{
    uint64_t all = UINT64_MAX, before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    int error = start(program);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    return error;
}

static int read_report(int fd)
{
    int error;
    ssize_t n;
    do
        n = read(fd, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    return n == sizeof error ? error : 0;
}

/* Takes the status of a child that has not become the program. */
static void forget(struct lt_program *program)
{
    siginfo_t info;
    while (waitid((idtype_t)WAIT_PIDFD, (id_t)program->pidfd, &info, WEXITED) != 0 &&
           errno == EINTR)
        ;
    close(program->pidfd);
    program->pid = 0;
}

static int start_and_hear(struct lt_program *program)
{
    int report[2] = { -1, -1 }, error = 0;
    bool known = atomic_load_explicit(&memory_is_shared, memory_order_relaxed);
    program->pid = 0;
    program->pidfd = -1;
    program->shared = false;
    program->error = 0;
    if (!known)
        error = lt_io_open_pipe(report);
    if (error)
        return error;
    program->report = report[1];
    error = start_without_signals(program);
    if (!known)
        close(report[1]);
    if (!error)
        error = known || program->shared ? program->error : read_report(report[0]);
    if (!known)
        close(report[0]);
    if (program->shared)
        atomic_store_explicit(&memory_is_shared, true, memory_order_relaxed);
    if (error && program->pid)
        forget(program);
    return error;
}

int lt_program_start(void *program)
{
    int saved = errno, cancel = lt_cancel_put_off(), error = start_and_hear(program);
    lt_cancel_restore(cancel);
    errno = saved;
    return error;
}
