/* wheel.h: the timers of one worker: a hierarchical wheel (Varghese and Lauck, SOSP 1987).
 *
 * Levels of slots; a level holds the timers whose tick first differs from the wheel's own in that level's
 * group of bits. So adding and removing are a few instructions without memory of their own (a heap's array
 * would have to grow, and waiting never allocates), every occupied slot lies ahead, and the first occupied
 * slot of the lowest level has the earliest timer. Two wide levels reach a second ahead, so that a timer
 * within it is moved once at the most; each move may be a cache miss. Narrow ones do for all the rest.
 *
 * Of a list's timers each is known only when the one before has come from memory. So that several are on
 * their way at a time when a slot is emptied, a timer also holds the address of one that stands
 * LT_WHEEL_LATEST further on, and the slot those of the last that were put into it. Who is taken out is not
 * struck from there: these addresses may be fetched into the cache, which harms nobody, but not followed.
 *
 * Invariants: a timer fires never before its deadline, and at most one tick (about a microsecond)
 * later than the wheel is told the time (in the seeded world a tick is a nanosecond); timers of one tick fire
 * in the order they were added or moved down. A wheel belongs to one worker and has no lock. */
#ifndef LT_BASE_WHEEL_H
#define LT_BASE_WHEEL_H

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
    LT_WHEEL_LATEST = 7 /* fills a cache line, with `oldest` */
};

struct lt_timer {
    struct lt_node node; /* in its slot, or in no list */
    int64_t deadline;    /* ns */
    uint64_t place : 16; /* the slot */
    uint64_t ahead : 48; /* the address of who is fetched when this one is moved down */
    void (*fire)(struct lt_timer *timer);
    void *owner; /* what firing will touch: fetched into the cache shortly before; or NULL */
};

/* The last timers put into a slot that is not of the lowest level. */
struct lt_latest {
    struct lt_timer *timers[LT_WHEEL_LATEST];
    uint64_t oldest; /* the index of the first of them */
};

struct lt_wheel {
    unsigned shift; /* a tick is 2^shift ns */
    uint64_t tick;  /* every timer at or before it has fired, or is in its very slot */
    uint64_t count;
    uint64_t fired;          /* so many, ever */
    uint64_t words_occupied; /* a bit for each of `occupied` that is not 0 */
    uint64_t occupied[LT_WHEEL_SLOTS / 64];
    struct lt_node slots[LT_WHEEL_SLOTS];
    _Alignas(LT_CACHE_LINE) struct lt_latest latest[LT_WHEEL_SLOTS - LT_WHEEL_LOWEST_SLOTS];
};

_Static_assert(LT_WHEEL_SLOTS / 64 <= 64, "one word tells of all");

/* The memory is zero, or that of an earlier wheel. */
void lt_wheel_init(struct lt_wheel *wheel, int64_t now);

/* Adds a timer whose deadline, fire and owner are set. Not for LEAT_NEVER. */
void lt_wheel_add(struct lt_wheel *wheel, struct lt_timer *timer);

/* Takes a timer out. False when it is not in: it has fired, or was never added. */
bool lt_wheel_remove(struct lt_wheel *wheel, struct lt_timer *timer);

/* Fires what is due at `now`, each timer once it is out of the wheel. */
void lt_wheel_advance(struct lt_wheel *wheel, int64_t now);

/* Whether lt_wheel_advance, or lt_wheel_fire, may do anything: cheap. */
bool lt_wheel_is_due(const struct lt_wheel *wheel, int64_t now);

/* Fires one timer that is due, the earliest; false: none is. */
bool lt_wheel_fire(struct lt_wheel *wheel, int64_t now);

/* A time before which nothing is due: cheap, and exact for nobody. LEAT_NEVER when it is empty. */
int64_t lt_wheel_not_before(const struct lt_wheel *wheel);

/* A time by which the wheel must be advanced again: the next deadline, or, where many timers share a
 * distant slot, the beginning of that slot. LEAT_NEVER when it is empty. */
int64_t lt_wheel_next(const struct lt_wheel *wheel);

#endif
