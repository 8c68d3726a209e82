/* sim.c: the functions of leat/sim.h. */
#include "sim/sim.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/environment.h"
#include "base/rng.h"
#include "sched/current.h"
#include "sched/runtime.h"
#include "start/start.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { DEPTH = 3, DEEPEST_BY_SEED = 4, SCHEDULE = 64, IO_DELAY = LEAT_MS, MOST_TURNS = 100000000 };

/* ---- one world ---- */

static int resolve(leat_sim_options *o)
{
    if (o->mode > LEAT_SIM_PCT || o->depth > LT_SIM_DEEPEST || o->schedule > LT_SIM_REMEMBERED ||
        o->slip < 0 || o->slip > LEAT_S || o->io_delay < 0 || o->io_delay > LEAT_S)
        return -EINVAL;
    if (!o->io_delay)
        o->io_delay = IO_DELAY;
    if (!o->depth)
        o->depth = DEPTH;
    if (o->mode == LEAT_SIM_BY_SEED) {
        o->mode = o->seed % 2 ? LEAT_SIM_PCT : LEAT_SIM_UNIFORM;
        o->depth = 1 + (unsigned)(o->seed / 2 % DEEPEST_BY_SEED);
    }
    if (!o->most_turns)
        o->most_turns = MOST_TURNS;
    if (!o->report)
        o->report = stderr;
    return 0;
}

/* Runs on the calling thread, which becomes the worker. */
static int live(struct lt_sim *sim)
{
    uint64_t seeds = sim->options.seed, chance = *lt_chance();
    uint32_t number = lt_current()->number;
    lt_current()->number = 0;
    sim->chance = lt_rng_next(&seeds);
    lt_current()->chance = lt_rng_next(&seeds);
    sim->worker = lt_runtime.workers[0];
    lt_worker_begin(sim->worker);
    for (unsigned i = 1; i < LT_SIM_WORKERS; i++)
        lt_worker_lend(lt_runtime.workers[i]);
    lt_sim_choose_open(sim);
    lt_sim_live(sim);
    lt_sim_choose_close(sim);
    lt_worker_end();
    lt_current()->chance = chance;
    lt_current()->number = number;
    return sim->result;
}

static void report_outcome(struct lt_sim *sim, int result)
{
    if (sim->options.outcome)
        *sim->options.outcome = (leat_sim_outcome){ .turns = sim->turn,
                                                    .digest = sim->digest,
                                                    .elapsed = sim->doors.now - LEAT_SIM_EPOCH,
                                                    .deadlock = sim->given_up == -EDEADLK,
                                                    .unended = sim->given_up == -ETIMEDOUT };
    if (result && sim->options.schedule)
        lt_sim_print_failure(sim, result);
}

static int run_world(const leat_sim_options *given, leat_fn *fn, void *arg, bool hunted)
{
    leat_sim_options options = given ? *given : (leat_sim_options){ 0 };
    if (lt_current_worker() || lt_pool_is_mine())
        return -EDEADLK;
    int error = fn ? resolve(&options) : -EINVAL;
    if (error)
        return error;
    struct lt_sim *sim = lt_alloc(sizeof *sim);
    if (!sim)
        return -ENOMEM;
    sim->options = options;
    sim->last_turn = options.most_turns;
    sim->doors.now = LEAT_SIM_EPOCH;
    sim->doors.io_resets = options.io_resets;
    sim->doors.io_delay = options.io_delay;
    sim->fn = fn;
    sim->arg = arg;
    sim->hunted = hunted;
    lt_list_init(&sim->threads);
    *lt_world_place() = &sim->doors;
    struct lt_kinds kinds = lt_start_kinds;
    kinds.task_ended = lt_sim_task_ended;
    const leat_options runtime = { .workers = LT_SIM_WORKERS, .stack_size = options.stack_size };
    error = lt_runtime_start(&runtime, true, &kinds, &lt_watch_observer);
    if (!error) {
        lt_sim_catch_faults(sim);
        error = live(sim);
        report_outcome(sim, error);
        lt_sim_uncatch_faults();
        lt_runtime_close_alone();
    }
    *lt_world_place() = NULL;
    lt_free(sim);
    return error;
}

/* The thread runs the world's tasks on their stacks. If it ended there, the world would stay. */
int leat_sim_with(const leat_sim_options *options, leat_fn *fn, void *arg)
{
    int cancel = lt_cancel_put_off(), result = run_world(options, fn, arg, false);
    lt_cancel_restore(cancel);
    return result;
}

int leat_sim(uint64_t seed, leat_fn *fn, void *arg)
{
    return leat_sim_with(&(leat_sim_options){ .seed = seed }, fn, arg);
}

/* ---- many worlds, one for each seed ---- */

static int hunt(const leat_sim_options *given, uint64_t from, uint64_t to, leat_fn *fn, void *arg)
{
    leat_sim_options options = given ? *given : (leat_sim_options){ 0 };
    FILE *out = options.report ? options.report : stderr;
    const char *text = lt_env("LEAT_SEED");
    if (text) {
        char *end;
        int saved = errno;
        errno = 0;
        from = strtoull(text, &end, 0);
        bool understood = lt_is_digit(*text) && !errno && !*end && from < UINT64_MAX;
        errno = saved;
        if (!understood)
            return lt_env_refuse("LEAT_SEED", "a number");
        to = from + 1;
        fprintf(out, "leat: running seed %" PRIu64 " alone, since LEAT_SEED is set\n", from);
    }
    if (from >= to)
        return -EINVAL;
    if (!options.schedule)
        options.schedule = SCHEDULE;
    int result = 0;
    for (options.seed = from; options.seed < to && !result; options.seed++)
        result = run_world(&options, fn, arg, true);
    return result;
}

int leat_sim_each_with(const leat_sim_options *options, uint64_t from, uint64_t to, leat_fn *fn,
                       void *arg)
{
    int cancel = lt_cancel_put_off(), result = hunt(options, from, to, fn, arg);
    lt_cancel_restore(cancel);
    return result;
}

int leat_sim_each(uint64_t from, uint64_t to, leat_fn *fn, void *arg)
{
    return leat_sim_each_with(NULL, from, to, fn, arg);
}

/* ---- from inside ---- */

void leat_sim_point(void)
{
    lt_point();
}

int leat_sim_running(void)
{
    return lt_world() != NULL;
}
