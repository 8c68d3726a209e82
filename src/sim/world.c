#include "sim/sim.h"

#include "base/util.h"
#include "sched/here.h"
#include "sched/host.h"
#include "sched/runtime.h"
#include "scope/cancel.h"

#include <leat/task.h>

#include <errno.h>

/* Who talk without end while somebody sleeps: so many turns at one moment count as so much time. Who only
 * yield poll for what may come with time. */
enum { TURNS_AT_ONCE = 10000, THEIR_TIME = 1000000, YIELDS_AT_ONCE = 1000 };

struct lt_sim *lt_sim_here(void)
{
    return LT_CONTAINER(lt_world(), struct lt_sim, doors);
}

/* ---- the doors of those who run ---- */

void lt_sim_point(void)
{
    struct lt_party *self = lt_self();
    struct lt_sim *sim = lt_sim_here();
    if (self->kind != LT_TASK && self->kind != LT_THREAD)
        return;
    lt_sim_turn(sim)->end = LT_TURN_INTERRUPTED;
    if (self->kind == LT_TASK)
        lt_task_yield(LT_CONTAINER(self, struct lt_task, party));
    else
        lt_sim_thread_yield(LT_CONTAINER(self, struct lt_sim_thread, thread.party));
}

static void yield(void)
{
    struct lt_party *self = lt_self();
    if (self->kind == LT_THREAD)
        lt_sim_thread_yield(LT_CONTAINER(self, struct lt_sim_thread, thread.party));
}

/* ---- the scheduler ---- */

static void run(struct lt_sim *sim, struct lt_party *party)
{
    struct lt_worker *worker = sim->worker;
    worker->direct_left = worker->budget = 1;
    if (party->kind != LT_TASK) {
        lt_party_run[party->kind](party);
        lt_worker_settle(worker);
        return;
    }
    struct lt_task *task = LT_CONTAINER(party, struct lt_task, party);
    if (lt_task_home(task))
        lt_host_resume(worker, task);
    else
        lt_host_start(worker, task);
    lt_worker_settle(worker);
    lt_worker_tidy(worker);
    if (lt_sim_turn(sim)->end == LT_TURN_WAITS && task->party.wait)
        lt_sim_note_wait(sim, task);
}

/* On to the next deadline, or to `most` if that comes before; false when there is no deadline. */
static bool pass_time(struct lt_sim *sim, int64_t most)
{
    sim->at_once = sim->yields = 0;
    lt_bells_settle_all(&sim->worker->bells);
    int64_t next = lt_wheel_next(&sim->worker->wheel);
    if (next >= LEAT_NEVER - 1) /* a block's that sleeps for ever */
        return false;
    if (next > most)
        next = most;
    if (next > sim->doors.now)
        sim->doors.now = next;
    return true;
}

static void turn(struct lt_sim *sim)
{
    sim->turn++;
    if (sim->options.slip)
        sim->doors.now +=
            (int64_t)(lt_sim_below(sim, UINT32_MAX) % (uint64_t)(sim->options.slip + 1));
    struct lt_candidate who = lt_sim_choose(sim);
    sim->ran = who.party;
    lt_sim_note(sim, &who);
    run(sim, who.party);
    lt_sim_gather(sim);
    sim->ran = NULL;
    sim->yields = lt_sim_turn(sim)->end == LT_TURN_YIELDS ? sim->yields + 1 : 0;
    if (sim->yields == YIELDS_AT_ONCE)
        pass_time(sim, LEAT_NEVER);
    else if (++sim->at_once == TURNS_AT_ONCE)
        pass_time(sim, sim->doors.now + THEIR_TIME);
}

/* Jobs, nudges and timers that are due: what a worker sees to between tasks. It may come late, so it is
 * chosen like everything else. */
static bool see_to(struct lt_sim *sim)
{
    struct lt_worker *worker = sim->worker;
    bool nudges = lt_worker_is_nudged(worker);
    bool due = lt_wheel_is_due(&worker->wheel, sim->doors.now);
    unsigned n = (sim->jobs ? 1u : 0u) + (nudges ? 1u : 0u) + (due ? 1u : 0u);
    if (!n || lt_sim_below(sim, (uint32_t)sim->count + n) >= n)
        return false;
    unsigned which = lt_sim_below(sim, n);
    if (sim->jobs && which-- == 0) {
        struct lt_job *job = LT_CONTAINER(sim->jobs, struct lt_job, party);
        sim->jobs = job->party.next;
        if (!sim->jobs)
            sim->jobs_end = &sim->jobs;
        job->run(job);
    } else if (nudges && which-- == 0) {
        lt_worker_look_at_nudges(worker);
    } else {
        lt_wheel_fire(&worker->wheel, sim->doors.now);
    }
    return true;
}

static void stuck(struct lt_sim *sim)
{
    lt_sim_report(sim);
    if (sim->ended)
        lt_die(
            "leat: the program has ended in its seeded world, and an operation without a scope is "
            "still under way");
    if (sim->deadlock || !sim->scope || lt_scope_is_cancelled(sim->scope))
        lt_die("leat: nobody can go on in the seeded world, and cancelling does not help: who "
               "waits has "
               "a shield or no scope, or is joining");
    sim->deadlock = true;
    lt_scope_cancel(sim->scope, -EDEADLK);
}

static void live(struct lt_sim *sim)
{
    for (;;) {
        lt_sim_gather(sim);
        if (see_to(sim))
            continue;
        if (sim->count) {
            turn(sim);
            continue;
        }
        if (sim->ended && !lt_runtime_is_held())
            return;
        if (!pass_time(sim, LEAT_NEVER))
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
    sim->result = sim->deadlock ? -EDEADLK : error;
    sim->ended = true;
}

static bool (*ended_before)(struct lt_task *task, int result);

static bool ended(struct lt_task *task, int result)
{
    lt_sim_turn(lt_sim_here())->end = LT_TURN_ENDS;
    return lt_sim_carried(task) || ended_before(task, result);
}

void lt_sim_live(struct lt_sim *sim)
{
    sim->doors.sleep = lt_sim_sleep;
    sim->doors.wake = lt_sim_wake;
    sim->doors.start = lt_sim_start;
    sim->doors.point = lt_sim_point;
    sim->doors.yield = yield;
    sim->root.run = run_program;
    sim->result = lt_sim_start(&sim->root);
    if (sim->result)
        return;
    ended_before = lt_task_ended;
    lt_task_ended = ended;
    live(sim);
    atomic_store_explicit(&sim->worker->asleep, 0, memory_order_relaxed);
    lt_task_ended = ended_before;
}
