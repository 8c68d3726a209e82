/* sync_reference.h: for test_sync_exact.c: semaphores, mutexes, latches, onces and singleflights as
 * leat/sync.h describes them, in one thread: a few counters, one queue of all callers that wait,
 * and events at known times. No two events have the same time, so what happens next is always
 * known. */
#pragma once

#include "support.h"

enum { CALLERS = 6, STEPS = 120, THINGS = 2, KEYS = 2, PERMITS = 5, NO_ONE = -1, MYSELF = CALLERS };
enum way { ACQUIRE, WITHIN, LOCK, UNLOCK, LATCH, ONCE, FLIGHT, WAYS };

/* What one wait is for: permits of a semaphore, a mutex, a latch, a once or a flight. */
struct want {
    enum way way;
    int thing, n;
    int64_t deadline, scope_deadline;
};

struct flight {
    int thing, key;
    int64_t end; /* LEAT_NEVER: it has ended */
    bool forgotten;
};

/* Onces count as flights, too: that of thing i has the key KEYS, and is never forgotten. */
static struct {
    int64_t now;
    int64_t permits[THINGS], taken[THINGS], visits[THINGS];
    int holder[THINGS];
    unsigned latch[THINGS];
    bool once_done[THINGS];
    int once_value[THINGS];
    int queue[CALLERS], queued; /* callers that wait for anything, in the order of their calls */
    struct flight flights[STEPS];
    int flown;
    int64_t visit_end[STEPS]; /* of tasks within a semaphore */
    int visit_at[STEPS], visited;
    struct {
        bool waits, returned, runs; /* runs: it runs the function of a once */
        struct want want;
        int status, flight;
        int64_t at;
    } callers[CALLERS];
} ref;

static void ref_return(int caller, int status)
{
    int kept = 0;
    for (int i = 0; i < ref.queued; i++)
        if (ref.queue[i] != caller)
            ref.queue[kept++] = ref.queue[i];
    ref.queued = kept;
    ref.callers[caller].waits = ref.callers[caller].runs = false;
    ref.callers[caller].returned = true;
    ref.callers[caller].status = status;
    ref.callers[caller].at = ref.now;
}

/* When a visit ends, or a flight, that begins now. No other event is at that time. */
static int64_t end_of(enum way way, int number, int64_t now)
{
    int kind = way == WITHIN ? 400 : 600;
    return now - now % LEAT_US + (1 + number * 7 % 30) * LEAT_US + kind + number;
}

static bool uses_permits(enum way way)
{
    return way == ACQUIRE || way == WITHIN;
}

static bool waits_for(int caller, enum way way, int thing)
{
    const struct want *want = &ref.callers[caller].want;
    return (want->way == way || (uses_permits(want->way) && uses_permits(way))) &&
           want->thing == thing;
}

static void take(int caller)
{
    const struct want *want = &ref.callers[caller].want;
    if (want->way == LOCK)
        ref.holder[want->thing] = caller;
    else
        ref.taken[want->thing] += want->n;
    if (want->way == WITHIN) {
        ref.visits[want->thing]++;
        ref.visit_at[ref.visited] = want->thing;
        ref.visit_end[ref.visited] = end_of(WITHIN, ref.visited, ref.now);
        ref.visited++;
    }
    ref_return(caller, 0);
}

static bool is_free(enum way way, int thing, int n)
{
    return way == LOCK ? ref.holder[thing] == NO_ONE : ref.taken[thing] + n <= ref.permits[thing];
}

/* The first caller in the queue. */
static int first_of(enum way way, int thing)
{
    for (int i = 0; i < ref.queued; i++)
        if (waits_for(ref.queue[i], way, thing))
            return ref.queue[i];
    return NO_ONE;
}

/* First come, first served. */
static void let_in(enum way way, int thing)
{
    int first;
    while ((first = first_of(way, thing)) != NO_ONE &&
           is_free(way, thing, ref.callers[first].want.n))
        take(first);
}

static int flight_of(int thing, int key)
{
    for (int i = 0; i < ref.flown; i++)
        if (ref.flights[i].thing == thing && ref.flights[i].key == key &&
            ref.flights[i].end != LEAT_NEVER && !ref.flights[i].forgotten)
            return i;
    return NO_ONE;
}

static int value_of(int flight)
{
    return flight % 3 ? 0 : -(1000 + flight);
}

/* Finds the flight, or begins one. */
static int fly(int thing, int key)
{
    int flight = flight_of(thing, key);
    if (flight != NO_ONE)
        return flight;
    ref.flights[ref.flown] =
        (struct flight){ .thing = thing, .key = key, .end = end_of(FLIGHT, ref.flown, ref.now) };
    return ref.flown++;
}

static void ref_wait(int caller)
{
    const struct want *want = &ref.callers[caller].want;
    if (want->deadline <= ref.now) {
        ref_return(caller, want->deadline == LEAT_NOW ? -EAGAIN : -ETIMEDOUT);
        return;
    }
    ref.callers[caller].waits = true;
    ref.queue[ref.queued++] = caller;
}

static void ref_call(int caller, struct want want)
{
    int thing = want.thing;
    ref.callers[caller].want = want;
    switch (want.way) {
    case ACQUIRE:
    case WITHIN:
    case LOCK:
        if (want.way != LOCK && want.n > ref.permits[thing])
            ref_return(caller, -EINVAL);
        else if (want.way == LOCK && ref.holder[thing] == caller)
            ref_return(caller, -EDEADLK);
        else if (first_of(want.way, thing) == NO_ONE && is_free(want.way, thing, want.n))
            take(caller);
        else
            ref_wait(caller);
        break;
    case UNLOCK:
        ref_return(caller, ref.holder[thing] == caller ? 0 : -EPERM);
        if (ref.holder[thing] == caller) {
            ref.holder[thing] = NO_ONE;
            let_in(LOCK, thing);
        }
        break;
    case LATCH:
        if (ref.latch[thing] == 0)
            ref_return(caller, 0);
        else
            ref_wait(caller);
        break;
    case ONCE:
        if (ref.once_done[thing]) {
            ref_return(caller, ref.once_value[thing]);
            break;
        }
        ref.callers[caller].runs = flight_of(thing, KEYS) == NO_ONE;
        ref.callers[caller].flight = fly(thing, KEYS);
        ref_wait(caller);
        break;
    default: ref.callers[caller].flight = fly(thing, want.n); ref_wait(caller);
    }
}

static void ref_leave(int caller, int status)
{
    struct want *want = &ref.callers[caller].want;
    want->deadline = want->scope_deadline = LEAT_NEVER;
    if (ref.callers[caller].runs)
        return;
    ref_return(caller, status);
    if (uses_permits(want->way))
        let_in(want->way, want->thing);
}

static void ref_release(int thing, int64_t n)
{
    ref.taken[thing] -= n;
    let_in(ACQUIRE, thing);
}

static void ref_land(int flight)
{
    struct flight *f = &ref.flights[flight];
    f->end = LEAT_NEVER;
    if (f->key == KEYS) {
        ref.once_done[f->thing] = true;
        ref.once_value[f->thing] = value_of(flight);
    }
    for (int i = 0; i < CALLERS; i++)
        if (ref.callers[i].waits && ref.callers[i].want.way >= ONCE &&
            ref.callers[i].flight == flight)
            ref_return(i, value_of(flight));
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_event(void)
{
    int64_t next = LEAT_NEVER;
    for (int i = 0; i < ref.flown; i++)
        next = sooner(next, ref.flights[i].end);
    for (int i = 0; i < ref.visited; i++)
        next = sooner(next, ref.visit_end[i]);
    for (int i = 0; i < CALLERS; i++)
        if (ref.callers[i].waits)
            next = sooner(next,
                          sooner(ref.callers[i].want.deadline, ref.callers[i].want.scope_deadline));
    return next;
}

static void ref_until(int64_t time)
{
    while ((ref.now = next_event()) <= time) {
        for (int i = 0; i < ref.flown; i++)
            if (ref.flights[i].end == ref.now)
                ref_land(i);
        for (int i = 0; i < ref.visited; i++)
            if (ref.visit_end[i] == ref.now) {
                ref.visit_end[i] = LEAT_NEVER;
                ref.visits[ref.visit_at[i]]--;
                ref_release(ref.visit_at[i], 1);
            }
        for (int i = 0; i < CALLERS; i++) {
            struct want *want = &ref.callers[i].want;
            if (!ref.callers[i].waits)
                continue;
            if (want->scope_deadline == ref.now)
                ref_leave(i, -ECANCELED);
            else if (want->deadline == ref.now)
                ref_leave(i, -ETIMEDOUT);
        }
    }
    ref.now = time;
}
