/* leat/task.h: tasks, and calls that block.
 *
 * A task is a C function with a stack of its own. Workers run tasks: any worker may start a task,
 * and any worker may continue it after a wait. If a task has been ready for some tens of
 * microseconds and another worker is idle, the idle worker takes the task. A worker that ends a
 * task's wait may take the task at once. Between two waits a task stays in one thread.
 *
 * What that means for the code of a task:
 *  - Local variables, arguments and memory are as safe as in a thread. errno is kept across a wait
 *    (leat/base.h).
 *  - A thread-local variable belongs to the worker's thread. After a wait the same name may refer
 *    to another thread's variable. Even in the same thread, other tasks may have changed the
 *    variable. Compilers may also keep the variable's address across a wait (gcc and clang do so in
 *    code for shared libraries). So use a thread-local variable only between two waits, in a
 *    function of its own that does not wait. Safe: a function that looks something up in a
 *    thread-local cache. Wrong: `int *p = &depth; leat_recv(ch, NULL); ++*p;`, since p may point
 *    into the thread that the task has left.
 *  - State that a library keeps for each thread does not move with a task: a pthread_mutex_t or
 *    another lock that only the locking thread may release, a graphics context, a JNIEnv, the
 *    locale of uselocale.
 *  - In C++ the exception that is being handled belongs to the thread, and so does the count of
 *    std::uncaught_exceptions. So a task must not wait inside a catch handler, even if it is
 *    pinned. A destructor that waits, such as one that closes a scope, may run while an exception
 *    unwinds the stack: it pins the task meanwhile.
 *  - The floating-point environment (rounding mode, exception masks) belongs to the worker, as in
 *    the calling convention. A task that changes it restores it before it waits.
 * Code that cannot follow these rules can stay in one thread: a task for its whole life
 * (leat_go_pinned), some lines of it (leat_pin, leat_unpin), or all tasks of a program
 * (leat_options.pinned, or LEAT_PINNED=1 in the environment). A pinned task still shares its thread
 * with other tasks. Code that these would disturb, such as an interpreter (Python, a JVM), or a
 * wait inside a catch handler, needs a thread to itself: leat_go_blocking.
 *
 * Stacks. Below each stack lies a guard area of 60 KiB. If a stack overflows into it, the program
 * ends with a message that names the task. (Before Linux 6.13, at most 16,384 stacks at a time have
 * a guard area.) A function with more than 60 KiB of variables may jump over it, unless the
 * function is compiled with -fstack-clash-protection; leat's packages for CMake and pkg-config add
 * that option.
 *
 * Switches. A worker switches tasks only where a task waits, yields or ends. A call that never
 * waits never switches: leat_go, leat_close, leat_release, leat_mutex_unlock, the try forms, and
 * every call with LEAT_NOW, except on a descriptor that may block, such as a regular file
 * (leat/io.h). So a task may hold a pthread_mutex_t across these calls (but not in a seeded world,
 * leat/sim.h). A task that computes for long, polls, or blocks in the system keeps its worker;
 * other workers take the remaining tasks if they have time. If there may be more such tasks than
 * workers, tasks that compute or poll should call leat_yield now and then, and tasks that block
 * should call leat_blocking.
 */
#ifndef LEAT_TASK_H
#define LEAT_TASK_H

#include <leat/base.h>
#include <leat/scope.h>

/*     int leat_go(leat_scope *scope, leat_fn *fn, void *arg);
 *
 * Starts a task in `scope` that runs fn(arg). The memory at `arg` must stay valid until the task
 * ends; `arg` may point to a variable of the function that closes the scope. (But a variable or a
 * compound literal of an inner block ends with that block. The body of a loop is such a block, and
 * so is the statement after an `if`, also without braces.) In a cancelled scope the task runs, too,
 * so that it can free what it was given; its waits return -ECANCELED. If fn returns a value other
 * than 0, the scope is cancelled, see leat_scope_close. fn must close the scopes that it opens: if
 * a task returns with an open scope, the program ends with a message. The caller must be the party
 * that opened `scope`, or a party in `scope` or in a scope inside it.
 * Returns 0; -EINVAL for a NULL scope or fn; -ENOMEM. Unless the result is 0, fn is not called. */
#define leat_go(scope, fn, ...) leat_go_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), 0)

/*     int leat_go_sized(leat_scope *scope, size_t stack_size, leat_fn *fn, void *arg);
 *
 * The same with a stack of `stack_size` bytes: 16 KiB to 1 GiB, rounded up to whole pages, or 0 for
 * the runtime's default.
 * Returns what leat_go does; -EINVAL also for a size out of range. */
#define leat_go_sized(scope, stack_size, fn, ...) \
    leat_go_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), stack_size)

/*     int leat_go_pinned(leat_scope *scope, leat_fn *fn, void *arg);
 *
 * As leat_go, but the task never leaves the thread in which it starts. For code that depends on
 * thread-local variables, or on a library that does.
 * Returns what leat_go does. */
#define leat_go_pinned(scope, fn, ...) \
    leat_go_pinned_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), 0)

/*     int leat_go_spread(leat_scope *scope, leat_fn *fn, void *arg);
 *
 * As leat_go, but the task begins on the worker that has the fewest tasks. For a few tasks that
 * compute long. For short tasks, and for tasks that mostly wait, use leat_go: to wake a sleeping
 * worker takes some microseconds, and workers with too much to do share it anyway.
 * Returns what leat_go does. */
#define leat_go_spread(scope, fn, ...) \
    leat_go_spread_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn), 0)

/* Start a task as leat_go, leat_go_pinned and leat_go_spread do, with a name of your choice. `name`
 * appears in messages and dumps. It may be NULL; it is not copied and must stay valid until the
 * task ends. `stack_size` is as for leat_go_sized.
 * Returns what leat_go_sized does. */
LEAT_API int leat_go_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                           size_t stack_size);
LEAT_API int leat_go_pinned_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                                  size_t stack_size);
LEAT_API int leat_go_spread_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                                  size_t stack_size);

/* Keep the calling task in its thread from leat_pin until the matching leat_unpin, even across
 * waits. For code that uses thread-local variables before and after a wait. Pins nest, 65,534 deep.
 * In a thread they do nothing and return 0.
 * Returns 0; -EINVAL in a block or callback, for a task's leat_unpin without a pin, and when pins
 * nest too deep. */
LEAT_API int leat_pin(void);
LEAT_API int leat_unpin(void);

/* Lets the other tasks of the worker run first: those that are ready, and those that have not
 * begun. It works in a cancelled scope, too. In a thread, a block or a callback it is sched_yield.
 * Returns 0, always. */
LEAT_API int leat_yield(void);

/* Runs fn(arg), which may block, on a thread of a pool that grows as needed. The calling task waits
 * for fn; its worker runs other tasks meanwhile. Cancelling does not end the wait, since fn works
 * on the caller's memory. On that thread fn belongs to no scope: nothing cancels its waits, and it
 * must close the scopes that it opens. The pool's threads, and processes that fn starts, have the
 * signal mask of the thread that started the runtime (leat/runtime.h). If the caller is a thread,
 * leat_blocking just calls fn(arg).
 * Returns what fn returned. When fn was not called: -EINVAL for a NULL fn; -ENOMEM when the system
 * has no thread for it; -ECANCELED in a cancelled scope; -EDEADLK in a block or callback. */
LEAT_API int leat_blocking(leat_fn *fn, void *arg);

/*     int leat_go_blocking(leat_scope *scope, leat_fn *fn, void *arg);
 *
 * Starts a task in `scope` that has a thread to itself, from the pool of leat_blocking. The task
 * may block, and uses channels, select and scopes as every task does. The rules of leat_go hold.
 * Its stack is the thread's. The `name` of leat_go_blocking_named is as for leat_go_named.
 * Returns 0; -EINVAL for a NULL scope or fn; -ENOMEM, also when the system has no thread for it. */
#define leat_go_blocking(scope, fn, ...) \
    leat_go_blocking_named(scope, fn, __VA_ARGS__, LEAT_HERE(fn))
LEAT_API int leat_go_blocking_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name);

/* Tells the name of the calling task.
 * Returns the pointer that the task was started with; NULL when the task has no name, or the caller
 * is no task. */
LEAT_API const char *leat_task_name(void);

#endif
