#define _GNU_SOURCE
#include "sched/runtime.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/util.h"
#include "sched/guard.h"
#include "sched/here.h"
#include "sched/host.h"
#include "sched/pool.h"
#include "sched/slab.h"

#include <leat/runtime.h>
#include <leat/task.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct lt_runtime lt_runtime;

static pthread_mutex_t start_stop = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool running; /* written under the mutex, read without */

bool lt_running(void)
{
    /* Acquire: who sees it running sees the workers. */
    return atomic_load_explicit(&running, memory_order_acquire);
}

/* ---- options ---- */

static unsigned cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > LT_MAX_WORKERS ? LT_MAX_WORKERS : (unsigned)n;
}

static int resolve(const leat_options *given, leat_options *options)
{
    *options = given ? *given : (leat_options){0};
    const char *text = getenv("LEAT_WORKERS");
    if (!options->workers && text && *text) {
        char *end;
        errno = 0;
        long n = strtol(text, &end, 10);
        if (*end || errno || n < 1 || n > LT_MAX_WORKERS)
            return -EINVAL;
        options->workers = (unsigned)n;
    }
    if (!options->workers)
        options->workers = cores();
    if (!options->stack_size)
        options->stack_size = LT_STACK_DEFAULT;
    if (options->workers > LT_MAX_WORKERS)
        return -EINVAL;
    return lt_stack_size_round(&options->stack_size);
}

int lt_stack_size_round(size_t *size)
{
    if (*size < LT_STACK_MIN || *size > LT_STACK_MAX)
        return -EINVAL;
    size_t page = lt_page_size();
    *size = (*size + page - 1) / page * page;
    return 0;
}

/* ---- workers ---- */

static void worker_free(struct lt_worker *worker)
{
    if (worker) {
        lt_free(worker->seen_tails);
        lt_free(worker->fault_stack);
    }
    lt_free(worker);
}

static struct lt_worker *worker_new(unsigned index, unsigned count)
{
    struct lt_worker *worker = lt_alloc(sizeof *worker);
    if (!worker)
        return NULL;
    worker->index = index;
    worker->ready_end = &worker->ready_head;
    worker->budget = LT_OP_BUDGET;
    worker->seen_tails = lt_alloc(count * sizeof *worker->seen_tails);
    worker->fault_stack = lt_alloc(LT_FAULT_STACK);
    if (!worker->seen_tails || !worker->fault_stack) {
        worker_free(worker);
        return NULL;
    }
    lt_wheel_init(&worker->wheel, lt_clock_now());
    return worker;
}

static int make_workers(struct lt_runtime *rt)
{
    rt->workers = lt_alloc(rt->worker_count * sizeof(struct lt_worker *));
    if (!rt->workers)
        return -ENOMEM;
    for (unsigned i = 0; i < rt->worker_count; i++)
        if (!(rt->workers[i] = worker_new(i, rt->worker_count)))
            return -ENOMEM;
    return 0;
}

int lt_thread_start(pthread_t *thread, void *(*fn)(void *), void *argument)
{
    if (lt_fault())
        return -ENOMEM;
    /* The new thread inherits the mask: signals stay with the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, fn, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? -ENOMEM : 0; /* EAGAIN: no resources for another thread */
}

static void stop_workers(struct lt_runtime *rt, unsigned started)
{
    /* Sequentially consistent, against the worker's store of `asleep` and look at this. */
    atomic_store_explicit(&rt->stopping, true, memory_order_seq_cst);
    for (unsigned i = 0; i < started; i++)
        lt_worker_wake(rt->workers[i]);
    for (unsigned i = 0; i < started; i++)
        pthread_join(rt->workers[i]->thread, NULL);
}

static void tear_down(struct lt_runtime *rt)
{
    for (unsigned i = 0; rt->workers && i < rt->worker_count && rt->workers[i]; i++) {
        lt_host_close(rt->workers[i]);
        worker_free(rt->workers[i]);
    }
    lt_free(rt->workers);
    lt_slab_close();
    lt_stack_pool_close();
    memset(rt, 0, sizeof *rt);
}

static int start(struct lt_runtime *rt, const leat_options *options)
{
    memset(rt, 0, sizeof *rt);
    rt->worker_count = rt->active = options->workers;
    rt->stack_size = options->stack_size;
    lt_stack_pool_open(options->stack_size);
    int error = make_workers(rt);
    unsigned started = 0;
    while (!error && started < rt->worker_count) {
        struct lt_worker *worker = rt->workers[started];
        error = lt_thread_start(&worker->thread, lt_worker_main, worker);
        started += !error;
    }
    if (error) {
        stop_workers(rt, started);
        tear_down(rt);
        return error;
    }
    lt_guard_install();
    atomic_store_explicit(&running, true, memory_order_release);
    return 0;
}

int leat_start(const leat_options *given)
{
    leat_options options;
    if (lt_here.worker || lt_pool_is_mine())
        return -EDEADLK;
    int error = resolve(given, &options);
    if (error)
        return error;
    pthread_mutex_lock(&start_stop);
    error = lt_running() ? -EBUSY : start(&lt_runtime, &options);
    pthread_mutex_unlock(&start_stop);
    return error;
}

int leat_stop(void)
{
    if (lt_here.worker || lt_pool_is_mine())
        return -EDEADLK;
    int error = 0;
    pthread_mutex_lock(&start_stop);
    if (!lt_running()) {
        error = -EINVAL;
    } else if (atomic_load_explicit(&lt_runtime.scopes, memory_order_acquire)) {
        error = -EBUSY;
    } else {
        atomic_store_explicit(&running, false, memory_order_release);
        lt_guard_uninstall();
        stop_workers(&lt_runtime, lt_runtime.worker_count);
        lt_pool_close();
        tear_down(&lt_runtime);
    }
    pthread_mutex_unlock(&start_stop);
    return error;
}

unsigned leat_workers(void)
{
    return lt_running() ? lt_runtime.worker_count : 0;
}

const char *leat_version(void)
{
    return LEAT_STR(LEAT_VERSION_MAJOR) "." LEAT_STR(LEAT_VERSION_MINOR) "." LEAT_STR(
        LEAT_VERSION_PATCH);
}
