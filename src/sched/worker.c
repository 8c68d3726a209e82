#define _GNU_SOURCE
#include "sched/worker.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/util.h"
#include "sched/guard.h"
#include "sched/here.h"
#include "sched/host.h"
#include "sched/idle.h"
#include "sched/runtime.h"
#include "sched/spill.h"

#include <sys/prctl.h>

struct lt_worker *lt_worker_self(void)
{
    return lt_here.worker;
}

void lt_worker_post(struct lt_worker *worker, struct lt_party *party)
{
    struct lt_party *top = atomic_load_explicit(&worker->inbox, memory_order_relaxed);
    do
        party->next = top;
    /* Sequentially consistent, with the load of `asleep` below, against the worker's store of `asleep`
     * and second look at the inbox: one of the two sees the other. */
    while (!atomic_compare_exchange_weak_explicit(&worker->inbox, &top, party,
                                                  memory_order_seq_cst, memory_order_relaxed));
    /* Only the first into an empty inbox has to wake: it was there for those after it to see. */
    if (!top && atomic_load_explicit(&worker->asleep, memory_order_seq_cst))
        lt_worker_wake(worker);
}

void lt_worker_wake(struct lt_worker *worker)
{
    /* The exchange lets one of several wakers make the call. It carries no data: relaxed. */
    if (atomic_exchange_explicit(&worker->asleep, 0, memory_order_relaxed))
        lt_futex_wake(&worker->asleep);
}

void lt_worker_sleep(struct lt_worker *worker, int64_t deadline)
{
    atomic_store_explicit(&worker->asleep, 1, memory_order_seq_cst); /* see lt_worker_post */
    if (!atomic_load_explicit(&worker->inbox, memory_order_seq_cst) &&
        !atomic_load_explicit(&lt_runtime.stopping, memory_order_seq_cst))
        lt_futex_wait(&worker->asleep, 1, deadline);
    atomic_store_explicit(&worker->asleep, 0, memory_order_relaxed);
}

bool lt_worker_drain(struct lt_worker *worker)
{
    if (!atomic_load_explicit(&worker->inbox, memory_order_relaxed))
        return false;
    /* Acquire: what was done for the parties before they were posted is seen. */
    struct lt_party *stack = atomic_exchange_explicit(&worker->inbox, NULL, memory_order_acquire);
    struct lt_party *queue = NULL;
    while (stack) {
        struct lt_party *next = stack->next;
        stack->next = queue;
        queue = stack;
        stack = next;
    }
    while (queue) {
        struct lt_party *party = queue;
        queue = party->next;
        struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
        if (party->kind != LT_TASK || task->home) {
            lt_ready(party);
            continue;
        }
        if (!task->stack)
            worker->credits++; /* the one its creator got for it */
        lt_worker_enqueue(worker, task);
    }
    return true;
}

void lt_worker_enqueue(struct lt_worker *worker, struct lt_task *task)
{
    if (LT_UNLIKELY(!lt_ring_push(&worker->ring, task)))
        lt_spill_push(worker, task);
    lt_idle_notice();
}

static void tidy(struct lt_worker *worker)
{
    if (LT_UNLIKELY(worker->ended != NULL)) {
        lt_stack_unmap(worker->ended);
        worker->ended = NULL;
    }
}

/* Something unstarted: taken before, from the own ring, or spilt. */
static struct lt_task *next_new(struct lt_worker *worker)
{
    struct lt_task *task = worker->pending;
    worker->pending = NULL;
    if (!task)
        task = lt_ring_pop(&worker->ring);
    if (!task && lt_spill_take(worker))
        task = lt_ring_pop(&worker->ring);
    return task;
}

static bool run_new(struct lt_worker *worker)
{
    struct lt_task *task = next_new(worker);
    if (!task)
        return false;
    lt_host_start(worker, task);
    return true;
}

static bool run_ready(struct lt_worker *worker)
{
    struct lt_party *party = lt_worker_next_ready(worker);
    if (!party)
        return false;
    if (party->kind == LT_TASK) {
        lt_host_resume(worker, LT_CONTAINER(party, struct lt_task, party));
    } else {
        struct lt_job *job = LT_CONTAINER(party, struct lt_job, party);
        worker->started_last = false;
        job->run(job);
    }
    return true;
}

void *lt_worker_main(void *argument)
{
    struct lt_worker *worker = argument;
    lt_self();
    lt_here.worker = worker;
    lt_fiber_adopt(&worker->fiber);
    lt_guard_worker_begin(worker);
    prctl(PR_SET_TIMERSLACK, 1UL); /* else the kernel adds 50 us to every sleep */
    /* Acquire: what happened before the stop is seen. */
    while (!atomic_load_explicit(&lt_runtime.stopping, memory_order_acquire)) {
        worker->direct_left = LT_DIRECT_SWITCHES;
        lt_worker_drain(worker);
        if (worker->wheel.count)
            lt_wheel_advance(&worker->wheel, lt_clock_now());
        /* New and ready ones take turns, so that neither crowd starves the other. */
        if (worker->started_last ? run_ready(worker) || run_new(worker)
                                 : run_new(worker) || run_ready(worker))
            tidy(worker);
        else
            lt_idle(worker);
    }
    lt_guard_worker_end(worker);
    lt_here.worker = NULL;
    return NULL;
}

/* ---- calls from other threads ---- */

struct call {
    struct lt_job job;
    struct lt_party *caller;
    void (*fn)(void *arg);
    void *arg;
};

static void run_call(struct lt_job *job)
{
    struct call *call = LT_CONTAINER(job, struct call, job);
    call->fn(call->arg);
    lt_ready(call->caller);
}

void lt_worker_call(struct lt_worker *worker, void (*fn)(void *arg), void *arg)
{
    struct lt_thread *thread = lt_this_thread();
    struct call call = {
        .job = {.party.kind = LT_JOB, .run = run_call},
        .caller = &thread->party,
        .fn = fn,
        .arg = arg,
    };
    atomic_store_explicit(&thread->word, 0, memory_order_relaxed);
    lt_worker_post(worker, &call.job.party);
    for (uint32_t word; !((word = atomic_load_explicit(&thread->word, memory_order_acquire)) & LT_WOKEN);)
        lt_futex_wait(&thread->word, word, LEAT_NEVER);
}
