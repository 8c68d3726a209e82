/* monitor.h: the thread that looks after the program, while somebody has asked for that: for a deadlock,
 * for tasks that keep their worker, for a signal that asks for a dump. Without such a wish there is none. */
#ifndef LT_WATCH_MONITOR_H
#define LT_WATCH_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

struct lt_plan {
    bool deadlock, abort;
    int64_t watchdog; /* 0: none */
    int signal;       /* 0: none */
};

/* Starts the thread if the plan needs it. 0, -EINVAL, -ENOMEM. */
int lt_monitor_start(const struct lt_plan *plan);

/* Joins it, and puts signals' former handlers back. */
void lt_monitor_stop(void);

/* ---- what it does: called on it now and then ---- */

enum { LT_DEADLOCK_CHECK_MS = 100 };

/* Two calls in a row that find everything at rest, and nothing done in between, are a deadlock: true. And
 * forgets what was seen in an earlier runtime. */
bool lt_deadlock_check(void);
void lt_deadlock_reset(void);

/* Tells of those who have kept a worker for `limit` nanoseconds. And begins anew, for as many workers; 0
 * frees all. 0 or -ENOMEM. */
void lt_watchdog_check(int64_t limit);
int lt_watchdog_reset(unsigned workers);

#endif
