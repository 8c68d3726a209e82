/* leat/runtime.h: starting and stopping the workers.
 *
 * A program has one runtime: some worker threads that run its tasks. leat_main wraps a whole
 * program in it; leat_start and leat_stop embed it into a program that has a main loop of its own,
 * whose threads then open scopes, start tasks in them, and use channels, as tasks do. What the environment says and
 * leat does not understand is refused, and named on standard error; a variable that begins with LEAT_ and that leat
 * does not know is only named, at the first start.
 *
 * Workers block every signal except those a fault raises and SIGPROF, so signals reach the program's own
 * threads: a handler needs more stack than a task may have, and would run in the midst of any task. The threads of
 * leat_blocking and leat_go_blocking have the signal mask of the thread that called leat_start or leat_main, at that
 * time. So a program that waits for signals (sigwait, signalfd) blocks them before.
 *
 * A process that a task starts inherits the worker's mask, and does not see a SIGTERM or SIGINT: start it by a function
 * that leat_blocking runs, or give it a mask of its own (posix_spawnattr_setsigmask).
 *
 * A program that locks itself in (seccomp) does so best before it starts the runtime. leat asks the system for
 * membarrier, and goes on without where that is refused. Where it is refused only after the start, leat goes on with
 * sched_setaffinity instead. Where that is refused as well, the program ends with a line that says so.
 *
 * While the runtime runs, SIGSEGV has a handler that tells a stack overflow from other
 * faults; for any other fault the handler that stood there before is called. */
#ifndef LEAT_RUNTIME_H
#define LEAT_RUNTIME_H

#include <leat/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero in any field means its default, so `leat_options o = {0};` is all defaults. */
typedef struct leat_options {
    unsigned workers;  /* worker threads, at most 256; default: the environment's LEAT_WORKERS, else
                          the number of cores this process may run on */
    size_t stack_size; /* bytes of stack for a task that does not say otherwise; 16 KiB to 1 GiB,
                          rounded up to whole pages; default 64 KiB */
    int pinned; /* not 0: no task that has started leaves its thread, and only what has not started goes to
                          another worker; default: the environment's LEAT_PINNED, 0 or 1, else 0 */
    unsigned watch; /* what is looked after: LEAT_WATCH_…, see leat/watch.h; default: what the
                          environment says, or nothing */
    int64_t
        watchdog; /* nanoseconds, from LEAT_MS on, after which a task, block or callback that keeps
                          its worker is named on standard error; default: the environment's
                          LEAT_WATCHDOG, in milliseconds, or never */
    const char
        *trace; /* a file for a trace, see leat/watch.h; default: the environment's LEAT_TRACE,
                          or none */
} leat_options;

/* Runs a program: starts the runtime, runs fn(arg) as the first task of a first scope, waits until
 * every task of that scope has ended, and stops the runtime. `options` may be NULL.
 * Called from a thread, never from a task.
 * Returns what the scope ended with: 0, or the first non-zero value a task returned; in place of 0 -EBUSY, when
 * threads of the program's own still hold a scope open (the runtime runs on, until leat_stop). When fn was not
 * called: -EINVAL for a NULL fn or wrong options (also a LEAT_WORKERS that is no number from 1 to 256, and the like);
 * -EBUSY when the runtime is already running; -EDEADLK from a task; -ENOMEM; or why the file for a trace could not be
 * made, as -EACCES. */
LEAT_API int leat_main(leat_fn *fn, void *arg);
LEAT_API int leat_main_with(leat_fn *fn, void *arg, const leat_options *options);

/* Starts the workers. `options` may be NULL, and are copied.
 * Returns 0; -EINVAL for wrong options, or environment variables; -EBUSY when the runtime is already running;
 * -EDEADLK from a task, or a thread of the runtime; -ENOMEM; or why the file for a trace could not be made, as
 * -EACCES. */
LEAT_API int leat_start(const leat_options *options);

/* Stops the workers, waits for their threads, and gives back all memory of the runtime.
 * Returns 0; -EBUSY while a scope is open (close it first: that is what joins its tasks), or an operation or a
 * timer without a scope is under way;
 * -EDEADLK when called from a task or a thread of the runtime; -EINVAL when it is not running. */
LEAT_API int leat_stop(void);

/* Returns how many workers the runtime has; 0 when it is not running. */
LEAT_API unsigned leat_workers(void);

#ifdef __cplusplus
}
#endif

#endif
