#include "base/wheel.h"

#include "base/config.h"
#include "base/util.h"
#include "base/world.h"

#include <leat/base.h>

#include <string.h>

void lt_wheel_init(struct lt_wheel *wheel, int64_t now)
{
    wheel->shift = lt_world() ? 0 : LT_TICK_SHIFT;
    wheel->tick = (uint64_t)now >> wheel->shift;
    wheel->count = 0;
    wheel->fired = 0;
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

/* The number of bits of all lower levels. */
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

static unsigned narrow_level_of_bit(unsigned bit)
{
    const unsigned wide = LT_WHEEL_WIDE_LEVELS * LT_WHEEL_WIDE_BITS;
    return LT_WHEEL_WIDE_LEVELS + (bit - wide) / LT_WHEEL_NARROW_BITS;
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

/* The slot for a tick that is not past. */
static unsigned slot_of(const struct lt_wheel *wheel, uint64_t tick)
{
    enum { WIDTH = 1 << LT_WHEEL_WIDE_BITS }; /* of each of the two wide levels */
    uint64_t differs = tick ^ wheel->tick;
    if (differs < WIDTH)
        return (unsigned)tick % WIDTH;
    if (differs < (uint64_t)WIDTH * WIDTH)
        return WIDTH + (unsigned)(tick / WIDTH) % WIDTH;
    unsigned level = narrow_level_of_bit(63 - (unsigned)__builtin_clzll(differs));
    uint64_t within = (tick >> shift_of(level)) & ((UINT64_C(1) << LT_WHEEL_NARROW_BITS) - 1);
    return first_slot_of(level) + (unsigned)within;
}

/* Puts a timer into its slot. Returns the slot. */
static unsigned put(struct lt_wheel *wheel, struct lt_timer *timer, bool in_front)
{
    uint64_t tick = tick_of(wheel, timer->deadline);
    unsigned slot = slot_of(wheel, tick < wheel->tick ? wheel->tick : tick);
    struct lt_node *list = &wheel->slots[slot];
    timer->place = slot & UINT16_MAX;
    lt_list_append(in_front ? list->next : list, &timer->node);
    wheel->occupied[slot / 64] |= UINT64_C(1) << (slot % 64);
    wheel->words_occupied |= UINT64_C(1) << (slot / 64);
    return slot;
}

static void mark_empty(struct lt_wheel *wheel, unsigned slot)
{
    wheel->occupied[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    if (!wheel->occupied[slot / 64])
        wheel->words_occupied &= ~(UINT64_C(1) << (slot / 64));
}

/* ---- prefetching ---- */

static struct lt_latest *latest_of(struct lt_wheel *wheel, unsigned slot)
{
    return &wheel->latest[slot - LT_WHEEL_LOWEST_SLOTS];
}

/* Whether the timer just put into a slot is alone there. */
static bool is_alone(const struct lt_wheel *wheel, unsigned slot)
{
    return wheel->slots[slot].next == wheel->slots[slot].prev;
}

/* Replaces the oldest of the latest timers, and returns it. */
static struct lt_timer *replace_oldest(struct lt_latest *latest, struct lt_timer *timer)
{
    struct lt_timer *left = latest->timers[latest->oldest];
    latest->timers[latest->oldest] = timer;
    latest->oldest = latest->oldest == LT_WHEEL_LATEST - 1 ? 0 : latest->oldest + 1;
    return left;
}

static void set_ahead(struct lt_timer *timer, const struct lt_timer *ahead)
{
    timer->ahead = (uint64_t)(uintptr_t)ahead & ((UINT64_C(1) << 48) - 1);
}

/* Prefetches two lines: at an address, and `on` bytes further. */
LT_FETCHES void prefetch(uintptr_t address, size_t on)
{
    __builtin_prefetch((const void *)address, 1);
    __builtin_prefetch((const void *)(address + on), 1);
}

LT_FETCHES void prefetch_timer(uintptr_t address)
{
    prefetch(address, sizeof(struct lt_timer) - 1);
}

/* ---- adding and removing ---- */

void lt_wheel_add(struct lt_wheel *wheel, struct lt_timer *timer)
{
    wheel->count++;
    unsigned slot = put(wheel, timer, false);
    if (slot >= LT_WHEEL_LOWEST_SLOTS && !is_alone(wheel, slot))
        set_ahead(timer, replace_oldest(latest_of(wheel, slot), timer));
}

bool lt_wheel_remove(struct lt_wheel *wheel, struct lt_timer *timer)
{
    if (!lt_listed(&timer->node))
        return false;
    lt_list_remove(&timer->node);
    wheel->count--;
    if (lt_list_empty(&wheel->slots[timer->place]))
        mark_empty(wheel, timer->place);
    return true;
}

/* The first occupied slot of the lowest occupied level, and the tick at which it begins. The wheel
 * is not empty. */
static unsigned earliest(const struct lt_wheel *wheel, uint64_t *begin)
{
    unsigned word = (unsigned)__builtin_ctzll(wheel->words_occupied);
    unsigned slot = word * 64 + (unsigned)__builtin_ctzll(wheel->occupied[word]);
    if (slot < LT_WHEEL_LOWEST_SLOTS) {
        *begin = wheel->tick / LT_WHEEL_LOWEST_SLOTS * LT_WHEEL_LOWEST_SLOTS + slot;
        return slot;
    }
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

/* Moves down a timer from a slot that is emptied from its end, in front of those that came after
 * it. No timer is removed meanwhile, so those of `latest` that moved down in the same pass still
 * exist. */
static void move_timer_down(struct lt_wheel *wheel, struct lt_timer *timer)
{
    unsigned slot = put(wheel, timer, true);
    if (slot < LT_WHEEL_LOWEST_SLOTS)
        return;
    struct lt_latest *latest = latest_of(wheel, slot);
    if (is_alone(wheel, slot))
        *latest = (struct lt_latest){ 0 }; /* others may be gone */
    struct lt_timer *earlier = replace_oldest(latest, timer);
    if (earlier)
        set_ahead(earlier, timer);
}

/* Empties a slot above the lowest level when its time has come, so the lower levels are empty. From
 * the end, since each timer has the address of one that was added before it. */
static void move_down(struct lt_wheel *wheel, unsigned slot)
{
    struct lt_node *end = &wheel->slots[slot], *node = end->prev;
    struct lt_latest *latest = latest_of(wheel, slot);
    for (unsigned i = 0; i < LT_WHEEL_LATEST; i++)
        prefetch_timer((uintptr_t)latest->timers[i]);
    lt_list_init(end);
    mark_empty(wheel, slot);
    while (node != end) {
        struct lt_timer *timer = timer_at(node);
        node = node->prev;
        prefetch_timer(timer->ahead);
        prefetch((uintptr_t)timer->owner, LT_CACHE_LINE);
        move_timer_down(wheel, timer);
    }
}

/* Goes on to the first slot whose timers fire by the tick `until`. False: there is none. */
static bool reach(struct lt_wheel *wheel, uint64_t until, unsigned *slot)
{
    uint64_t begin;
    while (wheel->count) {
        *slot = earliest(wheel, &begin);
        if (begin > until)
            break;
        wheel->tick = begin;
        if (*slot < LT_WHEEL_LOWEST_SLOTS)
            return true;
        move_down(wheel, *slot);
    }
    return false;
}

bool lt_wheel_fire(struct lt_wheel *wheel, int64_t now)
{
    unsigned slot;
    if (!reach(wheel, (uint64_t)now >> wheel->shift, &slot))
        return false;
    struct lt_timer *timer = timer_at(wheel->slots[slot].next);
    lt_wheel_remove(wheel, timer);
    wheel->fired++;
    timer->fire(timer);
    return true;
}

/* Prefetches the first timer of a slot of the lowest level that fires soon after this one. */
LT_FETCHES void prefetch_following(const struct lt_wheel *wheel, unsigned slot)
{
    enum { AHEAD = 4 };
    uint64_t later = wheel->occupied[slot / 64] >> slot % 64;
    for (int i = 0; i < AHEAD; i++)
        later &= later - 1;
    if (later)
        prefetch_timer((uintptr_t)wheel->slots[slot + (unsigned)__builtin_ctzll(later)].next);
}

void lt_wheel_advance(struct lt_wheel *wheel, int64_t now)
{
    uint64_t until = (uint64_t)now >> wheel->shift;
    for (unsigned slot; reach(wheel, until, &slot);) {
        prefetch_following(wheel, slot);
        struct lt_node taken;
        lt_list_init(&taken);
        lt_list_splice(&taken, &wheel->slots[slot]);
        mark_empty(wheel, slot);
        /* One by one from the front, since firing a timer may remove another from `taken`. If the
         * slot of that timer is empty, its bit is already clear. If firing has added a timer to the
         * slot, lt_wheel_remove leaves the bit set. */
        while (!lt_list_empty(&taken)) {
            struct lt_timer *timer = timer_at(taken.next);
            lt_list_remove(&timer->node);
            wheel->count--;
            wheel->fired++;
            timer->fire(timer);
        }
    }
    if (until > wheel->tick)
        wheel->tick = until;
}

/* The time at which a tick begins: a tick that lies beyond all times begins right before
 * LEAT_NEVER. */
static int64_t beginning_of(const struct lt_wheel *wheel, uint64_t tick)
{
    return tick > (uint64_t)LEAT_NEVER >> wheel->shift ? LEAT_NEVER - 1
                                                       : (int64_t)(tick << wheel->shift);
}

int64_t lt_wheel_not_before(const struct lt_wheel *wheel)
{
    uint64_t begin;
    if (!wheel->count)
        return LEAT_NEVER;
    earliest(wheel, &begin);
    return beginning_of(wheel, begin);
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
        /* Not in a seeded world (whose tick is 1 ns): its clock goes to this time. */
        if (++scanned > LT_CHAIN_SCAN && wheel->shift)
            return beginning_of(wheel, begin);
    }
    /* Rounded up to the tick at which the timer fires. A worker that wakes earlier finds nothing
     * due. */
    return beginning_of(wheel, tick_of(wheel, next));
}
