#include "sched/worker.h"

#include "base/bell.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/gap.h"
#include "base/util.h"
#include "base/world.h"
#include "sched/current.h"
#include "sched/duties.h"
#include "sched/global_queue.h"
#include "sched/guard.h"
#include "sched/host.h"
#include "sched/idle.h"
#include "sched/nudge.h"
#include "sched/runtime.h"
#include "sched/steal.h"
#include "sched/takeover.h"

#include <errno.h>
#include <sys/prctl.h>

LT_COLD void lt_worker_answer(struct lt_worker *worker, bool before)
{
    if (!before && lt_world()) {
        lt_owned_leave(&worker->own, false);
        lt_world()->entry(worker);
    }
    if (!before)
        lt_owned_answer(&worker->own);
    lt_worker_notify(worker);
}

void lt_worker_post(struct lt_worker *worker, struct lt_party *party)
{
    struct lt_party *top = atomic_load_explicit(&worker->inbox, memory_order_relaxed);
    do
        party->next = top;
    /* Sequentially consistent, with the load of `asleep` below, against the worker, which stores
     * `asleep` and looks at the inbox again: one of the two sees the other. */
    while (!atomic_compare_exchange_weak_explicit(&worker->inbox, &top, party, memory_order_seq_cst,
                                                  memory_order_relaxed));
    lt_gap();
    /* Every poster alerts it, since the one that found the inbox empty may be stopped before it
     * does. */
    lt_worker_alert(worker);
}

void lt_worker_alert(struct lt_worker *worker)
{
    if (!lt_worker_wake(worker))
        lt_worker_notify(worker);
}

static void call(struct lt_worker *worker, uint32_t how)
{
    struct lt_worker *here = lt_current_worker();
    int64_t begun = here ? lt_clock_now() : 0;
    if (how == LT_SECLUDED && !lt_world())
        lt_die("leat: a thread from outside has called into a seeded world");
    if (how == LT_SLEEPS)
        lt_futex_wake(&worker->asleep);
    else if (how == LT_SLEEPS_IN_EPOLL)
        lt_bell_ring(worker->reactor.bell);
    if (here)
        here->activity.woke += lt_clock_now() - begun;
}

bool lt_worker_wake(struct lt_worker *worker)
{
    /* Sequentially consistent, as the exchange is, against what the worker looks at after it has
     * stored `asleep`. */
    uint32_t found = atomic_load_explicit(&worker->asleep, memory_order_seq_cst);
    while (found && !(found & LT_CALLED) &&
           !atomic_compare_exchange_weak_explicit(&worker->asleep, &found, found | LT_CALLED,
                                                  memory_order_seq_cst, memory_order_seq_cst))
        continue;
    if (!found)
        return false;
    lt_gap();
    call(worker, found & LT_HOW);
    found |= LT_CALLED;
    /* Only now does it look awake: a waker that was stopped before its call leaves this to the next
     * one. Relaxed: orders nothing. It fails if the worker has woken meanwhile. */
    atomic_compare_exchange_strong_explicit(&worker->asleep, &found, 0, memory_order_relaxed,
                                            memory_order_relaxed);
    return true;
}

bool lt_worker_has_news(struct lt_worker *worker)
{
    return atomic_load_explicit(&worker->inbox, memory_order_seq_cst) ||
           atomic_load_explicit(&worker->taken_nudges, memory_order_relaxed) ||
           atomic_load_explicit(&worker->nudges, memory_order_seq_cst) || lt_global_queue_any() ||
           lt_shared_timers_have_moved(&worker->shared_timers) ||
           atomic_load_explicit(&lt_runtime.stopping, memory_order_seq_cst);
}

/* Inside: receives an unstarted party from the inbox, with the credit for its stack. */
static void receive_new(struct lt_worker *worker, struct lt_party *party)
{
    bool brings_credit = lt_needs_credit(party);
    lt_tally_add(&worker->tally.sent, 1);
    if (worker == lt_current_worker() && lt_local_queue_push(&worker->local_queue, party))
        worker->magazine.credits += brings_credit;
    else
        lt_global_queue_push(NULL, party);
}

static void receive(struct lt_worker *worker, struct lt_party *party)
{
    if (party->kind == LT_TASK && !lt_task_home(LT_CONTAINER(party, struct lt_task, party)))
        receive_new(worker, party);
    else
        lt_worker_append_inside(worker, party);
}

bool lt_worker_drain(struct lt_worker *worker)
{
    if (!lt_worker_has_mail(worker))
        return false;
    /* Acquire: sees what was done for the parties before they were posted. */
    struct lt_party *stack = atomic_exchange_explicit(&worker->inbox, NULL, memory_order_acquire);
    struct lt_party *queue = NULL;
    while (stack) {
        struct lt_party *next = stack->next;
        stack->next = queue;
        queue = stack;
        stack = next;
    }
    uint64_t received = 0;
    while (queue) {
        struct lt_party *party = queue;
        queue = party->next;
        receive(worker, party);
        received++;
    }
    lt_tally_add(&worker->tally.received, received);
    /* When each was posted, some worker watched or this one slept. By now perhaps no worker
     * watches. */
    if (lt_worker_has_several(worker))
        lt_worker_notify(worker);
    return true;
}

/* Where the local queue is full, or makes room for parties of the global queue: then new ones go to
 * the global queue, too. Only a little room: tasks that each start several are best run where they
 * were started, and the global queue keeps those that come too fast. */
static LT_COLD void push_to_full(struct lt_worker *worker, struct lt_party *party)
{
    enum { FULL = LT_LOCAL_QUEUE_SIZE, ROOM = LT_LOCAL_QUEUE_SIZE / 64 };
    struct lt_local_queue *queue = &worker->local_queue;
    worker->makes_room = worker->makes_room && lt_local_queue_length(queue) >= FULL - ROOM;
    if (worker->makes_room || !lt_local_queue_push(queue, party))
        lt_global_queue_push(worker, party);
}

void lt_launch(struct lt_party *party)
{
    struct lt_worker *worker = lt_current_worker();
    if (LT_UNLIKELY(!worker)) {
        lt_global_queue_push(NULL, party);
        lt_idle_call();
        return;
    }
    if (LT_UNLIKELY(worker->makes_room || !lt_local_queue_push(&worker->local_queue, party)))
        push_to_full(worker, party);
    lt_worker_notify(worker);
}

/* Counts tasks at home here, tasks in its local queue, and tasks sent to it. */
uint64_t lt_worker_load(struct lt_worker *worker)
{
    return lt_tally_get(&worker->tally.live) + lt_local_queue_length(&worker->local_queue) +
           lt_tally_get(&worker->sent) - lt_tally_get(&worker->tally.sent);
}

struct lt_worker *lt_worker_with_fewest(void)
{
    struct lt_worker *here = lt_current_worker(), *best = here ? here : lt_any_worker();
    uint64_t least = lt_worker_load(best);
    for (unsigned i = 0; i < lt_runtime.worker_count; i++) {
        struct lt_worker *worker = lt_runtime.workers[i];
        uint64_t n = lt_worker_load(worker);
        if (n < least) {
            least = n;
            best = worker;
        }
    }
    return best;
}

/* Whether the worker has a credit to give away. Until now a stack of its magazine may have been
 * meant for the new task. */
static bool has_credit(struct lt_worker *worker)
{
    if (!worker->magazine.credits)
        worker->magazine.credits = lt_stack_credits_get(1);
    return worker->magazine.credits > 0;
}

void lt_launch_at(struct lt_worker *worker, struct lt_party *party)
{
    struct lt_worker *here = lt_current_worker();
    if (worker == here || (here && lt_needs_credit(party) && !has_credit(here))) {
        lt_launch(party);
        return;
    }
    if (here)
        here->magazine.credits -= lt_needs_credit(party);
    atomic_fetch_add_explicit(&worker->sent, 1, memory_order_relaxed);
    lt_worker_post(worker, party);
}

void lt_worker_tidy(struct lt_worker *worker)
{
    if (LT_UNLIKELY(worker->ended != NULL)) {
        lt_stack_unmap(worker->ended);
        worker->ended = NULL;
    }
}

/* Counts what the worker has run, and what followed directly. (The last direct switch is
 * refused.) */
static void count(struct lt_worker *worker)
{
    unsigned left = worker->direct_left, n = worker->duties.stride - left + (left != 0);
    lt_tally_add(&worker->tally.switches, n);
    worker->duties.until_look -= (int)n;
}

/* An unstarted party: taken before, from the local queue, or from the global queue. Now and then
 * the worker takes from the global queue, too, so that a local queue that never runs empty does not
 * keep it waiting. The local queue may even be full, as each party that starts makes another one.
 * So it is popped first, and then makes more room for the next time. */
static struct lt_party *next_new(struct lt_worker *worker)
{
    struct lt_local_queue *queue = &worker->local_queue;
    struct lt_party *party = worker->pending;
    worker->pending = NULL;
    if (party)
        return party;
    bool turn = ++worker->looks % LT_GLOBAL_TURN == 0;
    party = lt_local_queue_pop(queue);
    if ((turn || !party) && lt_global_queue_take(worker)) {
        worker->makes_room = lt_local_queue_length(queue) == LT_LOCAL_QUEUE_SIZE;
        party = party ? party : lt_local_queue_pop(queue);
    }
    return party;
}

static void run_outside(struct lt_worker *worker, struct lt_party *party)
{
    lt_worker_go_out(worker);
    lt_kinds.run[party->kind](party);
    lt_worker_go_in(worker);
}

/* Not inlined, so that the fast path has no registers to save. */
static LT_COLD void run_noted(struct lt_worker *worker, struct lt_party *party)
{
    lt_observer->step(worker, party);
    run_outside(worker, party);
    lt_observer->step(worker, NULL);
}

static LT_COLD void run_inside(struct lt_party *party)
{
    lt_kinds.run[party->kind](party);
}

static bool runs_inside(struct lt_party *party)
{
    return LT_UNLIKELY(party->kind == LT_JOB) && LT_CONTAINER(party, struct lt_job, party)->inside;
}

/* Called inside; the party runs outside. */
static void run_step(struct lt_worker *worker, struct lt_party *party)
{
    if (party->kind != LT_BLOCK) /* a block settles when it knows its scope */
        lt_worker_settle(worker);
    if (runs_inside(party))
        run_inside(party);
    else if (LT_UNLIKELY(lt_probing() & LT_PROBE_TRACE))
        run_noted(worker, party);
    else
        run_outside(worker, party);
}

/* The next unstarted party, if it is no task, to run directly after another. NULL if the scheduler
 * should look first, or a ready party is next. */
static struct lt_party *next_light_new(struct lt_worker *worker)
{
    if (worker->direct_left <= 1 || worker->ready_head || lt_worker_has_mail(worker))
        return NULL;
    struct lt_party *party = next_new(worker);
    if (!party || party->kind == LT_TASK) {
        worker->pending = party;
        return NULL;
    }
    worker->direct_left--;
    return party;
}

static bool run_new(struct lt_worker *worker)
{
    struct lt_party *party = next_new(worker);
    if (!party)
        return false;
    worker->started_last = true;
    if (party->kind == LT_TASK) {
        lt_host_start(worker, LT_CONTAINER(party, struct lt_task, party));
        return true;
    }
    do
        run_step(worker, party);
    while ((party = next_light_new(worker)));
    return true;
}

/* The next ready party, if it is no task, and so needs no switch of stacks. NULL if the scheduler
 * should look first. */
static struct lt_party *next_light(struct lt_worker *worker)
{
    struct lt_party *party = worker->ready_head;
    if (!party || party->kind == LT_TASK || lt_local_queue_length(&worker->local_queue) != 0 ||
        (!party->next && lt_worker_has_mail(worker)) || --worker->direct_left == 0)
        return NULL;
    return lt_worker_next_ready(worker);
}

static bool run_ready(struct lt_worker *worker)
{
    struct lt_party *party = lt_worker_next_ready(worker);
    if (!party)
        return false;
    worker->started_last = false;
    if (party->kind == LT_TASK) {
        lt_host_resume(worker, LT_CONTAINER(party, struct lt_task, party));
        return true;
    }
    do
        run_step(worker, party);
    while ((party = next_light(worker)));
    return true;
}

/* When the runtime stops, no scope is open, so no task is left. But jobs that clear away closed
 * scopes may be in the inbox. */
static void run_last_jobs(struct lt_worker *worker)
{
    while (lt_worker_drain(worker) || worker->ready_head)
        while (run_ready(worker)) {
        }
}

void lt_worker_lend(struct lt_worker *worker)
{
    worker->errno_here = &errno;
    lt_fiber_adopt(&worker->fiber);
}

void lt_worker_begin(struct lt_worker *worker)
{
    lt_current_party();
    lt_current()->thread.party.kind = LT_CALLBACK; /* jobs may not wait */
    lt_current()->thread.party.enlisted = false;
    lt_set_current_worker(worker);
    lt_worker_lend(worker);
    lt_guard_worker_begin(worker);
}

void lt_worker_end(void)
{
    lt_guard_worker_end();
    lt_current()->thread.party.kind = LT_THREAD;
    lt_current()->thread.party.enlisted = true;
    lt_set_current_worker(NULL);
}

void *lt_worker_main(void *argument)
{
    struct lt_worker *worker = argument;
    lt_worker_begin(worker);
    prctl(PR_SET_TIMERSLACK, 1UL); /* else the kernel adds 50 us to every sleep */
    lt_worker_go_in(worker);
    worker->activity.woke = lt_clock_now();
    lt_takeover_end_sleep(worker);
    lt_duties_begin(worker, worker->activity.woke);
    /* Acquire: sees what happened before the stop. */
    while (!atomic_load_explicit(&lt_runtime.stopping, memory_order_acquire)) {
        lt_duties_see_to(worker);
        if (LT_UNLIKELY(worker->surplus))
            lt_steal_give(worker);
        /* New and ready parties take turns, so that neither starves the other. */
        bool ready_first = worker->started_last && !worker->pending;
        if (ready_first ? run_ready(worker) || run_new(worker)
                        : run_new(worker) || run_ready(worker)) {
            count(worker);
            lt_worker_tidy(worker);
        } else if (!lt_worker_settle(worker)) {
            lt_idle(worker);
        }
    }
    run_last_jobs(worker); /* stays inside: no thief may visit a worker that has ended */
    lt_worker_end();
    return NULL;
}
