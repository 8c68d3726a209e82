/* leat/task.h: tasks, and calls that block.
 *
 * A task is a C function with a stack of its own, run by one of the workers. It starts on any
 * worker; once started it never changes its thread, so thread-local variables, errno among them,
 * behave inside a task as they do in a thread (errno also survives a wait; other thread-locals are
 * shared with the other tasks of the worker). The floating-point environment (rounding mode,
 * exception masks) belongs to the worker, as the calling convention has it: a task that changes it
 * puts it back before it waits.
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

/* leat_go(scope, fn, arg) starts a task in `scope` that runs fn(arg). `arg` must stay valid until the task ends; it may live
 * on the stack of whoever closes the scope. In a cancelled scope the task still runs, and its first
 * wait ends with -ECANCELED: so what it was given is never lost.
 * A value other than 0 that fn returns cancels the scope, see leat_scope_close.
 * Called by the party that opened the scope, or by a task or thread that belongs to it or to a scope
 * inside it.
 * Returns 0, -EINVAL for a NULL scope or fn, or -ENOMEM; then fn will not be called. */
#define leat_go(scope, fn, ...) leat_go_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), 0)

/* The same with a stack of `stack_size` bytes, 16 KiB to 1 GiB, rounded up to whole pages; 0 is the
 * default. Returns also -EINVAL for a size out of range. */
#define leat_go_sized(scope, stack_size, fn, ...) \
    leat_go_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), stack_size)

/* The function behind both. `name` appears in messages and dumps; it is not copied and must stay
 * valid until the task ends; NULL is allowed. */
LEAT_API int leat_go_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                           size_t stack_size);

/* Lets the other tasks of this worker run first. In a thread that is no worker: sched_yield.
 * Always returns 0: it is not a wait that can be cancelled. */
LEAT_API int leat_yield(void);

/* Runs fn(arg), which may block, on a thread of a growing pool, while the calling task waits and its
 * worker goes on. The wait cannot be cancelled: fn works on the caller's memory, so it is waited
 * for. From a thread: simply calls fn(arg).
 * Returns what fn returned. When fn was not called: -EINVAL for a NULL fn, -ENOMEM when no thread
 * could be had, -ECANCELED in a cancelled scope. */
LEAT_API int leat_blocking(leat_fn *fn, void *arg);

/* Starts a task of the scope on an OS thread of its own from that pool: it may block as it likes,
 * and uses channels, select and scopes as every task does. The same rules and results as leat_go;
 * -ENOMEM also when no thread could be had. */
#define leat_go_blocking(scope, fn, ...) \
    leat_go_blocking_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn))
LEAT_API int leat_go_blocking_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name);

/* The name of the calling task; NULL in a thread that is none. */
LEAT_API const char *leat_task_name(void);

#ifdef __cplusplus
}
#endif

#endif
