#include "base/wheel.h"

#include "base/config.h"
#include "base/util.h"
#include "base/world.h"

#include <leat/base.h>

#include <string.h>

void lt_wheel_init(struct lt_wheel *wheel, int64_t now)
{
    wheel->shift = lt_world ? 0 : LT_TICK_SHIFT;
    wheel->tick = (uint64_t)now >> wheel->shift;
    wheel->count = 0;
    wheel->words_occupied = 0;
    memset(wheel->occupied, 0, sizeof wheel->occupied);
    for (unsigned i = 0; i < LT_WHEEL_SLOTS; i++)
        lt_list_init(&wheel->slots[i]);
}

/* ---- levels ---- */

static unsigned bits_of(unsigned level)
{
    return level < LT_WHEEL_WIDE_LEVELS ? LT_WHEEL_WIDE_BITS : LT_WHEEL_NARROW_BITS;
}

/* The bits of all levels below. */
static unsigned shift_of(unsigned level)
{
    if (level < LT_WHEEL_WIDE_LEVELS)
        return level * LT_WHEEL_WIDE_BITS;
    return LT_WHEEL_WIDE_LEVELS * LT_WHEEL_WIDE_BITS +
           (level - LT_WHEEL_WIDE_LEVELS) * LT_WHEEL_NARROW_BITS;
}

static unsigned first_slot_of(unsigned level)
{
    if (level < LT_WHEEL_WIDE_LEVELS)
        return level << LT_WHEEL_WIDE_BITS;
    return LT_WHEEL_WIDE_SLOTS + ((level - LT_WHEEL_WIDE_LEVELS) << LT_WHEEL_NARROW_BITS);
}

static unsigned level_of_bit(unsigned bit)
{
    const unsigned wide = LT_WHEEL_WIDE_LEVELS * LT_WHEEL_WIDE_BITS;
    return bit < wide ? bit / LT_WHEEL_WIDE_BITS
                      : LT_WHEEL_WIDE_LEVELS + (bit - wide) / LT_WHEEL_NARROW_BITS;
}

static unsigned level_of_slot(unsigned slot)
{
    return slot < LT_WHEEL_WIDE_SLOTS
               ? slot >> LT_WHEEL_WIDE_BITS
               : LT_WHEEL_WIDE_LEVELS + ((slot - LT_WHEEL_WIDE_SLOTS) >> LT_WHEEL_NARROW_BITS);
}

/* ---- slots ---- */

/* The first tick at which the deadline has passed. */
static uint64_t tick_of(const struct lt_wheel *wheel, int64_t deadline)
{
    return ((uint64_t)deadline + (UINT64_C(1) << wheel->shift) - 1) >> wheel->shift;
}

static void place(struct lt_wheel *wheel, struct lt_timer *timer)
{
    uint64_t tick = tick_of(wheel, timer->deadline);
    if (tick < wheel->tick)
        tick = wheel->tick;
    unsigned level = level_of_bit(63 - (unsigned)__builtin_clzll((tick ^ wheel->tick) | 1));
    uint64_t within = (tick >> shift_of(level)) & ((UINT64_C(1) << bits_of(level)) - 1);
    unsigned slot = first_slot_of(level) + (unsigned)within;
    timer->place = (uint16_t)slot;
    lt_list_append(&wheel->slots[slot], &timer->node);
    wheel->occupied[slot / 64] |= UINT64_C(1) << (slot % 64);
    wheel->words_occupied |= UINT64_C(1) << (slot / 64);
}

static void is_empty_now(struct lt_wheel *wheel, unsigned slot)
{
    wheel->occupied[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    if (!wheel->occupied[slot / 64])
        wheel->words_occupied &= ~(UINT64_C(1) << (slot / 64));
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
        is_empty_now(wheel, timer->place);
    return true;
}

/* The first occupied slot of the lowest level, and the tick it begins at. The wheel is not empty. */
static unsigned earliest(const struct lt_wheel *wheel, uint64_t *begin)
{
    unsigned word = (unsigned)__builtin_ctzll(wheel->words_occupied);
    unsigned slot = word * 64 + (unsigned)__builtin_ctzll(wheel->occupied[word]);
    unsigned level = level_of_slot(slot), shift = shift_of(level);
    uint64_t block = wheel->tick >> shift >> bits_of(level) << bits_of(level);
    *begin = (block | (slot - first_slot_of(level))) << shift;
    return slot;
}

/* ---- firing ---- */

static struct lt_timer *timer_at(struct lt_node *node)
{
    return LT_CONTAINER(node, struct lt_timer, node);
}

static void fetch(struct lt_node *node)
{
    const char *owner = timer_at(node)->owner;
    __builtin_prefetch(owner, 1);
    __builtin_prefetch(owner + LT_CACHE_LINE, 1);
}

/* A list on its way into the cache, from both ends; NULL when it has come. */
struct walk {
    struct lt_node *front, *back;
};

static void step(struct walk *walk)
{
    fetch(walk->front);
    fetch(walk->back);
    if (walk->front == walk->back || walk->front->next == walk->back) {
        walk->front = NULL;
        return;
    }
    walk->front = walk->front->next;
    walk->back = walk->back->prev;
}

/* Brings the timers of a slot and of the next few into the cache. The next of a list is known only when the one
 * before has come, so one list after the other would be one miss after the other; several are walked at once. */
static void warm(struct lt_wheel *wheel, unsigned slot)
{
    enum { LISTS = 4 };
    if (slot - wheel->warmed < LISTS)
        return;
    wheel->warmed = slot;
    struct walk walks[LISTS];
    unsigned lists = 0;
    for (unsigned i = slot; i < slot + LISTS && level_of_slot(i) == level_of_slot(slot); i++)
        if (!lt_list_empty(&wheel->slots[i]))
            walks[lists++] = (struct walk){ wheel->slots[i].next, wheel->slots[i].prev };
    while (lists)
        for (unsigned i = 0; i < lists; i++) {
            step(&walks[i]);
            if (!walks[i].front)
                walks[i--] = walks[--lists];
        }
}

/* Empties a slot that is not of the lowest level, whose time has come. */
static void move_down(struct lt_wheel *wheel, unsigned slot)
{
    if (level_of_slot(slot) == 1)
        warm(wheel, slot);
    struct lt_node moved;
    lt_list_init(&moved);
    lt_list_splice(&moved, &wheel->slots[slot]);
    is_empty_now(wheel, slot);
    while (!lt_list_empty(&moved)) {
        struct lt_timer *timer = timer_at(moved.next);
        lt_list_remove(&timer->node);
        place(wheel, timer);
    }
}

bool lt_wheel_is_due(const struct lt_wheel *wheel, int64_t now)
{
    uint64_t begin;
    if (!wheel->count)
        return false;
    earliest(wheel, &begin);
    return begin <= (uint64_t)now >> wheel->shift;
}

bool lt_wheel_fire(struct lt_wheel *wheel, int64_t now)
{
    while (lt_wheel_is_due(wheel, now)) {
        uint64_t begin;
        unsigned slot = earliest(wheel, &begin);
        wheel->tick = begin;
        if (level_of_slot(slot) > 0) {
            move_down(wheel, slot);
            continue;
        }
        struct lt_timer *timer = timer_at(wheel->slots[slot].next);
        lt_wheel_remove(wheel, timer);
        timer->fire(timer);
        return true;
    }
    return false;
}

void lt_wheel_advance(struct lt_wheel *wheel, int64_t now)
{
    uint64_t until = (uint64_t)now >> wheel->shift, begin;
    while (wheel->count) {
        unsigned slot = earliest(wheel, &begin);
        if (begin > until)
            break;
        wheel->tick = begin;
        if (level_of_slot(slot) > 0) {
            move_down(wheel, slot);
            continue;
        }
        struct lt_node taken;
        lt_list_init(&taken);
        lt_list_splice(&taken, &wheel->slots[slot]);
        is_empty_now(wheel, slot);
        /* One by one from the front, since firing one may take another out of `taken`. Its `place`
         * then clears a bit that is already clear, or that a new timer's place() has set: but such a
         * new timer keeps the slot from being empty, so the bit stays. */
        while (!lt_list_empty(&taken)) {
            struct lt_timer *timer = timer_at(taken.next);
            lt_list_remove(&timer->node);
            wheel->count--;
            timer->fire(timer);
        }
    }
    if (until > wheel->tick)
        wheel->tick = until;
}

int64_t lt_wheel_next(const struct lt_wheel *wheel)
{
    if (!wheel->count)
        return LEAT_NEVER;
    uint64_t begin;
    const struct lt_node *head = &wheel->slots[earliest(wheel, &begin)];
    int64_t next = LEAT_NEVER;
    unsigned scanned = 0;
    for (const struct lt_node *node = head->next; node != head; node = node->next) {
        const struct lt_timer *timer = LT_CONTAINER(node, const struct lt_timer, node);
        if (timer->deadline < next)
            next = timer->deadline;
        if (++scanned > LT_CHAIN_SCAN)
            return (int64_t)(begin << wheel->shift);
    }
    /* Rounded up to the tick at which it fires: waking within that tick would find nothing due. */
    uint64_t due = tick_of(wheel, next);
    return due > (uint64_t)LEAT_NEVER >> wheel->shift ? LEAT_NEVER - 1
                                                      : (int64_t)(due << wheel->shift);
}
