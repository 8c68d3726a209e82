/* idle.h: workers without work: who sleeps, who watches, who is woken.
 *
 * Waking a sleeping core costs tens of microseconds, so starting a task wakes nobody as a rule.
 * Instead one idle worker, the watcher, sleeps in short naps and looks at the others' rings: a task
 * that was there at the last look and has not been started since has waited at least a nap, and is
 * stolen, unless its worker is about to get round to it: one that has started as many as a quarter of what waits
 * since the last look, or, for a few looks, one that is still making tasks in a burst. So a crowd of short,
 * talkative tasks stays together, and long ones spread. Naps begin at LT_WATCH_FIRST_US and double up to
 * LT_WATCH_LAST_US while they find nothing.
 *
 * Invariants, all under one lock that is taken only when a worker runs dry or comes back:
 *  - While at least one worker is active and at least one is idle, there is a watcher, or else no task
 *    has been started since the last worker became active: lt_idle_notice, called at each start, sees
 *    `watched` false and appoints one.
 *  - The watcher gives up its watch only when no worker is active, or by handing it to a sleeper.
 * An active worker therefore never reads a stale `watched` that is true: it became active under the
 * lock, after which nobody could give up the watch. */
#ifndef LT_SCHED_IDLE_H
#define LT_SCHED_IDLE_H

#include "sched/worker.h"

/* Called by a worker that found nothing to run. Returns when there may be something: an inbox, a due
 * timer, a stolen task in the ring, or the end of the runtime. */
void lt_idle(struct lt_worker *worker);

/* Called after something has been queued to start in this worker's ring. */
void lt_idle_notice(void);

/* At the start of the runtime, with all workers active, and at its end, with 0. */
void lt_idle_reset(unsigned active);

/* Called after something has been spilt by a thread that is no worker: wakes one who will take it. */
void lt_idle_call(void);

#endif
