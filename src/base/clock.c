#include "base/clock.h"

#include <leat/base.h>

#include <time.h>

int64_t lt_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = (int64_t)now.tv_sec * LEAT_S + now.tv_nsec;
    return ns > 0 ? ns : 1; /* 0 is LEAT_NOW */
}
