/* queue.h: `leat worker ADDRESS`: takes the jobs of any `leat map` from a queue, and runs them.
 *
 * It is a far end of a stage over machines (leat/link.h). Each job is one of its tasks, and the
 * job's result is stored when its program has ended. When the queue gives a job to another worker,
 * or the job's run is forgotten, the task is cancelled, and with it the program and its group. */
#pragma once

#include "shared/queue.h"

#include <leat/leat.h>
#include <leat/link.h>
#include <stdatomic.h>
#include <stdint.h>

struct taker {
    struct queue queue;
    const char *address; /* as the user gave it */
    const char *folder;  /* where jobs run; NULL: here */
    unsigned jobs;       /* at a time */
    int64_t grace;       /* for the running jobs when the worker must end */
    int64_t lease;
    char host[65];    /* of this machine */
    leat_mutex *turn; /* of the jobs that cannot start now: shared/shortage.h */
    leat_chan *hurry; /* closed: jobs end now */
    leat_scope *serving;
    _Atomic unsigned running; /* programs; relaxed: only the number is read */
};

/* Takes jobs until a signal comes. Returns the exit status. */
QUEUE_FUNCTION int taker_run(struct taker *taker);

/* ---- errand.c ---- */

/* Runs one job; a leat_far_fn whose `arg` is the taker. */
int errand_do(void *taker, const leat_far_item *item, leat_bytes *result);
