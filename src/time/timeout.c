/* timeout.c: channels that close when a time has passed, shared by all who ask for the same.
 *
 * One table for all workers finds a timeout by its time, under one lock: sharing among workers is the
 * purpose, and the lock is held for some ten nanoseconds. The table holds no reference, the users do. All
 * changes of a timeout are made under that lock: the last who lets go stops the bell; if that is about
 * to ring, the ringer frees it. So nobody finds a timeout that is being freed.
 *
 * Locking. The table before the bells. A channel's own lock is taken by itself. */
#include "base/alloc.h"
#include "chan/chan.h"
#include "sched/bell.h"
#include "sched/here.h"
#include "sched/runtime.h"

#include <leat/time.h>
#include <leat/timeout.h>

struct timeout {
    struct lt_keeper keeper;
    struct lt_bell bell;
    leat_chan *ch;
    int64_t deadline;
    bool rings;                 /* its bell is set, or about to ring */
    struct timeout *next, **at; /* in its chain; `at` is NULL when it is in none */
};

enum { FIRST_BITS = 10, GROW_BITS = 2 };

static struct timeout *first_chains[1 << FIRST_BITS];

static struct {
    struct lt_lock lock;
    unsigned bits;
    struct timeout **chains;
    size_t count;
} table = { .bits = FIRST_BITS, .chains = first_chains };

static _Atomic int64_t resolution = LEAT_TIMEOUT_RESOLUTION;

/* ---- the table, under its lock ---- */

static struct timeout **chain_of(int64_t deadline)
{
    /* Fibonacci hashing: multiples of anything are spread evenly. */
    return &table.chains[(uint64_t)deadline * UINT64_C(0x9E3779B97F4A7C15) >> (64 - table.bits)];
}

/* The newest of its time come first in their chains, and are mostly what is asked for. */
static void put_in(struct timeout *t)
{
    struct timeout **at = chain_of(t->deadline);
    t->at = at;
    t->next = *at;
    if (t->next)
        t->next->at = &t->next;
    *at = t;
    table.count++;
}

static void take_out(struct timeout *t)
{
    if (!t->at)
        return;
    *t->at = t->next;
    if (t->next)
        t->next->at = t->at;
    t->at = NULL;
    table.count--;
}

static bool is_crowded(void)
{
    return table.count >> GROW_BITS >= (size_t)1 << table.bits;
}

static void use(struct timeout **chains, unsigned bits)
{
    struct timeout **old = table.chains;
    size_t n = (size_t)1 << table.bits;
    table.chains = chains;
    table.bits = bits;
    table.count = 0;
    for (size_t i = 0; i < n; i++) {
        for (struct timeout *t = old[i], *next; t; t = next) {
            next = t->next;
            put_in(t);
        }
        old[i] = NULL;
    }
}

/* Adds a reference to the one for that time; NULL when there is none. */
static leat_chan *share(int64_t deadline)
{
    for (struct timeout *t = *chain_of(deadline); t; t = t->next) {
        if (t->deadline != deadline)
            continue;
        /* Relaxed, here and below: the lock orders it. */
        atomic_fetch_add_explicit(&t->ch->references, 1, memory_order_relaxed);
        return t->ch;
    }
    return NULL;
}

/* ---- the end ---- */

/* It is out of the table, and the caller holds a reference, which this gives back. */
static void close_passed(leat_chan *ch)
{
    lt_chan_lock(ch);
    struct lt_party *woken = lt_chan_close_now(ch);
    lt_chan_unlock(ch);
    lt_ready_all(woken);
    leat_chan_unref(ch);
}

/* Under the lock. */
static leat_chan *retire(struct timeout *t)
{
    t->rings = false;
    take_out(t);
    atomic_fetch_add_explicit(&t->ch->references, 1, memory_order_relaxed);
    return t->ch;
}

static void rang(struct lt_bell *bell)
{
    lt_lock(&table.lock);
    leat_chan *ch = retire(LT_CONTAINER(bell, struct timeout, bell));
    lt_unlock(&table.lock);
    close_passed(ch);
}

static leat_chan *retire_first_of(struct timeout **chain)
{
    lt_lock(&table.lock);
    leat_chan *ch = NULL;
    if (*chain) {
        lt_bell_stop(&(*chain)->bell);
        ch = retire(*chain);
    }
    lt_unlock(&table.lock);
    return ch;
}

/* No bell rings any more. */
static void close_all(void)
{
    leat_chan *ch;
    for (size_t i = 0; i < (size_t)1 << table.bits; i++)
        while ((ch = retire_first_of(&table.chains[i])))
            close_passed(ch);
    if (table.chains != first_chains) {
        lt_free(table.chains);
        table.chains = first_chains;
        table.bits = FIRST_BITS;
    }
}

__attribute__((constructor)) static void introduce(void)
{
    lt_runtime_ended = close_all;
}

/* ---- what stands behind the channel ---- */

static struct timeout *behind(leat_chan *ch)
{
    return LT_CONTAINER(ch->keeper, struct timeout, keeper);
}

static int refuse_close(leat_chan *ch)
{
    (void)ch;
    return -EPERM;
}

static bool unref(leat_chan *ch)
{
    struct timeout *t = behind(ch);
    lt_lock(&table.lock);
    bool last = atomic_fetch_sub_explicit(&ch->references, 1, memory_order_relaxed) == 1 &&
                (!t->rings || lt_bell_stop(&t->bell));
    if (last)
        take_out(t);
    lt_unlock(&table.lock);
    return last;
}

static void free_behind(leat_chan *ch)
{
    lt_free(behind(ch));
}

/* ---- the calls ---- */

static struct timeout *make(int64_t deadline)
{
    struct timeout *t = lt_alloc(sizeof *t);
    leat_chan *ch = t ? leat_chan_open(NULL, &(leat_chan_spec){ .name = "timeout" }) : NULL;
    if (!ch) {
        lt_free(t);
        return NULL;
    }
    t->keeper = (struct lt_keeper){ .close = refuse_close, .unref = unref, .free = free_behind };
    t->bell.ring = rang;
    t->ch = ch;
    t->deadline = deadline;
    ch->special = true;
    atomic_store_explicit(&ch->unusual, true, memory_order_relaxed);
    ch->keeper = &t->keeper;
    return t;
}

/* Without the memory for it the chains just get longer. */
static void grow(void)
{
    lt_lock(&table.lock);
    unsigned bits = table.bits + GROW_BITS;
    bool crowded = is_crowded();
    lt_unlock(&table.lock);
    struct timeout **chains = crowded ? lt_alloc(sizeof *chains << bits) : NULL;
    if (!chains)
        return;
    lt_lock(&table.lock);
    if (table.bits < bits) {
        struct timeout **old = table.chains;
        use(chains, bits);
        chains = old == first_chains ? NULL : old;
    }
    lt_unlock(&table.lock);
    lt_free(chains);
}

static leat_chan *add(int64_t deadline, bool shared)
{
    struct timeout *t = make(deadline);
    if (!t)
        return NULL;
    grow();
    lt_lock(&table.lock);
    leat_chan *ch = shared ? share(deadline) : NULL; /* somebody may have been faster */
    if (!ch) {
        t->rings = deadline != LEAT_NEVER;
        put_in(t);
    }
    lt_unlock(&table.lock);
    if (ch) {
        leat_chan_unref(t->ch);
        return ch;
    }
    /* Others may share it already; that it is not freed before it rings is owed to our reference. */
    if (deadline != LEAT_NEVER)
        lt_bells_tell(lt_bell_set(&t->bell, deadline));
    return t->ch;
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
    /* On a worker somebody who waits for the caller holds the runtime. */
    bool outside = !lt_here.worker;
    if (outside && !lt_runtime_hold())
        return NULL;
    /* Relaxed: nothing else is meant by it. */
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
