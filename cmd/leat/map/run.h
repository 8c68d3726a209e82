/* run.h: one run of `leat map`: its parties, and the state that they share.
 *
 *     feed ── offers ──▶ start ── parties for jobs ── news ──▶ deliver
 *                          └────────────── order ──────────────▲
 *
 * The feeder takes an item and a permit of the window, and offers a job. The starter takes a place
 * and an offer, and starts a party for the job. The party runs the command, retries it if it failed
 * and may be retried, and holds its output back. At the end it takes the next offer with the same
 * place, so no other party has to run between two jobs of a place. On this machine the parties are
 * threads, each of which attends to its program itself (LEAT_ATTENDED), unless there are many
 * places. The deliverer takes the jobs in order, or with --unordered as they end, and gives each
 * one its turn: from then on the job itself writes its output. When the job is over, the deliverer
 * logs it and gives the permit back.
 *
 * A place is a number from 1 to --jobs, an item of `places`. A job without room for its output
 * waits for its turn, and its place waits with it: so the run neither loses output nor needs more
 * room. A failed job gives its place back until it is retried. When the failed job has its turn,
 * all places may belong to jobs that wait for their turns: these lend their places (`lend`), and go
 * on without one when they have their turn.
 *
 * This does not use leat_pipeline, whose permits cannot be places: their number is fixed, but
 * machines come and go; and a function keeps its permit to its end, but a job gives its place back
 * before a retry and lends it while it waits for its turn. Nor can its inputs share room for
 * outputs, in memory and then in a file, or take an output back.
 *
 * Locking. `lock` guards the members below it, and the members of jobs that say so. It is not held
 * during a wait. */
#pragma once

#include "map/items.h"
#include "map/log.h"
#include "map/streams.h"
#include "map/tally.h"
#include "shared/stop.h"

#include <leat/leat.h>

#include <stdatomic.h>

struct host;
struct job;

struct run {
    const struct plan *plan;
    struct items items;
    struct log log;
    struct store store;
    struct streams streams;
    mode_t mask;       /* the umask, for new files */
    char *password;    /* for a queue, or NULL */
    leat_scope *jobs;  /* of the jobs' parties, the starter and the feeder */
    leat_scope *watch; /* of the parties that look after the run */
    struct stop stop;
    _Atomic int64_t stopped; /* see run_now */
    leat_semaphore *window;
    leat_mutex *shortage; /* held by the job that waits for something that the system lacks */
    leat_chan *places, *lend;
    leat_chan *offers;    /* of struct offer; closed after the last one */
    leat_semaphore *room; /* for offers; given back several at a time, to wake the feeder less */
    leat_mutex *taking;   /* held to take offers: they go into `order` as they come */
    leat_chan *drained;   /* closed: there is no offer, and none will come */
    uint64_t fed;         /* offers made; used by the feeder until `fed_all` */
    uint64_t taken;       /* offers taken; this and the next two under `taking` */
    bool fed_all;
    int fed_badly;          /* why no more items come, or 0 */
    _Atomic unsigned wants; /* jobs that wait for a place, or for what the system lacks */
    leat_chan *order;       /* of struct job *; closed after the last one */
    leat_chan *news;        /* of struct news */
    _Atomic bool at_news;   /* the deliverer waits for some; relaxed: looked at now and then */
    leat_chan *stopping;    /* closed: no more jobs are started */
    leat_scope *machines;   /* of the hosts' tasks, or NULL */
    struct host *hosts;     /* one for each machine of the plan; or NULL */
    struct host **host_of;  /* by place; NULL: this machine */
    leat_chan *over;        /* closed: no more jobs will run */
    leat_chan *killing;     /* closed: running jobs are ended, and their output is dropped */

    pthread_mutex_t lock;
    leat_scope *feeding; /* of the reader of the items, or NULL; cancelled when the run ends */
    struct job *running; /* those with a process */
    struct tally tally;
    unsigned place_count;
    size_t machines_left;
    uint64_t total; /* of jobs, or 0 */
    int status;     /* the exit status, if it does not depend on the jobs */
    int signal;     /* the signal that has ended the run, or 0 */
    bool halted;
};

/* From a job to the deliverer; after its last job the starter sends one without a job. */
struct news {
    struct job *job;
    bool ended; /* else it has no room and waits for its turn */
};

/* ---- feed.c ---- */

/* A job that may begin. */
struct offer {
    struct input input;
    char *command; /* for the log, or NULL */
    uint64_t number;
};

/* A task: makes the offers. */
int feed(void *run);

/* Reports why no more items come. */
void feed_complain(struct run *run, int error);
void offer_free(const struct offer *offer);

/* ---- start.c ---- */

/* The number of jobs that are offered ahead. */
unsigned offers_ahead(const struct plan *plan);

/* A task: starts parties for jobs while there are places for more. */
int start_jobs(void *run);

/* Another job for the place, if one is offered now, and no other job waits (`wants`); else NULL. */
struct job *next_job(struct run *run, unsigned place);

/* ---- places.c ---- */

/* Makes `n` places on a host, or with NULL on this machine. Returns how many places there was room
 * for. */
unsigned places_add(struct run *run, struct host *host, unsigned n);

/* Takes a free place for the next job. 0, or -ECANCELED when there is no job left, or the run
 * ends. */
int place_take_free(struct run *run, unsigned *place);

/* Takes a place, of those that are free or lent. 0, or -ECANCELED when the run ends. */
int place_take(struct run *run, unsigned *place);
void place_give_back(struct run *run, unsigned *place);

/* Whether the place's machine is there. */
bool place_is_good(struct run *run, unsigned place);

/* The place's host; NULL: this machine. */
struct host *place_host(const struct run *run, unsigned place);

/* ---- deliver.c ---- */

/* Delivers jobs until the last one. */
void deliver(struct run *run);

/* ---- ending.c ---- */

/* Starts no more jobs; with `kill`, ends running jobs by the signal. The first status other than 0
 * becomes the run's. True: no other call has ended the run before. */
bool end_run(struct run *run, bool kill, int signal, int status);

/* Ends the run, since its standard output has an error. */
void end_unread(struct run *run, int error);

/* Standard error has an error. The run goes on; its status will be EXIT_TROUBLE, unless it has one.
 * But it ends if the reader has left that has its standard output, too. */
void note_trouble(struct run *run);

/* A job has a process, or none any more. */
void job_runs(struct run *run, struct job *job);
void job_rests(struct run *run, struct job *job);

/* Ends the job's program, as at a time limit. */
void end_program(struct job *job);

/* A job is over: counts it, and ends the run if --halt says so. */
void job_counts(struct run *run, struct job *job, bool succeeded);

/* Sends a signal to all jobs that run. */
void signal_jobs(struct run *run, int signal);

/* ---- signals.c and show.c ---- */

/* Attends to signals until run->stop is closed. 0 or a negative errno value. */
int signals_attend(struct run *run);

/* The time by a clock that stands still while SIGTSTP has stopped the run, and its jobs with it. */
int64_t run_now(struct run *run);

/* A task: draws the progress line. */
int draw_progress(void *run);
