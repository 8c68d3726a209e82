#include "sim/sim.h"

#include "base/clock.h"
#include "base/util.h"
#include "sched/current.h"
#include "sched/global_queue.h"
#include "sched/host.h"
#include "sched/nudge.h"
#include "sched/runtime.h"
#include "sched/steal.h"
#include "scope/scope.h"

#include <leat/task.h>

#include <errno.h>

/* If parties talk without end while another sleeps, TURNS_AT_ONCE turns at one moment take
 * THEIR_TIME nanoseconds. After YIELDS_AT_ONCE yields in a row the parties seem to wait for the
 * time: then the clock goes to the next deadline. If there is none, they may look at the clock
 * themselves: at the second such time in a row it moves by THEIR_TIME. (Not at the first: the party
 * whose deadline was the last may still have to wait for its turn.) */
enum { TURNS_AT_ONCE = 10000, THEIR_TIME = 1000000, YIELDS_AT_ONCE = 1000 };

struct lt_sim *lt_sim_current(void)
{
    return LT_CONTAINER(lt_world(), struct lt_sim, doors);
}

/* ---- the doors of the running party ---- */

static void yield(void)
{
    struct lt_party *self = lt_current_party();
    if (self->kind == LT_TASK)
        lt_task_yield(lt_current_worker(), LT_CONTAINER(self, struct lt_task, party));
    else if (self->kind == LT_THREAD)
        lt_sim_thread_yield(LT_CONTAINER(self, struct lt_sim_thread, thread.party));
}

static void point(void)
{
    uint8_t kind = lt_current_party()->kind;
    if (kind != LT_TASK && kind != LT_THREAD)
        return;
    lt_sim_turn(lt_sim_current())->end = LT_TURN_INTERRUPTED;
    yield();
}

/* Whether the calling task is held up here. False for a task that has ended (it has no descriptor),
 * that the world interrupts, or that has never waited (no look would find it). */
static bool is_held_up_here(struct lt_sim *sim, const struct lt_party *self)
{
    return sim->stillness && !sim->held && self->kind == LT_TASK && self->enlisted &&
           lt_sim_turn(sim)->end == LT_TURN_WAITS &&
           !lt_sim_carried(LT_CONTAINER(self, const struct lt_task, party)) &&
           lt_sim_below(sim, 2 * sim->stillness) == 0;
}

static void entry(const struct lt_worker *worker)
{
    struct lt_sim *sim = lt_sim_current();
    struct lt_party *self = lt_current_party();
    if (worker != sim->worker || !is_held_up_here(sim, self))
        return;
    lt_sim_turn(sim)->end = LT_TURN_INTERRUPTED;
    sim->held = LT_CONTAINER(self, struct lt_task, party);
    lt_host_hold_up(sim->held);
}

static uint32_t below(uint32_t bound)
{
    return lt_sim_below(lt_sim_current(), bound);
}

static void vain(uint64_t *since)
{
    struct lt_sim *sim = lt_sim_current();
    if (sim->vain_since != sim->turn)
        sim->vain = 0;
    sim->vain += *since != sim->turn;
    *since = sim->vain_since = sim->turn;
}

/* ---- the scheduler ---- */

void lt_sim_become(struct lt_sim *sim, struct lt_worker *worker)
{
    sim->worker = worker;
    lt_set_current_worker(worker);
}

static struct lt_worker *another(const struct lt_worker *worker)
{
    return lt_runtime.workers[(worker->index + 1) % LT_SIM_WORKERS];
}

/* A thief may have moved the party before. It needs a stack for a task that has not started. */
static void move(struct lt_sim *sim, struct lt_candidate *candidate)
{
    if (sim->held || !sim->stillness || lt_sim_below(sim, sim->stillness) != 0)
        return;
    struct lt_worker *thief = another(candidate->worker);
    size_t credits = lt_needs_credit(candidate->party);
    if (!lt_stack_credits_get(credits))
        return;
    if (lt_steal_move(candidate->party, candidate->worker, thief)) {
        thief->magazine.credits += credits;
        candidate->worker = thief;
    } else {
        lt_stack_credits_return(credits);
    }
}

static void run(struct lt_sim *sim, struct lt_party *party)
{
    struct lt_worker *worker = sim->worker;
    worker->direct_left = worker->budget = 1;
    if (party->kind != LT_TASK) {
        lt_kinds.run[party->kind](party);
        lt_worker_settle(worker);
        return;
    }
    struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
    if (task == sim->held)
        sim->held = NULL;
    if (lt_task_home(task))
        lt_host_resume(worker, task);
    else
        lt_host_start(worker, task);
    if (lt_sim_computes(sim, worker)) {
        lt_sim_hold_up(sim, worker);
        return;
    }
    lt_worker_settle(worker);
    lt_worker_tidy(worker);
    if (lt_sim_turn(sim)->end == LT_TURN_WAITS && task->party.wait)
        lt_sim_remember_wait(sim, task);
}

/* Moves the clock to the next deadline, or to `most` if that is earlier. False: there is none. */
static bool pass_time(struct lt_sim *sim, int64_t most)
{
    sim->at_once = sim->yields = 0;
    int64_t next = LEAT_NEVER;
    for (unsigned i = 0; i < LT_SIM_WORKERS; i++) {
        struct lt_worker *worker = lt_runtime.workers[i];
        lt_shared_timers_settle_all(&worker->shared_timers);
        int64_t timer = lt_wheel_next(&worker->wheel);
        next = timer < next ? timer : next;
    }
    if (next >= LEAT_NEVER - 1) /* for instance of a block that sleeps for ever */
        return false;
    if (next > most)
        next = most;
    if (next > sim->doors.now)
        sim->doors.now = next;
    return true;
}

/* The clock never comes to LEAT_NEVER. */
static int64_t later(const struct lt_sim *sim, int64_t ns)
{
    int64_t then = lt_clock_after(sim->doors.now, ns);
    return then < LEAT_NEVER ? then : LEAT_NEVER - 1;
}

static void turn(struct lt_sim *sim)
{
    sim->turn++;
    sim->duties = 0;
    if (sim->options.slip)
        sim->doors.now =
            later(sim, lt_sim_below(sim, UINT32_MAX) % (uint32_t)(sim->options.slip + 1));
    struct lt_candidate candidate = lt_sim_choose(sim);
    move(sim, &candidate);
    lt_sim_become(sim, candidate.worker);
    sim->ran = candidate.party;
    lt_sim_remember(sim, &candidate);
    run(sim, candidate.party);
    lt_sim_gather(sim);
    sim->ran = NULL;
    if (lt_sim_turn(sim)->end == LT_TURN_YIELDS)
        sim->yields++;
    else if (!sim->held)
        sim->yields = 0;
    bool wait_for_time = sim->yields == YIELDS_AT_ONCE;
    if (!wait_for_time && ++sim->at_once < TURNS_AT_ONCE)
        return;
    if (pass_time(sim, wait_for_time ? LEAT_NEVER : later(sim, THEIR_TIME))) {
        sim->in_vain = false;
        return;
    }
    if (sim->in_vain)
        sim->doors.now = later(sim, THEIR_TIME);
    sim->in_vain = !sim->in_vain;
}

/* A worker's duties between parties. */
enum duty { JOBS = 1, NUDGES = 2, TIMERS = 4, VISIT = 8 };

static unsigned duties(struct lt_sim *sim, struct lt_worker *worker)
{
    unsigned due = (lt_worker_is_nudged(worker) ? NUDGES : 0u) |
                   (lt_wheel_is_due(&worker->wheel, sim->doors.now) ? TIMERS : 0u);
    if (lt_sim_computes(sim, worker))
        return due || worker->ready_head || lt_worker_has_mail(worker) ? VISIT : 0u;
    return due | (sim->jobs[worker->index].first ? JOBS : 0u);
}

static void run_job(struct lt_sim_jobs *jobs)
{
    struct lt_job *job = LT_CONTAINER(jobs->first, struct lt_job, party);
    jobs->first = job->party.next;
    if (!jobs->first)
        jobs->end = &jobs->first;
    job->run(job);
}

static void see_to_duty(struct lt_sim *sim, struct lt_worker *worker, enum duty duty)
{
    /* A thief may act for the worker. Jobs stay with the worker, since some belong to it. */
    bool thief =
        duty != JOBS && sim->stillness && !sim->held && lt_sim_below(sim, sim->stillness) == 0;
    lt_sim_become(sim, thief || duty == VISIT ? another(worker) : worker);
    switch (duty) {
    case VISIT:
        lt_steal_visit(sim->worker, worker, lt_sim_below(sim, 2) != 0, sim->doors.now);
        break;
    case JOBS: run_job(&sim->jobs[worker->index]); break;
    case NUDGES: lt_worker_look_at_nudges(worker); break;
    case TIMERS: lt_wheel_fire(&worker->wheel, sim->doors.now); break;
    }
}

/* A duty may be done late, so it is chosen like everything else. */
static bool see_to(struct lt_sim *sim)
{
    enum { DUTIES = 4 };
    struct {
        struct lt_worker *worker;
        enum duty duty;
    } due[LT_SIM_WORKERS * DUTIES];
    unsigned n = 0;
    for (unsigned i = 0; i < LT_SIM_WORKERS; i++)
        for (unsigned left = duties(sim, lt_runtime.workers[i]); left; left &= left - 1) {
            due[n].worker = lt_runtime.workers[i];
            due[n++].duty = (enum duty)(left & -left);
        }
    if (!n || lt_sim_below(sim, (uint32_t)sim->count + n) >= n)
        return false;
    unsigned which = lt_sim_below(sim, n);
    see_to_duty(sim, due[which].worker, due[which].duty);
    return true;
}

/* Cancels the program so that it ends. `hopeless`: the last words if this was done before. */
static void give_up(struct lt_sim *sim, int error, const char *why, const char *hopeless)
{
    lt_sim_report(sim, why);
    if (sim->ended)
        lt_die("leat: the program has ended in its seeded world, and an operation without a scope "
               "is still under way");
    if (sim->given_up || !sim->scope || lt_scope_is_cancelled(sim->scope))
        lt_die("%s", hopeless);
    sim->given_up = error;
    lt_scope_cancel(sim->scope, error);
}

static void stuck(struct lt_sim *sim)
{
    give_up(sim, -EDEADLK, "everyone waits",
            "leat: no party can go on in the seeded world, and cancelling does not help: each "
            "party that waits has a shield or no scope, or is joining");
}

static void overrun(struct lt_sim *sim)
{
    uint64_t more = sim->options.most_turns;
    sim->duties = 0;
    sim->last_turn = sim->turn + (more < UINT64_MAX - sim->turn ? more : UINT64_MAX - sim->turn);
    give_up(sim, -ETIMEDOUT, "the program has not ended (leat_sim_options.most_turns)",
            "leat: the program does not end in the seeded world, and cancelling does not help");
}

/* Whether all timers are ticks that have become due in vain since the last turn: then they always
 * will. */
static bool all_is_vain(const struct lt_sim *sim)
{
    size_t timers = 0;
    for (unsigned i = 0; i < LT_SIM_WORKERS; i++) {
        const struct lt_worker *worker = lt_runtime.workers[i];
        const struct lt_shared_timers *shared = &worker->shared_timers;
        timers += worker->wheel.count - lt_listed(&shared->anchor.node) + shared->wheel.count;
    }
    return sim->vain && sim->vain_since == sim->turn && sim->vain == timers;
}

static void live(struct lt_sim *sim)
{
    for (;;) {
        lt_sim_gather(sim);
        if (see_to(sim)) {
            if (++sim->duties == sim->options.most_turns)
                overrun(sim);
            continue;
        }
        if (sim->count) {
            if (sim->turn == sim->last_turn)
                overrun(sim);
            turn(sim);
            continue;
        }
        if (sim->ended && !lt_runtime_is_held())
            return;
        if (all_is_vain(sim) || !pass_time(sim, LEAT_NEVER))
            stuck(sim);
    }
}

/* ---- the program ---- */

/* As leat_main_with, in a simulated thread. */
static void run_program(struct lt_work *work)
{
    struct lt_sim *sim = LT_CONTAINER(work, struct lt_sim, root);
    int error = -ENOMEM;
    sim->scope = leat_scope_open(LEAT_NEVER);
    if (sim->scope) {
        error = leat_go_named(sim->scope, sim->fn, sim->arg, "main", 0);
        int result = leat_scope_close(sim->scope);
        error = error ? error : result;
    }
    sim->scope = NULL;
    sim->result = sim->given_up ? sim->given_up : error;
    sim->ended = true;
}

bool lt_sim_task_ended(struct lt_task *task, int result)
{
    lt_sim_turn(lt_sim_current())->end = LT_TURN_ENDS;
    return lt_sim_carried(task) || lt_scope_task_ended(task, result);
}

void lt_sim_live(struct lt_sim *sim)
{
    sim->doors.sleep = lt_sim_sleep;
    sim->doors.wake = lt_sim_wake;
    sim->doors.start = lt_sim_start;
    sim->doors.point = point;
    sim->doors.entry = entry;
    for (unsigned i = 0; i < LT_SIM_WORKERS; i++)
        atomic_fetch_or_explicit(&lt_runtime.workers[i]->own.calls, LT_SEEDED,
                                 memory_order_relaxed);
    sim->doors.yield = yield;
    sim->doors.below = below;
    sim->doors.vain = vain;
    sim->root.run = run_program;
    sim->result = lt_sim_start(&sim->root);
    if (sim->result)
        return;
    live(sim);
    for (unsigned i = 0; i < LT_SIM_WORKERS; i++)
        atomic_store_explicit(&lt_runtime.workers[i]->asleep, 0, memory_order_relaxed);
    lt_sim_become(sim, lt_runtime.workers[0]);
}
