/* timer.h: timers that call a function, as parties. For the table of kinds (sched/kinds.h). */
#ifndef LT_TIME_TIMER_H
#define LT_TIME_TIMER_H

#include "sched/party.h"

/* Calls the function of a timer whose scope has been cancelled. */
void lt_user_timer_run(struct lt_party *party);

/* Stops the timer, and stores `reason` as its status. False: another claimed it first. */
bool lt_user_timer_end(struct lt_party *party, int reason);

#endif
