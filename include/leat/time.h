/* leat/time.h: the clock, and sleeping.
 *
 * One clock for everything: CLOCK_MONOTONIC, in nanoseconds. It does not jump when the wall clock is
 * set. Nothing here allocates. */
#ifndef LEAT_TIME_H
#define LEAT_TIME_H

#include <leat/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the time now, in nanoseconds on the monotonic clock; always greater than LEAT_NOW. */
LEAT_API int64_t leat_now(void);

/* Returns the deadline that lies `ns` nanoseconds ahead. Saturates: what would overflow is LEAT_NEVER, and
 * what is not positive is a deadline that has just passed. */
LEAT_API int64_t leat_after(int64_t ns);

/* Waits for `ns` nanoseconds, never less; the worker runs other tasks meanwhile. 0 or less does
 * not wait.
 * Returns 0; -ECANCELED when the scope was cancelled before the time was up, or before the call; -EDEADLK in a block
 * or callback, and outside any scope where it would not end (LEAT_NEVER). */
LEAT_API int leat_sleep(int64_t ns);

/* The same until `deadline`. LEAT_NEVER waits until the scope is cancelled.
 * Returns what leat_sleep does; -EINVAL for a negative deadline. */
LEAT_API int leat_sleep_until(int64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
