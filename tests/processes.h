/* processes.h: what the tests of processes share. */
#pragma once

#include "support.h"

#include "sched/runtime.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define SHELL(script) ARGV("sh", "-c", script)

static inline leat_process *spawn(leat_scope *scope, const char *const *argv,
                                  const leat_spawn_options *options)
{
    leat_process *process = NULL;
    CHECK_IS(0, leat_spawn(scope, argv, options, &process));
    CHECK(process);
    return process;
}

/* The status that it exits with, and the signal that ends it. */
static inline int code_of(leat_process *process)
{
    leat_exit how;
    CHECK_IS(0, leat_wait(process, &how, LEAT_NEVER));
    CHECK_IS(0, how.signal);
    return how.code;
}

static inline int signal_of(leat_process *process)
{
    leat_exit how;
    CHECK_IS(0, leat_wait(process, &how, LEAT_NEVER));
    CHECK_IS(-1, how.code);
    return how.signal;
}

/* Neither running nor a zombie. */
static inline bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

/* A zombie, or gone. */
static inline bool has_ended(pid_t pid)
{
    siginfo_t info = { 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

static inline bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Besides those that a worker opens when it first needs them. */
static inline int open_descriptors(void)
{
    int n = 0;
    for (unsigned i = 0; i < leat_workers(); i++) {
        const struct lt_reactor *reactor = &lt_runtime.workers[i]->reactor;
        n -= lt_reactor_is_open(reactor) + reactor->has_bell +
             lt_uring_is(&reactor->ring, LT_URING_OPEN);
    }
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        n++;
    CHECK_IS(0, closedir(folder));
    return n;
}

static inline void on_task_and_thread(leat_fn *fn)
{
    struct foreign foreign;
    CHECK_IS(0, fn(NULL));
    foreign_start(&foreign, fn, NULL);
    CHECK_IS(0, foreign_join(&foreign));
}

/* The text that a program writes to 1. */
static inline void check_output(const char *expected, const char *const *argv,
                                const leat_spawn_options *options)
{
    leat_captured captured;
    CHECK_IS(0, leat_capture(argv, options, &captured, 100000, LEAT_NEVER));
    if (strcmp(expected, captured.out) != 0)
        check_failed(__FILE__, __LINE__, "the output is \"%s\" (and \"%s\"), not \"%s\"",
                     captured.out, captured.err, expected);
    CHECK_IS(strlen(expected), captured.out_size);
    CHECK_IS(0, captured.partial);
    CHECK_IS(0, captured.exit.code);
    CHECK_IS(0, leat_captured_free(&captured));
}
