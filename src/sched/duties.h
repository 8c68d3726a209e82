/* duties.h: what a worker does between parties, and how often.
 *
 * Between two parties a worker looks at its inbox, nudges, timers and descriptors, and now and then
 * at other workers (sched/steal.h). A party may take 10 ns, or a millisecond. So the worker counts
 * parties, since the clock costs more than a switch, and it fits the counts to its pace, the time
 * that a party took on average. `stride` parties run between two visits of its scheduler: about
 * LT_VISIT_US, but at most LT_DIRECT_SWITCHES parties. Some parties need a visit sooner; timers
 * wait for a stride all the same, since they cost a look at the clock. The worker looks at the
 * other workers again after `until_look` parties: about LT_LATE_US.
 *
 * A worker whose parties are fast reads the cheap clock once in LT_LOOKS_APART parties. It counts
 * its pace anew when that clock has advanced, so it notices soon that its parties have become
 * slow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lt_worker;

/* Only the worker uses it. */
struct lt_duties {
    unsigned stride;     /* parties from one visit of the scheduler to the next */
    int until_look;      /* parties until the worker looks at the clock, */
    unsigned unlooked;   /* times that it did not since it last did, */
    int64_t tick;        /* and the cheap clock then */
    int64_t pace;        /* ns a party takes, */
    int64_t paced;       /* counted since then, */
    uint64_t paced_from; /* when it had made this many switches */
    uint64_t timed_at;   /* switches when it last looked at its timers */
    int64_t rung;        /* when a timer last woke it */
    uint64_t fired;      /* timers fired by then */
    int64_t rest;        /* ns from `rung` in which no timer wakes it again */
};

/* Counts a stride of parties, without a visit of the scheduler. True: the scheduler should look at
 * the clock. */
bool lt_duties_may_look(struct lt_duties *duties);

/* Inside: the worker's duties, before it runs the next party. */
void lt_duties_see_to(struct lt_worker *worker);

/* Inside: the worker has become active, and counts its pace from now on. */
void lt_duties_begin(struct lt_worker *worker, int64_t now);

/* Inside: when a worker that is about to sleep wakes for the next timer. Timers that come thick and
 * fast share a wake-up. */
int64_t lt_duties_next_timer(struct lt_worker *worker);

/* Inside: the worker has woken then, or later. */
void lt_duties_woke_for_timer(struct lt_worker *worker, int64_t now);
