#define _GNU_SOURCE
#include "watch/monitor.h"

#include "base/clock.h"
#include "base/fault.h"
#include "sched/runtime.h"
#include "sched/thread.h"
#include "watch/deadlock.h"
#include "watch/text.h"
#include "watch/watchdog.h"

#include <leat/watch.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SIGNALS = 65 };

static struct {
    pthread_mutex_t mutex; /* guards all but what the signal handler and the thread read */
    bool running;
    pthread_t thread;
    struct lt_plan plan; /* not written while the thread runs */
    struct {
        bool taken;
        struct sigaction former;
    } signals[SIGNALS];
    /* Made once and never closed: a handler that is still running may write to it. -1: not made. */
    _Atomic int event_fd;
    _Atomic bool dump, stop; /* what the monitor was woken for */
} monitor = { .mutex = PTHREAD_MUTEX_INITIALIZER, .event_fd = -1 };

/* ---- waking the monitor ---- */

static int event_fd(void)
{
    return atomic_load_explicit(&monitor.event_fd, memory_order_relaxed);
}

static bool make_event(void)
{
    if (event_fd() >= 0)
        return true;
    int saved = errno, fd = lt_fault() ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    errno = saved;
    atomic_store_explicit(&monitor.event_fd, fd, memory_order_relaxed);
    return fd >= 0;
}

/* Signal handlers call this, too. */
static void wake_monitor(_Atomic bool *why)
{
    int saved = errno;
    uint64_t one = 1;
    /* Release: the monitor sees what came before. */
    atomic_store_explicit(why, true, memory_order_release);
    ssize_t ignored = write(event_fd(), &one, sizeof one);
    (void)ignored;
    errno = saved;
}

/* Waits until the monitor is woken, but not longer than `interval` nanoseconds; 0: for ever. */
static void wait_for_event(int64_t interval)
{
    struct pollfd fd = { .fd = event_fd(), .events = POLLIN };
    struct timespec most = { (time_t)(interval / LEAT_S), (long)(interval % LEAT_S) };
    uint64_t count;
    if (ppoll(&fd, 1, interval ? &most : NULL, NULL) > 0) {
        ssize_t ignored = read(fd.fd, &count, sizeof count);
        (void)ignored;
    }
}

/* ---- the thread ---- */

static int64_t interval_of(const struct lt_plan *plan)
{
    int64_t interval = plan->deadlock ? LT_DEADLOCK_CHECK_MS * LEAT_MS : 0;
    if (plan->watchdog && (!interval || plan->watchdog / 4 < interval))
        interval = plan->watchdog / 4;
    return interval;
}

static void report_deadlock(bool end)
{
    lt_say("leat: deadlock: everybody waits, and nothing is left that could end a wait");
    leat_dump(stderr);
    if (end)
        abort();
}

static void *run_monitor(void *argument)
{
    struct lt_plan plan = *(struct lt_plan *)argument;
    int64_t next_check = 0;
    /* Acquire, here and below: pairs with the release in wake_monitor. */
    while (!atomic_load_explicit(&monitor.stop, memory_order_acquire)) {
        wait_for_event(interval_of(&plan));
        if (atomic_exchange_explicit(&monitor.dump, false, memory_order_acquire))
            leat_dump(stderr);
        if (plan.watchdog)
            lt_watchdog_check(plan.watchdog);
        if (!plan.deadlock || lt_clock_now() < next_check)
            continue;
        next_check = lt_clock_now() + LT_DEADLOCK_CHECK_MS * LEAT_MS / 2;
        if (lt_deadlock_check()) {
            report_deadlock(plan.abort);
            plan.deadlock = false;
        }
    }
    if (plan.watchdog)
        lt_watchdog_check(plan.watchdog); /* reports for how long a worker was held until now */
    return NULL;
}

static int start_thread(const struct lt_plan *plan)
{
    if (monitor.running)
        return 0;
    if (!make_event() || lt_watchdog_reset(plan->watchdog ? lt_runtime.worker_count : 0) != 0)
        return -ENOMEM;
    lt_deadlock_reset();
    monitor.plan = *plan;
    atomic_store_explicit(&monitor.stop, false, memory_order_relaxed);
    atomic_store_explicit(&monitor.dump, false, memory_order_relaxed);
    int error = lt_thread_start(&monitor.thread, run_monitor, &monitor.plan);
    monitor.running = !error;
    return error;
}

static void stop_thread(void)
{
    if (!monitor.running)
        return;
    wake_monitor(&monitor.stop);
    pthread_join(monitor.thread, NULL);
    monitor.running = false;
    lt_watchdog_reset(0);
}

/* ---- signals ---- */

static void on_signal(int signal)
{
    (void)signal;
    wake_monitor(&monitor.dump);
}

static int take_signal(int number)
{
    if (number < 1 || number >= SIGNALS)
        return -EINVAL;
    if (monitor.signals[number].taken)
        return 0;
    int saved = errno;
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    bool taken = sigaction(number, &action, &monitor.signals[number].former) == 0;
    monitor.signals[number].taken = taken;
    errno = saved;
    return taken ? 0 : -EINVAL;
}

static void give_signals_back(void)
{
    struct sigaction current;
    for (int i = 1; i < SIGNALS; i++) {
        if (!monitor.signals[i].taken)
            continue;
        monitor.signals[i].taken = false;
        /* A handler that came after ours stays. */
        if (sigaction(i, NULL, &current) == 0 && current.sa_handler == on_signal)
            sigaction(i, &monitor.signals[i].former, NULL);
    }
}

int leat_dump_on_signal(int signal)
{
    pthread_mutex_lock(&monitor.mutex);
    int error = lt_running() ? start_thread(&(struct lt_plan){ 0 }) : -EINVAL;
    if (!error)
        error = take_signal(signal);
    pthread_mutex_unlock(&monitor.mutex);
    return error;
}

/* ---- with the runtime ---- */

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
