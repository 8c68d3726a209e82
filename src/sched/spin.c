#define _GNU_SOURCE
#include "sched/spin.h"

#include "base/clock.h"

#include <leat/base.h>

#include <errno.h>
#include <sched.h>
#include <unistd.h>

/* The process counts as having one processor if this thread and the first one are bound to the same
 * processor. (A thread may be bound by itself, and so may the first one, but hardly both to the
 * same processor.) */
static bool one_processor(void)
{
    cpu_set_t mine, first;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) == 1 &&
           sched_getaffinity(getpid(), sizeof first, &first) == 0 && CPU_EQUAL(&mine, &first);
}

void lt_spin_init(struct lt_spin *spin)
{
    int saved = errno;
    *spin = (struct lt_spin){ .offers = one_processor() };
    spin->most = spin->looks = spin->offers ? 0 : LT_IDLE_SPINS;
    errno = saved;
}

bool lt_spin_may_offer(const struct lt_spin *spin)
{
    return !spin->rest || lt_clock_now() >= spin->rest_until;
}

/* Rests after an offer that took long. If the last such offer is long ago, it no longer counts. */
static void took_long(struct lt_spin *spin, int64_t took, int64_t now)
{
    if (now - spin->rest_until > spin->rest)
        spin->rest = 0;
    int64_t rest = took * LT_OFFER_RESTS;
    if (rest < 2 * spin->rest)
        rest = 2 * spin->rest;
    spin->rest = rest < LT_OFFER_REST_S * LEAT_S ? rest : LT_OFFER_REST_S * LEAT_S;
    spin->rest_until = now + spin->rest;
}

void lt_spin_offer(struct lt_spin *spin)
{
    int64_t before = lt_clock_now();
    sched_yield();
    int64_t now = lt_clock_now();
    if (now - before > LT_OFFER_US * LEAT_US)
        took_long(spin, now - before, now);
}

void lt_spin_learn(struct lt_spin *spin, bool answered)
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
