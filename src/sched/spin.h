/* spin.h: looking for an answer before sleeping.
 *
 * A partner on another core often answers within a microsecond or two; a sleep and a wake-up cost
 * some ten to fifty. So before a thread or a worker sleeps it looks, as often as has paid lately:
 * an answer in time restores all looks, and a wait in vain halves them. But two partners that both
 * sleep hide from each other how soon they could answer: so after each LT_SPIN_PROBE waits in vain,
 * one wait makes all looks.
 *
 * If the process has one processor, no partner can answer meanwhile. Then a thread that has to wait
 * offers the processor once (sched_yield), and looks afterwards. Two threads that wait for each
 * other swap with one system call each, instead of a futex wait, a futex wake and a switch at a bad
 * moment. But a thread that offers goes to the end of the kernel's queue: beside a thread that
 * computes, it runs again only after time slices of milliseconds, while the kernel would have woken
 * a sleeper at once. So after an offer that took long the thread makes none for a while, and for
 * twice that while if the next takes long, too. An offer in vain costs 400 ns, a sleep some
 * microseconds. And a server whose clients are elsewhere has nobody to offer the processor to:
 * after LT_SPIN_PROBE waits in vain a thread offers it in one wait of LT_SPIN_PROBE. */
#pragma once

#include "base/config.h"
#include "base/lock.h"

#include <stdbool.h>
#include <stdint.h>

enum { LT_SPIN_LEAST = 16, LT_SPIN_PROBE = 16 /* waits in vain, one of which makes all looks */ };

struct lt_spin {
    unsigned most, looks, vain;
    /* Looks for more items, in a row, that found none: see chan/linger.c. */
    unsigned alone;
    bool offers;              /* there is one processor, which a waiter offers; */
    int64_t rest, rest_until; /* none before then, since an offer took long */
};

/* For the calling thread, and the processors that the process has now. */
void lt_spin_init(struct lt_spin *spin);

/* Whether to offer the only processor. lt_spin_offer does, and keeps errno. */
bool lt_spin_may_offer(const struct lt_spin *spin);
void lt_spin_offer(struct lt_spin *spin);

/* How many looks to make, each after lt_spin_wait. */
static inline unsigned lt_spin_looks(const struct lt_spin *spin)
{
    bool probes = spin->vain % LT_SPIN_PROBE == LT_SPIN_PROBE - 1;
    if (spin->offers)
        return (probes || spin->vain < LT_SPIN_PROBE) && lt_spin_may_offer(spin);
    return probes ? spin->most : spin->looks;
}

static inline void lt_spin_wait(struct lt_spin *spin)
{
    if (spin->offers)
        lt_spin_offer(spin);
    else
        lt_pause();
}

/* Whether looking has paid the last time. */
static inline bool lt_spin_paid(const struct lt_spin *spin)
{
    return spin->most && spin->looks == spin->most;
}

/* Called once a wait, after its looks, even if lt_spin_looks told to make none. */
void lt_spin_learn(struct lt_spin *spin, bool answered);
