#include "sched/idle.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/lock.h"
#include "sched/runtime.h"
#include "sched/spill.h"

#include <leat/base.h>

enum { STEAL_MOST = 32 < LT_RING_SIZE ? 32 : LT_RING_SIZE };

/* Outlives the runtime, as workers do: a thread of the program's own that has just spilt something may
 * still have to look whether somebody sleeps. */
static struct {
    struct lt_lock lock;
    unsigned active;
    struct lt_worker *watcher, *sleepers;
    /* Written under the lock, read without. */
    _Atomic bool watched; /* there is a watcher */
    _Atomic unsigned sleeper_count;
} idle;

/* ---- roles, under the lock ---- */

static void set_watcher(struct lt_worker *worker)
{
    idle.watcher = worker;
    /* Relaxed: who must not read a stale value has been through the lock. */
    atomic_store_explicit(&idle.watched, worker != NULL, memory_order_relaxed);
}

static void count_sleepers(int change)
{
    unsigned now = atomic_load_explicit(&idle.sleeper_count, memory_order_relaxed);
    atomic_store_explicit(&idle.sleeper_count, now + (unsigned)change, memory_order_relaxed);
}

static void add_sleeper(struct lt_worker *worker)
{
    worker->next_idle = idle.sleepers;
    idle.sleepers = worker;
    count_sleepers(1);
}

static void remove_sleeper(struct lt_worker *worker)
{
    for (struct lt_worker **at = &idle.sleepers; *at; at = &(*at)->next_idle) {
        if (*at == worker) {
            *at = worker->next_idle;
            count_sleepers(-1);
            return;
        }
    }
}

/* A sleeper takes the watch, or nobody does; returns who must be woken for it, or NULL. */
static struct lt_worker *hand_on_watch(void)
{
    struct lt_worker *sleeper = idle.sleepers;
    if (sleeper)
        remove_sleeper(sleeper);
    set_watcher(sleeper);
    return sleeper;
}

static void become_idle(struct lt_worker *worker)
{
    lt_lock(&idle.lock);
    idle.active--;
    if (!idle.watcher && idle.active > 0)
        set_watcher(worker);
    else
        add_sleeper(worker);
    lt_unlock(&idle.lock);
}

static void become_active(struct lt_worker *worker)
{
    struct lt_worker *next = NULL;
    lt_lock(&idle.lock);
    idle.active++;
    if (idle.watcher == worker)
        next = hand_on_watch();
    else
        remove_sleeper(worker);
    lt_unlock(&idle.lock);
    if (next)
        lt_worker_wake(next);
}

/* Whether the worker is the watcher; one that finds nobody active stops watching. */
static bool still_watching(struct lt_worker *worker)
{
    lt_lock(&idle.lock);
    bool watching = idle.watcher == worker;
    if (watching && idle.active == 0) {
        set_watcher(NULL);
        add_sleeper(worker);
        watching = false;
    }
    lt_unlock(&idle.lock);
    return watching;
}

void lt_idle_reset(unsigned active)
{
    lt_lock(&idle.lock);
    idle.active = active;
    idle.sleepers = NULL;
    set_watcher(NULL);
    atomic_store_explicit(&idle.sleeper_count, 0, memory_order_relaxed);
    lt_unlock(&idle.lock);
}

void lt_idle_notice(void)
{
    if (LT_LIKELY(atomic_load_explicit(&idle.watched, memory_order_relaxed) ||
                  !atomic_load_explicit(&idle.sleeper_count, memory_order_relaxed)))
        return;
    struct lt_worker *next = NULL;
    lt_lock(&idle.lock);
    if (!idle.watcher)
        next = hand_on_watch();
    lt_unlock(&idle.lock);
    if (next)
        lt_worker_wake(next);
}

void lt_idle_call(void)
{
    lt_lock(&idle.lock);
    /* A sleeper it is left to take itself off the list, when it has woken. */
    struct lt_worker *next = idle.sleepers ? idle.sleepers : idle.watcher;
    lt_unlock(&idle.lock);
    if (next)
        lt_worker_wake(next);
}

/* ---- stealing ---- */

static void look(struct lt_worker *worker, int64_t now)
{
    worker->looked = now;
    for (unsigned i = 0; i < lt_runtime.worker_count; i++) {
        struct lt_ring *ring = &lt_runtime.workers[i]->ring;
        worker->seen[i].head = atomic_load_explicit(&ring->head, memory_order_relaxed);
        /* Acquire: the parties before this tail are seen whole, should they be stolen later. */
        worker->seen[i].tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    }
}

/* How many tasks there would be stacks for. */
static uint32_t room(struct lt_worker *worker)
{
    if (worker->magazine_count + worker->credits < STEAL_MOST && lt_stack_credits_get(STEAL_MOST))
        worker->credits += STEAL_MOST;
    size_t stacks = worker->magazine_count + worker->credits;
    return stacks < STEAL_MOST ? (uint32_t)stacks : STEAL_MOST;
}

/* Whether it pays to take what has waited since the last look. Not from a worker that is about to be done with
 * it: short tasks that talk to each other are best left together. Nor, for a while, from one that is still
 * making them in a burst: that it has not started any yet says nothing of how long they will take. */
static bool pays(struct lt_worker *worker, uint32_t waiting, uint32_t started, uint32_t made)
{
    enum { PATIENCE = 4 };
    if (made > waiting && worker->patience < PATIENCE) {
        worker->patience++;
        return false;
    }
    return waiting / PATIENCE >= started;
}

/* Takes half of what has waited since the last look from the first worker where that pays. *left: some was left
 * that waits. */
static bool steal(struct lt_worker *worker, bool *left)
{
    for (unsigned i = 1; i < lt_runtime.worker_count; i++) {
        unsigned victim = (worker->index + i) % lt_runtime.worker_count;
        struct lt_ring *ring = &lt_runtime.workers[victim]->ring;
        const struct lt_seen *seen = &worker->seen[victim];
        uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
        int32_t waiting = (int32_t)(seen->tail - head);
        if (waiting <= 0)
            continue;
        uint32_t made = atomic_load_explicit(&ring->tail, memory_order_relaxed) - seen->tail;
        if (!pays(worker, (uint32_t)waiting, head - seen->head, made)) {
            *left = true;
            continue;
        }
        worker->patience = 0;
        uint32_t half = ((uint32_t)waiting + 1) / 2, most = room(worker);
        struct lt_party *taken[STEAL_MOST];
        uint32_t n = lt_ring_steal(ring, seen->tail, half < most ? half : most, taken);
        for (uint32_t k = 0; k < n; k++)
            lt_ring_push(&worker->ring, taken[k]); /* has room: it was empty */
        lt_tally_add(&worker->tally.stolen, n);
        if (n)
            return true;
    }
    return false;
}

/* ---- being idle ---- */

static bool news_soon(struct lt_worker *worker)
{
    bool news = false;
    for (unsigned left = lt_spin_looks(&worker->spin); left > 0 && !news; left--) {
        lt_spin_wait(&worker->spin);
        news = lt_worker_has_news(worker);
    }
    lt_spin_learn(&worker->spin, news);
    return news || lt_worker_has_news(worker);
}

static void return_credits(struct lt_worker *worker)
{
    if (worker->credits > LT_CREDIT_BATCH) {
        lt_stack_credits_return(worker->credits - LT_CREDIT_BATCH);
        worker->credits = LT_CREDIT_BATCH;
    }
}

/* The watcher's duty when its nap is over (the first, since an earlier look, is half as long): true when it
 * has stolen something. A look counts also if it was made in an earlier watch: so one that is often
 * interrupted steals all the same. */
static bool watch(struct lt_worker *worker, int64_t *nap, int64_t now)
{
    if (now < worker->looked + *nap)
        return false;
    bool left = false;
    if (steal(worker, &left))
        return true;
    if (!left) {
        worker->patience = 0;
        if (*nap < LT_WATCH_LAST_US * LEAT_US)
            *nap *= 2;
    }
    look(worker, now);
    return false;
}

/* When to wake up for the next timer. Where they come thick and fast, not for each. */
static int64_t next_timer(struct lt_worker *worker)
{
    lt_bells_settle(&worker->bells);
    int64_t due = lt_wheel_next(&worker->wheel), least = worker->rung + worker->rest;
    return due < least ? least : due;
}

static void woke_for_timer(struct lt_worker *worker, int64_t now)
{
    const int64_t least = LT_NAP_LEAST_US * LEAT_US;
    uint64_t fired = worker->wheel.fired + worker->bells.wheel.fired;
    bool thick = (int64_t)(fired - worker->fired) * least >= LT_NAP_THICK * (now - worker->rung);
    worker->rest = thick ? LT_NAP_MOST_US * LEAT_US : least;
    worker->fired = fired;
    worker->rung = now;
}

void lt_idle(struct lt_worker *worker)
{
    if (news_soon(worker))
        return;
    return_credits(worker);
    int64_t due = next_timer(worker), nap = LT_WATCH_FIRST_US * LEAT_US / 2;
    lt_tally_set(&worker->tally.timers, worker->wheel.count);
    lt_tally_set(&worker->tally.magazine, worker->magazine_count + worker->returned.count);
    become_idle(worker);
    for (;;) {
        lt_tally_add(&worker->tally.sleeps, 1);
        /* Before asking for the role and for news: who gives it the watch, or news, after that, sees that
         * it must be woken. */
        atomic_store_explicit(&worker->asleep, LT_SLEEPS, memory_order_seq_cst);
        bool watching = still_watching(worker);
        int64_t now = lt_clock_now();
        if (now >= due)
            woke_for_timer(worker, now);
        if (lt_worker_has_news(worker) || now >= due || (watching && watch(worker, &nap, now)))
            break;
        int64_t until = watching && worker->looked + nap < due ? worker->looked + nap : due;
        lt_futex_wait(&worker->asleep, LT_SLEEPS, until);
    }
    atomic_store_explicit(&worker->asleep, 0, memory_order_relaxed);
    become_active(worker);
    /* Whoever was woken for what is spilt may have other things to do first. */
    if (lt_spill_any())
        lt_idle_notice();
}
