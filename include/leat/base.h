/* leat/base.h: what every other header needs: results, deadlines, who may call, errno.
 *
 * Words. A worker is a thread of leat that runs tasks and blocks. A task is a function with a stack
 * of its own (leat/task.h). A block is a function that waits without a stack (leat/block.h). A
 * callback is a function that leat calls when an operation is done (leat/callback.h). Tasks,
 * blocks, callbacks and the program's own threads are parties.
 *
 * Results. A function that can fail returns an int: 0 or a count when it succeeds, a negative errno
 * value when it fails. It never sets errno. A function that makes something returns a pointer: NULL
 * when memory has run out or an argument is wrong. A function that takes such a pointer returns
 * -EINVAL for NULL, unless its comment says what NULL means. So if a program does not check for
 * NULL, the next call reports the failure, and nothing is corrupted.
 *
 *   -EINVAL     an argument is wrong, or the call is not allowed here
 *   -ENOMEM     memory has run out, or (for threads) another resource of the system
 *   -EPIPE      the channel is closed
 *   -EAGAIN     the call would have to wait, but the caller asked it not to
 *   -ETIMEDOUT  the deadline that the call was given has passed
 *   -ECANCELED  the caller's scope was cancelled, perhaps by its own deadline (leat/scope.h), or
 *               the channel was cut short (leat_cut)
 *   -EBUSY      the object is still in use
 *   -EALREADY   too late: the event has happened, or is happening
 *   -ENOENT     what the call names does not exist
 *   -ENOSPC     there is no room for more
 *   -EPERM      only another party may do this, such as the holder of a mutex
 *   -EDEADLK    the caller must not wait here, or the wait could never end
 *
 * Deadlines. A deadline is an absolute time on the monotonic clock: an int64_t, in nanoseconds.
 * leat_after(50 * LEAT_MS) makes one. LEAT_NEVER means no deadline. A call that is still waiting
 * when its deadline passes returns -ETIMEDOUT. With LEAT_NOW, a call that would have to wait
 * returns -EAGAIN. With a negative deadline, a call returns -EINVAL.
 *
 * Who may call. Unless a function says otherwise, every task and every thread of the program may
 * call it, even a thread that leat did not start. Blocks, callbacks, timers, and the functions that
 * leat calls for a channel or an operator may call it, too. But these must not wait: in a block, a
 * callback or a timer, a call that would have to wait returns -EDEADLK. A function waits only if it
 * takes a deadline or says that it waits. A signal handler may call only leat_version and
 * leat_errno_location. If a program calls fork(2) while a runtime runs, the child has only the
 * thread that forked. Until the child calls execve(2), it may call only these two functions, too.
 *
 * Pointers. Unless a function says otherwise, a pointer that is passed to it must stay valid only
 * until the function returns.
 *
 * Threads that end. A thread may be cancelled (pthread_cancel) while it is in a function of leat.
 * That does not end the call early (to do so, cancel the scope) and leaves nothing locked. The
 * thread ends at its next cancellation point after the call. If the thread holds something, such as
 * an open scope, its cleanup handler must release it (pthread_cleanup_push). A function that leat
 * calls must not end its thread, and must not leave by longjmp or by a C++ exception. If the thread
 * may be cancelled, the function first disables that (pthread_setcancelstate). A thread that uses
 * leat must not be cancelled asynchronously (PTHREAD_CANCEL_ASYNCHRONOUS). The program must not end
 * leat's own threads.
 *
 * The variable errno. leat never reports an error in errno. It keeps a task's errno across a wait,
 * even if the task continues in another thread. The C library promises compilers that the address
 * of errno never changes within a function, and such a task breaks that promise. So these headers
 * redefine errno as a call that compilers must not optimise away: in each file that includes them,
 * errno is right before and after a wait. A file that needs the C library's own definition defines
 * LEAT_KEEP_ERRNO before it includes them.
 */
#ifndef LEAT_BASE_H
#define LEAT_BASE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* The version of these headers. */
#define LEAT_VERSION_MAJOR 0
#define LEAT_VERSION_MINOR 2
#define LEAT_VERSION_PATCH 0

#ifdef __cplusplus
#define LEAT_C_ extern "C"
#define LEAT_CAST_(type, value) static_cast<type>(value)
#define LEAT_ITEM_(item) const_cast<void *>(static_cast<const void *>(item))
#else
#define LEAT_C_
#define LEAT_CAST_(type, value) ((type)(value))
#define LEAT_ITEM_(item) ((void *)(uintptr_t)(const void *)(item))
#endif

/* For the library only: marks what it exports, all of it with the linkage of C. */
#define LEAT_API LEAT_C_ __attribute__((visibility("default")))

/* For LEAT_HERE only: the argument, after its expansion, as a string. */
#define LEAT_STR2(x) #x
#define LEAT_STR(x) LEAT_STR2(x)

/* Makes a name for a task: a string constant with the function `what` and this place in the source.
 * leat_go names its task so; a call of leat_go_named may pass it too. */
#define LEAT_HERE(what) #what " (" __FILE__ ":" LEAT_STR(__LINE__) ")"

/* Deadlines, and units of time in nanoseconds. */
#define LEAT_NEVER INT64_MAX       /* no deadline */
#define LEAT_NOW INT64_C(0)        /* do not wait at all */
#define LEAT_US INT64_C(1000)      /* a microsecond */
#define LEAT_MS INT64_C(1000000)   /* a millisecond */
#define LEAT_S INT64_C(1000000000) /* a second */

/* Finds the errno of the thread that the caller runs in. The address is valid until the caller
 * waits. May be called from a signal handler.
 * Returns the address; never NULL. */
LEAT_API int *leat_errno_location(void);

#ifndef LEAT_KEEP_ERRNO
#undef errno
/* The errno of the thread that the caller runs in now. May be read and set, as the C library's. */
#define errno (*leat_errno_location())
#endif

/* A function that a task runs. `arg` is what the task was started with. The function returns its
 * verdict: 0 for success; any other value, usually a negative errno value, cancels the task's
 * scope. */
typedef int leat_fn(void *arg);

/* Tells the version of the library that is linked. May be called from a signal handler.
 * Returns the version as "major.minor.patch": a constant, which must not be freed. */
LEAT_API const char *leat_version(void);

#endif
