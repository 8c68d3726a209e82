/* leat/watch.h: for people who look: what is there, and what everybody waits for.
 *
 * All of it may be asked for while the program runs, and costs nothing until it is. */
#ifndef LEAT_WATCH_H
#define LEAT_WATCH_H

#include <leat/base.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What leat_options.watch may ask for. */
enum {
    LEAT_WATCH_WAITS =
        1 /* dumps tell since when tasks have waited: a reading of the clock each wait.
                            The environment's LEAT_WATCH=waits asks for it as well. */
};

/* Writes down everything there is: the workers and what they run; the tree of scopes with their openers;
 * in each, its tasks, threads, blocks and waiting callbacks, by the names they were started with, with
 * what each waits for (a channel to receive from or send to, the cases of a select, a time, the end of a
 * scope or block, a call that blocks) and, where that was asked for in advance, since when; and every
 * channel with its items, and who waits on it. docs/watch.md reads one.
 *
 * A task's stack is given as what of it is in memory: pages that it, or a task before it on the same
 * stack, has touched. Numbers tell things of one name apart, in the order in which one thread made them.
 *
 * Any task or thread may call it at any time, also one that found the others to be stuck; a task then waits
 * where it stands, without letting others run, for as long as the other workers take to answer: 100 ms at
 * the most. Of the tasks of a worker that has not answered by then, which is likely to be in an endless
 * loop, less is known, and that is said. Nothing is stopped: each line is true at some moment during the
 * call. Not from a signal handler: see leat_dump_on_signal.
 * Returns 0; -EINVAL for NULL, or when no runtime runs; -ENOMEM; -EIO when it could not be written. */
LEAT_API int leat_dump(FILE *to);

/* The same as a graph in the language of Graphviz (dot -Tsvg): scopes are frames, parties and channels are
 * nodes, and an edge leads from each who waits to what it waits for; dashed, where one of several. */
LEAT_API int leat_dump_graph(FILE *to);

#ifdef __cplusplus
}
#endif

#endif
