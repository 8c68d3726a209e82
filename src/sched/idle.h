/* idle.h: workers without work: who sleeps, who watches, who is woken.
 *
 * Waking a sleeping core costs tens of microseconds, so whoever makes a party ready on its own worker wakes nobody as a
 * rule. Instead one idle worker, the watcher, sees to it that no worker is late, and takes work from those that are
 * (sched/steal.h). Its looks are a nap apart: LT_WATCH_FIRST_US at first, twice as long each time that there was nothing
 * worth taking, up to LT_WATCH_LAST_US. So an idle worker without a role costs nothing.
 *
 * The watcher does not nap while there is nothing to watch: while nobody is active, or the active have no one waiting
 * and have gone on with the same party since the last look. It sleeps until the first timer of another worker is
 * overdue; and it sets `unwatched` in every worker, so whoever gives a worker something to do, or an earlier timer, tells
 * (lt_worker_tell). That happens once a millisecond in the long run: a watcher that was told more often naps until then.
 *
 * Invariants, all under one lock that is taken only when a worker runs dry or comes back, or tells:
 *  - While a worker is idle, there is a watcher, or `unwatched` is set, and no worker has a timer.
 *  - `unwatched` is set while the watcher sleeps without naps, or while there is none and somebody idle.
 * Who sets it while others are active makes a barrier and looks once more: either it sees what was added, or who adds
 * sees the word (base/barrier.h). */
#ifndef LT_SCHED_IDLE_H
#define LT_SCHED_IDLE_H

#include "sched/worker.h"

/* Inside: called by a worker that found nothing to run. Returns when there may be something: an inbox, a due
 * timer, something stolen, or the end of the runtime. */
void lt_idle(struct lt_worker *worker);

/* At the start of the runtime, with all workers active, and at its end, with 0. */
void lt_idle_reset(unsigned active);

/* Called after something has been put into the global queue by a thread that is no worker: wakes one who will take it. */
void lt_idle_call(void);

#endif
