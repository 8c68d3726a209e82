/* clock.h: the only place that asks what time it is. */
#ifndef LT_BASE_CLOCK_H
#define LT_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds on the monotonic clock, always above 0. */
int64_t lt_clock_now(void);

#endif
