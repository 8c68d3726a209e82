/* leat/base.h: what every other header needs: time, results, visibility.
 *
 * Results. A function that can fail returns an int: 0 or a count on success, a negative errno value
 * on failure, and errno itself is never used. A function that makes something returns a pointer:
 * NULL when memory has run out or an argument is wrong; every function that takes such a pointer
 * answers -EINVAL to NULL, so an unchecked failure shows at the next call and corrupts nothing.
 *
 *   -EINVAL     an argument can be seen to be wrong, or the call is not allowed here
 *   -ENOMEM     memory (or, for threads, another resource of the system) has run out
 *   -EPIPE      the channel is closed
 *   -EAGAIN     it would have to wait, and was told not to
 *   -ETIMEDOUT  the deadline has passed
 *   -ECANCELED  the scope was cancelled
 *   -EBUSY      it is still in use
 *   -EPERM      only leat itself may do this: a timeout is everybody's
 *   -EDEADLK    waiting here could never end
 *
 * Time. Deadlines are absolute nanoseconds on the monotonic clock, int64_t, always the last
 * argument: leat_after(50 * LEAT_MS), LEAT_NEVER, or LEAT_NOW, which means: do not wait, say -EAGAIN
 * instead. A negative deadline is -EINVAL.
 *
 * Who may call. Unless a function says otherwise, any task and any thread of the program may call
 * it, also threads that leat did not start.
 */
#ifndef LEAT_BASE_H
#define LEAT_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_VERSION_MAJOR 0
#define LEAT_VERSION_MINOR 1
#define LEAT_VERSION_PATCH 0

#define LEAT_API __attribute__((visibility("default")))

#define LEAT_STR2(x) #x
#define LEAT_STR(x) LEAT_STR2(x)
/* The name of a task or block made here: its function and the place in the source. */
#define LEAT_HERE(what) #what " (" __FILE__ ":" LEAT_STR(__LINE__) ")"

#define LEAT_NEVER INT64_MAX     /* no deadline */
#define LEAT_NOW INT64_C(0)      /* do not wait at all */
#define LEAT_US INT64_C(1000)    /* nanoseconds in a microsecond */
#define LEAT_MS INT64_C(1000000) /* … in a millisecond */
#define LEAT_S INT64_C(1000000000)

/* A function that a task runs. What it returns is its verdict: 0, or a negative errno value that
 * cancels the scope the task belongs to. */
typedef int leat_fn(void *arg);

/* The version of the library that is linked, as "major.minor.patch". A constant; never freed. */
LEAT_API const char *leat_version(void);

#ifdef __cplusplus
}
#endif

#endif
