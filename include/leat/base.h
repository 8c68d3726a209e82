/* leat/base.h: what every other header needs: time, results, visibility.
 *
 * Results. A function that can fail returns an int: 0 or a count on success, a negative errno value
 * on failure, and errno itself is never used. A function that makes something returns a pointer:
 * NULL when memory has run out or an argument is wrong; every function that takes such a pointer
 * answers -EINVAL to NULL, or says what NULL means, so an unchecked failure shows at the next call and corrupts
 * nothing.
 *
 *   -EINVAL     an argument can be seen to be wrong, or the call is not allowed here
 *   -ENOMEM     memory (or, for threads, another resource of the system) has run out
 *   -EPIPE      the channel is closed
 *   -EAGAIN     it would have to wait, and was told not to
 *   -ETIMEDOUT  the deadline has passed
 *   -ECANCELED  the scope was cancelled: the caller's, or that of those who sent (leat_cut)
 *   -EBUSY      it is still in use
 *   -EALREADY   too late: it has happened, or is happening
 *   -ENOENT     it is not there
 *   -ENOSPC     there was room for fewer
 *   -EPERM      this is another's to do: a timeout's closing is leat's, a mutex's unlocking its holder's
 *   -EDEADLK    waiting here could never end
 *
 * Time. Deadlines are absolute nanoseconds on the monotonic clock, int64_t, always the last
 * argument: leat_after(50 * LEAT_MS), LEAT_NEVER, or LEAT_NOW, which means: do not wait, say -EAGAIN
 * instead. A negative deadline is -EINVAL.
 *
 * Who may call. Unless a function says otherwise, any task and any thread of the program may call it, also threads
 * that leat did not start; and so may blocks, callbacks, timers and the functions that leat calls for a channel or
 * an operator, but these cannot wait: where a function would have to, it is -EDEADLK there. What has a deadline,
 * or says that it waits, is what may wait; nothing else does. None but leat_version and leat_errno_location may be called from a signal
 * handler, nor in the child of a fork(2) that was called while a runtime ran, until it calls execve: only the
 * thread that forked lives on there. A pointer that is given to a function must stay valid until it returns, and
 * no longer, unless something else is said.
 *
 * Threads that end. A thread may be cancelled (pthread_cancel) while it is in a function of leat. The function
 * returns no earlier for that (what cancelling a scope is for), nothing stays locked, and the thread ends at its next
 * cancellation point after it. What such a thread holds, as open scopes, it gives back in a cleanup of its own
 * (pthread_cleanup_push). But no thread may end, nor leave by longjmp, within a function that leat calls: there a thread
 * that may be cancelled puts that off (pthread_setcancelstate). Nor may a thread that uses leat be cancelled
 * asynchronously (PTHREAD_CANCEL_ASYNCHRONOUS), or anybody end threads of leat's own.
 *
 * errno. leat never reports by errno, but keeps a task's errno over a wait, wherever the task goes on. The C library
 * promises compilers that the address of errno never changes within a function, and a task that goes on in another
 * thread breaks that promise. So these headers define errno anew, as a call that compilers must not leave out: in each
 * file that includes them, errno is right before and after a wait. A file that must keep the C library's own
 * definition defines LEAT_KEEP_ERRNO first.
 */
#ifndef LEAT_BASE_H
#define LEAT_BASE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. */
#define LEAT_VERSION_MAJOR 0
#define LEAT_VERSION_MINOR 1
#define LEAT_VERSION_PATCH 0

/* Before what the library exports. */
#define LEAT_API __attribute__((visibility("default")))

/* What LEAT_HERE is made of: the argument, when it has been expanded, as a string. */
#define LEAT_STR2(x) #x
#define LEAT_STR(x) LEAT_STR2(x)

/* The name of a task or block made here: its function and the place in the source. */
#define LEAT_HERE(what) #what " (" __FILE__ ":" LEAT_STR(__LINE__) ")"

/* Deadlines, and units of time. */
#define LEAT_NEVER INT64_MAX     /* no deadline */
#define LEAT_NOW INT64_C(0)      /* do not wait at all */
#define LEAT_US INT64_C(1000)    /* nanoseconds in a microsecond */
#define LEAT_MS INT64_C(1000000) /* … in a millisecond */
#define LEAT_S INT64_C(1000000000)

/* The address of the calling thread's errno, at this moment. A task asks again after each wait.
 * Returns it; never NULL. May be called from a signal handler. */
LEAT_API int *leat_errno_location(void);

#ifndef LEAT_KEEP_ERRNO
#undef errno
/* The errno of the thread that the caller runs in now; a variable that may be read and set, as the C library's. */
#define errno (*leat_errno_location())
#endif

/* A function that a task runs. What it returns is its verdict: 0, or a negative errno value that
 * cancels the scope the task belongs to. */
typedef int leat_fn(void *arg);

/* The version of the library that is linked, as "major.minor.patch".
 * Returns a constant; never freed. */
LEAT_API const char *leat_version(void);

#ifdef __cplusplus
}
#endif

#endif
