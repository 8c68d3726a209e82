/* deliver.c: the outputs of jobs, one at a time. */
#include "map/host.h"

#include <signal.h>
#include <string.h>

/* With --unordered: jobs that have news, and wait while another one has its turn. */
struct line {
    struct job *first, **last;
};

static void stand_in(struct line *line, struct job *job)
{
    job->waits = NULL;
    *line->last = job;
    line->last = &job->waits;
}

static struct job *leave(struct line *line)
{
    struct job *job = line->first;
    line->first = job->waits;
    if (!line->first)
        line->last = &line->first;
    return job;
}

/* Takes one item of news. A job that has asked for its turn is in the line already. The feeder's
 * news comes when the number of jobs is known. */
static void take_news(struct run *run, struct line *line, uint64_t *all)
{
    struct news news;
    atomic_store_explicit(&run->at_news, true, memory_order_relaxed);
    leat_recv(run->news, &news);
    atomic_store_explicit(&run->at_news, false, memory_order_relaxed);
    if (!news.job) {
        *all = run->tally.started;
        return;
    }
    news.job->ended = news.ended;
    if (line && !(news.ended && news.job->asks))
        stand_in(line, news.job);
}

static void log_job(struct run *run, const struct job *job)
{
    if (run->log.fd < 0)
        return;
    int error = log_write(&run->log, job);
    if (error) {
        streams_say(&run->streams, "%s: %s", run->plan->log, strerror(-error));
        end_run(run, true, SIGTERM, EXIT_TROUBLE);
    }
}

/* For a job that was ended with the run, this writes at most a line feed. The job has neither
 * succeeded nor failed, so it is not logged; nor is it if its output could not be read again or
 * written. So --resume runs it. */
static void finish(struct run *run, struct job *job)
{
    if (job->killed)
        output_drop(job);
    output_end(job);
    bool whole = !job->torn && !streams_error(&run->streams, STREAM_OUT);
    if (!job->killed && !job->unlogged && whole)
        log_job(run, job);
    job_free(job);
    leat_release(run->window, 1);
}

static void deliver_in_order(struct run *run)
{
    struct job *job;
    uint64_t all;
    while (leat_recv(run->order, &job) == 0) {
        output_begin_turn(job);
        while (!job->ended)
            take_news(run, NULL, &all);
        finish(run, job);
    }
}

static void deliver_as_they_end(struct run *run)
{
    struct line line = { .last = &line.first };
    for (uint64_t done = 0, all = UINT64_MAX; done < all;) {
        if (!line.first) {
            take_news(run, &line, &all);
            continue;
        }
        struct job *job = leave(&line);
        output_begin_turn(job);
        while (!job->ended)
            take_news(run, &line, &all);
        finish(run, job);
        done++;
    }
}

void deliver(struct run *run)
{
    if (run->plan->unordered || run->plan->lines)
        deliver_as_they_end(run);
    else
        deliver_in_order(run);
}
