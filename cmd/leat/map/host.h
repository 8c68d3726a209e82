/* host.h: another machine that runs commands: a link to the `leat worker` there, through an ssh;
 * and the jobs that it runs. Or a queue, from which any worker takes jobs: the rest of the run
 * treats it as a machine. It has no link, and a job's output comes with its end.
 *
 * A host gets its places when its worker has sent its hello. When the link ends, its places are
 * gone, and its jobs begin again on other machines.
 *
 * A task of the host receives all frames and hands them to the jobs. A job may wait for its turn
 * long after its host is lost: so a link is only freed when the run is over.
 *
 * Locking. A host's `lock` guards its list of jobs, `lost`, and the members of struct remote that
 * say so. It may be taken under the run's lock, and a link's lock under both. */
#pragma once

#include "link/link.h"
#include "map/job.h"

struct host {
    struct run *run;
    const struct machine *machine;
    leat_process *ssh;
    leat_chan *quiet; /* closed: all messages of ssh and the worker have come */
    struct link link;
    bool ready;       /* its worker has sent its hello */
    leat_chan *given; /* of uint32_t, for a queue: the numbers of jobs; or NULL */

    pthread_mutex_t lock;
    uint64_t packed; /* jobs that have gone into the queue */
    struct remote *first;
    uint32_t last_job;
    bool lost;
    bool crowded;  /* given up: see host_crowds */
    uint64_t came; /* frames from jobs that run */
};

/* A worker's account of a program that came through a queue. */
struct ran {
    char host[65];
    int64_t took;   /* nanoseconds */
    uint64_t sent;  /* bytes of its input that it has read */
    uint64_t flags; /* FRAME_RAN_LATE, FRAME_RAN_LARGE */
    double ended;   /* seconds since 1970, by the clock of this machine */
};

/* The program of a job on a host. It is on the stack of the job's task. */
struct remote {
    struct host *host;
    uint32_t job;       /* its number on the link */
    leat_chan *changed; /* an item: members under the lock have changed */

    /* under the host's lock */
    struct remote *next;
    struct text output[STREAMS]; /* output that has come */
    size_t credit[STREAMS];      /* bytes that may come */
    size_t input_credit;         /* bytes that may be sent */
    bool ended, lost;
    int refused, unread; /* errno values: why it could not start; why its output, or how it ended,
                          * could not be read */
    leat_exit exit;

    /* in a queue; also under the host's lock */
    struct text parcel; /* the frames of the job */
    uint64_t index;     /* of the job in the queue, if it is `packed` */
    bool packed;
    int failed; /* a negative errno value: there is no result */
    struct ran ran;
};

/* Takes LEAT_LINK_PASSWORD out of the environment if a queue needs it, so that no job of this run
 * gets it. Called while there is only one thread. False: no memory. */
bool hosts_take_password(struct run *run);

/* Begins to connect to all machines of the plan. 0 or a negative errno value. */
int hosts_open(struct run *run);

/* Called when the hosts' scope is closed. */
void hosts_free(struct run *run);

/* Waits until all frames for the hosts are on their way, but only for a moment. */
void hosts_flush(struct run *run);

bool host_is_lost(struct host *host);

/* Puts the job on the host's list. False: the host is lost. */
bool host_add(struct host *host, struct remote *remote);
void host_remove(struct remote *remote);

/* Returns the number of places that there was room for. The run would wait without end for a host
 * without places if all others were lost. */
unsigned host_add_places(struct host *host, unsigned wanted);

/* The host has refused the job, since other jobs there hold what it needs, and all of them wait for
 * credit. If they wait for this job, whose turn it is, the host is lost: that is so if it refuses
 * the job again, and no job there has sent anything meanwhile. */
void host_crowds(struct host *host, struct job *job);

/* No more jobs run there, and the running ones are lost. */
void host_lose_jobs(struct host *host);

/* ---- connect.c ---- */

/* Starts the ssh and the tasks that attend to it, in the scope. 0 or a negative errno value;
 * -EPROTO here and below: it has been reported. */
int host_connect(struct host *host, leat_scope *scope);

/* Adds the body of the map's HELLO. */
void host_add_hello(struct text *to, const struct plan *plan);

/* Waits for the worker's hello. */
int host_hear_hello(struct host *host, unsigned *cores);

/* ---- remote.c ---- */

/* Runs a try of the job on its host. `strings`: its variables, then its arguments, `count` in all.
 * Its standard output goes to `out`, unless that is -1. Returns 0 when the program has run, or is
 * lost with the host: see job->lost. Else it has not run, and the error is the reason. *unwritten:
 * an error on `out`. */
int remote_run(struct job *job, const struct text *strings, size_t count, int out, int *unwritten);

/* Sends a signal to the program and its group; with `ends`, KILL follows. Never waits. */
void remote_signal(struct remote *remote, int signal, bool ends);

/* ---- queue.c ---- */

enum { QUEUE_PLACES = 64 }; /* unless the user gives the number */

/* Attends to a queue until the run is over or the queue is lost, which it reports. */
QUEUE_FUNCTION void queue_serve(struct host *host, unsigned places);

/* Makes the parcel of a job. 0 or a negative errno value. */
QUEUE_FUNCTION int queue_pack(struct remote *remote, const struct job *job,
                              const struct text *strings, size_t count);

/* Ends the job here, if the signal must end it. Workers hear of that when the run is over. */
QUEUE_FUNCTION void queue_signal(struct remote *remote, int signal, bool ends);

/* ---- answer.c ---- */

/* Acts on REFUSED, ENDED or UNREAD. 0 or -EBADMSG. */
int answer_take_end(struct remote *remote, struct frame *f);

/* Reads the result that came through a queue; with the host's lock held. 0 or the error;
 * -EPROTONOSUPPORT: the result is of another version, which is stored in ran.host. */
int answer_read(struct remote *remote, const char *bytes, size_t n);

/* The try has failed in a queue: reports the reason, and lets the job fail. */
void answer_fail(struct job *job, const struct remote *remote);
