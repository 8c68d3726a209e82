/* leat/task.h: tasks, and calls that block.
 *
 * A task is a C function with a stack of its own, run by one of the workers: by any of them, and after each wait
 * by any of them again. A task that is ready, and has waited for some tens of microseconds while another worker has
 * nothing to do, goes on there. From one wait to the next a task stays in one thread.
 *
 * What that means for the code of a task:
 *  - Its own variables, arguments and memory are as safe as in a thread. errno is kept over a wait; see leat/base.h.
 *  - A thread-local variable belongs to the worker's thread. Before a wait and after it, the same name may mean
 *    another variable; and other tasks use the thread's in between. Compilers may keep the address of one over a
 *    wait (gcc and clang do, in code for shared libraries), and so read a third one. So a task reads, changes and is
 *    done with a thread-local variable between two waits, in a function of its own that does not wait:
 *        static _Thread_local struct cache cache;         safe: a function that looks something up in the cache
 *        int *p = &depth; leat_recv(ch, NULL); ++*p;      wrong: p points into a thread that was left
 *  - What a library keeps for each thread (a lock that must be released by the thread that took it, pthread_mutex_t
 *    among them, a graphics context, a JNIEnv, setlocale's uselocale) is not carried over a wait either.
 *  - In C++ a task does not wait inside a catch handler: the exceptions that are being handled belong to the thread.
 *  - The floating-point environment (rounding mode, exception masks) belongs to the worker, as the calling convention
 *    has it: a task that changes it puts it back before it waits.
 * Code that cannot keep to that stays in one thread: for a task's life with leat_go_pinned, for a stretch between
 * leat_pin and leat_unpin, for a whole program with leat_options.pinned or LEAT_PINNED=1 in the environment. A pinned
 * task still shares its thread with other tasks.
 *
 * Below a stack lie 60 KiB that nobody may touch, so a stack that grows too large ends the program with a
 * message that names the task. A function whose variables take more than that may step over them, unless it is compiled
 * with -fstack-clash-protection, which leat's packages for CMake and pkg-config ask for.
 *
 * Tasks are switched only where they may wait, yield or end. What never waits never switches: leat_go, leat_close,
 * leat_release, leat_mutex_unlock, the try forms, and whatever is called with LEAT_NOW; so a pthread_mutex_t may be
 * held over these (not in a seeded world, leat/sim.h). A task that computes or tries for long, or blocks in the system,
 * keeps its worker; what else is ready there goes on at other workers, as long as one of these has time. With more such
 * tasks than workers, the ones that compute or try call leat_yield now and then, and the ones that block call
 * leat_blocking. */
#ifndef LEAT_TASK_H
#define LEAT_TASK_H

#include <leat/base.h>
#include <leat/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/*     int leat_go(leat_scope *scope, leat_fn *fn, void *arg);
 *
 * Starts a task in `scope` that runs fn(arg). `arg` must stay valid until the task ends; it may live
 * on the stack of whoever closes the scope. In a cancelled scope the task still runs, and its first
 * wait ends with -ECANCELED: so what it was given is never lost.
 * A value other than 0 that fn returns cancels the scope, see leat_scope_close. The scopes that fn opens it must
 * close: a task that returns with one open ends the program with a message.
 * Called by the party that opened the scope, or by a task or thread that belongs to it or to a scope
 * inside it.
 * Returns 0, -EINVAL for a NULL scope or fn, or -ENOMEM; then fn will not be called. */
#define leat_go(scope, fn, ...) leat_go_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), 0)

/*     int leat_go_sized(leat_scope *scope, size_t stack_size, leat_fn *fn, void *arg);
 *
 * The same with a stack of `stack_size` bytes, 16 KiB to 1 GiB, rounded up to whole pages; 0 is the
 * default.
 * Returns what leat_go does; -EINVAL also for a size out of range. */
#define leat_go_sized(scope, stack_size, fn, ...) \
    leat_go_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), stack_size)

/*     int leat_go_pinned(leat_scope *scope, leat_fn *fn, void *arg);
 *
 * As leat_go, but once it has started the task never leaves its thread: for code that depends on thread-local
 * variables, or on a library that does.
 * Returns what leat_go does. */
#define leat_go_pinned(scope, fn, ...) \
    leat_go_pinned_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), 0)

/*     int leat_go_spread(leat_scope *scope, leat_fn *fn, void *arg);
 *
 * As leat_go, but the task begins on the worker that has the fewest tasks, at once: for a few tasks that will live
 * long, or compute long, as a server's connections. It wakes that worker if it sleeps, which takes some microseconds,
 * so leat_go is better for short ones.
 * Returns what leat_go does. */
#define leat_go_spread(scope, fn, ...) \
    leat_go_spread_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), 0)

/* The same as functions, which these are made of. `name` appears in messages and dumps; it is not copied and must
 * stay valid until the task ends; NULL is allowed.
 * Returns what leat_go_sized does. */
LEAT_API int leat_go_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                           size_t stack_size);
LEAT_API int leat_go_pinned_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                                  size_t stack_size);
LEAT_API int leat_go_spread_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                                  size_t stack_size);

/* From leat_pin until the matching leat_unpin, the calling task stays in its thread, also over waits: for a stretch of
 * code that uses thread-local variables before and after a wait. They nest, 65,534 deep. In a thread, which is always
 * where it is, they do nothing.
 * Returns 0; -EINVAL in a block or callback, which have no thread over a wait; when there is nothing to unpin; or when
 * pins are nested too deep. */
LEAT_API int leat_pin(void);
LEAT_API int leat_unpin(void);

/* Lets the other tasks of this worker that are ready, or have been made and not begun, run first. In a thread that is no worker: sched_yield.
 * Returns 0, always: it is not a wait that can be cancelled. */
LEAT_API int leat_yield(void);

/* Runs fn(arg), which may block, on a thread of a growing pool, while the calling task waits and its
 * worker goes on. The wait cannot be cancelled: fn works on the caller's memory, so it is waited
 * for. On its thread fn is in no scope: what it waits for in leat is not cancelled, and a scope that it opens it
 * must close. Signals are blocked in it as they were where the runtime was started, and so in processes that it
 * starts; in a task nearly all are (see leat/runtime.h). From a thread: simply calls fn(arg).
 * Returns what fn returned. When fn was not called: -EINVAL for a NULL fn, -ENOMEM when no thread
 * could be had, -ECANCELED in a cancelled scope, -EDEADLK in a block or callback. */
LEAT_API int leat_blocking(leat_fn *fn, void *arg);

/*     int leat_go_blocking(leat_scope *scope, leat_fn *fn, void *arg);
 *
 * Starts a task of the scope on an OS thread of its own, of the pool that leat_blocking uses: it may block as it
 * likes, and uses channels, select and scopes as every task does. The rules of leat_go. `name` is as for
 * leat_go_named.
 * Returns 0; -EINVAL for a NULL scope or fn; -ENOMEM, also when no thread could be had. */
#define leat_go_blocking(scope, fn, ...) \
    leat_go_blocking_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn))
LEAT_API int leat_go_blocking_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name);

/* Returns the name of the calling task, as it was given; NULL when it has none, or the caller is no task. */
LEAT_API const char *leat_task_name(void);

#ifdef __cplusplus
}
#endif

#endif
