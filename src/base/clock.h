/* clock.h: the time. The library reads the clock nowhere else. */
#pragma once

#include <stdint.h>

/* Nanoseconds on the monotonic clock, always above 0. */
int64_t lt_clock_now(void);

/* A number that changes every few milliseconds. It costs a third of lt_clock_now. */
int64_t lt_clock_tick(void);

/* The time `ns` nanoseconds after `now`. It is `now` if ns is 0 or less, and LEAT_NEVER if it is
 * too far. */
static inline int64_t lt_clock_after(int64_t now, int64_t ns)
{
    int64_t then;
    if (ns <= 0)
        return now;
    return __builtin_add_overflow(now, ns, &then) ? INT64_MAX : then;
}
