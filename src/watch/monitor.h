/* monitor.h: the monitor, a thread that looks for deadlocks and for tasks that keep their worker,
 * and makes a dump on a signal. It exists only if the user asks for one of these. */
#ifndef LT_WATCH_MONITOR_H
#define LT_WATCH_MONITOR_H

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

/* ---- what the monitor calls now and then ---- */

enum { LT_DEADLOCK_CHECK_MS = 100 };

/* True: there is a deadlock. This call and the one before found everything at rest, and nothing was
 * done in between. lt_deadlock_reset forgets what was found in an earlier runtime. */
bool lt_deadlock_check(void);
void lt_deadlock_reset(void);

/* Reports each party that has kept a worker for `limit` nanoseconds. lt_watchdog_reset begins anew
 * for `workers` workers; 0 workers frees all. 0 or -ENOMEM. */
void lt_watchdog_check(int64_t limit);
int lt_watchdog_reset(unsigned workers);

#endif
