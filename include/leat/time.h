/* leat/time.h: the clock, and sleeping.
 *
 * leat has one clock: CLOCK_MONOTONIC, in nanoseconds. It does not jump when somebody sets the wall
 * clock. Nothing here allocates memory.
 */
#ifndef LEAT_TIME_H
#define LEAT_TIME_H

#include <leat/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tells the time now.
 * Returns it in nanoseconds on the monotonic clock; always greater than LEAT_NOW. */
LEAT_API int64_t leat_now(void);

/* Makes a deadline that lies `ns` nanoseconds ahead.
 * Returns it; LEAT_NEVER where the sum would overflow; the time now where `ns` is 0 or less. */
LEAT_API int64_t leat_after(int64_t ns);

/* Sleeps for `ns` nanoseconds, never less. A worker runs other tasks meanwhile. With an `ns` of 0
 * or less it does not wait.
 * Returns 0; -ECANCELED when the scope is cancelled before the time has passed, or was before the
 * call; -EDEADLK in a block or callback, and for LEAT_NEVER outside any scope. */
LEAT_API int leat_sleep(int64_t ns);

/* The same until `deadline`. With LEAT_NEVER it waits until the scope is cancelled.
 * Returns what leat_sleep does; -EINVAL for a negative deadline. */
LEAT_API int leat_sleep_until(int64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
