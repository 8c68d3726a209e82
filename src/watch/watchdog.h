/* watchdog.h: which parties keep their worker, which the monitor asks now and then. */
#ifndef LT_WATCH_WATCHDOG_H
#define LT_WATCH_WATCHDOG_H

#include <stdint.h>

/* Reports each party that has kept a worker for `limit` nanoseconds. lt_watchdog_reset begins anew
 * for `workers` workers; 0 workers frees all. 0 or -ENOMEM. */
void lt_watchdog_check(int64_t limit);
int lt_watchdog_reset(unsigned workers);

#endif
