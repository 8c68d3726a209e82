/* signals.c: signals that leat map gets: they end the run, or are passed on. */
#define _GNU_SOURCE
#include "map/host.h"

#include <errno.h>
#include <signal.h>

enum { SIGNALS = 5 };

/* Nothing more is written where it has to be waited for. */
static void abandon(struct run *run)
{
    leat_close(run->streams.abandoned);
}

/* A second one kills. */
static void end_by(struct run *run, int number)
{
    pthread_mutex_lock(&run->lock);
    int former = run->signal;
    run->signal = former ? former : number;
    pthread_mutex_unlock(&run->lock);
    if (former) {
        signal_jobs(run, SIGKILL);
        abandon(run);
        return;
    }
    if (leat_chan_closed(run->killing))
        signal_jobs(run, number);
    else
        end_run(run, true, number, 0);
}

static void stop_and_continue(struct run *run)
{
    signal_jobs(run, SIGTSTP);
    hosts_flush(run);
    raise(SIGSTOP);
    signal_jobs(run, SIGCONT);
}

static void act_on(struct run *run, const leat_signal *got)
{
    if (got->signal == SIGTSTP)
        stop_and_continue(run);
    else if (got->signal == SIGCONT)
        signal_jobs(run, SIGCONT);
    else
        for (unsigned i = 0; i < got->times; i++)
            end_by(run, got->signal);
}

/* What is ignored stays ignored: with nohup, in a shell's background. */
static size_t wanted_signals(int *to)
{
    static const int all[SIGNALS] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT };
    struct sigaction now;
    size_t n = 0;
    for (size_t i = 0; i < SIGNALS; i++)
        if (sigaction(all[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            to[n++] = all[i];
    return n;
}

int attend_signals(void *arg)
{
    struct run *run = arg;
    int signals[SIGNALS];
    size_t n = wanted_signals(signals);
    int64_t patience = LEAT_NEVER; /* with a reader that does not read */
    leat_chan *come;
    leat_signal got;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = n ? leat_signals(scope, signals, n, &come) : -ECANCELED;
    while (!error || error == -ETIMEDOUT) {
        error = leat_recv_until(come, &got, patience);
        if (error == -ETIMEDOUT)
            abandon(run);
        else if (!error)
            act_on(run, &got);
        pthread_mutex_lock(&run->lock);
        bool ends = run->signal && error != -ETIMEDOUT;
        pthread_mutex_unlock(&run->lock);
        patience = ends ? leat_after(run->plan->grace + LEAT_S) : LEAT_NEVER;
    }
    leat_scope_close(scope);
    return error == -ECANCELED ? 0 : error;
}
