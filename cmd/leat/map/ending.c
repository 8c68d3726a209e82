/* ending.c: what ends a run before its last item: halts, signals, errors. */
#define _GNU_SOURCE
#include "map/job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- the jobs that run ---- */

/* With the lock held. */
static void end_job(struct job *job, int signal)
{
    job->killed = true;
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
    pthread_mutex_unlock(&run->lock);
}

static void signal_all(struct run *run, int signal)
{
    pthread_mutex_lock(&run->lock);
    for (struct job *job = run->running; job; job = job->next)
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

/* ---- signals ---- */

/* Nothing more is written where it has to be waited for. */
static void abandon(struct run *run)
{
    leat_close(run->streams.abandoned);
}

/* A second one kills. */
static void end_by(struct run *run, int number)
{
    if (run->signal) {
        signal_all(run, SIGKILL);
        abandon(run);
        return;
    }
    run->signal = number;
    if (leat_chan_closed(run->killing))
        signal_all(run, number);
    else
        end_run(run, true, number, 0);
}

static void stop_and_continue(struct run *run)
{
    signal_all(run, SIGTSTP);
    raise(SIGSTOP);
    signal_all(run, SIGCONT);
}

int attend_signals(void *arg)
{
    struct run *run = arg;
    static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT };
    int signals[sizeof wanted / sizeof *wanted];
    size_t n = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct sigaction now;
        /* What is ignored stays ignored: nohup, a shell's background. */
        if (sigaction(wanted[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signals[n++] = wanted[i];
    }
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *come;
    leat_signal got;
    int64_t patience = LEAT_NEVER; /* with a reader that does not read */
    int error = n ? leat_signals(scope, signals, n, &come) : -ECANCELED;
    while (!error) {
        error = leat_recv_until(come, &got, patience);
        if (error == -ETIMEDOUT) {
            abandon(run);
            patience = LEAT_NEVER;
            error = 0;
            continue;
        }
        if (error)
            break;
        if (got.signal == SIGTSTP)
            stop_and_continue(run);
        else if (got.signal == SIGCONT)
            signal_all(run, SIGCONT);
        else
            for (unsigned i = 0; i < got.times; i++)
                end_by(run, got.signal);
        if (run->signal && patience == LEAT_NEVER)
            patience = leat_after(run->plan->grace + LEAT_S);
    }
    leat_scope_close(scope);
    return error == -ECANCELED ? 0 : error;
}

/* ---- progress ---- */

static void describe(struct run *run, char *text, size_t room)
{
    char left[32] = "", of[32] = "";
    pthread_mutex_lock(&run->lock);
    uint64_t running = run->tally.running, failed = run->tally.failed, passed = run->tally.passed;
    uint64_t total = run->total;
    double ended = (double)(run->tally.succeeded + failed);
    pthread_mutex_unlock(&run->lock);
    double seconds = progress_seconds(&run->streams.progress);
    double all = (double)total - (double)passed;
    if (total)
        snprintf(of, sizeof of, " of %llu", (unsigned long long)(total - passed));
    if (total && ended > 0 && all >= ended)
        progress_add_left(left, sizeof left, (all - ended) * seconds / ended);
    snprintf(text, room, "%.0f%s jobs done, %llu running, %llu failed, %.1f/s%s", ended, of,
             (unsigned long long)running, (unsigned long long)failed, ended / seconds, left);
}

int draw_progress(void *arg)
{
    struct run *run = arg;
    struct progress *progress = &run->streams.progress;
    if (!progress->on)
        return 0;
    while (leat_sleep_until(progress_due(progress)) == 0) {
        if (!progress_is_due(progress))
            continue;
        char text[PROGRESS_MOST];
        describe(run, text, sizeof text);
        streams_show(&run->streams, text);
    }
    return 0;
}
