/* wheel.h: the timers of one worker: a hierarchical wheel (Varghese and Lauck, SOSP 1987).
 *
 * Nine levels of 64 slots; level n holds the timers whose tick first differs from the wheel's own in
 * the n-th group of six bits. So adding and removing are a few instructions without memory of their
 * own (a heap's array would have to grow, and waiting never allocates), every occupied slot lies ahead,
 * and the lowest occupied level has the earliest timer. A timer moves down at most once a level.
 *
 * Invariants: a timer fires never before its deadline, and at most one tick (about a microsecond)
 * later than the wheel is told the time; timers of one tick fire in the order they were added or moved
 * down. A wheel belongs to one worker and has no lock. */
#ifndef LT_BASE_WHEEL_H
#define LT_BASE_WHEEL_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

enum { LT_WHEEL_BITS = 6, LT_WHEEL_SLOTS = 1 << LT_WHEEL_BITS, LT_WHEEL_LEVELS = 9 };

struct lt_timer {
    struct lt_node node; /* in its slot, or in no list */
    int64_t deadline;    /* ns */
    uint16_t place;      /* level * LT_WHEEL_SLOTS + slot */
    void (*fire)(struct lt_timer *timer);
};

struct lt_wheel {
    uint64_t tick; /* every timer at or before it has fired, or is in its very slot */
    uint64_t count;
    uint64_t occupied[LT_WHEEL_LEVELS];
    struct lt_node slots[LT_WHEEL_LEVELS * LT_WHEEL_SLOTS];
};

void lt_wheel_init(struct lt_wheel *wheel, int64_t now);

/* Adds a timer whose deadline and fire are set. Not for LEAT_NEVER. */
void lt_wheel_add(struct lt_wheel *wheel, struct lt_timer *timer);

/* Takes a timer out. False when it is not in: it has fired, or was never added. */
bool lt_wheel_remove(struct lt_wheel *wheel, struct lt_timer *timer);

/* Fires what is due at `now`, each timer once it is out of the wheel. */
void lt_wheel_advance(struct lt_wheel *wheel, int64_t now);

/* A time by which the wheel must be advanced again: the next deadline, or, where many timers share a
 * distant slot, the beginning of that slot. LEAT_NEVER when it is empty. */
int64_t lt_wheel_next(const struct lt_wheel *wheel);

#endif
