/* idle.h: workers without work: which one sleeps, watches, or is woken.
 *
 * Waking a sleeping core costs tens of microseconds, so a worker that makes a party ready for
 * itself mostly wakes no other. Instead one idle worker, the watcher, makes sure that no worker is
 * late, and takes work from those that are (sched/steal.h). It naps between its looks:
 * LT_WATCH_FIRST_US at first, then twice as long after each look that found nothing worth taking,
 * up to LT_WATCH_LAST_US. Other idle workers cost nothing.
 *
 * The watcher does not nap while there is nothing to watch: while no worker is active, or the
 * active ones have nothing waiting and have run the same party since the last look. It sleeps until
 * the first timer of another worker is overdue, and sets `unwatched` in every worker. A thread that
 * then gives a worker something to do, or an earlier timer, notifies it (lt_worker_notify). In the
 * long run that happens at most once a millisecond: a watcher that was notified more often naps
 * first.
 *
 * A worker that runs dry becomes the watcher, unless the watcher sleeps without naps: the former
 * watcher may be in a long nap, and there is a processor for one more active worker now.
 *
 * A program may have more workers than processors (lt_runtime.processors), for instance because its
 * tasks block in the system. While the active workers keep all processors busy, one more would only
 * take time from them. So a worker that runs dry then sleeps at once, the watcher takes only from
 * workers that seem to be blocked, and a worker that wakes up gives its ready parties away. A new
 * watcher then begins with the longest nap; and a watcher that becomes active wakes no other if the
 * next one is in a nap: it was the watcher a moment ago. Else wake-ups would take time from the
 * active workers as often as one of these runs dry and steals again.
 *
 * Workers that serve a few descriptors would wake each other in vain. When LT_VAIN_WATCHES in a row
 * took nothing, such a worker calls the lookout (sched/lookout.h). And if another worker is active
 * then, it gives the party that its event has made ready to that worker: so their descriptors
 * gather on one worker, which sleeps less, until there is enough to do for two.
 *
 * Invariants, all under one lock, which is taken only when a worker runs dry, becomes active again,
 * or notifies:
 *  - While a worker is idle, one of these holds: there is a watcher; the lookout looks; or
 *    `unwatched` is set and no worker has a timer.
 *  - An idle worker that has `naps` set asks for its role again within LT_WATCH_LAST_US: it clears
 *    the word under the lock when it finds that it is not the watcher, or when it rests.
 *  - `unwatched` is set while the watcher sleeps without naps, or while there is none and a worker
 *    is idle.
 *
 * A watcher that sets `unwatched` while others are active makes a barrier and looks once more:
 * either it sees what was added, or the thread that adds something sees the word
 * (base/barrier.h). */
#pragma once

struct lt_worker;

/* Inside: called by a worker that found nothing to run. Returns when there may be something: in the
 * inbox, from a due timer, or stolen; or at the end of the runtime. */
void lt_idle(struct lt_worker *worker);

/* Called at the start of the runtime, with all workers active, and at its end, with 0. */
void lt_idle_reset(unsigned active);

/* Called by a thread that is no worker after it has put something into the global queue: wakes a
 * worker that will take it. */
void lt_idle_call(void);

/* The lookout's look: wakes an idle worker to watch if another has been active since the last look.
 * Else the lookout rests if it may. */
void lt_idle_look_over(void);

/* If no worker would notice that another is late, makes one watch. The caller may hold any lock. */
void lt_idle_notify(void);
