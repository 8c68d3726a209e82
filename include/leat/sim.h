/* leat/sim.h: the seeded world: a program's run on one thread, under a scheduler that chooses by chance
 * who goes on, with a clock of its own. The same seed gives the same run, on every machine: so a test that
 * fails once in ten thousand runs fails each time with its seed, and an hour of timeouts takes no time.
 *
 *     static int body(void *arg) { … leat_go, leat_send, leat_sleep, … assert(…); return 0; }
 *
 *     int main(void) { return leat_sim_each(0, 1000, body, NULL) != 0; }
 *
 * It is the ordinary library: nothing has to be built anew. docs/sim.md is a tour.
 *
 * Who goes on. At every operation on a channel or scope, at each start of a task, and wherever somebody
 * waits, yields or ends, one of all who could run is chosen: tasks, blocks, callbacks, threads, timers.
 * What a program does between two operations happens at once; leat_sim_point marks a place in between.
 *
 * Time. leat_now begins at LEAT_SIM_EPOCH, and stands still while anybody can run: computing takes no
 * time. When nobody can, it moves to the next deadline, exactly. (Who talk without end do not keep it
 * from moving: ten thousand turns at one moment count as a millisecond, and a thousand that are nothing but
 * yields as a wait for the next deadline.)
 *
 * Threads. leat_blocking and leat_go_blocking run their functions as simulated threads, which wait as
 * threads do and are chosen like everybody else. Threads of the system's are outside: no function that
 * touches the world's channels and scopes may be called by one. Nor does the world know other ways
 * to wait: what blocks in the system (a mutex that another task holds, a read) stops all of it.
 *
 * Deadlock. When nobody can run and no timer is set, the report tells who waits since when, and the first scope is
 * cancelled with -EDEADLK, so that the program unwinds. If it waits again after that, in what cancelling
 * does not end, the process is aborted with a message.
 *
 * An abort (a failed assert, say) and a fault name the seed on standard error before they take their
 * course. */
#ifndef LEAT_SIM_H
#define LEAT_SIM_H

#include <leat/base.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The virtual time at which each run begins, in nanoseconds. */
#define LEAT_SIM_EPOCH LEAT_S

/* How who goes on is chosen. */
typedef enum leat_sim_mode {
    LEAT_SIM_BY_SEED, /* even seeds: UNIFORM; odd ones: PCT, of depth 1 + seed / 2 % 4 */
    LEAT_SIM_UNIFORM, /* each choice is as likely as the others */
    /* Probabilistic concurrency testing (Burckhardt and others, ASPLOS 2010):
     * who runs has the highest priority among those who can. Priorities are drawn; at `depth` - 1 moments,
     * drawn too, who runs falls behind all others. Finds what takes few interruptions, wherever
     * they must be, and unlike the uniform choice lets somebody wait for long: up to ten thousand turns,
     * after which the choice is uniform. */
    LEAT_SIM_PCT
} leat_sim_mode;

/* What a run came to, besides its result. */
typedef struct leat_sim_outcome {
    uint64_t turns;  /* how often somebody was chosen */
    uint64_t digest; /* of all choices: of equal runs equal, of others hardly ever */
    int64_t elapsed; /* virtual nanoseconds */
    int deadlock;    /* 1: it was reported */
} leat_sim_outcome;

/* How to run. Zero in any field means its default. */
typedef struct leat_sim_options {
    uint64_t seed;
    leat_sim_mode mode;
    unsigned depth; /* PCT's, 1 to 64; default 3 */
    /* PCT's: of how many turns the moments are drawn; default: each of another number, 2 to 8,192, small ones
     * as likely as large ones. */
    uint64_t turns;
    int64_t slip;      /* ns, to LEAT_S: the clock moves by up to this with each turn; default 0 */
    size_t stack_size; /* as in leat_options */
    FILE *report;      /* where reports go; default: standard error */
    unsigned schedule; /* after a failure, print so many of the last turns: at most 128 */
    leat_sim_outcome *outcome; /* filled in, when the program was run */
} leat_sim_options;

/* Runs fn(arg) as the first task of a first scope, as leat_main does, in a world of its own.
 * Called by a thread, while no runtime runs. `options` may be NULL; they are copied.
 * Returns what the scope ended with; -EDEADLK after a deadlock. When fn was not called: -EINVAL for a NULL
 * fn or options out of range, -EBUSY when a runtime runs, -EDEADLK from a task or in a world, -ENOMEM. */
LEAT_API int leat_sim(uint64_t seed, leat_fn *fn, void *arg);
LEAT_API int leat_sim_with(const leat_sim_options *options, leat_fn *fn, void *arg);

/* Hunts: runs the program with each seed from `from` up to, and without, `to`, until one fails: until the
 * result is not 0. Then prints the seed, the result and the last 64 turns, or `schedule` of them.
 * When the environment has LEAT_SEED, that one is run instead, and a line says so.
 * leat_sim_each_with takes all but the seed from the options; `outcome` is the last run's.
 * Called as leat_sim_with is.
 * Returns 0 when none failed, else what the first returned that did, an error of leat_sim_with among them; -EINVAL
 * also when `from` is not less than `to`, or LEAT_SEED is no number. */
LEAT_API int leat_sim_each(uint64_t from, uint64_t to, leat_fn *fn, void *arg);
LEAT_API int leat_sim_each_with(const leat_sim_options *options, uint64_t from, uint64_t to,
                                leat_fn *fn, void *arg);

/* Marks a place in a task or simulated thread of the seeded world: others may be chosen to run here, as after an
 * operation. Elsewhere it does nothing. For code that shares memory without leat. */
LEAT_API void leat_sim_point(void);

/* Returns whether the caller lives in a seeded world: 1 or 0. */
LEAT_API int leat_sim_running(void);

#ifdef __cplusplus
}
#endif

#endif
