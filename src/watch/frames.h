/* frames.h: call stacks for dumps, if that was asked for (LEAT_WATCH_STACKS).
 *
 * backtrace(3) of the C library walks a stack by the tables that every program has for it
 * (.eh_frame): frame pointers are not needed, and code without a table ends the walk. Each stack is
 * walked where it stands still:
 *  - a task that waits or is ready: by its home worker, from inside, on that worker's own stack
 *    (lt_switch_pretend). A parked stack may have little room left, and a page of it that is not in
 *    memory yet should stay so;
 *  - the task that makes the dump: by itself;
 *  - what a worker runs that does not answer: by its thread, in a handler of SIGPROF. This is the
 *    one signal that the workers' mask lets through and that is no fault. The handler is there from
 *    the start of the runtime to its end, when the threads that a late signal could reach are gone.
 *    It passes on what it did not ask for. */
#ifndef LT_WATCH_FRAMES_H
#define LT_WATCH_FRAMES_H

#include "sched/worker.h"

#include <stdbool.h>
#include <stddef.h>

enum { LT_FRAMES = 64 };

/* A call stack, from the innermost frame on: addresses inside the calls, so one less than where
 * each call returns to. What is deeper than LT_FRAMES is left out. */
struct lt_frames {
    size_t count;
    const void *code[LT_FRAMES];
};

/* With the runtime. */
void lt_frames_begin(void);
void lt_frames_end(void);

/* Whether dumps have call stacks. */
bool lt_frames_wanted(void);

/* The calling party's, from the frame on that continues at `from`. */
void lt_frames_here(struct lt_frames *to, const void *from);

/* Those of a started task that does not run; called inside its home. */
void lt_frames_of_task(struct lt_frames *to, const struct lt_task *task);

/* Those of a worker that does not answer. *running is the task that it ran then, or NULL for a
 * block or a callback, and *number is the task's. False: its thread does not answer within
 * LT_FRAMES_MS either, or the program has installed a handler of SIGPROF of its own meanwhile. One
 * caller at a time. */
enum { LT_FRAMES_MS = 100 };
bool lt_frames_of_worker(struct lt_frames *to, struct lt_worker *worker,
                         const struct lt_task **running, uint32_t *number);

#endif
