#include "sched/party.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/rng.h"
#include "base/util.h"
#include "sched/here.h"
#include "sched/runtime.h"

_Thread_local struct lt_here lt_here __attribute__((tls_model("initial-exec")));

LT_COLD void lt_here_introduce(void)
{
    lt_here.thread.party.kind = LT_THREAD;
    lt_here.thread.party.enlisted = true; /* belongs to no scope; those it opens know it */
    lt_here.self = &lt_here.thread.party;
    lt_here.chance = (uint64_t)lt_clock_now() ^ (uint64_t)(uintptr_t)&lt_here;
}

struct lt_thread *lt_this_thread(void)
{
    lt_self();
    return &lt_here.thread;
}

uint64_t *lt_chance(void)
{
    lt_self();
    return &lt_here.chance;
}

static void wake_thread(struct lt_thread *thread, uint32_t why)
{
    /* Release: the woken thread sees what was done for it. Once the word is set it may be gone, so
     * the futex call takes only the address. */
    _Atomic uint32_t *word = &thread->word;
    atomic_fetch_or_explicit(word, why, memory_order_release);
    lt_futex_wake(word);
}

static void run_job(struct lt_party *party)
{
    struct lt_job *job = LT_CONTAINER(party, struct lt_job, party);
    job->run(job);
}

void (*lt_party_run[LT_KINDS])(struct lt_party *party) = { [LT_JOB] = run_job };
bool (*lt_party_end[LT_KINDS])(struct lt_party *party, int reason);

/* Where a party goes on: a task at home; a roamer at its timer, or here; NULL: on any worker. */
static struct lt_worker *home_of(struct lt_party *party)
{
    if (party->kind == LT_TASK)
        return LT_CONTAINER(party, struct lt_task, party)->home;
    if (party->timer_home)
        return lt_runtime.workers[party->timer_home - 1];
    return lt_here.worker;
}

void lt_ready_elsewhere(struct lt_party *party)
{
    if (party->kind == LT_THREAD) {
        wake_thread(LT_CONTAINER(party, struct lt_thread, party), LT_WOKEN);
        return;
    }
    struct lt_worker *home = home_of(party);
    if (!home)
        lt_launch(party);
    else if (home == lt_here.worker)
        lt_worker_append(home, party);
    else
        lt_worker_post(home, party);
}

void lt_thread_nudge(struct lt_thread *thread)
{
    wake_thread(thread, LT_NUDGED);
}
