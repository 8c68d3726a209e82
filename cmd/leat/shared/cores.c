#define _GNU_SOURCE
#include "shared/cores.h"

#include <sched.h>

unsigned cores_usable(void)
{
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) < 0)
        return 1;
    int n = CPU_COUNT(&usable);
    return n < 1 ? 1 : (unsigned)n;
}
