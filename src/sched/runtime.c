#include "sched/runtime.h"

#include "base/alloc.h"
#include "base/biased.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/environment.h"
#include "base/world.h"
#include "sched/current.h"
#include "sched/guard.h"
#include "sched/idle.h"
#include "sched/lookout.h"
#include "sched/pool.h"
#include "sched/slab.h"

#include <leat/runtime.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

struct lt_runtime lt_runtime;

static pthread_mutex_t start_stop = PTHREAD_MUTEX_INITIALIZER;

/* The result of leat_workers, at any time, while the runtime comes and goes. Relaxed: it orders
 * nothing. */
static _Atomic unsigned workers_there;

/* RUNNING, one HOLD for each holder, and one HELD for each hold ever taken. So stopping and opening
 * a scope exclude each other, and leat_stop sees whether anything held the runtime meanwhile. A
 * seeded world's runtime does not set RUNNING: it runs for no other thread. */
static _Atomic uint64_t life;
#define RUNNING UINT64_C(1)
#define HOLD UINT64_C(2)
#define HELD (UINT64_C(1) << 32)
#define HOLDS (HELD - HOLD)

bool lt_running(void)
{
    /* Acquire: a thread that sees it running sees the workers. */
    return atomic_load_explicit(&life, memory_order_acquire) & RUNNING || lt_world();
}

bool lt_runtime_hold(void)
{
    uint64_t old = atomic_load_explicit(&life, memory_order_relaxed);
    do
        if (!(old & RUNNING) && !lt_world())
            return false;
    while (!atomic_compare_exchange_weak_explicit(&life, &old, old + HOLD + HELD,
                                                  memory_order_acquire, memory_order_relaxed));
    return true;
}

void lt_runtime_release(void)
{
    /* Release: leat_stop, which reads it, sees all that happened under the hold. */
    atomic_fetch_sub_explicit(&life, HOLD, memory_order_release);
}

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

int lt_runtime_look(void)
{
    if (pthread_mutex_trylock(&looking) != 0)
        return -EBUSY;
    if (lt_running())
        return 0;
    pthread_mutex_unlock(&looking);
    return -EINVAL;
}

void lt_runtime_look_away(void)
{
    pthread_mutex_unlock(&looking);
}

struct lt_worker *lt_any_worker(void)
{
    unsigned nth = atomic_fetch_add_explicit(&lt_runtime.next_worker, 1, memory_order_relaxed);
    return lt_runtime.workers[nth % lt_runtime.worker_count];
}

/* ---- options ---- */

static const struct lt_word pinned_words[] = { { "0", 0 }, { "1", 1 }, { NULL, 0 } };
static const struct lt_word io_words[] = {
    { "auto", 0 }, { "epoll", 0 }, { "uring", 1 }, { NULL, 0 }
};

static int resolve(const leat_options *given, leat_options *options)
{
    lt_env_report_unknown();
    *options = given ? *given : (leat_options){ 0 };
    int pinned = options->pinned ? 1 : lt_env_word("LEAT_PINNED", pinned_words);
    int64_t workers =
        options->workers ? options->workers : lt_env_number("LEAT_WORKERS", LT_MAX_WORKERS);
    if (pinned < 0 || workers < 0 || workers > LT_MAX_WORKERS ||
        lt_env_word("LEAT_IO", io_words) < 0)
        return -EINVAL;
    unsigned wanted = workers ? (unsigned)workers : leat_cores();
    options->workers = wanted < LT_MAX_WORKERS ? wanted : LT_MAX_WORKERS;
    options->pinned = pinned;
    if (!options->stack_size)
        options->stack_size = LT_STACK_DEFAULT;
    return lt_stack_size_round(&options->stack_size);
}

int lt_stack_size_round(size_t *size)
{
    if (*size < LT_STACK_MIN || *size > LT_STACK_MAX)
        return -EINVAL;
    *size = lt_whole_pages(*size);
    return 0;
}

/* ---- workers ---- */

/* Workers outlive the runtime, and the next one uses them: a thread of the program that has just
 * posted something may still check whether the worker sleeps, and one that stops a timer may be
 * late. A seeded world ends the program if another thread wakes its worker, so its workers are kept
 * apart: the index is lt_runtime.alone. */
static struct lt_worker *kept[2];

/* Much of a worker is touched only when there is a crowd, so it has its own pages. */
static struct lt_worker *worker_map(void)
{
    size_t size = lt_whole_pages(sizeof(struct lt_worker));
    struct lt_worker *worker = lt_map(size);
    if (!worker)
        return NULL;
    lt_fiber_forget((char *)worker, size);
    lt_biased_init(&worker->shared_timers.lock);
    return worker;
}

static void clear(struct lt_worker *worker, size_t from, size_t to)
{
    memset((char *)worker + from, 0, to - from);
}

static struct lt_worker *worker_get(const struct lt_runtime *rt)
{
    struct lt_worker *worker = kept[rt->alone];
    if (!worker)
        return worker_map();
    kept[rt->alone] = worker->next_idle;
    /* The last part is zero already, and other threads may still read it. They may also read
     * `own.calls`, which lt_owned_init sets, and take the shared timers' lock: a thread that stops
     * a timer which has just fired learns so under that lock. The wheels and the slots of the local
     * queue stay as they are: most of their memory has never been touched. */
#define AT(member) offsetof(struct lt_worker, member)
    clear(worker, AT(ready_head), AT(wheel));
    clear(worker, AT(shared_timers.called), AT(shared_timers.wheel));
    clear(worker, AT(shared_timers.due), AT(local_queue.slots));
#undef AT
    return worker;
}

static void worker_put(const struct lt_runtime *rt, struct lt_worker *worker)
{
    lt_free(worker->stealing.seen);
    lt_free(worker->fault_stack);
    /* Nudges of tasks that have ended. Relaxed: no thread is left that reads them. */
    atomic_store_explicit(&worker->nudges, NULL, memory_order_relaxed);
    worker->next_idle = kept[rt->alone];
    kept[rt->alone] = worker;
}

static struct lt_worker *worker_new(const struct lt_runtime *rt, unsigned index)
{
    struct lt_worker *worker = worker_get(rt);
    if (!worker)
        return NULL;
    worker->index = index;
    lt_owned_init(&worker->own);
    atomic_store_explicit(&worker->sent, 0, memory_order_relaxed);
    atomic_store_explicit(&worker->reclaim, 0, memory_order_relaxed);
    worker->ready_end = &worker->ready_head;
    worker->budget = LT_OP_BUDGET;
    worker->units.next = 1;
    lt_spin_init(&worker->spin);
    worker->magazine.fetch_next = 1;
    worker->duties.stride = LT_DIRECT_SWITCHES;
    worker->duties.until_look = LT_LOOKS_APART;
    LT_SET_HINT(worker->next_timer, LEAT_NEVER);
    worker->stealing.seen = lt_alloc(rt->worker_count * sizeof *worker->stealing.seen);
    worker->fault_stack = lt_alloc_unset(LT_FAULT_STACK);
    if (!worker->stealing.seen || !worker->fault_stack) {
        worker_put(rt, worker);
        return NULL;
    }
    lt_wheel_init(&worker->wheel, lt_clock_now());
    lt_shared_timers_init(&worker->shared_timers, lt_clock_now());
    return worker;
}

static int make_workers(struct lt_runtime *rt)
{
    rt->workers = lt_alloc(rt->worker_count * sizeof(struct lt_worker *));
    if (!rt->workers)
        return -ENOMEM;
    for (unsigned i = 0; i < rt->worker_count; i++)
        if (!(rt->workers[i] = worker_new(rt, i)))
            return -ENOMEM;
    return 0;
}

static void stop_workers(struct lt_runtime *rt, unsigned started)
{
    /* Sequentially consistent, against a worker that stores `asleep` and then reads this. */
    atomic_store_explicit(&rt->stopping, true, memory_order_seq_cst);
    for (unsigned i = 0; i < started; i++)
        lt_worker_wake(rt->workers[i]);
    for (unsigned i = 0; i < started; i++)
        pthread_join(rt->workers[i]->thread, NULL);
    lt_lookout_stop();
}

static void tear_down(struct lt_runtime *rt)
{
    if (rt->workers)
        lt_reactors_close();
    for (unsigned i = 0; rt->workers && i < rt->worker_count && rt->workers[i]; i++) {
        lt_magazine_close(&rt->workers[i]->magazine);
        lt_free(rt->workers[i]->spare_scope);
        worker_put(rt, rt->workers[i]);
    }
    lt_idle_reset(0);
    lt_free(rt->workers);
    lt_slab_close();
    lt_stack_pool_close();
    memset(rt, 0, sizeof *rt);
}

static int start(struct lt_runtime *rt, const leat_options *options, bool alone,
                 const struct lt_kinds *kinds, const struct lt_observer *observer)
{
    lt_kinds = *kinds;
    lt_observer = observer;
    lt_bias_open();
    rt->worker_count = options->workers;
    rt->processors = lt_processors();
    rt->alone = alone;
    rt->started = lt_clock_now();
    lt_idle_reset(rt->worker_count);
    rt->stack_size = options->stack_size;
    /* A seed gives the same run in every environment. */
    rt->pinned = options->pinned && !alone;
    /* Relaxed: it orders nothing. */
    atomic_store_explicit(&lt_uring_wanted, !alone && lt_env_word("LEAT_IO", io_words) == 1,
                          memory_order_relaxed);
    pthread_sigmask(SIG_SETMASK, NULL, &rt->signals);
    lt_stack_pool_open(options->stack_size);
    int error = make_workers(rt);
    unsigned started = 0;
    while (!error && !alone && started < rt->worker_count) {
        struct lt_worker *worker = rt->workers[started];
        error = lt_thread_start(&worker->thread, lt_worker_main, worker);
        started += !error;
    }
    if (!error && !alone)
        error = lt_observer->begin(options);
    if (!error && alone) /* in a seeded world the clock is a variable */
        atomic_store_explicit(&lt_probe_flags, LT_PROBE_WAITS, memory_order_relaxed);
    if (error) {
        stop_workers(rt, started);
        tear_down(rt);
        return error;
    }
    lt_guard_install();
    atomic_store_explicit(&workers_there, alone ? 0 : rt->worker_count, memory_order_relaxed);
    if (!alone)
        atomic_store_explicit(&life, RUNNING, memory_order_release);
    return 0;
}

int lt_runtime_start(const leat_options *given, bool alone, const struct lt_kinds *kinds,
                     const struct lt_observer *observer)
{
    leat_options options;
    if (!alone && (lt_current_worker() || lt_pool_is_mine()))
        return -EDEADLK;
    int cancel = lt_cancel_put_off(), error = resolve(given, &options);
    if (!error) {
        pthread_mutex_lock(&start_stop);
        error =
            lt_runtime.worker_count ? -EBUSY : start(&lt_runtime, &options, alone, kinds, observer);
        pthread_mutex_unlock(&start_stop);
    }
    lt_cancel_restore(cancel);
    return error;
}

static bool any_shared_timer_holds(const struct lt_runtime *rt)
{
    bool any = false;
    for (unsigned i = 0; i < rt->worker_count && !any; i++)
        any = lt_shared_timers_hold(&rt->workers[i]->shared_timers);
    return any;
}

/* False while anything holds the runtime. It asks one worker at a time about shared timers. That is
 * enough if no other hold was taken meanwhile: then only what a shared timer fires runs on a
 * worker, and it sets others of that worker before its own timer lets go. So a worker that had none
 * still has none. */
static bool stop_life(void)
{
    bool stopped = false;
    uint64_t seen;
    pthread_mutex_lock(&looking);
    do /* Acquire, for the release in lt_runtime_release. */
        seen = atomic_load_explicit(&life, memory_order_acquire);
    while (!(seen & HOLDS) && !any_shared_timer_holds(&lt_runtime) &&
           !(stopped = atomic_compare_exchange_strong_explicit(
                 &life, &seen, 0, memory_order_acquire, memory_order_relaxed)));
    pthread_mutex_unlock(&looking);
    return stopped;
}

static void stop(struct lt_runtime *rt, unsigned started)
{
    atomic_store_explicit(&workers_there, 0, memory_order_relaxed);
    lt_guard_uninstall();
    stop_workers(rt, started);
    lt_pool_close();
    lt_kinds.runtime_ended();
    lt_observer->end();
    tear_down(rt);
}

int leat_stop(void)
{
    if (lt_current_worker() || lt_pool_is_mine())
        return -EDEADLK;
    int error = 0, cancel = lt_cancel_put_off();
    pthread_mutex_lock(&start_stop);
    if (!lt_running())
        error = -EINVAL;
    else if (!stop_life())
        error = -EBUSY;
    else
        stop(&lt_runtime, lt_runtime.worker_count);
    pthread_mutex_unlock(&start_stop);
    lt_cancel_restore(cancel);
    return error;
}

/* ---- for one thread alone ---- */

bool lt_runtime_is_held(void)
{
    return atomic_load_explicit(&life, memory_order_relaxed) & HOLDS ||
           any_shared_timer_holds(&lt_runtime);
}

void lt_runtime_close_alone(void)
{
    pthread_mutex_lock(&start_stop);
    stop(&lt_runtime, 0);
    pthread_mutex_unlock(&start_stop);
}

unsigned leat_workers(void)
{
    if (lt_world())
        return lt_runtime.worker_count;
    return atomic_load_explicit(&workers_there, memory_order_relaxed);
}

const char *leat_version(void)
{
    return LEAT_STR(LEAT_VERSION_MAJOR) "." LEAT_STR(LEAT_VERSION_MINOR) "." LEAT_STR(
        LEAT_VERSION_PATCH);
}
