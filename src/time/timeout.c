/* timeout.c: channels that close at a time, shared by all callers that ask for the same time.
 *
 * One table for all workers finds a timeout by its time, under one lock: the workers are meant to
 * share, and the lock is held for some ten nanoseconds. The table holds no reference; the users do.
 * All changes of a timeout are made under that lock. The last user stops the shared timer; if the
 * timer is about to fire by then, the worker that fires it frees the timeout. So nobody finds a
 * timeout that is being freed.
 *
 * With many timeouts, the cost of a call is what it must bring into the cache. So the table itself
 * holds the times, in neighbouring entries if two of them have the same place ("linear probing"),
 * and a timeout is one piece of memory with its channel.
 *
 * Locking. The table's lock comes before the shared timers' locks. A channel's lock is taken with
 * no other lock held. */
#include "time/time.h"

#include "base/alloc.h"
#include "chan/chan.h"
#include "sched/current.h"
#include "sched/runtime.h"
#include "sched/shared_timer.h"

#include <leat/time.h>
#include <leat/timeout.h>

/* In one piece of memory with its channel. */
struct timeout {
    struct lt_shared_timer timer;
    int64_t key; /* the time; if the timeout is not shared, a negative number of its own */
    bool fires;  /* its shared timer is set, or about to fire */
    bool listed; /* it is in the table */
};

struct entry {
    int64_t key;
    leat_chan *ch; /* NULL: the entry is free */
};

enum { FIRST_BITS = 10, GROW_BITS = 2 };

static struct entry first_entries[1 << FIRST_BITS];

static struct {
    struct lt_lock lock;
    unsigned bits;
    struct entry *entries;
    size_t count;
} table = { .bits = FIRST_BITS, .entries = first_entries };

static _Atomic int64_t resolution = LEAT_TIMEOUT_RESOLUTION;

static struct timeout *timeout_of(leat_chan *ch)
{
    return lt_chan_extra(ch);
}

/* ---- the table, under its lock ---- */

static size_t mask(void)
{
    return ((size_t)1 << table.bits) - 1;
}

static size_t place_of(int64_t key)
{
    /* Fibonacci hashing: multiples of anything are spread evenly. */
    return (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - table.bits);
}

/* The entry of that key, or the free entry where it belongs. */
static struct entry *find(int64_t key)
{
    size_t at = place_of(key);
    while (table.entries[at].ch && table.entries[at].key != key)
        at = (at + 1) & mask();
    return &table.entries[at];
}

static void put_in(int64_t key, leat_chan *ch)
{
    *find(key) = (struct entry){ key, ch };
    table.count++;
}

/* Then those entries move up that stand where they do only because of this one. */
static void take_out(leat_chan *ch)
{
    struct timeout *t = timeout_of(ch);
    if (!t->listed)
        return;
    t->listed = false;
    table.count--;
    size_t hole = (size_t)(find(t->key) - table.entries);
    for (size_t at = (hole + 1) & mask(); table.entries[at].ch; at = (at + 1) & mask()) {
        size_t far = (at - place_of(table.entries[at].key)) & mask();
        if (far < ((at - hole) & mask()))
            continue;
        table.entries[hole] = table.entries[at];
        hole = at;
    }
    table.entries[hole] = (struct entry){ 0 };
}

/* Half full: beyond that, searches get long. Without memory to grow, one free entry is enough. */
static bool is_crowded(void)
{
    return table.count > mask() / 2;
}

static bool is_full(void)
{
    return table.count == mask();
}

static void use(struct entry *entries, unsigned bits)
{
    struct entry *old = table.entries;
    size_t n = (size_t)1 << table.bits;
    table.entries = entries;
    table.bits = bits;
    table.count = 0;
    for (size_t i = 0; i < n; i++) {
        if (old[i].ch)
            put_in(old[i].key, old[i].ch);
        old[i] = (struct entry){ 0 };
    }
}

/* The timeout for that time, with one more reference; NULL when there is none. */
static leat_chan *share(int64_t deadline)
{
    leat_chan *ch = find(deadline)->ch;
    if (ch)
        /* Relaxed, here and below: the lock orders it. */
        atomic_fetch_add_explicit(&ch->references, 1, memory_order_relaxed);
    return ch;
}

/* ---- the end of a timeout ---- */

/* Closes a timeout that is out of the table, and gives back the caller's reference. */
static void close_passed(leat_chan *ch)
{
    lt_chan_lock(ch);
    struct lt_party *woken = lt_chan_close_now(ch);
    lt_chan_unlock(ch);
    lt_ready_all(woken);
    leat_chan_unref(ch);
}

/* Under the lock: takes a timeout out, with a reference for the caller. */
static leat_chan *retire(leat_chan *ch)
{
    timeout_of(ch)->fires = false;
    take_out(ch);
    atomic_fetch_add_explicit(&ch->references, 1, memory_order_relaxed);
    return ch;
}

static void fired(struct lt_shared_timer *timer)
{
    lt_lock(&table.lock);
    leat_chan *ch = retire(lt_chan_of_extra(LT_CONTAINER(timer, struct timeout, timer)));
    lt_unlock(&table.lock);
    close_passed(ch);
}

static leat_chan *retire_at(size_t i)
{
    lt_lock(&table.lock);
    leat_chan *ch = table.entries[i].ch;
    if (ch) {
        lt_shared_timer_stop(&timeout_of(ch)->timer);
        retire(ch);
    }
    lt_unlock(&table.lock);
    return ch;
}

void lt_timeout_close_all(void)
{
    leat_chan *ch;
    for (size_t i = 0; i < (size_t)1 << table.bits; i++)
        while ((ch = retire_at(i)))
            close_passed(ch);
    if (table.entries != first_entries) {
        lt_free(table.entries);
        table.entries = first_entries;
        table.bits = FIRST_BITS;
    }
}

/* ---- the channel's keeper ---- */

static bool unref(leat_chan *ch)
{
    struct timeout *t = timeout_of(ch);
    lt_lock(&table.lock);
    bool last = atomic_fetch_sub_explicit(&ch->references, 1, memory_order_relaxed) == 1 &&
                (!t->fires || lt_shared_timer_stop(&t->timer));
    if (last)
        take_out(ch);
    lt_unlock(&table.lock);
    return last;
}

static const struct lt_keeper keeper = { .unref = unref };

/* ---- the calls ---- */

/* With the lock held. Returns `made`, which is in the table now, or the timeout that another caller
 * has added meanwhile; NULL when the table is full. */
static leat_chan *list(leat_chan *made, int64_t deadline, bool shared)
{
    struct timeout *t = timeout_of(made);
    leat_chan *ch = shared ? share(deadline) : NULL;
    if (ch || is_full())
        return ch;
    /* No time is negative, and no two timeouts have the same address. */
    t->key = shared ? deadline : -(int64_t)(uintptr_t)made;
    t->fires = deadline != LEAT_NEVER;
    t->listed = true;
    put_in(t->key, made);
    return made;
}

/* Without memory, a crowded table stays as it is. */
static void grow(unsigned bits)
{
    struct entry *entries = lt_alloc(sizeof *entries << bits), *old = entries;
    if (!entries)
        return;
    lt_lock(&table.lock);
    if (table.bits < bits) {
        old = table.entries;
        use(entries, bits);
    }
    lt_unlock(&table.lock);
    if (old != first_entries)
        lt_free(old);
}

static leat_chan *add(int64_t deadline, bool shared)
{
    leat_chan *made = lt_chan_open_kept(&keeper, LEAT_FIXED, "timeout", sizeof(struct timeout));
    if (!made)
        return NULL;
    timeout_of(made)->timer.fire = fired;
    lt_lock(&table.lock);
    leat_chan *ch = list(made, deadline, shared);
    unsigned more_bits = is_crowded() ? table.bits + GROW_BITS : 0;
    lt_unlock(&table.lock);
    if (more_bits)
        grow(more_bits);
    if (ch != made)
        leat_chan_unref(made);
    else if (deadline != LEAT_NEVER)
        /* Others may share it already. Our reference keeps it while the timer is being set. */
        lt_shared_timers_tell(lt_shared_timer_set(&timeout_of(made)->timer, deadline));
    return ch;
}

/* Rounds up to a multiple. */
static int64_t round_up(int64_t deadline, int64_t to)
{
    int64_t over = deadline % to, rounded;
    if (deadline == LEAT_NEVER || !over)
        return deadline;
    return __builtin_add_overflow(deadline, to - over, &rounded) ? LEAT_NEVER : rounded;
}

leat_chan *leat_timeout(int64_t ns)
{
    /* On a worker, a party that waits for the caller holds the runtime. */
    bool outside = !lt_current_worker();
    if (outside && !lt_runtime_hold())
        return NULL;
    /* Relaxed: it orders nothing. */
    int64_t to = atomic_load_explicit(&resolution, memory_order_relaxed);
    int64_t deadline = leat_after(ns);
    leat_chan *ch = NULL;
    if (to) {
        deadline = round_up(deadline, to);
        lt_lock(&table.lock);
        ch = share(deadline);
        lt_unlock(&table.lock);
    }
    if (!ch)
        ch = add(deadline, to != 0);
    if (outside)
        lt_runtime_release();
    return ch;
}

int leat_timeout_resolution(int64_t ns)
{
    if (ns < 0)
        return -EINVAL;
    atomic_store_explicit(&resolution, ns, memory_order_relaxed);
    return 0;
}
