/* look.h: one look at everything that exists, while the program runs. A dump prints it (print.h).
 *
 * A look needs no lists beyond those that scopes have anyway. (The root scope has the scopes
 * without another parent, and the channels without another scope.) So it finds things in different
 * places, and reads each in its own way:
 *  - scopes: from the roots down. Each is pinned under the lock of the one around it, so that none
 *    is freed during the look;
 *  - parties in a channel's queue: under the channel's lock, where they do not resume;
 *  - tasks that have parked: on their home worker, between tasks, where they cannot run. Each
 *    worker gets a job that records its own tasks. A worker that has not come to its job after
 *    LT_ANSWER_MS is left alone (watch/ask.c);
 *  - call stacks, if they are wanted: of the same tasks at the same time; of a task that a worker
 *    runs, in its own thread (watch/frames.h);
 *  - blocks that await a block: they do not resume while that block is on its scope's list;
 *  - blocks with an alarm: in the wheel of their worker, read by that worker;
 *  - tasks and blocks that have not started, and the party that a worker runs if it does not
 *    answer: read without protection, and believed if they were still in their place afterwards
 *    (watch/find.c).
 * So a look is no snapshot: each line was true at some moment during the look.
 *
 * A bounded look shows a program of any size without stopping it. The rules of its bound:
 *  - The number of scopes, parties and channels is bounded. Descriptors, batchers and stages count
 *    as channels, and so does a mutex beside its channel. A channel's record is kept even if those
 *    of its waiters are not, so its counts of waiters are exact.
 *  - While it holds a scope's lock or the global queue's, and in each worker's answer as a whole,
 *    it passes at most lt_look_steps(bound) nodes of lists, whether it records them or not. (A
 *    worker also passes the empty slots of its wheel, and takes the scopes' locks. While a
 *    channel's lock is held, it is some 100 nodes.)
 *  - Scopes nearest to the roots come first. The scopes inside one scope, and the channels of one,
 *    get a part of the room that is left: it is divided by the number of scopes still to come, but
 *    is LT_LOOK_LEAST at least. The room for parties is divided by what the scopes can use. A
 *    quarter of that room is kept for parties in queues, on channels and in wheels, and a quarter
 *    of the room for channels is kept for those without a scope.
 *  - Asker and workers take a scope's first tasks, so that both record the same ones.
 *
 * One look runs at a time. A worker that looks answers itself; its tasks wait meanwhile. */
#pragma once

#include "watch/picture.h"

/* Makes a look, with call stacks if `caller` is given: the return address of the function that the
 * user has called. Without a bound it records everything. 0; -EINVAL when no runtime runs; -ENOMEM.
 * After 0 the records can be read, until lt_look_end frees them. */
int lt_look_begin(struct lt_look *look, const void *caller, const struct lt_look_bound *bound);
void lt_look_end(struct lt_look *look);
