#define _GNU_SOURCE
#include "dump/monitor.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/handler.h"
#include "base/world.h"
#include "dump/print.h"
#include "sched/lookout.h"
#include "sched/pool.h"
#include "sched/runtime.h"
#include "sched/steal.h"
#include "watch/find.h"

#include <leat/watch.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- deadlocks: whether anything is left that could end a wait ----
 *
 * A check does not see everything at one moment. But each worker counts its sleeps, and the number
 * of sleeping threads comes with the number of times that a thread began to sleep. So if two checks
 * find all of them asleep, with the same counts, none has been awake in between. Then all were
 * asleep together, and no wake-up was on its way to any of them, since no party could have sent
 * one. */

enum { DEADLOCK_CHECK_MS = 100 };

struct rest {
    bool found;
    uint64_t sleeps, threads;
};

static _Atomic unsigned bystanders;

/* The number of threads in the process; 0: not known. */
static uint64_t threads_of_process(void)
{
    int saved = errno;
    struct stat tasks;
    bool known = stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2;
    errno = saved;
    return known ? (uint64_t)tasks.st_nlink - 2 : 0;
}

static bool rests(struct lt_worker *worker, uint64_t *sleeps)
{
    *sleeps += lt_tally_get(&worker->tally.sleeps);
    /* Acquire: if this sees the worker asleep, it sees what the worker published before. */
    return atomic_load_explicit(&worker->asleep, memory_order_acquire) &&
           !lt_worker_has_news(worker) &&
           /* A sleep for ever has a timer, too, at the last moment of all. */
           LT_HINT(worker->next_timer) >= LEAT_NEVER - 1 &&
           !lt_reactor_has_sources(&worker->reactor);
}

static struct rest sample(void)
{
    struct rest now = { .found = true };
    for (unsigned i = 0; i < lt_runtime.worker_count; i++)
        now.found &= rests(lt_runtime.workers[i], &now.sleeps);
    if (!now.found)
        return now;
    unsigned pool, idle;
    lt_pool_count(&pool, &idle);
    now.threads = atomic_load_explicit(&lt_threads_asleep, memory_order_relaxed);
    uint64_t asleep = now.threads & UINT32_MAX, monitor = 1, lookout = lt_lookout_is_there();
    /* Relaxed: a count that is late hides a deadlock until the next check. */
    unsigned others = atomic_load_explicit(&bystanders, memory_order_relaxed);
    now.found = threads_of_process() ==
                lt_runtime.worker_count + idle + asleep + monitor + lookout + others;
    return now;
}

void lt_monitor_bystander(int by)
{
    /* Relaxed: see above. */
    atomic_fetch_add_explicit(&bystanders, (unsigned)by, memory_order_relaxed);
}

/* True: there is a deadlock. This call and the one before found everything at rest, and nothing ran
 * in between. */
static bool is_deadlock(struct rest *before)
{
    struct rest now = sample();
    bool same = now.found && before->found && now.sleeps == before->sleeps &&
                now.threads == before->threads;
    *before = now;
    return same && lt_running();
}

/* ---- the watchdog: parties that keep a worker ----
 *
 * While a worker runs nothing else, two numbers stay as they are: its count of switches, and how
 * many direct switches it has left. The monitor reads both four times within the limit. */

struct hold {
    const struct lt_task *running;
    uint64_t switches;
    unsigned direct_left;
    int64_t since; /* 0: not read yet */
    bool reported;
    uint32_t number; /* 0: not known */
    char name[160];
};

static void report(const struct hold *hold, unsigned worker, const char *how, int64_t held)
{
    long long ms = (long long)(held / LEAT_MS);
    if (hold->number)
        dprintf(STDERR_FILENO, "leat: task %u %s %s worker %u for %lld ms\n", hold->number,
                hold->name, how, worker, ms);
    else
        dprintf(STDERR_FILENO, "leat: a %s %s worker %u for %lld ms\n",
                hold->running ? "task" : "block or callback", how, worker, ms);
}

static void look_at_running(struct hold *hold, const struct lt_worker *worker)
{
    char name[sizeof hold->name];
    FILE *to = fmemopen(hold->name, sizeof hold->name, "w");
    hold->name[0] = '\0';
    if (!lt_look_at_running(worker, hold->running, &hold->number, name, sizeof name))
        hold->number = 0;
    else if (to)
        lt_print_name(to, name, "");
    if (to)
        fclose(to);
}

static void check(struct hold *hold, unsigned i, int64_t limit, int64_t now)
{
    struct lt_worker *worker = lt_runtime.workers[i];
    struct hold seen = {
        .running = lt_worker_running(worker),
        .switches = lt_tally_get(&worker->tally.switches),
        .direct_left = lt_steal_peek(&worker->direct_left),
        .since = now,
    };
    if (lt_worker_is_asleep(worker) || !hold->since || seen.running != hold->running ||
        seen.switches != hold->switches || seen.direct_left != hold->direct_left) {
        if (hold->reported)
            report(hold, i, "held", now - hold->since);
        *hold = seen;
    } else if (!hold->reported && now - hold->since >= limit) {
        hold->reported = true;
        look_at_running(hold, worker);
        report(hold, i, "has held", now - hold->since);
    }
}

/* Reports each party that has kept a worker for `limit` nanoseconds. */
static void check_workers(struct hold *holds, int64_t limit)
{
    int64_t now = lt_clock_now();
    for (unsigned i = 0; limit && i < lt_runtime.worker_count; i++)
        check(&holds[i], i, limit, now);
}

/* ---- the monitor ---- */

enum { SIGNALS = 65 };

static struct {
    pthread_mutex_t mutex; /* guards all but the words of the signal handler and the thread */
    bool running;
    pthread_t thread;
    struct lt_plan plan;                /* not written while the thread runs; nor is `holds` */
    struct hold *holds;                 /* one for each worker, for the watchdog */
    struct lt_handler signals[SIGNALS]; /* zero: not taken */
    /* How often the monitor was woken: a futex, which needs no descriptor, and why. */
    _Atomic uint32_t calls;
    _Atomic bool dump, stop;
} monitor = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* ---- waking the monitor ---- */

/* Signal handlers call this, too, perhaps in a seeded world's thread: so the kernel wakes. */
static void wake_monitor(_Atomic bool *why)
{
    atomic_store_explicit(why, true, memory_order_relaxed);
    /* Release: the monitor sees why, and what happened before. */
    atomic_fetch_add_explicit(&monitor.calls, 1, memory_order_release);
    lt_futex_rouse(&monitor.calls);
}

static uint32_t calls(void)
{
    return atomic_load_explicit(&monitor.calls, memory_order_acquire); /* see wake_monitor */
}

/* ---- the thread ---- */

/* When the monitor looks next, unless it is woken. */
static int64_t next_look(const struct lt_plan *plan)
{
    int64_t interval = plan->deadlock ? DEADLOCK_CHECK_MS * LEAT_MS : LEAT_NEVER;
    if (plan->watchdog && plan->watchdog / 4 < interval)
        interval = plan->watchdog / 4;
    return lt_clock_after(lt_clock_now(), interval);
}

static void report_deadlock(bool end)
{
    dprintf(STDERR_FILENO,
            "leat: deadlock: everybody waits, and nothing is left that could end a wait\n");
    leat_dump(stderr);
    if (end)
        abort();
}

static void *run_monitor(void *argument)
{
    struct lt_plan plan = *(struct lt_plan *)argument;
    struct rest before = { 0 };
    int64_t next_check = 0;
    uint32_t heard = calls() - 1; /* looks once at first: a signal may have come already */
    while (!atomic_load_explicit(&monitor.stop, memory_order_relaxed)) {
        lt_futex_wait(&monitor.calls, heard, next_look(&plan));
        heard = calls();
        if (atomic_exchange_explicit(&monitor.dump, false, memory_order_relaxed))
            leat_dump(stderr);
        check_workers(monitor.holds, plan.watchdog);
        if (!plan.deadlock || lt_clock_now() < next_check)
            continue;
        next_check = lt_clock_now() + DEADLOCK_CHECK_MS * LEAT_MS / 2;
        if (is_deadlock(&before)) {
            report_deadlock(plan.abort);
            plan.deadlock = false;
        }
    }
    check_workers(monitor.holds, plan.watchdog); /* reports how long a worker was held until now */
    return NULL;
}

static int start_thread(const struct lt_plan *plan)
{
    if (monitor.running)
        return 0;
    struct hold *holds = plan->watchdog ? lt_alloc(lt_runtime.worker_count * sizeof *holds) : NULL;
    if (plan->watchdog && !holds)
        return -ENOMEM;
    monitor.holds = holds;
    monitor.plan = *plan;
    atomic_store_explicit(&monitor.stop, false, memory_order_relaxed);
    atomic_store_explicit(&monitor.dump, false, memory_order_relaxed);
    int error = lt_thread_start(&monitor.thread, run_monitor, &monitor.plan);
    monitor.running = !error;
    if (error)
        lt_free(holds);
    return error;
}

static void stop_thread(void)
{
    if (!monitor.running)
        return;
    wake_monitor(&monitor.stop);
    pthread_join(monitor.thread, NULL);
    monitor.running = false;
    lt_free(monitor.holds);
}

/* ---- signals ---- */

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    wake_monitor(&monitor.dump);
}

/* False for the signals of faults, after which a handler that returns comes back to the fault; for
 * SIGPROF, which a dump may send; and for those that no program can handle. */
static bool may_ask(int number)
{
    const int others[] = { SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGTRAP,
                           SIGABRT, SIGSYS, SIGPROF, SIGKILL, SIGSTOP };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (number == others[i])
            return false;
    return number > 0 && number < SIGNALS;
}

static int take_signal(int number)
{
    struct lt_handler *handler = &monitor.signals[number];
    if (handler->fn)
        return 0;
    int saved = errno;
    bool taken = lt_handler_install(handler, number, on_signal);
    errno = saved;
    return taken ? 0 : -EINVAL;
}

static void give_signals_back(void)
{
    for (int i = 1; i < SIGNALS; i++) {
        if (monitor.signals[i].fn)
            lt_handler_remove(&monitor.signals[i], i);
        monitor.signals[i] = (struct lt_handler){ 0 };
    }
}

int leat_dump_on_signal(int signal)
{
    if (lt_world())
        return -ENOTSUP;
    pthread_mutex_lock(&monitor.mutex);
    int error = lt_running() && may_ask(signal) ? start_thread(&(struct lt_plan){ 0 }) : -EINVAL;
    if (!error)
        error = take_signal(signal);
    pthread_mutex_unlock(&monitor.mutex);
    return error;
}

/* ---- at the runtime's start and end ---- */

int lt_monitor_start(const struct lt_plan *plan)
{
    if (!plan->deadlock && !plan->watchdog && !plan->signal)
        return 0;
    pthread_mutex_lock(&monitor.mutex);
    int error = start_thread(plan);
    if (!error && plan->signal && (error = take_signal(plan->signal)))
        stop_thread();
    pthread_mutex_unlock(&monitor.mutex);
    return error;
}

void lt_monitor_stop(void)
{
    pthread_mutex_lock(&monitor.mutex);
    give_signals_back();
    stop_thread();
    pthread_mutex_unlock(&monitor.mutex);
}
