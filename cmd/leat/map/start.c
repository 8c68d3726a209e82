/* start.c: starts jobs: gives places to those that are offered. */
#include "map/job.h"

#include <errno.h>

/* A thread for each place pays if the processors are busy with starts and ends of commands: not
 * with more places than this, most of which wait. */
enum { THREADS_MOST = 64, AHEAD = 16 };

/* Blocks of input are large, so fewer are offered ahead. */
unsigned offers_ahead(const struct plan *plan)
{
    return plan->block ? 2 : AHEAD;
}

/* With `taking` locked: makes the job, and puts it into the order. NULL: no memory, and the run
 * ends. */
static struct job *take(struct run *run, const struct offer *offer, unsigned place)
{
    unsigned several = offers_ahead(run->plan) / 2;
    if (++run->taken % several == 0)
        leat_release(run->room, several);
    if (run->fed_all && run->taken == run->fed)
        leat_close(run->drained);
    struct job *job = job_new(run, offer, place);
    if (job && !run->plan->unordered && !run->plan->lines)
        leat_send(run->order, &job); /* there is room for the whole window */
    if (job)
        return job;
    offer_free(offer);
    if (end_run(run, false, 0, EXIT_TROUBLE))
        streams_say(&run->streams, "memory exhausted");
    return NULL;
}

struct job *next_job(struct run *run, unsigned place)
{
    struct job *job = NULL;
    struct offer offer;
    /* Relaxed: a job that begins to wait now gets a place that is free later. */
    if (atomic_load_explicit(&run->wants, memory_order_relaxed) ||
        leat_mutex_try_lock(run->taking) != 0)
        return NULL;
    if (!leat_chan_closed(run->stopping) && leat_try_recv(run->offers, &offer) == 0)
        job = take(run, &offer, place);
    leat_mutex_unlock(run->taking);
    return job;
}

/* Waits for an offer, and lends the place meanwhile to a job that waits for one: perhaps no offer
 * comes before that job has been delivered. *job: NULL if the place has been lent. False: there are
 * no more offers, or no more jobs may start; then the place is still the caller's. */
static bool await_job(struct run *run, unsigned *place, struct job **job)
{
    struct offer offer;
    unsigned lent = *place;
    leat_case cases[] = { LEAT_RECV(run->stopping, NULL), LEAT_SEND(run->lend, &lent),
                          LEAT_RECV(run->offers, &offer) };
    *job = NULL;
    leat_mutex_lock(run->taking);
    int got = leat_select_ordered(cases, 3, LEAT_NEVER);
    if (got == 2 && cases[2].status == 0)
        *job = take(run, &offer, *place);
    leat_mutex_unlock(run->taking);
    bool gone = got == 1 || *job;
    if (gone)
        *place = 0;
    return gone;
}

/* If the system allows no more threads, a task waits for what it needs. */
static int start_party(struct run *run, struct job *job)
{
    job->as_thread = !run->hosts && run->plan->jobs <= THREADS_MOST;
    if (job->as_thread && leat_go_blocking(run->jobs, job_do, job) == 0)
        return 0;
    job->as_thread = false;
    return leat_go(run->jobs, job_do, job);
}

/* Lets the jobs go first that wait for something that the system lacks. */
static void let_others_pass(struct run *run)
{
    if (!atomic_load_explicit(&run->wants, memory_order_relaxed))
        return;
    leat_mutex_lock(run->shortage);
    leat_mutex_unlock(run->shortage);
}

/* A job without memory for its party is over before it begins. */
static void start_job(struct run *run, struct job *job)
{
    let_others_pass(run);
    if (start_party(run, job) == 0)
        return;
    job_refuse(job, run->plan->command[0], -ENOMEM);
    job_end(job);
}

int start_jobs(void *arg)
{
    struct run *run = arg;
    struct job *job;
    unsigned place = 0;
    leat_shield(); /* the deliverer waits for the last job */
    while (place_take_free(run, &place) == 0 && await_job(run, &place, &job))
        if (job)
            start_job(run, job);
    place_give_back(run, &place);
    leat_mutex_lock(run->taking);
    if (run->fed_badly)
        feed_complain(run, run->fed_badly);
    /* No more offers are taken: there are none, or the run ends. */
    leat_close(run->order);
    leat_send(run->news, &(struct news){ NULL, false });
    leat_mutex_unlock(run->taking);
    leat_unshield();
    return 0;
}
