/* leat/sim.h: the seeded world: a test runs on one thread, under a scheduler that chooses at
 * random, with a clock of its own.
 *
 * The same seed gives the same run, on every machine. So a test that fails once in ten thousand
 * runs fails each time with its seed, and an hour of timeouts takes no time.
 *
 *     static int body(void *arg) { … leat_go, leat_send, leat_sleep, … assert(…); return 0; }
 *
 *     int main(void) { return leat_sim_each(0, 1000, body, NULL) != 0; }
 *
 * It is the ordinary library: nothing has to be rebuilt. docs/sim.md is a tour.
 *
 * The choice. At every operation on a channel or scope, at leat_cancelled, at each start of a task,
 * and wherever a party waits, yields or ends, the world chooses one of all that can run: tasks,
 * blocks, callbacks, threads, timers. Between two operations a party runs without interruption;
 * leat_sim_point marks a place where the world may interrupt it.
 *
 * Time. leat_now begins at LEAT_SIM_EPOCH, and stands still while any party can run: computing
 * takes no time. When no party can run, the clock moves to the next deadline, exactly. Parties that
 * never wait do not stop the clock: after ten thousand turns at one moment it moves towards the
 * next deadline, by a millisecond at most, and after a thousand yields in a row it moves to the
 * next deadline. Without a next deadline it moves by a millisecond, half as often.
 *
 * Threads. leat_blocking and leat_go_blocking run their functions as simulated threads, which wait
 * like threads and are chosen like every other party. Threads of the system are outside: they must
 * not use the world's channels and scopes. A call that blocks in the system (a mutex that another
 * task holds, a read) stops the whole world.
 *
 * Pipes and pairs. leat_io_pipe and leat_io_pair (leat/io.h) make simulated ones. The seed chooses
 * how much one takes before its writer has to wait, 4 to 64 KiB; which reads and writes move less
 * than they could; and which bytes come late, and how late. Bytes never overtake others. If
 * `io_resets` is set, some transfers reset their pair, as a connection may be reset: bytes under
 * way are lost, and bytes that have arrived can still be read. Each end reports this once: a write,
 * or a read after the last byte, returns -ECONNRESET. After that reads return 0, and writes -EPIPE.
 * If an end is closed with bytes unread, the other end reports the same after all bytes. A pipe is
 * never reset. There is no descriptor behind these leat_ios: functions that need one return
 * -ENOTSUP, and so do all functions that make one, such as leat_io_adopt, leat_connect and
 * leat_spawn.
 *
 * Deadlock. When no party can run and no timer is set, a report says what each party waits for and
 * since when, and the first scope is cancelled with -EDEADLK, so that the program unwinds. Ticks
 * (leat/timeout.h) that no party waits for do not count as timers. If all wait again after that, in
 * waits that cancelling does not end, the process is aborted with a message.
 *
 * No end. A run that has taken `most_turns` turns, or in which as many timers have fired since the
 * last turn, is reported in the same way, and the first scope is cancelled with -ETIMEDOUT. If it
 * has not ended after as many turns more, the process is aborted with a message.
 *
 * Aborts and faults (a failed assert, say) first print the seed on standard error. */
#ifndef LEAT_SIM_H
#define LEAT_SIM_H

#include <leat/base.h>

#include <stdio.h>

/* The virtual time at which each run begins, in nanoseconds of leat_now. */
#define LEAT_SIM_EPOCH LEAT_S

/* How the next party is chosen. */
typedef enum leat_sim_mode {
    LEAT_SIM_BY_SEED, /* even seeds: UNIFORM; odd seeds: PCT, of depth 1 + seed / 2 % 4 */
    LEAT_SIM_UNIFORM, /* every party that can run is equally likely */
    /* Probabilistic concurrency testing (Burckhardt and others, ASPLOS 2010): the party with the
     * highest priority of all that can run is chosen. Priorities are random. At `depth` - 1
     * random moments the party of the highest priority gets one below all others. This finds
     * bugs that need few interruptions, wherever they must be, and unlike the uniform choice it
     * lets a party wait for long: for up to ten thousand turns, after which the choice is
     * uniform. */
    LEAT_SIM_PCT
} leat_sim_mode;

/* What leat_sim_with reports of a run, besides its result. */
typedef struct leat_sim_outcome {
    uint64_t turns;  /* how many choices were made */
    uint64_t digest; /* of all choices: equal runs have equal digests, different runs hardly ever */
    int64_t elapsed; /* virtual nanoseconds */
    int deadlock;    /* 1: a deadlock was reported */
    int unended;     /* 1: the run took most_turns, and was cancelled */
} leat_sim_outcome;

/* How to run a program. A field that is 0 has its default. */
typedef struct leat_sim_options {
    uint64_t seed;
    leat_sim_mode mode;
    unsigned depth; /* for PCT: 1 to 64; 0: 3 */
    /* For PCT: the random moments lie in this many turns from the start. 0: a random number for
     * each moment, 2 to 8,192, small ones as likely as large ones. */
    uint64_t turns;
    int64_t slip; /* nanoseconds, 0 to LEAT_S: the clock moves by up to this at each turn */
    /* The longest delay of bytes in a simulated pipe or pair, in nanoseconds, 1 to LEAT_S; 0: a
     * millisecond. */
    int64_t io_delay;
    unsigned io_resets; /* one transfer in this many resets its simulated pair; 0: none does */
    size_t stack_size;  /* as in leat_options */
    FILE *report;       /* where reports are written; NULL: standard error */
    unsigned schedule;  /* how many of the last turns are printed after a failure, 0 to 128 */
    leat_sim_outcome *outcome; /* set if the program was run; may be NULL */
    uint64_t most_turns;       /* then the run is cancelled; 0: 100 million; UINT64_MAX: never */
} leat_sim_options;

/* Runs fn(arg) as the first task of a first scope, like leat_main, in a world of its own. Only a
 * thread may call it, while no runtime runs. `options` is copied and may be NULL.
 * Returns what the scope was closed with; -EDEADLK after a deadlock; -ETIMEDOUT for a run that did
 * not end in `most_turns`. When fn was not called:
 * -EINVAL for a NULL fn or options out of range, -EBUSY when a runtime runs, -EDEADLK in a task
 * or in a world, -ENOMEM. */
LEAT_API int leat_sim(uint64_t seed, leat_fn *fn, void *arg);
LEAT_API int leat_sim_with(const leat_sim_options *options, leat_fn *fn, void *arg);

/* Hunts: runs the program with one seed after another, until the result of a run is not 0. The
 * seeds are `from` to `to` - 1. After a failure it prints the seed, the result and the last 64
 * turns, or `schedule` of them. If the environment has LEAT_SEED, only that seed is run, and a line
 * says so. leat_sim_each_with takes all but the seed from the options; `outcome` is that of the
 * last run. Called like leat_sim_with.
 * Returns 0 when no run failed; else the result of the first that failed, also an error of
 * leat_sim_with; -EINVAL also when `from` is not less than `to`, or LEAT_SEED is not a number. */
LEAT_API int leat_sim_each(uint64_t from, uint64_t to, leat_fn *fn, void *arg);
LEAT_API int leat_sim_each_with(const leat_sim_options *options, uint64_t from, uint64_t to,
                                leat_fn *fn, void *arg);

/* Marks a place in a task or simulated thread where the world may run another party, as at an
 * operation. It is for code that shares memory without leat, and for a loop that only looks at the
 * time, at memory or at leat_chan_closed until something happens: without a call in the loop, no
 * other party runs, and no time passes. Outside of a seeded world the call does nothing. */
LEAT_API void leat_sim_point(void);

/* Returns 1 when the caller runs in a seeded world, else 0. */
LEAT_API int leat_sim_running(void);

#endif
