/* leat/time.h: the clock, and sleeping.
 *
 * leat has one clock: CLOCK_MONOTONIC, in nanoseconds. It does not jump when somebody sets the wall
 * clock. Nothing here allocates memory.
 */
#ifndef LEAT_TIME_H
#define LEAT_TIME_H

#include <leat/base.h>

/* Tells the time now.
 * Returns it in nanoseconds on the monotonic clock; always greater than LEAT_NOW. */
LEAT_API int64_t leat_now(void);

/* Makes a deadline that lies `ns` nanoseconds ahead.
 * Returns it; LEAT_NEVER if the sum would overflow; the time now if `ns` is 0 or less. */
LEAT_API int64_t leat_after(int64_t ns);

/* Sleeps for at least `ns` nanoseconds, while the worker runs other tasks. If `ns` is 0 or less, it
 * does not wait.
 * Returns 0; -ECANCELED when the caller's scope is cancelled, before the call or during it;
 * -EDEADLK in a block or callback, and for LEAT_NEVER outside any scope. */
LEAT_API int leat_sleep(int64_t ns);

/* The same until `deadline`. With LEAT_NEVER it sleeps until the scope is cancelled.
 * Returns what leat_sleep does; -EINVAL for a negative deadline. */
LEAT_API int leat_sleep_until(int64_t deadline);

#endif
