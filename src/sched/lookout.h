/* lookout.h: a thread that looks once in LT_LOOKOUT_US whether a worker is held up.
 *
 * A worker that serves a few descriptors becomes active for moments, often many times a
 * millisecond. If it handed on the watch each time (sched/idle.h), two workers would keep each
 * other awake in vain. So if that has been in vain for a while, the worker calls the lookout
 * instead, and wakes nobody while the lookout looks. The lookout makes an idle worker the watcher
 * if another has been active from one look to the next. It then looks on, as it does if some worker
 * has called it since its last look. Else it rests.
 *
 * The thread starts when it is first wanted, and ends with the runtime. Without memory for a thread
 * there is no lookout.
 *
 * Locking. lt_lookout_call and lt_lookout_rest are called with the lock of sched/idle.c held. */
#pragma once

#include <stdbool.h>

/* Starts the lookout, unless a thread has done so. Called with no lock held. */
void lt_lookout_start(void);

/* The end of the runtime, when no worker is left: ends the thread. */
void lt_lookout_stop(void);

bool lt_lookout_is_there(void);

/* The lookout looks from now on. True: it rests, and the caller wakes it when it has given the lock
 * back. */
bool lt_lookout_call(void);
void lt_lookout_wake(void);

/* The lookout itself: it rests until it is called. */
void lt_lookout_rest(void);
