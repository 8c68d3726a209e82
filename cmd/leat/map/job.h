/* job.h: a command that runs for one item.
 *
 * Its party owns it until it has sent the news of its end; then the deliverer does. The members
 * that they share until then are under the run's lock. */
#pragma once

#include "map/replay.h"
#include "map/run.h"

struct job {
    struct run *run;
    struct input input;
    uint64_t number;
    unsigned place; /* 0: none */
    unsigned try;   /* from 1; changes under the run's lock */
    bool as_thread; /* its party is a thread */
    bool yields;    /* its try has begun nothing: it will go on as a task */
    char *command;  /* for the log and for messages: quoted, or NULL */
    char *tag;      /* or NULL */

    /* of the last try */
    leat_exit exit;
    bool timed_out;
    bool unlogged;       /* it was not run, or its output not kept, or it waited for another try */
    int64_t begun, took; /* nanoseconds, by run_now */
    int64_t paused;      /* the part of that in which its output was not taken */
    double start;        /* seconds since 1970 */
    uint64_t sent;       /* bytes of its standard input */
    uint64_t received;   /* bytes of its standard output */
    struct host *host;   /* NULL: this machine */
    char *ran_on;        /* the worker's machine, if the job came through a queue; or NULL */
    bool lost;           /* with its host, or by it: this try does not count */

    /* under the run's lock */
    struct job *next, *previous; /* in `running` */
    leat_process *process;       /* or */
    struct remote *remote;
    struct held held;
    bool printed;    /* a part of its output is out, or on its way */
    bool has_turn;   /* its output is written at once */
    bool asks;       /* with --unordered: it has asked for a turn */
    bool killed;     /* its output is dropped */
    leat_chan *turn; /* closed when it gets its turn; NULL: it does not wait for it */

    /* used by the writer: the job's party while it has its turn, else the deliverer */
    bool within[STREAMS];      /* a line has begun and not ended */
    struct text rest[STREAMS]; /* with --lines: a line that has not ended yet */
    bool committed;            /* a part of its output is out */
    bool torn;                 /* a part of its output could not be read again */
    struct replay replay;
    const char *former; /* the host that was lost last */

    /* used by its party: see host_crowds */
    struct host *crowded;
    uint64_t came;

    /* used by the deliverer */
    struct job *waits; /* after this one, with --unordered */
    bool ended;
};

/* Where its last try ran, for the log and for messages; "" is this machine. */
const char *job_where(const struct job *job);

/* Makes a job from the offer. NULL: no memory; then the caller keeps the offer. */
struct job *job_new(struct run *run, const struct offer *offer, unsigned place);
void job_free(struct job *job);

/* The body of the job's party. It goes on with other jobs, as long as there is one for the
 * place. */
int job_do(void *job);

/* The end of the job: counts it, gives back its place, and sends the news. */
void job_end(struct job *job);
bool job_has_succeeded(const struct job *job);

/* ---- try.c ---- */

void job_try(struct job *job);

/* The program cannot be run: reports that once, and ends the run. */
void job_refuse(struct job *job, const char *program, int error);

/* ---- capture.c ---- */

enum { CAPTURE_BUFFER = 64 * 1024 }; /* bytes read at a time */

/* What the system does not give of a job that has run is missing, which nothing else would show: so
 * this reports it and ends the run. `what`: "output" and the like. */
void job_lose(const struct job *job, const char *what, int error);

/* The nanoseconds that a try of the job may take; 0: there is no limit. */
int64_t job_limit(const struct job *job);

/* The time at which the job is too late. A multiple of the median may change while the job runs:
 * the result is valid until *look_again. */
int64_t job_due(const struct job *job, int64_t *look_again);

/* Attends to the program until it has ended; `buffer` has CAPTURE_BUFFER bytes. */
void capture(struct job *job, leat_process *process, char *buffer);

/* ---- output.c ---- */

/* Takes the job's output. Waits for the job's turn if there is no room. */
void output_take(struct job *job, enum stream stream, const char *bytes, size_t n);

/* For the deliverer: gives the job its turn, and writes what it has held back. */
void output_begin_turn(struct job *job);

/* Writes the output that is still held back, and ends an unfinished line if lines are mixed or
 * tagged. */
void output_end(struct job *job);

/* Drops the output that is held back. */
void output_drop(struct job *job);

/* Called before another try: forgets the standard output of the last one. If its machine was
 * `lost`, a part may already be printed: then that part must come again. */
void output_forget(struct job *job, bool lost);
