/* time.h: functions for the table of kinds (sched/kinds.h): the end of the runtime, and timers that
 * call a function, as parties. */
#pragma once

#include "sched/party.h"

/* Called when no shared timer fires any more: closes all timeouts that have not passed yet. */
void lt_timeout_close_all(void);

/* Calls the function of a timer whose scope has been cancelled. */
void lt_user_timer_run(struct lt_party *party);

/* Stops the timer, and stores `reason` as its status. False: another party claimed it first. */
bool lt_user_timer_end(struct lt_party *party, int reason);
