/* leat/watch.h: for people who look: what is there, and what everybody waits for.
 *
 * Dumps and counts may be asked for at any time; a deadlock, a watchdog, a trace and since when everybody
 * waits, when the runtime starts: by leat_options or the environment (docs/watch.md has a table). What
 * nobody has asked for costs a branch where it would be noted, and no thread.
 *
 * A trace. With leat_options.trace, or LEAT_TRACE=file in the environment, what happens is noted in memory
 * (32 bytes each event, 128 MiB a worker at the most) and written to the file when the runtime stops, for
 * ui.perfetto.dev or chrome://tracing: when each worker ran which task, block or callback; scopes; and an
 * arrow for each item, from its sender to its receiver, where both ran on workers. Each runtime of a
 * process writes the file anew. */
#ifndef LEAT_WATCH_H
#define LEAT_WATCH_H

#include <leat/base.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What leat_options.watch may ask for. */
enum {
    /* Dumps tell since when everybody has waited. The environment's LEAT_WATCH=waits asks for it as well; in
     * the seeded world it is always so, by its clock.
     * Tasks and threads read the clock each wait. Blocks and waiting callbacks, which have no room for a time,
     * have it in a table besides, of 64 parts with a lock each: some 160 instructions a wait, the clock included,
     * and up to 64 bytes for each of as many as ever waited at once, until the runtime stops. Where there is no
     * memory for that, nothing is told. */
    LEAT_WATCH_WAITS = 1,
    /* A deadlock is reported, once, on standard error, with a dump; and then the program is aborted. The
     * environment asks with LEAT_DEADLOCK=report and LEAT_DEADLOCK=abort.
     * It is one when all tasks wait, no deadline is set, no call blocks, and every thread of the process
     * waits in leat without a deadline: then nothing is left that could end a wait. While there is a single
     * thread of which leat knows nothing, there is no report, since it may call in. Told by /proc. */
    LEAT_WATCH_DEADLOCK = 2,
    LEAT_WATCH_DEADLOCK_ABORT = 4
};

/* Writes down everything there is: the workers and what they run; the tree of scopes with their openers;
 * in each, its tasks, threads, blocks and waiting callbacks, by the names they were started with, with
 * what each waits for (a channel to receive from or send to, the cases of a select, a time, the end of a
 * scope or block, a call that blocks) and, where LEAT_WATCH_WAITS asked for it, since when; and every
 * channel with its items, and who waits on it. docs/watch.md reads one.
 *
 * A task's stack is given as what of it is in memory: pages that it, or a task before it on the same
 * stack, has touched. Numbers tell things of one name apart, in the order in which one thread made them.
 *
 * Any task or thread may call it at any time, also one that found the others to be stuck; a task then waits
 * where it stands, without letting others run (unless somebody else is just looking), for as long as the
 * other workers take to answer: 100 ms at the most. Of the tasks of a worker that has not answered by then, which is
 * likely to be in an endless loop, less is known, and that is said. Nothing is stopped: each line is true at some
 * moment during the call. Not from a signal handler: see leat_dump_on_signal.
 * Returns 0; -EINVAL for NULL, or when no runtime runs; -ENOMEM; -EIO when it could not be written. `to` is the
 * caller's, and is flushed. */
LEAT_API int leat_dump(FILE *to);

/* The same as a graph in the language of Graphviz (dot -Tsvg): scopes are frames, parties and channels are
 * nodes, and an edge leads from each who waits to what it waits for; dashed, where one of several.
 * Returns what leat_dump does. */
LEAT_API int leat_dump_graph(FILE *to);

/* From now on until the runtime stops, the signal makes a dump on standard error; LEAT_DUMP=SIGQUIT (or
 * SIGUSR1, SIGUSR2, SIGHUP) in the environment does the same from the beginning. The signal's former handler
 * is out of use meanwhile. The handler only wakes a thread, which there is from then on, and which works
 * also when all workers are stuck.
 * Returns 0; -EINVAL for a signal that cannot be handled, or when no runtime runs; -ENOMEM. */
LEAT_API int leat_dump_on_signal(int signal);

/* What has been counted since the runtime began, and what there is. Counting costs nothing on the way from
 * one task to another: a worker makes it good when its scheduler has its next look, so a number may be
 * some switches behind. */
typedef struct leat_counts {
    uint64_t switches; /* times a task, block or callback was given the processor */
    uint64_t started;  /* tasks that have started; the other switches went on with something */
    uint64_t received; /* tasks, blocks and callbacks that another thread made ready */
    uint64_t stolen;   /* tasks and blocks that had not started, taken from other workers */
    uint64_t moved;  /* tasks, blocks and callbacks that had started, taken when they were ready */
    uint64_t sleeps; /* times a worker found nothing to do */
    uint64_t timers; /* deadlines that wait to pass */
    uint64_t stacks; /* of the default size, in use; in the counts of one worker: 0 */
    uint64_t stacks_free;  /* mapped, and not in use; of one worker: those it has at hand */
    uint64_t threads;      /* in the pool for calls that block; of one worker: 0 */
    uint64_t threads_free; /* of these, without work */
} leat_counts;

/* Tells the counts of all workers together; and of one, from 0 on. While somebody else looks, waits for that, as
 * leat_dump does.
 * Returns 0; -EINVAL for NULL, a worker that there is not, or when no runtime runs. */
LEAT_API int leat_count(leat_counts *counts);
LEAT_API int leat_count_worker(leat_counts *counts, unsigned worker);

#ifdef __cplusplus
}
#endif

#endif
