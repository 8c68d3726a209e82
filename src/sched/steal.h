/* steal.h: how a worker takes over work from workers that are late.
 *
 * A thief looks at each other worker twice, at least some microseconds apart, and compares. A party
 * that was there at both looks has waited that long.
 *  - The thief takes half of the unstarted parties in the local queue, unless the other worker will
 *    soon start them: since the last look it has started at least a quarter of them, and they were
 *    short; or, for a few looks, it has started none and is still making more. A worker that has
 *    made none for LT_STEAL_AFTER_US has ended its burst, and computes.
 *  - The thief takes half of the ready parties, if the other worker has meanwhile run each party
 *    for LT_SLOW_NS or more, and each of its operations took LT_SLOW_OP_NS or more. So a talkative
 *    crowd stays together: each party in it is served at once, and waits only because there are
 *    many. (After shorter runs a move would not pay. Parties with a buffer between them run long,
 *    and may do nothing but talk: that shows in their operations. Once such parties are apart, the
 *    way between the processors makes their operations slow. So the line must lie above what they
 *    take together where a core is slow.)
 *  - If the other worker has run nothing else meanwhile, some party holds it up: the thief then
 *    also does what that worker would do for its inbox, nudges, shared timers and due timers.
 *
 * For all but the local queue the thief goes inside the other worker (base/owned.h), which succeeds
 * only while that one runs a user's function. (A waker goes inside a worker that is idle, too, to
 * take over a party: sched/takeover.h.) A party that moves is ready and does not run, and the thief
 * becomes its home. Its wait is over, so the timer of that wait is removed from the old home's
 * wheel. The timers of scopes that it has opened move along.
 *
 * Not moved: the running party, which may be in the inbox already; tasks with pins; jobs that
 * belong to a worker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lt_party;
struct lt_worker;

/* What a thief has seen of a worker: the ends of its local queue, and how far it is in its work. */
struct lt_seen {
    uint32_t head, tail;
    uint64_t done;  /* switches since the start, more or less, */
    uint32_t spent; /* and operations that did not wait */
    int64_t since;  /* when a look first found it that far */
};

/* Only the worker uses it. */
struct lt_stealing {
    struct lt_seen *seen; /* each worker at the last look, */
    int64_t looked;       /* and when that was */
    unsigned patience;    /* looks that took nothing although something waited */
};

/* The result of a round of looks. */
enum lt_loot {
    LT_LOOT_QUIET, /* nothing to take, and no worker has run anything since the last look */
    LT_LOOT_NONE,  /* nothing worth taking */
    LT_LOOT_LATER, /* something waits */
    LT_LOOT_TAKEN  /* taken into the thief's own queues */
};

/* Inside the thief: looks at all other workers again, and takes from the first one where that pays.
 * Remembers the look for the next. While others keep all processors busy, it takes only from a
 * worker that seems to be blocked: one more worker that computes would only take time from them. */
enum lt_loot lt_steal(struct lt_worker *thief, int64_t now);

/* Inside a worker that is active beside others that keep all processors busy: gives its ready
 * parties to them, for good. So a program with more workers than processors settles on as many as
 * there are processors. */
void lt_steal_give(struct lt_worker *worker);

/* A first look. True: some other worker has more waiting than it is running. */
bool lt_steal_look(struct lt_worker *thief, int64_t now);

/* After a barrier: true if no other worker is in the middle of something that a look might have
 * missed. */
bool lt_steal_saw_all(const struct lt_worker *thief);

/* The time of the first timer of all workers but `thief`, which may be NULL: by then a worker that
 * does not answer needs help. */
int64_t lt_steal_next(const struct lt_worker *thief);

/* Inside the thief: goes inside the other worker, if it can, and takes ready parties. If that
 * worker is held up, the thief first does that worker's duties. True: the thief has something to
 * run. */
bool lt_steal_visit(struct lt_worker *thief, struct lt_worker *victim, bool held_up, int64_t now);

/* Whether a party may not be moved. */
bool lt_steal_stays(struct lt_worker *victim, struct lt_party *party);

/* Inside both: moves a party of `from` whose wait is over. The caller takes it out of the list that
 * it is in, if any. False: it stays. */
bool lt_steal_move(struct lt_party *party, struct lt_worker *from, struct lt_worker *to);

/* Reads a word that another worker changes with plain stores, many times a microsecond, and any
 * value will do: atomic stores would cost more than this is worth. */
unsigned lt_steal_peek(const unsigned *word);

/* Inside a worker that has enough to do itself: looks now and then whether another is held up, and
 * then takes parties from it as a thief does. */
void lt_look_after_others(struct lt_worker *worker, int64_t now);
