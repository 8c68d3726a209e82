/* choose.c: finds the parties that can run, and chooses one of them.
 *
 * PCT is Burckhardt, Kothari, Musuvathi and Nagarakatte's "A Randomized Scheduler with
 * Probabilistic Guarantees of Finding Bugs" (ASPLOS 2010): each run finds a bug that takes d
 * ordered events among n threads in k steps with a probability of at least 1 / (n k^(d - 1)). Here
 * a step is a turn. k is not known before the run. So unless the options give it, the turn of each
 * change is drawn from a range that is itself drawn. Blocks and callbacks have no room for a
 * priority and get a new one each time. A party that yields comes after all others for one turn:
 * otherwise a party that polls with the highest priority would starve the party that it waits for.
 * Two parties that talk to each other for ever would starve the rest, so after UNFAIR_TURNS turns
 * the choice is uniform, as in Coyote's fair variant (github.com/microsoft/coyote). */
#include "sim/sim.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "sched/current.h"
#include "sched/global_queue.h"
#include "sched/host.h"
#include "sched/runtime.h"

#include <string.h>

/* First priorities are at or above it, lowered ones between it and 0, and those of parties that
 * yield below 0. */
#define HIGH (INT64_C(1) << 62)

enum { LARGEST_RANGE_LOG = 13, UNFAIR_TURNS = 10000 };

static void digest(struct lt_sim *sim, uint64_t value)
{
    uint64_t state = sim->digest ^ value;
    sim->digest = lt_rng_next(&state);
}

uint32_t lt_sim_below(struct lt_sim *sim, uint32_t bound)
{
    uint32_t chosen = lt_rng_below(&sim->chance, bound);
    digest(sim, (uint64_t)bound << 32 | chosen);
    return chosen;
}

static void draw_changes(struct lt_sim *sim)
{
    uint64_t range = sim->options.turns;
    for (unsigned i = 0; i + 1 < sim->options.depth; i++) {
        if (!sim->options.turns)
            range = UINT64_C(1) << (1 + lt_sim_below(sim, LARGEST_RANGE_LOG));
        sim->changes[i] = 1 + lt_rng_next(&sim->chance) % range;
    }
}

void lt_sim_choose_open(struct lt_sim *sim)
{
    sim->candidates = sim->embedded;
    sim->room = LT_SIM_ROOM;
    for (unsigned i = 0; i < LT_SIM_WORKERS; i++)
        sim->jobs[i].end = &sim->jobs[i].first;
    /* In a third of the worlds no party moves, in another third about every second one does. */
    static const uint32_t stillness[] = { 0, 2, 16 };
    sim->stillness = stillness[lt_sim_below(sim, 3)];
    if (sim->options.mode == LEAT_SIM_PCT)
        draw_changes(sim);
}

void lt_sim_choose_close(struct lt_sim *sim)
{
    if (sim->candidates != sim->embedded)
        lt_free(sim->candidates);
}

/* ---- the parties that can run ---- */

/* Makes room for one more candidate. Without memory, the remaining parties stay in their queues. */
static bool has_room(struct lt_sim *sim)
{
    if (sim->count < sim->room)
        return true;
    struct lt_candidate *larger = lt_alloc(2 * sim->room * sizeof *larger);
    if (!larger)
        return false;
    memcpy(larger, sim->candidates, sim->count * sizeof *larger);
    lt_sim_choose_close(sim);
    sim->candidates = larger;
    sim->room *= 2;
    return true;
}

static int64_t priority_of(struct lt_sim *sim, uint32_t number)
{
    for (unsigned i = sim->lowered_count; i-- > 0;)
        if (sim->lowered[i].number == number)
            return sim->lowered[i].priority;
    uint64_t state = sim->options.seed ^ (uint64_t)number << 32;
    return HIGH | (int64_t)(lt_rng_next(&state) >> 2);
}

static void add_task(struct lt_sim *sim, struct lt_task *task)
{
    struct lt_candidate *new = &sim->candidates[sim->count++];
    *new = (struct lt_candidate){ .party = &task->party,
                                  .worker = sim->worker,
                                  .number = task->number };
    struct lt_turn *turn = lt_sim_turn(sim);
    bool again = sim->ran == &task->party;
    if (again && turn->end == LT_TURN_WAITS)
        turn->end = LT_TURN_YIELDS;
    new->priority =
        again && turn->end == LT_TURN_YIELDS ? --sim->lowest : priority_of(sim, task->number);
}

static void add_job(struct lt_sim_jobs *jobs, struct lt_party *party)
{
    party->next = NULL;
    *jobs->end = party;
    jobs->end = &party->next;
}

static void add(struct lt_sim *sim, struct lt_party *party)
{
    switch (party->kind) {
    case LT_TASK: add_task(sim, LT_CONTAINER(party, struct lt_task, party)); break;
    case LT_JOB: add_job(&sim->jobs[sim->worker->index], party); break;
    default:
        sim->candidates[sim->count++] =
            (struct lt_candidate){ .party = party,
                                   .worker = sim->worker,
                                   .priority = HIGH | (int64_t)(lt_rng_next(&sim->chance) >> 2) };
    }
}

/* A task that has not started takes the credit for its stack along. */
static struct lt_party *next_from_local_queue(struct lt_worker *worker)
{
    struct lt_party *party = lt_local_queue_pop(&worker->local_queue);
    if (party && lt_needs_credit(party))
        worker->magazine.credits--;
    return party;
}

static void gather_from(struct lt_sim *sim, struct lt_worker *worker)
{
    struct lt_party *party;
    lt_sim_become(sim, worker);
    /* Before looking, as in lt_idle. A call by a thread from outside then ends the program. */
    atomic_store_explicit(&worker->asleep, LT_SECLUDED, memory_order_seq_cst);
    lt_worker_drain(worker);
    lt_shared_timers_settle(&worker->shared_timers);
    while (has_room(sim) && (party = lt_worker_next_ready(worker)))
        add(sim, party);
    do
        while (has_room(sim) && (party = next_from_local_queue(worker)))
            add(sim, party);
    while (has_room(sim) && lt_global_queue_take(worker));
}

void lt_sim_gather(struct lt_sim *sim)
{
    for (unsigned i = 0; i < LT_SIM_WORKERS; i++)
        if (!lt_sim_computes(sim, lt_runtime.workers[i]))
            gather_from(sim, lt_runtime.workers[i]);
}

/* The credit that an unstarted task took along may be a stack of the worker's magazine. So the task
 * goes back to the local queue, which is empty here; a full one holds more than a magazine. */
static void give_back(struct lt_worker *worker, struct lt_party *party)
{
    if (party->kind != LT_TASK || lt_task_home(LT_CONTAINER(party, struct lt_task, party)))
        lt_worker_append_inside(worker, party);
    else if (lt_local_queue_push(&worker->local_queue, party))
        worker->magazine.credits += lt_needs_credit(party);
    else
        lt_global_queue_push(NULL, party);
}

void lt_sim_hold_up(struct lt_sim *sim, struct lt_worker *worker)
{
    struct lt_sim_jobs *jobs = &sim->jobs[worker->index];
    for (struct lt_party *job = jobs->first, *next; job; job = next) {
        next = job->next;
        give_back(worker, job);
    }
    jobs->first = NULL;
    jobs->end = &jobs->first;
    size_t others = 0;
    for (size_t i = 0; i < sim->count; i++)
        if (sim->candidates[i].worker != worker)
            sim->candidates[others++] = sim->candidates[i];
        else
            give_back(worker, sim->candidates[i].party);
    sim->count = others;
    add_task(sim, sim->held); /* in the place where it was chosen */
}

/* ---- choosing one ---- */

static size_t highest(const struct lt_sim *sim)
{
    size_t found = 0;
    for (size_t i = 1; i < sim->count; i++)
        if (sim->candidates[i].priority > sim->candidates[found].priority)
            found = i;
    return found;
}

static size_t by_priority(struct lt_sim *sim)
{
    size_t chosen = highest(sim);
    for (unsigned i = 0; i + 1 < sim->options.depth; i++) {
        if (sim->changes[i] != sim->turn)
            continue;
        struct lt_candidate *candidate = &sim->candidates[chosen];
        candidate->priority = i + 1;
        if (candidate->number) {
            sim->lowered[sim->lowered_count].number = candidate->number;
            sim->lowered[sim->lowered_count++].priority = candidate->priority;
        }
        chosen = highest(sim);
    }
    digest(sim, chosen);
    return chosen;
}

struct lt_candidate lt_sim_choose(struct lt_sim *sim)
{
    bool pct = sim->options.mode == LEAT_SIM_PCT && sim->turn <= UNFAIR_TURNS;
    size_t i = pct ? by_priority(sim) : lt_sim_below(sim, (uint32_t)sim->count);
    struct lt_candidate chosen = sim->candidates[i];
    sim->candidates[i] = sim->candidates[--sim->count];
    digest(sim, (uint64_t)chosen.number << 8 | chosen.party->kind);
    digest(sim, (uint64_t)sim->doors.now);
    if (lt_needs_credit(chosen.party))
        chosen.worker->magazine.credits++;
    return chosen;
}
