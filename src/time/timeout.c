/* timeout.c: channels that close at a time, shared by all callers that ask for the same time.
 *
 * One table for all workers finds a timeout by its time, under one lock: the workers are meant to
 * share, and the lock is held for some ten nanoseconds. The table holds no reference; the users do.
 * All changes of a timeout are made under that lock. The last user stops the shared timer; if the
 * timer is about to fire by then, the worker that fires it frees the timeout. So no caller finds a
 * timeout that is being freed.
 *
 * With many timeouts, cache misses are most of a call's cost. So a timeout is one piece of memory
 * with its channel.
 *
 * Locking. The table's lock comes before the shared timers' locks. A channel's lock is taken with
 * no other lock held. */
#include "time/time.h"

#include "base/table.h"
#include "chan/chan.h"
#include "sched/current.h"
#include "sched/runtime.h"
#include "sched/shared_timer.h"

#include <leat/time.h>
#include <leat/timeout.h>

/* In one piece of memory with its channel. */
struct timeout {
    struct lt_shared_timer timer;
    uint64_t key; /* its key in the table; 0: it is not there */
    bool fires;   /* its shared timer is set, or about to fire */
};

static struct {
    struct lt_lock lock;
    struct lt_table channels;
} table;

static _Atomic int64_t resolution = LEAT_TIMEOUT_RESOLUTION;

static struct timeout *timeout_of(leat_chan *ch)
{
    return lt_chan_extra(ch);
}

/* ---- the table, under its lock ---- */

static uint64_t key_of(int64_t deadline)
{
    return (uint64_t)deadline + 1;
}

/* No time is negative, and no two timeouts have the same address. */
static uint64_t key_of_unshared(const leat_chan *ch)
{
    return -(uint64_t)(uintptr_t)ch;
}

static void take_out(struct timeout *t)
{
    if (t->key)
        lt_table_remove(&table.channels, t->key);
    t->key = 0;
}

static leat_chan *chan_in(const struct lt_entry *entry)
{
    return (leat_chan *)(uintptr_t)entry->value;
}

/* The timeout for that time, with one more reference; NULL when there is none. */
static leat_chan *share(int64_t deadline)
{
    const struct lt_entry *found = lt_table_find(&table.channels, key_of(deadline));
    leat_chan *ch = found ? chan_in(found) : NULL;
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
    take_out(timeout_of(ch));
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

static leat_chan *retire_at(size_t place)
{
    lt_lock(&table.lock);
    const struct lt_entry *entry = &table.channels.entries[place];
    leat_chan *ch = entry->key ? chan_in(entry) : NULL;
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
    for (size_t i = 0; i < table.channels.room; i++)
        while ((ch = retire_at(i)))
            close_passed(ch);
    lt_table_free(&table.channels);
}

/* ---- the channel's keeper ---- */

static bool unref(leat_chan *ch)
{
    struct timeout *t = timeout_of(ch);
    lt_lock(&table.lock);
    bool last = atomic_fetch_sub_explicit(&ch->references, 1, memory_order_relaxed) == 1 &&
                (!t->fires || lt_shared_timer_stop(&t->timer));
    if (last)
        take_out(t);
    lt_unlock(&table.lock);
    return last;
}

static const struct lt_keeper keeper = { .unref = unref };

/* ---- the calls ---- */

/* With the lock held. Returns `made`, which is in the table now, or the timeout that another caller
 * has added meanwhile; NULL: there is no memory. */
static leat_chan *list(leat_chan *made, int64_t deadline, bool shared)
{
    struct timeout *t = timeout_of(made);
    leat_chan *ch = shared ? share(deadline) : NULL;
    uint64_t key = shared ? key_of(deadline) : key_of_unshared(made);
    if (ch || !lt_table_put(&table.channels, key, (uintptr_t)made))
        return ch;
    t->key = key;
    t->fires = deadline != LEAT_NEVER;
    return made;
}

static leat_chan *add(int64_t deadline, bool shared)
{
    leat_chan *made = lt_chan_open_kept(&keeper, LEAT_FIXED, "timeout", sizeof(struct timeout));
    if (!made)
        return NULL;
    timeout_of(made)->timer.fire = fired;
    lt_lock(&table.lock);
    leat_chan *ch = list(made, deadline, shared);
    lt_unlock(&table.lock);
    if (ch != made)
        leat_chan_unref(made);
    else if (deadline != LEAT_NEVER)
        /* Others may share it already. Our reference keeps it while the timer is being set. */
        lt_shared_timers_notify(lt_shared_timer_set(&timeout_of(made)->timer, deadline));
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
    bool shared = to && ns > 0;
    if (shared) {
        deadline = round_up(deadline, to);
        lt_lock(&table.lock);
        ch = share(deadline);
        lt_unlock(&table.lock);
    }
    if (!ch)
        ch = add(deadline, shared);
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
