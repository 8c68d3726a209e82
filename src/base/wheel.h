/* wheel.h: the timers of one worker, in a hierarchical wheel (Varghese and Lauck, SOSP 1987).
 *
 * The wheel has levels of slots. A level holds the timers whose tick first differs from the wheel's
 * own tick in that level's group of bits. So every occupied slot lies ahead, and the first occupied
 * slot of the lowest occupied level has the earliest timer. Adding and removing take a few
 * instructions and no memory; a heap's array would have to grow, and waiting never allocates. Two
 * wide levels reach a second ahead, so that a timer within that second moves down at most once:
 * each move may be a cache miss. Narrow levels hold the rest.
 *
 * In a list, the address of a timer is known only when the one before it has come from memory. So
 * that several are fetched at a time when a slot is emptied, a timer also holds the address of the
 * timer LT_WHEEL_LATEST places further on, and a slot holds those of the last timers put into it. A
 * timer that is removed stays in these addresses: they may be prefetched, which is harmless, but
 * not followed.
 *
 * Invariants: a timer never fires before its deadline, and at most one tick after the time that the
 * wheel is given (about a microsecond; in the seeded world a nanosecond). Timers of one tick fire
 * in the order in which they were added or moved down. A wheel has no lock. */
#pragma once

#include "base/list.h"
#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LT_WHEEL_WIDE_LEVELS = 2,
    LT_WHEEL_WIDE_BITS = 10,
    LT_WHEEL_NARROW_BITS = 6,
    LT_WHEEL_LEVELS = 10,
    LT_WHEEL_LOWEST_SLOTS = 1 << LT_WHEEL_WIDE_BITS, /* of the level where timers fire */
    LT_WHEEL_WIDE_SLOTS = LT_WHEEL_WIDE_LEVELS << LT_WHEEL_WIDE_BITS,
    LT_WHEEL_SLOTS =
        LT_WHEEL_WIDE_SLOTS + ((LT_WHEEL_LEVELS - LT_WHEEL_WIDE_LEVELS) << LT_WHEEL_NARROW_BITS),
    LT_WHEEL_LATEST = 7 /* with `oldest` this fills a cache line */
};

struct lt_timer {
    struct lt_node node; /* in its slot, or in no list */
    int64_t deadline;    /* ns */
    uint64_t place : 16; /* the slot */
    uint64_t ahead : 48; /* the address of the timer to prefetch when this one moves down */
    void (*fire)(struct lt_timer *timer);
    void *owner; /* memory that firing touches, prefetched shortly before; or NULL */
};

/* The last timers put into a slot that is not of the lowest level. */
struct lt_latest {
    struct lt_timer *timers[LT_WHEEL_LATEST];
    uint64_t oldest; /* the index of the first of them */
};

struct lt_wheel {
    unsigned shift; /* a tick is 2^shift ns */
    uint64_t tick;  /* all timers at or before it have fired, or are in its slot */
    uint64_t count;
    uint64_t fired;          /* timers fired since the start */
    uint64_t words_occupied; /* a bit for each word of `occupied` that is not 0 */
    uint64_t occupied[LT_WHEEL_SLOTS / 64];
    struct lt_node slots[LT_WHEEL_SLOTS];
    _Alignas(LT_CACHE_LINE) struct lt_latest latest[LT_WHEEL_SLOTS - LT_WHEEL_LOWEST_SLOTS];
};

_Static_assert(LT_WHEEL_SLOTS / 64 <= 64, "one word tells of all");

/* The memory must be zero, or an earlier wheel's. */
void lt_wheel_init(struct lt_wheel *wheel, int64_t now);

/* Adds a timer whose `deadline` (ns, not LEAT_NEVER), `fire` and `owner` are set. */
void lt_wheel_add(struct lt_wheel *wheel, struct lt_timer *timer);

/* Removes a timer. False if it is not in the wheel: it has fired, or was never added. */
bool lt_wheel_remove(struct lt_wheel *wheel, struct lt_timer *timer);

/* Fires each timer that is due at `now`, after it has been removed from the wheel. */
void lt_wheel_advance(struct lt_wheel *wheel, int64_t now);

/* Fires the earliest timer that is due. False if none is. */
bool lt_wheel_fire(struct lt_wheel *wheel, int64_t now);

/* A time before which no timer is due: cheap, but not exact. LEAT_NEVER when the wheel is empty. */
int64_t lt_wheel_not_before(const struct lt_wheel *wheel);

/* Whether lt_wheel_advance or lt_wheel_fire may have something to do: cheap. */
static inline bool lt_wheel_is_due(const struct lt_wheel *wheel, int64_t now)
{
    return lt_wheel_not_before(wheel) <= now;
}

/* A time by which the wheel must be advanced again: the next deadline, or, where many timers share
 * a distant slot, the beginning of that slot. LEAT_NEVER when the wheel is empty. */
int64_t lt_wheel_next(const struct lt_wheel *wheel);
