/* clock.h: the only place that asks what time it is. */
#ifndef LT_BASE_CLOCK_H
#define LT_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds on the monotonic clock, always above 0. */
int64_t lt_clock_now(void);

/* `ns` nanoseconds after `now`, which is what nothing and less than nothing are; LEAT_NEVER when that is too
 * far. */
static inline int64_t lt_clock_after(int64_t now, int64_t ns)
{
    int64_t then;
    if (ns <= 0)
        return now;
    return __builtin_add_overflow(now, ns, &then) ? INT64_MAX : then;
}

#endif
