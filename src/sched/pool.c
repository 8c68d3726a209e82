#define _GNU_SOURCE
#include "sched/pool.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fault.h"
#include "base/util.h"
#include "base/world.h"
#include "sched/guard.h"
#include "sched/runtime.h"

#include <leat/base.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

static struct {
    pthread_mutex_t mutex;
    struct lt_work *head, **end;
    unsigned queued, idle, threads;
    unsigned surplus; /* how many threads end the next time they are idle; at most `threads` */
    bool closing;
    bool has_ended; /* a thread has ended and waits to be joined */
    pthread_t ended;
    pthread_cond_t work, all_ended;
} pool = { .mutex = PTHREAD_MUTEX_INITIALIZER,
           .work = PTHREAD_COND_INITIALIZER,
           .all_ended = PTHREAD_COND_INITIALIZER };

static _Thread_local bool is_pool_thread __attribute__((tls_model("initial-exec")));

bool lt_pool_is_mine(void)
{
    return is_pool_thread || lt_world();
}

int lt_thread_start(pthread_t *thread, void *(*fn)(void *), void *argument)
{
    if (lt_fault())
        return -ENOMEM;
    /* The new thread inherits the mask: signals stay with the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int saved = errno, error = pthread_create(thread, NULL, fn, argument);
    errno = saved;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? -ENOMEM : 0; /* EAGAIN: no resources for another thread */
}

/* Waits for work. NULL: there has been none for LT_POOL_IDLE_S seconds, the pool closes, or the
 * thread is a surplus. */
static struct lt_work *next_work(void)
{
    int64_t until = lt_clock_now() + LT_POOL_IDLE_S * LEAT_S;
    struct timespec at = { (time_t)(until / LEAT_S), (long)(until % LEAT_S) };
    pool.idle++;
    int error = 0;
    while (!pool.head && !pool.closing && !pool.surplus && error != ETIMEDOUT)
        error = pthread_cond_clockwait(&pool.work, &pool.mutex, CLOCK_MONOTONIC, &at);
    pool.idle--;
    struct lt_work *work = pool.head;
    if (work) {
        pool.head = work->next;
        pool.queued--;
    } else if (pool.surplus) {
        pool.surplus--;
    }
    return work;
}

static void *pool_thread(void *unused)
{
    (void)unused;
    is_pool_thread = true;
    lt_guard_thread_begin();
    /* The program's own mask: work here may start processes, which inherit it. A handler can run
     * here, since the stack is as large as any thread's. */
    pthread_sigmask(SIG_SETMASK, &lt_runtime.signals, NULL);
    pthread_mutex_lock(&pool.mutex);
    for (struct lt_work *work; (work = next_work());) {
        pthread_mutex_unlock(&pool.mutex);
        work->run(work);
        pthread_mutex_lock(&pool.mutex);
    }
    /* Each thread that ends joins the one that ended before it; lt_pool_close joins the last. */
    bool join = pool.has_ended;
    pthread_t before = pool.ended;
    pool.has_ended = true;
    pool.ended = pthread_self();
    if (--pool.threads == 0)
        pthread_cond_signal(&pool.all_ended);
    pthread_mutex_unlock(&pool.mutex);
    lt_guard_thread_end();
    if (join)
        pthread_join(before, NULL);
    return NULL;
}

void lt_pool_count(unsigned *threads, unsigned *idle)
{
    pthread_mutex_lock(&pool.mutex);
    *threads = pool.threads;
    *idle = pool.idle > pool.queued ? pool.idle - pool.queued : 0;
    pthread_mutex_unlock(&pool.mutex);
}

int lt_pool_submit(struct lt_work *work)
{
    if (LT_UNLIKELY(lt_world() != NULL))
        return lt_world()->start(work);
    int error = 0;
    pthread_mutex_lock(&pool.mutex);
    if (pool.idle <= pool.queued) {
        pthread_t thread;
        error = lt_thread_start(&thread, pool_thread, NULL);
        pool.threads += !error;
    }
    if (!error) {
        work->next = NULL;
        if (!pool.head)
            pool.end = &pool.head;
        *pool.end = work;
        pool.end = &work->next;
        pool.queued++;
    }
    pthread_mutex_unlock(&pool.mutex);
    /* Not under the mutex, for which the thread would wait at once. */
    if (!error)
        pthread_cond_signal(&pool.work);
    return error;
}

void lt_pool_shrink(void)
{
    pthread_mutex_lock(&pool.mutex);
    pool.surplus = pool.idle > pool.queued ? pool.idle - pool.queued : 0;
    if (pool.surplus)
        pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.mutex);
}

void lt_pool_close(void)
{
    pthread_mutex_lock(&pool.mutex);
    pool.closing = true;
    pthread_cond_broadcast(&pool.work);
    while (pool.threads)
        pthread_cond_wait(&pool.all_ended, &pool.mutex);
    bool join = pool.has_ended;
    pool.has_ended = pool.closing = false;
    pthread_mutex_unlock(&pool.mutex);
    if (join)
        pthread_join(pool.ended, NULL);
}
