/* monitor.h: the monitor, a thread that looks for deadlocks and for tasks that keep their worker,
 * and makes a dump on a signal. It exists only if the user asks for one of these. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lt_plan {
    bool deadlock, abort;
    int64_t watchdog; /* nanoseconds; 0: none */
    int signal;       /* 0: none */
};

/* Starts the thread if the plan needs it. 0, -EINVAL, -ENOMEM. */
int lt_monitor_start(const struct lt_plan *plan);

/* Joins the thread, and restores the former handlers of signals. */
void lt_monitor_stop(void);

/* Counts threads of leat's own that never call leat for the program: `by` is 1 for one more thread,
 * and -1 for one less. Counted only while the thread exists: if one too many were counted, the
 * search for deadlocks would overlook a thread of the program. */
void lt_monitor_bystander(int by);
