#define _GNU_SOURCE
#include "sim/sim.h"

#include "base/handler.h"
#include "chan/chan.h"
#include "dump/print.h"

#include <leat/block.h>
#include <leat/watch.h>

#include <inttypes.h>
#include <signal.h>
#include <string.h>

/* ---- the schedule ---- */

void lt_sim_remember(struct lt_sim *sim, const struct lt_candidate *candidate)
{
    struct lt_turn *turn = lt_sim_turn(sim);
    *turn = (struct lt_turn){ .number = sim->turn,
                              .now = sim->doors.now,
                              .task = candidate->number,
                              .until = LEAT_NEVER,
                              .kind = candidate->party->kind };
    const char *name = NULL;
    if (candidate->party->kind == LT_TASK) {
        const struct lt_task *task = LT_CONTAINER(candidate->party, struct lt_task, party);
        const struct lt_sim_thread *carried = lt_sim_carried(task);
        turn->starts = !lt_task_home(task);
        turn->thread = carried;
        name = carried ? carried->thread.name : task->name;
    } else if (candidate->party->kind == LT_BLOCK) {
        const leat_block *block = (const leat_block *)(const void *)candidate->party;
        turn->line = block->line;
        name = block->type->name;
    }
    if (name)
        strncpy(turn->name, name, LT_SIM_NAME - 1);
}

struct ear {
    struct lt_listener listener;
    struct lt_turn *turn;
};

static void hear(struct lt_listener *listener, enum lt_aim aim, const void *object)
{
    struct lt_turn *turn = LT_CONTAINER(listener, struct ear, listener)->turn;
    if (turn->aims++)
        return;
    turn->aim = (uint8_t)aim;
    if (aim == LT_TO_SEND || aim == LT_TO_RECEIVE)
        turn->object = ((const leat_chan *)object)->number;
    else if (aim == LT_FOR_SCOPE)
        turn->object = ((const leat_scope *)object)->number;
}

void lt_sim_remember_wait(struct lt_sim *sim, const struct lt_task *task)
{
    struct ear ear = { { hear }, lt_sim_turn(sim) };
    const struct lt_wait *wait = task->party.wait;
    if (wait->kind->describe)
        wait->kind->describe(wait, &ear.listener);
    if (lt_listed(&wait->timer.node))
        ear.turn->until = wait->timer.deadline;
}

static void print_wait(FILE *out, const struct lt_turn *turn)
{
    static const char *const aims[] = { [LT_TO_RECEIVE] = " to receive from channel %u",
                                        [LT_TO_SEND] = " to send to channel %u",
                                        [LT_FOR_SCOPE] = " for the tasks of scope %u",
                                        [LT_FOR_BLOCK] = " for a block",
                                        [LT_FOR_CALL] = " for a call" };
    if (turn->aims)
        fprintf(out, aims[turn->aim], turn->object);
    if (turn->aims > 1)
        fprintf(out, ", or in %" PRIu32 " other cases", turn->aims - 1);
    if (turn->until != LEAT_NEVER)
        fprintf(out, ", until %" PRId64 ".%09" PRId64 " s", turn->until / LEAT_S,
                turn->until % LEAT_S);
}

static void print_turn(FILE *out, const struct lt_turn *turn, bool over)
{
    static const char *const kinds[LT_KINDS] = { [LT_TASK] = "task",
                                                 [LT_THREAD] = "thread",
                                                 [LT_BLOCK] = "block",
                                                 [LT_CALLBACK] = "callback",
                                                 [LT_TIMER] = "party" };
    static const char *const ends[] = { "waits", "is interrupted", "yields", "ends" };
    fprintf(out, "%8" PRIu64 "  %" PRId64 ".%09" PRId64 " s  %s", turn->number, turn->now / LEAT_S,
            turn->now % LEAT_S, turn->thread ? "thread" : kinds[turn->kind]);
    if (turn->task)
        fprintf(out, " %" PRIu32, turn->task);
    if (*turn->name)
        fputc(' ', out);
    lt_print_name(out, turn->name, "");
    if (turn->line)
        fprintf(out, ", from line %" PRIu32 " on", turn->line);
    if (turn->kind == LT_TASK)
        fprintf(out, " %s, %s", turn->starts ? "starts" : "goes on",
                over ? ends[turn->end] : "runs");
    if (turn->end == LT_TURN_WAITS)
        print_wait(out, turn);
    fputc('\n', out);
}

static void print_schedule(struct lt_sim *sim, FILE *out)
{
    uint64_t n = sim->options.schedule < sim->turn ? sim->options.schedule : sim->turn;
    if (n)
        fprintf(out, "leat: the last %" PRIu64 " of %" PRIu64 " turns:\n", n, sim->turn);
    for (uint64_t number = sim->turn - n + 1; number <= sim->turn; number++)
        print_turn(out, &sim->turns[number % LT_SIM_REMEMBERED], number < sim->turn || !sim->ran);
    if (sim->hunted)
        fprintf(out, "leat: LEAT_SEED=%" PRIu64 " runs it again\n", sim->options.seed);
}

static void print_seed(struct lt_sim *sim, FILE *out)
{
    fprintf(out, "leat: in the seeded world, seed %" PRIu64 " (", sim->options.seed);
    if (sim->options.mode == LEAT_SIM_PCT)
        fprintf(out, "PCT, depth %u", sim->options.depth);
    else
        fputs("uniform", out);
    fprintf(out, "), turn %" PRIu64, sim->turn);
}

void lt_sim_print_failure(struct lt_sim *sim, int result)
{
    FILE *out = sim->options.report;
    print_seed(sim, out);
    fprintf(out, ": ended with %d", result);
    if (result < 0)
        fprintf(out, " (%s)", strerror(-result));
    fputc('\n', out);
    print_schedule(sim, out);
}

/* ---- the world gives the program up ---- */

void lt_sim_report(struct lt_sim *sim, const char *why)
{
    FILE *out = sim->options.report;
    print_seed(sim, out);
    fprintf(out, ": %s\n", why);
    if (leat_dump(out) != 0)
        fputs("leat: no memory for a dump\n", out);
    fflush(out);
}

/* ---- aborts and faults ---- */

static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct lt_handler handlers[SIGNALS];
static struct lt_sim *_Atomic world; /* threads outside the world also read it */

/* fprintf is not safe in handlers. But these signals come from the thread itself, and standard
 * error has no buffer, so this is better than no report. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    /* Acquire: sees what was set up before. An exchange: one report is enough. */
    struct lt_sim *sim = atomic_exchange_explicit(&world, NULL, memory_order_acquire);
    if (sim) {
        print_seed(sim, stderr);
        fputc('\n', stderr);
        print_schedule(sim, stderr);
    }
    unsigned i = 0;
    while (signals[i] != signal)
        i++;
    lt_handler_pass_on(&handlers[i], signal, info, context);
}

void lt_sim_catch_faults(struct lt_sim *sim)
{
    atomic_store_explicit(&world, sim, memory_order_release);
    for (unsigned i = 0; i < SIGNALS; i++)
        lt_handler_install(&handlers[i], signals[i], on_fault);
}

void lt_sim_uncatch_faults(void)
{
    for (unsigned i = 0; i < SIGNALS; i++)
        lt_handler_remove(&handlers[i], signals[i]);
    atomic_store_explicit(&world, NULL, memory_order_relaxed);
}
