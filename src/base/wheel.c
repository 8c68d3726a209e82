#include "base/wheel.h"

#include "base/config.h"
#include "base/util.h"

#include <leat/base.h>

void lt_wheel_init(struct lt_wheel *wheel, int64_t now)
{
    wheel->tick = (uint64_t)now >> LT_TICK_SHIFT;
    wheel->count = 0;
    for (unsigned level = 0; level < LT_WHEEL_LEVELS; level++)
        wheel->occupied[level] = 0;
    for (unsigned place = 0; place < LT_WHEEL_LEVELS * LT_WHEEL_SLOTS; place++)
        lt_list_init(&wheel->slots[place]);
}

/* The first tick at which the deadline has passed. */
static uint64_t tick_of(int64_t deadline)
{
    return ((uint64_t)deadline + (UINT64_C(1) << LT_TICK_SHIFT) - 1) >> LT_TICK_SHIFT;
}

static void place(struct lt_wheel *wheel, struct lt_timer *timer)
{
    uint64_t tick = tick_of(timer->deadline);
    if (tick < wheel->tick)
        tick = wheel->tick;
    uint64_t differs = (tick ^ wheel->tick) | (LT_WHEEL_SLOTS - 1);
    unsigned level = (63 - (unsigned)__builtin_clzll(differs)) / LT_WHEEL_BITS;
    unsigned slot = (tick >> (level * LT_WHEEL_BITS)) & (LT_WHEEL_SLOTS - 1);
    timer->place = (uint16_t)(level * LT_WHEEL_SLOTS + slot);
    lt_list_append(&wheel->slots[timer->place], &timer->node);
    wheel->occupied[level] |= UINT64_C(1) << slot;
}

void lt_wheel_add(struct lt_wheel *wheel, struct lt_timer *timer)
{
    wheel->count++;
    place(wheel, timer);
}

bool lt_wheel_remove(struct lt_wheel *wheel, struct lt_timer *timer)
{
    if (!lt_listed(&timer->node))
        return false;
    lt_list_remove(&timer->node);
    wheel->count--;
    if (lt_list_empty(&wheel->slots[timer->place]))
        wheel->occupied[timer->place / LT_WHEEL_SLOTS] &=
            ~(UINT64_C(1) << (timer->place % LT_WHEEL_SLOTS));
    return true;
}

/* The earliest occupied slot and the tick it begins at; false when there is none. */
static bool earliest(const struct lt_wheel *wheel, unsigned *level, unsigned *slot, uint64_t *begin)
{
    for (unsigned l = 0; l < LT_WHEEL_LEVELS; l++) {
        if (!wheel->occupied[l])
            continue;
        unsigned shift = l * LT_WHEEL_BITS;
        *level = l;
        *slot = (unsigned)__builtin_ctzll(wheel->occupied[l]);
        uint64_t block = wheel->tick >> shift >> LT_WHEEL_BITS << LT_WHEEL_BITS;
        *begin = (block | *slot) << shift;
        return true;
    }
    return false;
}

void lt_wheel_advance(struct lt_wheel *wheel, int64_t now)
{
    uint64_t until = (uint64_t)now >> LT_TICK_SHIFT;
    unsigned level, slot;
    uint64_t begin;
    while (wheel->count && earliest(wheel, &level, &slot, &begin) && begin <= until) {
        wheel->tick = begin;
        struct lt_node taken;
        lt_list_init(&taken);
        lt_list_splice(&taken, &wheel->slots[level * LT_WHEEL_SLOTS + slot]);
        wheel->occupied[level] &= ~(UINT64_C(1) << slot);
        /* One by one from the front, since firing one may take another out of `taken`. Its `place`
         * then clears a bit that is already clear, or that a new timer's place() has set: but such a
         * new timer keeps the slot from being empty, so the bit stays. */
        while (!lt_list_empty(&taken)) {
            struct lt_timer *timer = LT_CONTAINER(taken.next, struct lt_timer, node);
            lt_list_remove(&timer->node);
            if (level > 0) {
                place(wheel, timer);
            } else {
                wheel->count--;
                timer->fire(timer);
            }
        }
    }
    if (until > wheel->tick)
        wheel->tick = until;
}

int64_t lt_wheel_next(const struct lt_wheel *wheel)
{
    unsigned level, slot;
    uint64_t begin;
    if (!wheel->count || !earliest(wheel, &level, &slot, &begin))
        return LEAT_NEVER;
    const struct lt_node *head = &wheel->slots[level * LT_WHEEL_SLOTS + slot];
    int64_t next = LEAT_NEVER;
    unsigned scanned = 0;
    for (const struct lt_node *node = head->next; node != head; node = node->next) {
        const struct lt_timer *timer = LT_CONTAINER(node, const struct lt_timer, node);
        if (timer->deadline < next)
            next = timer->deadline;
        if (++scanned > LT_CHAIN_SCAN)
            return (int64_t)(begin << LT_TICK_SHIFT);
    }
    /* Rounded up to the tick at which it fires: waking within that tick would find nothing due. */
    uint64_t due = tick_of(next);
    return due > (uint64_t)LEAT_NEVER >> LT_TICK_SHIFT ? LEAT_NEVER - 1
                                                       : (int64_t)(due << LT_TICK_SHIFT);
}
