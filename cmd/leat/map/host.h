/* host.h: another machine that runs commands: a link to the `leat worker` there, which an ssh
 * carries; and the jobs that it runs.
 *
 * A host has its places when its worker has said hello. When the link ends, its places are gone,
 * and its jobs begin again on other machines.
 *
 * A task of the host receives all frames and hands them to the jobs. A job may wait for its turn
 * long after its host is lost: so a link is freed when the run is over.
 *
 * Locking. A host's `lock` guards its list of jobs, `lost`, and the members of struct remote that
 * say so. A link's lock is taken under it or under the run's, and no other. */
#ifndef LEAT_MAP_HOST_H
#define LEAT_MAP_HOST_H

#include "link/link.h"
#include "map/job.h"

struct host {
    struct run *run;
    const struct machine *machine;
    leat_process *ssh;
    leat_chan *quiet; /* closed: ssh and the worker have said all that they say on 2 */
    struct link link;
    bool ready; /* its worker has said hello */

    pthread_mutex_t lock;
    struct remote *first;
    uint32_t last_job;
    bool lost;
};

/* The program of a job, on a host. On the stack of the job's task. */
struct remote {
    struct host *host;
    uint32_t job;       /* its number on the link */
    leat_chan *changed; /* an item: look at what is under the lock */

    /* under the host's lock */
    struct remote *next;
    struct text output[STREAMS]; /* that has come */
    size_t credit[STREAMS];      /* bytes that may come */
    size_t input_credit;         /* bytes that may be sent */
    bool ended, lost;
    int refused; /* why it could not be started: an errno value */
    leat_exit exit;
};

/* Begins to reach all machines of the plan. 0 or a negative errno value. */
int hosts_open(struct run *run);

/* When no more jobs run: ends the links. */
void hosts_close(struct run *run);

/* When their scope is closed. */
void hosts_free(struct run *run);

/* Waits until all that was sent to the hosts is on its way, or a moment. */
void hosts_flush(struct run *run);

bool host_is_lost(struct host *host);

/* Puts the job on the host's list. False: the host is lost. */
bool host_add(struct host *host, struct remote *remote);
void host_remove(struct remote *remote);

/* ---- connect.c ---- */

/* Starts the ssh and all that attends to it, in the scope. 0 or a negative errno value; -EPROTO
 * here and below: it has been told. */
int host_connect(struct host *host, leat_scope *scope);

/* Waits for the worker's hello. */
int host_hear_hello(struct host *host, unsigned *cores);

/* ---- remote.c ---- */

/* Runs a try of the job on its host. Its standard output goes to `out`, unless that is -1. Returns
 * 0 when the program has run, or is lost with the host: see job->lost. Else it has not, and the
 * error says why. *unwritten: an error of `out`. */
int remote_run(struct job *job, const struct text *arguments, size_t count, int out,
               int *unwritten);

/* Sends a signal to the program and its group; with `ends`, KILL follows. Never waits. */
void remote_signal(struct remote *remote, int signal, bool ends);

#endif
