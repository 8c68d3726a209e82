/* cores.h: how many processors the process may use, and how many of them its CPU quota leaves it
 * (leat_cores). */
#pragma once

#include <stdint.h>

/* The processors that the process may run on, whatever its quota. 1 or more. */
unsigned lt_processors(void);

/* The least CPU quota of the process's control groups and of all groups around them, in cores,
 * rounded up. INT64_MAX when there is none: a file that cannot be read or understood sets none.
 * `root`: the folder that has the system's proc and sys, "" for the real ones. */
int64_t lt_cores_quota(const char *root);

/* What leat_cores returns for that many processors and that quota. */
unsigned lt_cores_within(unsigned processors, int64_t quota);
