#include "base/clock.h"

#include "base/util.h"
#include "base/world.h"

#include <leat/base.h>

#include <time.h>

int64_t lt_clock_now(void)
{
    if (LT_UNLIKELY(lt_world() != NULL))
        return lt_world()->now;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = (int64_t)now.tv_sec * LEAT_S + now.tv_nsec;
    return ns > 0 ? ns : 1; /* 0 is LEAT_NOW */
}
