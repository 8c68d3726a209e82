/* leat/runtime.h: starting and stopping the workers.
 *
 * A program has one runtime: some worker threads that run its tasks. leat_main runs a whole program
 * in a runtime. leat_start and leat_stop embed the runtime in a program with its own main loop; the
 * program's threads then open scopes, start tasks and use channels, as tasks do.
 *
 * Environment. If leat does not understand the value of one of its variables, the start fails, and
 * leat names the variable on standard error. If leat does not know a variable whose name begins
 * with LEAT_, the first start names it, and does not fail.
 *
 * Signals. Workers block every signal except SIGPROF and those that a fault raises. So signals
 * reach the program's own threads: on a worker, a handler would run in the middle of a task, whose
 * stack may be too small for it. The threads of leat_blocking and leat_go_blocking have the signal
 * mask that the caller of leat_start or leat_main had at that time. So a program that waits for
 * signals (sigwait, signalfd) must block them before it starts the runtime, or receive them from a
 * channel (leat/signal.h). While the runtime runs, leat has a handler for SIGSEGV, which recognises
 * a stack overflow; for any other fault it calls the handler that was installed before.
 *
 * Processes. leat_spawn gives a process an empty signal mask (leat/process.h). If a task starts a
 * process in another way, the process inherits the worker's mask: it blocks SIGTERM and SIGINT, for
 * example. So start it in a function that leat_blocking runs, or set its mask
 * (posix_spawnattr_setsigmask). A child that does not execute another program has no workers
 * (leat/base.h): so a program that forks into the background, by daemon(3) for example, starts the
 * runtime afterwards.
 *
 * Sandboxes. A program that restricts its own system calls (seccomp) should do so before it starts
 * the runtime. If the system refuses membarrier(2) at the start, leat works without it. If the
 * system refuses it later, leat uses sched_setaffinity instead. If the system refuses that as well,
 * the program ends with a message.
 */
#ifndef LEAT_RUNTIME_H
#define LEAT_RUNTIME_H

#include <leat/base.h>

/* How a runtime is started. A field that is 0 has its default. */
typedef struct leat_options {
    /* The number of worker threads, at most 256. Default: LEAT_WORKERS in the environment, else
     * what leat_cores returns, but at most 256. More workers than cores that this process may run
     * on help only if tasks block in the system: otherwise no more workers than those stay
     * active. */
    unsigned workers;
    /* The default size of a task's stack, in bytes: 16 KiB to 1 GiB, rounded up to whole pages.
     * Default: 64 KiB. */
    size_t stack_size;
    /* Not 0: a task that has started never leaves its thread; a task that has not started may still
     * begin on another worker. Default: LEAT_PINNED in the environment, 0 or 1; else 0. */
    int pinned;
    /* What leat watches: flags LEAT_WATCH_…, see leat/watch.h. The environment may add more. */
    unsigned watch;
    /* How long a party may keep its worker, in nanoseconds, LEAT_MS or more. If a task, block or
     * callback takes longer, leat names it on standard error. Default: LEAT_WATCHDOG in the
     * environment, in milliseconds; else never. */
    int64_t watchdog;
    /* The path of a file for a trace, see leat/watch.h. Default: LEAT_TRACE in the environment;
     * else no trace. */
    const char *trace;
} leat_options;

/* Runs a program: starts the runtime, runs fn(arg) as the first task of a scope, waits until every
 * task of that scope has ended, and stops the runtime. `options` may be NULL and is copied. Only a
 * thread of the program may call it. With leat_main all options have their defaults.
 * Returns the result of the scope: 0, or the first value other than 0 that a task returned. If it
 * is 0 but the runtime cannot be stopped, for example because another thread has a scope open:
 * -EBUSY, and the runtime still runs. When fn was not called: -EINVAL for a NULL fn, wrong options
 * or wrong variables in the environment; -EBUSY when a runtime is running already; -EDEADLK from a
 * task or a thread of the runtime; -ENOMEM; or the error of opening the file for a trace, such as
 * -EACCES. */
LEAT_API int leat_main(leat_fn *fn, void *arg);
LEAT_API int leat_main_with(leat_fn *fn, void *arg, const leat_options *options);

/* Starts the workers. `options` may be NULL and is copied.
 * Returns 0; -EINVAL for wrong options or wrong variables in the environment; -EBUSY when a runtime
 * is running already; -EDEADLK from a task or a thread of the runtime; -ENOMEM; or the error of
 * opening the file for a trace, such as -EACCES. */
LEAT_API int leat_start(const leat_options *options);

/* Stops the workers, waits for their threads, and frees the memory of the runtime. For the next
 * runtime it keeps some 100 KiB for each worker, and the descriptors by which workers are woken.
 * Does not wait for tasks: close their scopes first.
 * Returns 0; -EBUSY while a scope is open, or while an operation or a timer without a scope is
 * under way; -EDEADLK from a task or a thread of the runtime; -EINVAL when no runtime is
 * running. */
LEAT_API int leat_stop(void);

/* Counts the workers.
 * Returns how many the runtime has; 0 when no runtime is running. */
LEAT_API unsigned leat_workers(void);

/* Counts the cores that this process may use now, with or without a runtime: those that it may run
 * on, but no more than its CPU quota, rounded up. A quota below two cores counts as two. The quota
 * is the least of the process's control group (cgroup, version 1 or 2) and the groups around that;
 * one that cannot be read counts as none.
 * Returns 1 or more. */
LEAT_API unsigned leat_cores(void);

#endif
