/* job.c: the life of a job, from its input to the news of its end. */
#include "map/host.h"

#include <stdlib.h>

static const int64_t longest_backoff = 60 * LEAT_S;

/* ---- making and freeing ---- */

/* The items with a space between them; of a block, which has none, the number. */
static char *make_tag(const struct offer *offer)
{
    const struct row *row = offer->input.row;
    struct text tag = { 0 };
    if (offer->input.block)
        text_number(&tag, offer->number);
    if (row->whole)
        text_str(&tag, row->whole);
    for (size_t i = 0; i < row->count && !row->whole; i++) {
        if (i)
            text_char(&tag, ' ');
        text_str(&tag, row->values[i]);
    }
    text_char(&tag, '\0');
    return tag.broken ? NULL : tag.bytes;
}

struct job *job_new(struct run *run, const struct offer *offer, unsigned place)
{
    struct job *job = calloc(1, sizeof *job);
    char *tag = run->plan->tag ? make_tag(offer) : NULL;
    if (!job || (run->plan->tag && !tag)) {
        free(job);
        free(tag);
        return NULL;
    }
    pthread_mutex_lock(&run->lock);
    run->tally.started++;
    pthread_mutex_unlock(&run->lock);
    *job = (struct job){ .run = run,
                         .input = offer->input,
                         .command = offer->command,
                         .tag = tag,
                         .place = place,
                         .try = 1,
                         .number = offer->number };
    return job;
}

static void forget_input(struct job *job)
{
    free(job->input.row);
    free(job->input.block);
    job->input = (struct input){ 0 };
}

void job_free(struct job *job)
{
    store_drop(&job->run->store, &job->held);
    forget_input(job);
    for (int i = 0; i < STREAMS; i++)
        text_free(&job->rest[i]);
    free(job->command);
    free(job->tag);
    free(job->ran_on);
    replay_free(&job->replay);
    free(job);
}

const char *job_where(const struct job *job)
{
    return job->ran_on ? job->ran_on : job->host ? job->host->machine->name : "";
}

/* ---- tries ---- */

static unsigned chance_of(const struct job *job)
{
    uint64_t x = (uint64_t)leat_now() ^ job->number << 32;
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    return (unsigned)(x >> 40);
}

/* The pause before a retry: D, 2D, 4D …, at most a minute, and up to a quarter more by chance. */
static int64_t backoff(const struct job *job)
{
    int64_t pause = job->run->plan->backoff;
    for (unsigned i = 1; i < job->try && pause < longest_backoff; i++)
        pause *= 2;
    if (pause > longest_backoff)
        pause = longest_backoff;
    return pause + pause / 4 * (chance_of(job) % 1024) / 1024;
}

/* Gives the place back, waits, and takes a place again. False: the run ends. */
static bool wait_for_retry(struct job *job)
{
    struct run *run = job->run;
    place_give_back(job->run, &job->place);
    if (leat_recv_until(run->stopping, NULL, leat_after(backoff(job))) != -ETIMEDOUT)
        return false;
    return place_take(run, &job->place) == 0;
}

/* If a signal ended the run, the job would have been tried again: --resume has to do that. */
static void leave_out_of_log(struct job *job)
{
    pthread_mutex_lock(&job->run->lock);
    job->unlogged = job->run->signal != 0;
    pthread_mutex_unlock(&job->run->lock);
}

bool job_has_succeeded(const struct job *job)
{
    return job->exit.code == 0 && !job->timed_out;
}

static bool may_retry(const struct job *job)
{
    return job->try <= job->run->plan->retries && !job->committed && !job_has_succeeded(job) &&
           !leat_chan_closed(job->run->stopping);
}

void job_end(struct job *job)
{
    struct run *run = job->run;
    /* Counted before the place is free, so that no other job begins after a halt. A job that has
     * not ended by itself has neither succeeded nor failed. */
    if (!job->killed && !job->unlogged) /* no other party changes them any more */
        job_counts(run, job, job_has_succeeded(job));
    forget_input(job);
    place_give_back(run, &job->place);
    leat_send(run->news, &(struct news){ job, true });
}

/* As job_end. Returns another job for the place, or NULL. */
static struct job *end_and_go_on(struct job *job)
{
    struct run *run = job->run;
    unsigned place = job->place;
    bool as_thread = job->as_thread;
    job->place = 0;
    job_end(job);
    job = place && place_is_good(run, place) ? next_job(run, place) : NULL;
    if (job)
        job->as_thread = as_thread;
    else
        place_give_back(run, &place);
    return job;
}

/* Lets the job begin again, as a rule on another machine. False: the run ends, as if the job had
 * not begun. */
static bool move(struct job *job)
{
    struct run *run = job->run;
    if (host_is_lost(job->host))
        job->former = job->host->machine->name;
    output_forget(job, true);
    place_give_back(run, &job->place);
    if (!leat_chan_closed(run->stopping) && place_take(run, &job->place) == 0)
        return true;
    pthread_mutex_lock(&run->lock);
    job->killed = true;
    pthread_mutex_unlock(&run->lock);
    return false;
}

/* Runs one try. False: there is no other try. */
static bool try_once(struct job *job)
{
    do
        job_try(job);
    while (job->lost && move(job));
    if (job->lost || job->yields || !may_retry(job))
        return false;
    if (!wait_for_retry(job)) {
        leave_out_of_log(job);
        return false;
    }
    output_forget(job, false);
    return true;
}

/* The system lacks something, perhaps threads: the job waits for it as a task, without a thread.
 * Returns the job if there is no memory for that. */
static struct job *go_on_as_task(struct job *job)
{
    job->as_thread = false;
    return leat_go(job->run->jobs, job_do, job) ? job : NULL;
}

static void count_try(struct job *job)
{
    pthread_mutex_lock(&job->run->lock);
    job->try++;
    pthread_mutex_unlock(&job->run->lock);
}

int job_do(void *arg)
{
    struct job *job = arg;
    while (job) {
        while (try_once(job))
            count_try(job);
        job = job->yields ? go_on_as_task(job) : end_and_go_on(job);
    }
    return 0;
}
