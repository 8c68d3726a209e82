#define _GNU_SOURCE
#include "sched/spin.h"

#include <sched.h>
#include <unistd.h>

void lt_spin_init(struct lt_spin *spin)
{
    cpu_set_t set;
    bool alone = sched_getaffinity(getpid(), sizeof set, &set) == 0 && CPU_COUNT(&set) == 1;
    *spin = (struct lt_spin){ 0 };
    spin->most = spin->looks = alone ? 0 : LT_IDLE_SPINS;
}
