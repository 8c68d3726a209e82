/* ending.c: the running jobs, and the end of a run before its last item. */
#define _GNU_SOURCE
#include "map/host.h"

#include <errno.h>
#include <signal.h>

/* ---- the jobs that run ---- */

/* With the lock held. */
static void end_job(struct job *job, int signal)
{
    job->killed = true;
    if (job->remote)
        remote_signal(job->remote, signal, true);
    else
        leat_process_end(job->process, signal);
}

void job_runs(struct run *run, struct job *job)
{
    pthread_mutex_lock(&run->lock);
    job->next = run->running;
    job->previous = NULL;
    if (job->next)
        job->next->previous = job;
    run->running = job;
    run->tally.running++;
    if (leat_chan_closed(run->killing))
        end_job(job, run->signal ? run->signal : SIGTERM);
    pthread_mutex_unlock(&run->lock);
}

void job_rests(struct run *run, struct job *job)
{
    pthread_mutex_lock(&run->lock);
    if (job->next)
        job->next->previous = job->previous;
    if (job->previous)
        job->previous->next = job->next;
    else
        run->running = job->next;
    run->tally.running--;
    job->process = NULL;
    job->remote = NULL;
    pthread_mutex_unlock(&run->lock);
}

void end_program(struct job *job)
{
    pthread_mutex_lock(&job->run->lock);
    if (job->remote)
        remote_signal(job->remote, SIGTERM, true);
    else if (job->process)
        leat_process_end(job->process, SIGTERM);
    pthread_mutex_unlock(&job->run->lock);
}

void signal_jobs(struct run *run, int signal)
{
    pthread_mutex_lock(&run->lock);
    for (struct job *job = run->running; job; job = job->next)
        if (job->remote)
            remote_signal(job->remote, signal, false);
        else
            leat_kill_all(job->process, signal);
    pthread_mutex_unlock(&run->lock);
}

/* ---- the end ---- */

bool end_run(struct run *run, bool kill, int signal, int status)
{
    pthread_mutex_lock(&run->lock);
    bool first = !leat_chan_closed(run->stopping);
    if (!run->status)
        run->status = status;
    leat_close(run->stopping);
    if (kill && !leat_chan_closed(run->killing)) {
        leat_close(run->killing);
        for (struct job *job = run->running; job; job = job->next)
            end_job(job, signal == SIGPIPE ? SIGTERM : signal);
        if (signal == SIGPIPE)
            run->signal = SIGPIPE;
    }
    if (run->feeding)
        leat_scope_cancel(run->feeding);
    pthread_mutex_unlock(&run->lock);
    return first;
}

void end_unread(struct run *run, int error)
{
    end_run(run, true, error == -EPIPE ? SIGPIPE : SIGTERM, EXIT_TROUBLE);
}

void note_trouble(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    if (!run->status)
        run->status = EXIT_TROUBLE;
    pthread_mutex_unlock(&run->lock);
    if (run->streams.one_file && streams_error(&run->streams, STREAM_ERR) == -EPIPE)
        end_unread(run, -EPIPE);
}

void job_counts(struct run *run, struct job *job, bool succeeded)
{
    const struct halt *halt = &run->plan->halt;
    pthread_mutex_lock(&run->lock);
    if (succeeded)
        tally_succeeded(&run->tally, job->took - job->paused);
    else
        run->tally.failed++;
    bool reached = halt->when != HALT_NEVER && !run->halted && tally_reached(&run->tally, halt);
    run->halted |= reached;
    pthread_mutex_unlock(&run->lock);
    if (reached)
        end_run(run, halt->when == HALT_NOW, SIGTERM, 0);
}
