/* takeover.h: how parties that talk to each other come together on one worker.
 *
 * They may be apart: they were started apart, or the system ran something else on the processor of
 * a worker, and a thief helped (sched/steal.h). From then on each waits for the other's worker, for
 * every few items. So a worker that makes a party ready takes the party over, if the party's worker
 * is idle and had little to do before:
 *  - It sleeps, and was active for less than LT_BRIEF_NS between its last two sleeps, without the
 *    time for waking others. A wake-up takes longer than that.
 *  - It looks for news before it sleeps. Since it last found some it was active for less than
 *    LT_SLOW_NS; or for less than LT_BRIEF_NS, and less than LT_TALK_NS an operation. An item that
 *    goes from one processor to another costs about as much.
 *
 * A worker with several ready parties takes none over: where many are woken at once, both workers
 * have enough to do.
 *
 * The idle worker is away from `own` meanwhile. The waker takes the party's timers, publishes how
 * many are left, and adds nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lt_party;
struct lt_worker;

/* Only the worker writes it. */
struct lt_activity {
    int64_t woke;        /* since when it is active, plus the time of its calls of others */
    int64_t resumed;     /* when it last found something to run again, */
    uint32_t operations; /* and how many it had done by then */
    bool was_brief;      /* it is idle, and parties may be taken over; a hint */
};

/* The waker's own thread: takes over a party that it makes ready and that is in no list, if the
 * party's worker is idle and had little to do. (That worker may just be active again, which does no
 * harm.) False: it did not. */
bool lt_takeover(struct lt_worker *waker, struct lt_worker *idle, struct lt_party *party);

/* Inside: the worker, which ran dry at time `dry`, looks for news before it sleeps. `dry` is 0 if
 * there is no other worker. True: there is news. */
bool lt_takeover_look(struct lt_worker *worker, int64_t dry);

/* Inside: the worker, which ran dry at time `dry`, is about to sleep. */
void lt_takeover_begin_sleep(struct lt_worker *worker, int64_t dry);

/* It is active again, or for the first time. */
void lt_takeover_end_sleep(struct lt_worker *worker);
