/* work.h: `leat worker`, the far end of a link: it runs jobs for a `leat map` on another machine.
 *
 * One task receives frames and hands them to the jobs. A job is a thread, which attends to its
 * program itself (LEAT_ATTENDED), unless there are many jobs. A job's input, if there is one, has a
 * task. When the link ends, the jobs and their processes end, too.
 *
 * Locking. `lock` guards the list of jobs and the members of a job that say so. It is not held
 * during a wait. */
#ifndef LEAT_WORKER_WORK_H
#define LEAT_WORKER_WORK_H

#include "link/link.h"

enum stream { STREAM_OUT, STREAM_ERR, STREAMS };

struct worker {
    struct link link;
    leat_scope *jobs;
    int64_t grace;
    pthread_mutex_t lock;
    struct work *first;
    size_t count, running;
};

/* A job. The receiving task owns it until it starts it; then its own party does. */
struct work {
    struct worker *worker;
    uint32_t job;
    struct text strings; /* its variables, then its arguments */
    size_t count;        /* of them */
    bool started, has_input;
    leat_chan *fed, *credited; /* an item: there is more input, or its end; more credit */
    leat_io *to;               /* with an input: its destination */

    /* under the lock */
    struct work *next;
    leat_process *process;
    int signal; /* came before there was a process */
    bool ends;  /* and must end it */
    struct text input;
    bool input_ended;
    size_t credit[STREAMS];
};

/* ---- works.c: the list ---- */

/* Acts on a frame about a job. 0, or -EBADMSG if no `leat map` sends such a frame, or -ENOMEM. */
int works_take(struct worker *worker, struct frame *frame);

/* Takes a job off the list and frees it. */
void works_remove(struct work *work);

/* Frees the jobs that have not started. */
void works_free(struct worker *worker);

/* ---- work.c: its party ---- */

int work_do(void *work);

/* With the lock held: sends a signal to the job's processes, now or when they exist. */
void work_signal(struct work *work, int signal, bool ends);

#endif
