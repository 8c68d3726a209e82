/* frames.h: call stacks for dumps, with the option LEAT_WATCH_STACKS.
 *
 * backtrace(3) of the C library walks a stack by the tables that every program has for that
 * (.eh_frame): it needs no frame pointers, and code without a table ends the walk. Each stack is
 * walked where it stands still:
 *  - a task that waits or is ready: by its home worker, from inside, on that worker's own stack
 *    (lt_switch_pretend). A parked stack may have little room left, and a page of it that is not in
 *    memory yet should stay so;
 *  - the task that makes the dump: by itself;
 *  - the party of a worker that does not answer: by the worker's thread, in a handler of SIGPROF.
 *    Apart from faults, the workers' mask lets only this signal through. The handler is installed
 *    from the start of the runtime to its end, when no thread is left that a late signal could
 *    reach. It passes on signals that leat did not send. */
#pragma once

#include "sched/worker.h"

#include <stdbool.h>
#include <stddef.h>

enum { LT_FRAMES = 64 };

/* A call stack, from the innermost frame on: addresses inside the calls, so one less than where
 * each call returns to. Frames deeper than LT_FRAMES are left out. */
struct lt_frames {
    size_t count;
    const void *code[LT_FRAMES];
};

/* Called at the runtime's start and end. */
void lt_frames_begin(void);
void lt_frames_end(void);

/* Whether dumps have call stacks. */
bool lt_frames_wanted(void);

/* The frames of the calling party, from the frame on that continues at `from`. */
void lt_frames_here(struct lt_frames *to, const void *from);

/* The frames of a started task that does not run; called inside its home. */
void lt_frames_of_task(struct lt_frames *to, const struct lt_task *task);

/* The frames of a worker that does not answer. *running is the task that it ran then, or NULL for a
 * block or a callback, and *number is the task's number. All three stay as they are if its thread
 * does not answer within LT_FRAMES_MS either, or if the program has meanwhile installed its own
 * handler of SIGPROF. One caller at a time. */
enum { LT_FRAMES_MS = 100 };
void lt_frames_of_worker(struct lt_frames *to, struct lt_worker *worker,
                         const struct lt_task **running, uint32_t *number);
