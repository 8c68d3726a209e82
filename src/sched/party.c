#define _GNU_SOURCE
#include "sched/party.h"

#include "base/bell.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/gap.h"
#include "base/util.h"
#include "sched/current.h"
#include "sched/runtime.h"
#include "sched/takeover.h"

#include <leat/base.h>

#include <poll.h>

struct lt_thread *lt_this_thread(void)
{
    struct lt_party *self = lt_current_party();
    /* In a seeded world several simulated threads share this thread. */
    return self->kind == LT_THREAD ? LT_CONTAINER(self, struct lt_thread, party)
                                   : &lt_current()->thread;
}

uint64_t *lt_chance(void)
{
    lt_current_party();
    return &lt_current()->chance;
}

/* The caller of lt_thread_nudge keeps the thread from going. If it has left its poll meanwhile, it
 * has seen the nudge, and this wakes another poll for nothing. */
static LT_COLD void ring(struct lt_thread *thread)
{
    /* Relaxed: the word, which said that the thread polls, was written after it. */
    int bell = atomic_load_explicit(&thread->bell, memory_order_relaxed);
    if (bell >= 0)
        lt_bell_ring(bell);
}

static void wake_thread(struct lt_thread *thread, uint32_t why)
{
    /* Release: the woken thread sees what was done for it. Acquire: see ring. Once the word is set
     * the thread may be gone, so the futex call uses only the address. */
    _Atomic uint32_t *word = &thread->word;
    uint32_t before = atomic_fetch_or_explicit(word, why, memory_order_acq_rel);
    if (LT_UNLIKELY(before & LT_POLLS))
        ring(thread);
    if (before == LT_SLEEPS_COUNTED)
        atomic_fetch_sub_explicit(&lt_threads_asleep, 1, memory_order_relaxed);
    if (before & LT_ASLEEP)
        lt_futex_wake(word);
}

_Atomic uint64_t lt_threads_asleep;

/* The thread that changes the word from LT_SLEEPS_COUNTED takes the sleeper off the count. So a
 * sleeper is off the count as soon as it can run, not only when it does. It is counted only after
 * it has changed the word itself: before that it may have been woken, and then be held up for long.
 * So the count may be too low for a moment. (Relaxed: a reader looks at the count twice, and
 * believes it only if nothing has happened in between.) */
static LT_COLD void sleep_counted(_Atomic uint32_t *word)
{
    uint32_t before = 0;
    lt_gap();
    if (!atomic_compare_exchange_strong_explicit(word, &before, LT_SLEEPS_COUNTED,
                                                 memory_order_relaxed, memory_order_relaxed))
        return;
    atomic_fetch_add_explicit(&lt_threads_asleep, (UINT64_C(1) << 32) + 1, memory_order_relaxed);
    lt_futex_wait(word, LT_SLEEPS_COUNTED, LEAT_NEVER);
    before = atomic_fetch_and_explicit(word, ~(uint32_t)LT_SLEEPS_COUNTED, memory_order_relaxed);
    if (before == LT_SLEEPS_COUNTED)
        atomic_fetch_sub_explicit(&lt_threads_asleep, 1, memory_order_relaxed);
}

void lt_thread_sleep(struct lt_thread *thread, int64_t deadline)
{
    _Atomic uint32_t *word = &thread->word;
    if (LT_UNLIKELY(lt_probing() & LT_PROBE_THREADS) && deadline == LEAT_NEVER) {
        sleep_counted(word);
        return;
    }
    uint32_t nothing = 0;
    /* Relaxed: the caller reads the word again in any case. */
    if (atomic_compare_exchange_strong_explicit(word, &nothing, LT_ASLEEP, memory_order_relaxed,
                                                memory_order_relaxed))
        lt_futex_wait(word, LT_ASLEEP, deadline);
}

bool lt_thread_poll(struct lt_thread *thread, struct pollfd *fds, unsigned n, int bell,
                    int64_t deadline)
{
    uint32_t nothing = 0;
    int64_t ns = deadline == LEAT_NEVER ? 0 : deadline - lt_clock_now();
    struct timespec time = { 0 };
    if (ns > 0)
        time = (struct timespec){ (time_t)(ns / LEAT_S), (long)(ns % LEAT_S) };
    /* Release: see ring. */
    atomic_store_explicit(&thread->bell, bell, memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&thread->word, &nothing, LT_POLLS,
                                                 memory_order_release, memory_order_relaxed))
        return true;
    return ppoll(fds, n, deadline == LEAT_NEVER ? NULL : &time, NULL) >= 0 || errno == EINTR;
}

void lt_job_run(struct lt_party *party)
{
    struct lt_job *job = LT_CONTAINER(party, struct lt_job, party);
    job->run(job);
}

/* The worker on which a party continues: a task's home; for a stackless party the one that has its
 * timer, or else the current one. NULL: any worker. */
static struct lt_worker *home_of(struct lt_party *party)
{
    if (party->kind == LT_TASK)
        return lt_task_home(LT_CONTAINER(party, struct lt_task, party));
    if (party->timer_home)
        return lt_runtime.workers[party->timer_home - 1];
    return lt_current_worker();
}

void lt_ready_elsewhere(struct lt_party *party)
{
    if (party->kind == LT_THREAD) {
        wake_thread(LT_CONTAINER(party, struct lt_thread, party), LT_WOKEN);
        return;
    }
    struct lt_worker *home = home_of(party), *here = lt_current_worker();
    if (!home)
        lt_launch(party);
    else if (home == here)
        lt_worker_append(home, party);
    else if (!here || !lt_takeover(here, home, party))
        lt_worker_post(home, party);
}

void lt_thread_nudge(struct lt_thread *thread)
{
    wake_thread(thread, LT_NUDGED);
}
