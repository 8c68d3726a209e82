#define _GNU_SOURCE
#include "map/host.h"

#include "shared/shortage.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- a host's jobs ---- */

bool host_add(struct host *host, struct remote *remote)
{
    pthread_mutex_lock(&host->lock);
    bool lost = host->lost;
    if (!lost) {
        remote->job = ++host->last_job;
        remote->next = host->first;
        host->first = remote;
    }
    pthread_mutex_unlock(&host->lock);
    return !lost;
}

void host_remove(struct remote *remote)
{
    struct host *host = remote->host;
    pthread_mutex_lock(&host->lock);
    struct remote **at = &host->first;
    while (*at != remote)
        at = &(*at)->next;
    *at = remote->next;
    pthread_mutex_unlock(&host->lock);
}

static int take_output(struct remote *r, struct frame *f, enum stream stream)
{
    if (f->left > r->credit[stream])
        return -EBADMSG;
    r->credit[stream] -= f->left;
    text_add(&r->output[stream], f->body, f->left);
    return r->output[stream].broken ? -ENOMEM : 0;
}

static int take_credit(struct remote *r, struct frame *f)
{
    uint64_t kind = frame_number(f, 1), bytes = frame_number(f, 4);
    if (f->broken || kind != FRAME_INPUT || bytes > FRAME_CREDIT_MOST - r->input_credit)
        return -EBADMSG;
    r->input_credit += bytes;
    return 0;
}

/* A machine where not even one job can run is of no use: then the job is lost with it. */
static int take_end(struct remote *r, struct frame *f)
{
    int error = answer_take_end(r, f);
    if (!error && shortage_is(-r->refused)) {
        error = -r->refused;
        r->refused = 0;
        r->ended = false;
    }
    return error;
}

/* With the lock held. */
static int take_frame(struct host *host, struct frame *f)
{
    struct remote *r = host->first;
    while (r && r->job != f->job)
        r = r->next;
    int error = -EBADMSG;
    if (!r || r->ended)
        return error;
    switch (f->kind) {
    case FRAME_OUTPUT: error = take_output(r, f, STREAM_OUT); break;
    case FRAME_ERRORS: error = take_output(r, f, STREAM_ERR); break;
    case FRAME_CREDIT: error = take_credit(r, f); break;
    case FRAME_REFUSED:
    case FRAME_UNREAD:
    case FRAME_ENDED: error = take_end(r, f); break;
    default: break;
    }
    host->came += f->kind != FRAME_REFUSED;
    leat_try_send(r->changed, NULL);
    return error;
}

void host_crowds(struct host *host, struct job *job)
{
    pthread_mutex_lock(&job->run->lock);
    bool has_turn = job->has_turn;
    pthread_mutex_unlock(&job->run->lock);
    pthread_mutex_lock(&host->lock);
    bool stands_still = job->crowded == host && job->came == host->came;
    job->crowded = host;
    job->came = host->came;
    if (has_turn && stands_still && !host->lost) {
        host->crowded = true;
        leat_io_close(host->link.in);
    }
    pthread_mutex_unlock(&host->lock);
}

/* Receives until the link ends. */
static int receive_frames(struct host *host)
{
    struct frame f;
    int error;
    while (!(error = link_receive(&host->link, &f))) {
        pthread_mutex_lock(&host->lock);
        error = take_frame(host, &f);
        pthread_mutex_unlock(&host->lock);
        if (error)
            break;
    }
    pthread_mutex_lock(&host->lock);
    error = host->crowded ? -EDEADLK : error;
    pthread_mutex_unlock(&host->lock);
    return error;
}

bool host_is_lost(struct host *host)
{
    pthread_mutex_lock(&host->lock);
    bool lost = host->lost;
    pthread_mutex_unlock(&host->lock);
    return lost;
}

void host_lose_jobs(struct host *host)
{
    pthread_mutex_lock(&host->lock);
    host->lost = true;
    for (struct remote *r = host->first; r; r = r->next) {
        r->lost = !r->ended;
        leat_try_send(r->changed, NULL);
    }
    pthread_mutex_unlock(&host->lock);
}

/* ---- a host's places ---- */

static unsigned places_of(const struct run *run, const struct machine *m, unsigned cores)
{
    return m->places ? m->places : run->plan->jobs_given ? run->plan->jobs : cores;
}

unsigned host_add_places(struct host *host, unsigned wanted)
{
    unsigned added = places_add(host->run, host, wanted);
    if (added < wanted)
        streams_say(&host->run->streams, "%s: runs %u jobs in place of %u: no more than %d can run",
                    host->machine->name, added, wanted, JOBS_MOST);
    return added;
}

/* The machine is given up: it will have no place. */
static void give_up_machine(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    if (--run->machines_left == 0)
        leat_close(run->places);
    pthread_mutex_unlock(&run->lock);
}

/* ---- the life of a host ---- */

/* Reports why the link has ended, unless that has been reported or the run is over. */
static void say_end(struct host *host, int error)
{
    struct run *run = host->run;
    const char *name = host->machine->name;
    /* The messages of ssh come first. */
    leat_recv_until(host->quiet, NULL, leat_after(LEAT_S));
    if (error == -EPROTO || leat_chan_closed(run->over) || leat_chan_closed(run->killing))
        return;
    if (!host->ready)
        streams_say(&run->streams, "%s: no leat worker answers", name);
    else if (error == -EBADMSG)
        streams_say(&run->streams, "%s: lost: no leat worker sends this", name);
    else if (error == -EDEADLK)
        streams_say(&run->streams,
                    "%s: lost: within its limits (ulimit -a), jobs whose output waits for the next "
                    "job leave no room for that job",
                    name);
    else if (shortage_is(error))
        streams_say(&run->streams, "%s: %s: not even one job can run within its limits (ulimit -a)",
                    name, strerror(-error));
    else
        streams_say(&run->streams, "%s: lost", name);
}

static void serve(struct host *host, leat_scope *scope)
{
    unsigned cores = 0;
    int error = host_connect(host, scope);
    bool started = !error;
    host->ready = started && !(error = host_hear_hello(host, &cores));
    if (host->ready)
        error = host_add_places(host, places_of(host->run, host->machine, cores))
                    ? receive_frames(host)
                    : -EPROTO;
    host_lose_jobs(host);
    if (started) {
        leat_process_end(host->ssh, SIGTERM);
        say_end(host, error);
    }
}

static int queue_do(void *arg)
{
    struct host *host = arg;
    queue_serve(host, places_of(host->run, host->machine, QUEUE_PLACES));
    leat_close(host->given);
    give_up_machine(host->run);
    return 0;
}

static int host_do(void *arg)
{
    struct host *host = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    host->quiet = scope ? leat_chan_make(scope, 0, 0) : NULL;
    if (host->quiet)
        serve(host, scope);
    leat_scope_cancel(scope);
    leat_scope_close(scope);
    give_up_machine(host->run);
    return 0;
}

/* ---- all hosts ---- */

static int open_host(struct run *run, struct host *host, const struct machine *machine)
{
    if (strcmp(machine->name, ":") == 0) {
        places_add(run, NULL, places_of(run, machine, run->plan->jobs));
        return 0;
    }
    host->run = run;
    host->machine = machine;
    pthread_mutex_init(&host->lock, NULL);
    if (!machine->queue.engine)
        return leat_go(run->machines, host_do, host);
    host->given = leat_chan_make(NULL, sizeof(uint32_t), JOBS_MOST);
    return host->given ? leat_go(run->machines, queue_do, host) : -ENOMEM;
}

static bool uses_queue(const struct plan *p)
{
    for (size_t i = 0; i < p->machine_count; i++)
        if (p->machines[i].queue.engine)
            return true;
    return false;
}

bool hosts_take_password(struct run *run)
{
    const char *password = uses_queue(run->plan) ? getenv("LEAT_LINK_PASSWORD") : NULL;
    if (!password || !*password)
        return true;
    run->password = strdup(password);
    queue_hide_password();
    return run->password;
}

int hosts_open(struct run *run)
{
    size_t n = run->plan->machine_count;
    run->hosts = calloc(n, sizeof *run->hosts);
    run->host_of = calloc(JOBS_MOST + 1, sizeof(struct host *));
    run->machines_left = n;
    if (!run->hosts || !run->host_of)
        return -ENOMEM;
    int error = 0;
    for (size_t i = 0; i < n && !error; i++)
        error = open_host(run, &run->hosts[i], &run->plan->machines[i]);
    return error;
}

void hosts_free(struct run *run)
{
    for (size_t i = 0; run->hosts && i < run->plan->machine_count; i++) {
        leat_chan_unref(run->hosts[i].given);
        link_free(&run->hosts[i].link);
    }
    free(run->hosts);
    free(run->host_of);
    free(run->password);
}

void hosts_flush(struct run *run)
{
    int64_t limit = leat_after(LEAT_S / 4);
    for (size_t i = 0; run->hosts && i < run->plan->machine_count; i++)
        link_flush(&run->hosts[i].link, limit);
}
