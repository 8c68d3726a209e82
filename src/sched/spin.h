/* spin.h: looking for an answer before sleeping.
 *
 * A partner on another core often answers within a microsecond or two; a sleep and a wake-up cost some ten to
 * fifty. So who has to wait looks around first, as often as has paid lately: an answer in time brings all looks
 * back, a wait in vain halves them. But two who both sleep hide from each other how soon they could answer:
 * so now and then all looks are made, whatever has been. Where the process has but one processor nobody can
 * answer meanwhile, and there are none. */
#ifndef LT_SCHED_SPIN_H
#define LT_SCHED_SPIN_H

#include "base/config.h"
#include "base/lock.h"

#include <stdbool.h>

enum { LT_SPIN_LEAST = 16, LT_SPIN_PROBE = 16 /* in so many waits in vain, one with all looks */ };

struct lt_spin {
    unsigned most, looks, vain;
    /* Times in a row that nothing came after the first of what was waited for: see chan/operate.c. */
    unsigned alone;
};

/* For the calling thread, and for what processors the process has now. */
void lt_spin_init(struct lt_spin *spin);

/* How many looks to make, a pause after each. */
static inline unsigned lt_spin_looks(const struct lt_spin *spin)
{
    return spin->vain % LT_SPIN_PROBE == LT_SPIN_PROBE - 1 ? spin->most : spin->looks;
}

/* Whether it did the last time. */
static inline bool lt_spin_paid(const struct lt_spin *spin)
{
    return spin->most && spin->looks == spin->most;
}

static inline void lt_spin_learn(struct lt_spin *spin, bool answered)
{
    if (answered) {
        spin->looks = spin->most;
        spin->vain = 0;
    } else {
        spin->vain++;
        if (spin->looks > LT_SPIN_LEAST)
            spin->looks /= 2;
    }
}

#endif
