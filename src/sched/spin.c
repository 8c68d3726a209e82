#define _GNU_SOURCE
#include "sched/spin.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

/* A thread may be bound to a processor by itself, and the first one, too, but not all of them to the same. */
static bool one_processor(void)
{
    cpu_set_t mine, first;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) == 1 &&
           sched_getaffinity(getpid(), sizeof first, &first) == 0 && CPU_EQUAL(&mine, &first);
}

void lt_spin_init(struct lt_spin *spin)
{
    int saved = errno;
    *spin = (struct lt_spin){ 0 };
    spin->most = spin->looks = one_processor() ? 0 : LT_IDLE_SPINS;
    errno = saved;
}
