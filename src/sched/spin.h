/* spin.h: looking for an answer before sleeping.
 *
 * A partner on another core often answers within a microsecond or two; a sleep and a wake-up cost some ten to
 * fifty. So who has to wait looks around first, as often as has paid lately: an answer in time brings all looks
 * back, a wait in vain halves them. But two who both sleep hide from each other how soon they could answer:
 * so now and then all looks are made, whatever has been.
 *
 * Where the process has but one processor nobody can answer meanwhile. There, who has to wait offers the processor to
 * others once, and looks then: two who wait for each other so change places with one system call each instead
 * of the sleeper's, the waker's and a switch at a moment that suits neither. But whoever offers it stands behind all
 * who want it, and where somebody computes gets it back only after time slices of milliseconds, when a sleeper would
 * have been woken at once. So no offer is made for a while after one that took long, and for twice that while if
 * the next does, too. One in vain costs 400 ns, beside a sleep of some microseconds. */
#ifndef LT_SCHED_SPIN_H
#define LT_SCHED_SPIN_H

#include "base/config.h"
#include "base/lock.h"

#include <stdbool.h>
#include <stdint.h>

enum { LT_SPIN_LEAST = 16, LT_SPIN_PROBE = 16 /* in so many waits in vain, one with all looks */ };

struct lt_spin {
    unsigned most, looks, vain;
    /* Times in a row that nothing came after the first of what was waited for: see chan/operate.c. */
    unsigned alone;
    bool offers;              /* there is one processor: */
    int64_t rest, rest_until; /* none before then, because one took long */
};

/* For the calling thread, and for what processors the process has now. */
void lt_spin_init(struct lt_spin *spin);

/* Whether to offer the only processor, and doing so. It keeps errno. */
bool lt_spin_may_offer(const struct lt_spin *spin);
void lt_spin_offer(struct lt_spin *spin);

/* How many looks to make, each after lt_spin_wait. */
static inline unsigned lt_spin_looks(const struct lt_spin *spin)
{
    if (spin->offers)
        return lt_spin_may_offer(spin);
    return spin->vain % LT_SPIN_PROBE == LT_SPIN_PROBE - 1 ? spin->most : spin->looks;
}

static inline void lt_spin_wait(struct lt_spin *spin)
{
    if (spin->offers)
        lt_spin_offer(spin);
    else
        lt_pause();
}

/* Whether it did the last time. */
static inline bool lt_spin_paid(const struct lt_spin *spin)
{
    return spin->most && spin->looks == spin->most;
}

/* After the looks, if there were any. */
void lt_spin_learn(struct lt_spin *spin, bool answered);

#endif
