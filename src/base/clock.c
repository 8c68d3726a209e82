#include "base/clock.h"

#include "base/util.h"
#include "base/world.h"

#include <leat/base.h>

#include <time.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    int64_t ns = (int64_t)now.tv_sec * LEAT_S + now.tv_nsec;
    return ns > 0 ? ns : 1; /* 0 is LEAT_NOW */
}

int64_t lt_clock_now(void)
{
    return LT_UNLIKELY(lt_world() != NULL) ? lt_world()->now : read_clock(CLOCK_MONOTONIC);
}

int64_t lt_clock_tick(void)
{
    return read_clock(CLOCK_MONOTONIC_COARSE);
}
