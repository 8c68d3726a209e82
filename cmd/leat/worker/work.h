/* work.h: `leat worker`, the far end of a link: it runs jobs for a `leat map` on another machine.
 *
 * A job is a thread, which attends to its program itself (LEAT_ATTENDED), unless there are many
 * jobs. A job's input, if there is one, has a task. When the link ends, the jobs and their
 * processes end, too.
 *
 * The reader, another thread, receives frames and hands them to the jobs. A job's thread takes the
 * lead before it reports the job's end, unless another thread has it: it then receives in place of
 * the reader until it has got a job, which it runs itself. So the next job wakes one thread, not
 * first the reader and then another. The reader receives the frames that come while jobs run.
 *
 * Locking. `lock` guards the receiving end of the link, the list of jobs and the members of a job
 * that say so. It is not held during a wait. */
#pragma once

#include "link/link.h"

enum stream { STREAM_OUT, STREAM_ERR, STREAMS };

struct worker {
    struct link link;
    leat_scope *jobs;
    leat_mutex *turn; /* of the jobs that cannot start now: shared/shortage.h */
    int64_t grace;
    int epoll;     /* where the reader waits for standard input and the bell */
    int bell;      /* the other end of link.in: it hangs up when the link is to end */
    bool unpolled; /* standard input is a file: nobody waits for it */

    /* under the lock */
    pthread_mutex_t lock;
    int ended;   /* why the link has ended: a negative errno value */
    bool is_led; /* a job's thread receives */
    struct work *first;
    size_t count, running;
    size_t waiting;  /* jobs: for what the system lacks */
    size_t starving; /* of the running ones: wait for credit */
    bool hopeless;   /* a job was refused while all that run were starving, and still are */
};

/* A job. The receiving thread owns it until it starts; then its own party does. */
struct work {
    struct worker *worker;
    uint32_t job;
    struct text strings; /* its variables, then its arguments */
    size_t count;        /* of them */
    bool started, has_input;
    bool waits;                /* for what the system lacks */
    bool starved;              /* what it lacks is held by jobs that all wait for credit */
    bool as_thread, leads;     /* its party is a thread; this thread has the lead */
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

/* With the lock held: acts on a frame about a job. If `mine` is not NULL, the first job that starts
 * is for the caller. 0, or -EBADMSG if no `leat map` sends this, or -ENOMEM. */
int works_take(struct worker *worker, struct frame *frame, struct work **mine);

/* Takes a job off the list and frees it. */
void works_remove(struct work *work);

/* Frees the jobs that have not started. */
void works_free(struct worker *worker);

/* ---- work.c: its party ---- */

/* Runs the job. A thread with the lead goes on with other jobs. */
int work_do(void *work);

/* With the lock held: sends a signal to the job's processes, now or when they exist. */
void work_signal(struct work *work, int signal, bool ends);

/* ---- reader.c ---- */

/* 0 or a negative errno value. */
int reader_open(struct worker *worker, int bell);

/* Waits for the first frame. 0 or why there is none: see link_receive. */
int reader_first(struct worker *worker, struct frame *frame);

/* Receives frames about jobs. Returns why the link has ended. */
int reader_serve(struct worker *worker);

/* Takes the lead. False: another has it, or the link has ended, or jobs wait for what the system
 * lacks, which may be this thread's place. */
bool reader_take_lead(struct worker *worker);

/* Receives frames until there is a job for the caller, and gives the lead back. NULL: the link has
 * ended. */
struct work *reader_lead(struct worker *worker);
