#include "sched/idle.h"

#include "base/barrier.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/gap.h"
#include "base/lock.h"
#include "sched/duties.h"
#include "sched/global_queue.h"
#include "sched/lookout.h"
#include "sched/reclaim.h"
#include "sched/runtime.h"
#include "sched/steal.h"
#include "sched/takeover.h"

#include <leat/base.h>

/* Lives as long as the workers, which outlive the runtime: a thread of the program that has just
 * put something into the global queue may still check whether a worker sleeps. */
static struct {
    struct lt_lock lock;
    _Atomic unsigned active; /* written under the lock, read without it as a hint */
    struct lt_worker *watcher, *sleepers;
    bool unwatched; /* LT_UNWATCHED is set in all workers */
    /* Watches handed on by workers with descriptors since one that took something, at most
     * LT_VAIN_WATCHES. Relaxed: a hint. */
    _Atomic unsigned vain;
    bool called; /* the lookout has been called since its last look */
} idle;

static unsigned active(void)
{
    /* Relaxed: certain under the lock, a hint without it. */
    return atomic_load_explicit(&idle.active, memory_order_relaxed);
}

/* One more worker would only take time from the others. */
static bool is_crowded(void)
{
    return active() > lt_runtime.processors;
}

/* There is no processor for one more, unless an active worker is blocked. */
static bool is_full(void)
{
    return active() >= lt_runtime.processors;
}

static void count_active(int more)
{
    atomic_store_explicit(&idle.active, active() + (unsigned)more, memory_order_relaxed);
}

/* ---- roles, under the lock ---- */

static void set_unwatched(bool unwatched)
{
    if (idle.unwatched == unwatched)
        return;
    idle.unwatched = unwatched;
    /* Relaxed: see lt_worker_notify. */
    for (unsigned i = 0; i < lt_runtime.worker_count; i++) {
        _Atomic uint8_t *calls = &lt_runtime.workers[i]->own.calls;
        if (unwatched)
            atomic_fetch_or_explicit(calls, LT_UNWATCHED, memory_order_relaxed);
        else
            atomic_fetch_and_explicit(calls, (uint8_t)~LT_UNWATCHED, memory_order_relaxed);
    }
}

static void add_sleeper(struct lt_worker *worker)
{
    worker->next_idle = idle.sleepers;
    idle.sleepers = worker;
}

static void remove_sleeper(struct lt_worker *worker)
{
    struct lt_worker **at = &idle.sleepers;
    while (*at && *at != worker)
        at = &(*at)->next_idle;
    if (*at)
        *at = worker->next_idle;
}

/* Makes a sleeper the watcher, if there is one, and returns it. The caller must wake it, unless it
 * looks soon enough by itself. */
static struct lt_worker *hand_on_watch(void)
{
    idle.watcher = idle.sleepers;
    if (idle.watcher)
        remove_sleeper(idle.watcher);
    set_unwatched(false);
    return idle.watcher;
}

static void become_idle(struct lt_worker *worker)
{
    lt_lock(&idle.lock);
    count_active(-1);
    worker->naps = false;
    if (idle.watcher && idle.unwatched) {
        add_sleeper(worker);
    } else {
        /* The former watcher may be in a long nap, and one more worker has a free processor now. */
        if (idle.watcher)
            add_sleeper(idle.watcher);
        idle.watcher = worker;
        set_unwatched(false);
    }
    lt_unlock(&idle.lock);
}

/* If the watcher wakes while no other worker is active, and no timer is set anywhere, no worker
 * need watch: a thread that gives a worker something to do, or a timer, notifies
 * (lt_worker_notify). */
static bool may_stay_unwatched(void)
{
    return active() == 1 && idle.sleepers && lt_steal_next(NULL) == LEAT_NEVER;
}

static bool watches_are_vain(void)
{
    return atomic_load_explicit(&idle.vain, memory_order_relaxed) >= LT_VAIN_WATCHES;
}

/* For a worker that would hand on the watch, or notify the watcher. */
static bool leaves_watch_to_lookout(const struct lt_worker *worker)
{
    if (!lt_reactor_has_sources(&worker->reactor) || lt_runtime.worker_count == 1)
        return false;
    if (watches_are_vain())
        return lt_lookout_is_there();
    atomic_fetch_add_explicit(&idle.vain, 1, memory_order_relaxed);
    return false;
}

static void become_active(struct lt_worker *worker)
{
    struct lt_worker *next = NULL;
    bool wake_lookout = false;
    lt_lock(&idle.lock);
    count_active(1);
    bool watched = idle.watcher == worker;
    if (watched)
        idle.watcher = NULL;
    else
        remove_sleeper(worker);
    if ((watched || idle.unwatched) && leaves_watch_to_lookout(worker)) {
        set_unwatched(false);
        idle.called = true;
        wake_lookout = lt_lookout_call();
    } else if (!watched) {
        if (!idle.watcher && !idle.sleepers)
            set_unwatched(false);
    } else if (may_stay_unwatched()) {
        set_unwatched(true);
    } else {
        next = hand_on_watch();
        if (next && next->naps && is_full())
            next = NULL;
    }
    lt_unlock(&idle.lock);
    if (next)
        lt_worker_wake(next);
    if (wake_lookout)
        lt_lookout_wake();
}

struct role {
    bool watches;  /* this worker is the watcher, */
    bool notified; /* and has been notified */
    bool alone;    /* no worker is active */
};

/* The role of a worker. The watcher goes on to nap, unless it rests. A single worker has nobody to
 * watch. The lock orders this after lt_idle_call, or lt_idle_call after the store of `asleep`. */
static struct role role_of(struct lt_worker *worker, bool rests)
{
    lt_lock(&idle.lock);
    bool watches = idle.watcher == worker && lt_runtime.worker_count > 1;
    struct role role = { watches, !idle.unwatched, active() == 0 };
    worker->naps = role.watches && !rests;
    lt_unlock(&idle.lock);
    return role;
}

/* Sets or clears `unwatched` for the watcher: whether it wants to be notified. True if no worker is
 * active, so all of them will see that. */
static bool ask_for_notice(struct lt_worker *worker, bool ask)
{
    lt_lock(&idle.lock);
    worker->naps = !ask;
    if (idle.watcher == worker)
        set_unwatched(ask);
    bool alone = active() == 0;
    lt_unlock(&idle.lock);
    return alone;
}

void lt_idle_reset(unsigned workers)
{
    lt_lock(&idle.lock);
    atomic_store_explicit(&idle.vain, 0, memory_order_relaxed);
    atomic_store_explicit(&idle.active, workers, memory_order_relaxed);
    idle.sleepers = idle.watcher = NULL;
    idle.unwatched = false;
    lt_unlock(&idle.lock);
}

LT_COLD void lt_idle_notify(void)
{
    struct lt_worker *next = NULL;
    lt_lock(&idle.lock);
    if (idle.unwatched) {
        set_unwatched(false);
        next = idle.watcher ? idle.watcher : hand_on_watch();
    }
    lt_unlock(&idle.lock);
    if (next)
        lt_worker_wake(next);
}

void lt_idle_call(void)
{
    lt_lock(&idle.lock);
    /* The sleeper takes itself off the list when it wakes. */
    struct lt_worker *next = idle.sleepers ? idle.sleepers : idle.watcher;
    lt_unlock(&idle.lock);
    if (next)
        lt_worker_wake(next);
}

/* Whether some worker has not slept since the last look. */
static bool some_stays_active(void)
{
    bool any = false;
    for (unsigned i = 0; i < lt_runtime.worker_count; i++) {
        struct lt_worker *worker = lt_runtime.workers[i];
        uint64_t sleeps = lt_tally_get(&worker->tally.sleeps);
        bool asleep = lt_worker_is_asleep(worker);
        any |= !asleep && sleeps == worker->slept;
        worker->slept = asleep ? UINT64_MAX : sleeps;
    }
    return any;
}

void lt_idle_look_over(void)
{
    struct lt_worker *next = NULL;
    lt_lock(&idle.lock);
    bool stays = some_stays_active(), watched = idle.watcher && idle.watcher->naps;
    if (stays && !idle.unwatched && !watched)
        next = idle.watcher ? idle.watcher : hand_on_watch();
    if (!next && !idle.called)
        lt_lookout_rest();
    idle.called = false;
    lt_unlock(&idle.lock);
    if (next)
        lt_worker_wake(next);
}

/* ---- the watch ---- */

struct watch {
    int64_t begun; /* when the worker became the watcher, or was notified; 0: not yet */
    int64_t nap, until;
    bool notified; /* it was notified */
    bool rests;    /* it has asked to be notified */
};

static const int64_t shortest = LT_WATCH_FIRST_US * LEAT_US, longest = LT_WATCH_LAST_US * LEAT_US;

static void nap(struct watch *watch, int64_t now, int64_t length)
{
    watch->rests = false;
    watch->nap = length < longest ? length : longest;
    watch->until = now + watch->nap;
}

static void begin_watch(struct lt_worker *worker, struct watch *watch, int64_t now)
{
    watch->notified = watch->rests;
    watch->begun = now;
    if (watch->notified)
        worker->notified_until =
            (worker->notified_until > now ? worker->notified_until : now) + longest;
    nap(watch, now, is_full() ? longest : shortest);
    lt_steal_look(worker, now);
}

/* While others are active: once they have passed the barrier, they see that they have to notify, or
 * this worker has seen what they did. */
static bool all_is_quiet(struct lt_worker *worker, int64_t now)
{
    return lt_barrier_anyhow() && lt_steal_saw_all(worker) && !lt_steal_look(worker, now) &&
           !lt_global_queue_any();
}

/* Sleeps without naps, until a notification comes or a timer is overdue. */
static void rest(struct lt_worker *worker, struct watch *watch, int64_t now)
{
    bool alone = ask_for_notice(worker, true);
    if (!alone && !all_is_quiet(worker, now)) {
        ask_for_notice(worker, false);
        nap(watch, now, shortest);
        return;
    }
    int64_t grace = alone ? longest : shortest, next = lt_steal_next(worker);
    watch->rests = true;
    watch->until = next < now ? now + longest : next < LEAT_NEVER - grace ? next + grace : next;
}

/* Each notification counts for the longest nap. A watcher that had too many lately rests only after
 * such a nap. */
static bool may_rest(const struct lt_worker *worker, const struct watch *watch, int64_t now)
{
    return !watch->notified || now >= watch->begun + longest ||
           worker->notified_until <= now + LT_NOTICES_AT_ONCE * longest;
}

/* True: the worker has something to run. */
static bool look_again(struct lt_worker *worker, struct watch *watch, int64_t now, bool alone)
{
    enum lt_loot loot = lt_steal(worker, now);
    if (loot == LT_LOOT_TAKEN || loot == LT_LOOT_LATER)
        atomic_store_explicit(&idle.vain, 0, memory_order_relaxed);
    if (loot == LT_LOOT_TAKEN)
        return true;
    if (may_rest(worker, watch, now) &&
        (alone || (loot == LT_LOOT_QUIET && watch->nap > shortest))) {
        rest(worker, watch, now);
        return false;
    }
    if (watch->rests)
        ask_for_notice(worker, false);
    nap(watch, now,
        alone                   ? watch->begun + longest - now
        : loot == LT_LOOT_LATER ? shortest
                                : 2 * watch->nap);
    return false;
}

/* The watcher, each time it wakes. True: it has something to run. */
static bool watch_others(struct lt_worker *worker, struct watch *watch, struct role role,
                         int64_t now)
{
    if (watch->begun && !(watch->rests && role.notified))
        return now >= watch->until && look_again(worker, watch, now, role.alone);
    begin_watch(worker, watch, now);
    if (role.alone && may_rest(worker, watch, now))
        rest(worker, watch, now);
    return false;
}

/* Before a worker sleeps: if others have more to do than they are doing, it looks again some
 * microseconds later. */
static bool finds_some_by_waiting(struct lt_worker *worker)
{
    if (worker->spin.offers || lt_runtime.worker_count == 1)
        return false;
    int64_t now = lt_clock_now(), until = now + LT_STEAL_AFTER_US * LEAT_US;
    if (!lt_steal_look(worker, now))
        return false;
    while ((now = lt_clock_now()) < until) {
        if (lt_worker_has_news(worker))
            return true;
        for (unsigned i = 0; i < LT_STEAL_PAUSES; i++)
            lt_pause();
    }
    return lt_steal(worker, now) == LT_LOOT_TAKEN;
}

/* A worker that keeps getting a little to do from others never waits that long. It compares with
 * the look that it made an earlier time that it ran dry. (Each other active worker costs a cache
 * miss or two: with many of them, it looks less often.) */
static bool finds_some_by_last_look(struct lt_worker *worker, int64_t now)
{
    unsigned workers = lt_runtime.worker_count, processors = lt_runtime.processors;
    int64_t others = (workers < processors ? workers : processors) - 1;
    return others > 0 && !worker->spin.offers &&
           now - worker->stealing.looked >= others * LT_STEAL_AFTER_US * LEAT_US &&
           lt_steal(worker, now) == LT_LOOT_TAKEN;
}

/* Whether a worker that an event has woken lets another one run the party. */
static bool joins_others(const struct lt_worker *worker)
{
    return active() > 1 && lt_reactor_has_sources(&worker->reactor) && watches_are_vain() &&
           worker->ready_head && !worker->ready_head->next;
}

/* The value for `asleep`. */
static uint32_t how_to_sleep(const struct lt_worker *worker)
{
    return (uint32_t)lt_tally_get(&worker->tally.sleeps) * LT_SLEEP_ONE +
           (lt_reactor_is_open(&worker->reactor) ? LT_SLEEPS_IN_EPOLL : LT_SLEEPS);
}

/* Sleeps until a waker or an event wakes it, or until a time. `how` is the value for `asleep`.
 * True: an event has made a party ready. */
static bool sleep_until(struct lt_worker *worker, uint32_t how, int64_t until)
{
    lt_gap();
    if ((how & LT_HOW) == LT_SLEEPS_IN_EPOLL) {
        lt_reactor_sleep(worker, until);
        return worker->ready_head != NULL;
    }
    if (!lt_reactor_is_open(&worker->reactor)) {
        /* If the reactor was opened before this look, the opener may not have seen `asleep`. */
        lt_owned_go_away(&worker->own);
        lt_futex_wait(&worker->asleep, how, until);
        lt_owned_come_back(&worker->own);
    }
    return false;
}

/* Whether it looks at its descriptors before it does anything else. A single worker has nothing
 * else to do: once after each wait for an event it goes to sleep in its epoll at once. */
static bool looks_first(struct lt_worker *worker)
{
    bool waited = worker->reactor.waited;
    worker->reactor.waited = false;
    return lt_reactor_has_sources(&worker->reactor) && (lt_runtime.worker_count > 1 || !waited);
}

void lt_idle(struct lt_worker *worker)
{
    if (looks_first(worker) && lt_reactor_look(worker) && worker->ready_head)
        return;
    int64_t dry = lt_runtime.worker_count > 1 ? lt_clock_now() : 0;
    if (is_crowded() ? lt_worker_has_news(worker)
                     : finds_some_by_last_look(worker, dry) || lt_takeover_look(worker, dry) ||
                           finds_some_by_waiting(worker))
        return;
    lt_takeover_begin_sleep(worker, dry);
    int64_t due = lt_duties_next_timer(worker);
    struct watch watch = { 0 };
    bool stole = false;
    LT_SET_HINT(worker->next_timer, due);
    lt_tally_set(&worker->tally.timers, worker->wheel.count);
    become_idle(worker);
    for (;;) {
        lt_tally_add(&worker->tally.sleeps, 1);
        uint32_t how = how_to_sleep(worker);
        /* Before `asleep`, so that a sleeping worker has recorded what it keeps. */
        lt_reclaim_settle(worker);
        /* Stored before it asks for its role and for news: a thread that makes it the watcher
         * later, or gives it news, sees that it must wake it. */
        atomic_store_explicit(&worker->asleep, how, memory_order_seq_cst);
        struct role role = role_of(worker, watch.rests);
        int64_t now = worker->activity.woke = lt_clock_now();
        if (now >= due)
            lt_duties_woke_for_timer(worker, now);
        if (lt_worker_has_news(worker) || worker->ready_head || now >= due ||
            (stole = role.watches && watch_others(worker, &watch, role, now)))
            break;
        int64_t until = role.watches && watch.until < due ? watch.until : due;
        if (sleep_until(worker, how, until)) {
            if (worker->reactor.looked >= due)
                lt_duties_woke_for_timer(worker, worker->reactor.looked);
            break;
        }
    }
    atomic_store_explicit(&worker->asleep, 0, memory_order_relaxed);
    /* Relaxed: a thread that sees this late only wakes it in vain. */
    atomic_store_explicit(&worker->reclaim, 0, memory_order_relaxed);
    lt_takeover_end_sleep(worker);
    lt_duties_begin(worker, worker->activity.woke);
    become_active(worker);
    worker->surplus = !stole && (is_crowded() || joins_others(worker));
    if (watches_are_vain())
        lt_lookout_start();
    /* The worker may have other things to do before it takes parties from the global queue, runs
     * all that it has stolen, or looks at its descriptors. */
    if (lt_global_queue_any() || lt_worker_has_several(worker) ||
        lt_reactor_has_sources(&worker->reactor))
        lt_worker_notify(worker);
}
