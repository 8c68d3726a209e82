/* steal.h: what a worker takes over from others that are late.
 *
 * A thief looks at each of the others twice, at least some ten microseconds apart, and compares: what was there at the
 * first look and is still there at the second has waited that long.
 *  - Of what has not started, in the local queue, it takes half, unless the other is about to get round to it: it has started
 *    as many as a quarter of what waits since the last look, or, for a few looks, is still making more in a burst.
 *  - Of those that are ready it takes half, if in between the other has given each that it ran LT_SLOW_NS or longer. So
 *    a talkative crowd stays together: each in it is served at once, and waits only because there are many. (A shorter
 *    turn would not pay for the move, either.)
 *  - Where the other has run nothing else in between, somebody holds it up: then the thief also sees to its inbox, its
 *    nudges, its bells and the timers that are due, as the worker itself would.
 *
 * For all but the ring the thief goes inside the other (base/owned.h), which succeeds only while that runs a user's
 * function. Who is moved is ready and does not run. It leaves what it has with its home behind: the timer of its wait,
 * which is over; and takes along the timers of the scopes it has opened. Its home is the thief from then on.
 *
 * Not moved: the running party, which may be in the inbox already; tasks with pins; jobs that belong to a worker. */
#ifndef LT_SCHED_STEAL_H
#define LT_SCHED_STEAL_H

#include "sched/worker.h"

/* What a round of looks came to. */
enum lt_loot {
    LT_LOOT_QUIET, /* nobody has anything to take, and nobody has run anything since the last look */
    LT_LOOT_NONE,  /* nothing worth taking */
    LT_LOOT_LATER, /* something waits */
    LT_LOOT_TAKEN  /* it is in the thief's own queues */
};

/* Inside the thief: looks at all others, not for the first time, and takes from the first where that pays. The look
 * is remembered for the next. While the others keep all processors busy it takes only from a worker that seems to be
 * blocked: one more that computes would only take time from them. */
enum lt_loot lt_steal(struct lt_worker *thief, int64_t now);

/* Inside a worker that is active beside others that keep all processors busy: gives its ready parties to them, for good.
 * So a program settles on as many workers as there are processors, though it has more. */
void lt_steal_give(struct lt_worker *worker);

/* A first look. True: somebody else has more to do than it is doing. */
bool lt_steal_look(struct lt_worker *thief, int64_t now);

/* After a barrier: true when none of the others is in the middle of something that a look might have missed. */
bool lt_steal_saw_all(const struct lt_worker *thief);

/* When a worker that does not answer must be seen to at the latest, of all but `thief`, which
 * may be NULL: the first timer. */
int64_t lt_steal_next(const struct lt_worker *thief);

/* Inside both: moves a party that has been made ready there and is in no list. False: it stays. */
bool lt_steal_move(struct lt_party *party, struct lt_worker *from, struct lt_worker *to);

/* Inside a worker that has enough to do itself: sees now and then whether somebody holds up another. */
void lt_look_after_others(struct lt_worker *worker);

#endif
