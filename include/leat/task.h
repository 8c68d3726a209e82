/* leat/task.h: tasks, and calls that block.
 *
 * A task is a C function with a stack of its own, run by one of the workers. It starts on any
 * worker; once started it never changes its thread, so thread-local variables, errno among them,
 * behave inside a task as they do in a thread (errno also survives a wait; other thread-locals are
 * shared with the other tasks of the worker). The floating-point environment (rounding mode,
 * exception masks) belongs to the worker, as the calling convention has it: a task that changes it
 * puts it back before it waits.
 *
 * Below a stack lies a page that nobody may touch, so a stack that grows too large ends the program with a
 * message that names the task. A function whose variables take more than a page may step over it: compile it
 * with -fstack-clash-protection, as most distributions compile everything, and it cannot. In C++ a task must
 * not wait inside a catch handler: the exceptions that are being handled belong to the thread, and so to the
 * next task as well.
 *
 * Tasks are switched only where they wait, yield or end. One that computes for long should call
 * leat_yield now and then; one that must block in the system calls leat_blocking. */
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

/* The same as a function, which both are made of. `name` appears in messages and dumps; it is not copied and must
 * stay valid until the task ends; NULL is allowed.
 * Returns what leat_go_sized does. */
LEAT_API int leat_go_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                           size_t stack_size);

/* Lets the other tasks of this worker run first. In a thread that is no worker: sched_yield.
 * Returns 0, always: it is not a wait that can be cancelled. */
LEAT_API int leat_yield(void);

/* Runs fn(arg), which may block, on a thread of a growing pool, while the calling task waits and its
 * worker goes on. The wait cannot be cancelled: fn works on the caller's memory, so it is waited
 * for. On its thread fn is in no scope: what it waits for in leat is not cancelled, and a scope that it opens it
 * must close. From a thread: simply calls fn(arg).
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
