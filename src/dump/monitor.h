/* monitor.h: the monitor, a thread that looks for deadlocks and for tasks that keep their worker,
 * and makes a dump on a signal. It exists only if the user asks for one of these. */
#ifndef LT_DUMP_MONITOR_H
#define LT_DUMP_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

struct lt_plan {
    bool deadlock, abort;
    int64_t watchdog; /* nanoseconds; 0: none */
    int signal;       /* 0: none */
};

/* Starts the thread if the plan needs it. 0, -EINVAL, -ENOMEM. */
int lt_monitor_start(const struct lt_plan *plan);

/* Joins the thread, and puts back the former handlers of signals. */
void lt_monitor_stop(void);

/* One more thread of leat's own that never calls leat for the program: by is 1, and -1 for one
 * less. Counted only while the thread exists: with a thread too many counted, a thread of the
 * program would be overlooked when deadlocks are looked for. */
void lt_monitor_bystander(int by);

#endif
