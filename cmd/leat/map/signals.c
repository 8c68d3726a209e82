/* signals.c: signals to leat map: they end the run, or are passed on. */
#define _GNU_SOURCE
#include "map/host.h"

#include <signal.h>

/* Gives up output that would have to wait for its reader. */
static void abandon(struct run *run)
{
    leat_close(run->streams.abandoned);
}

/* Called when the reader does not read for long. */
static int lose_patience(void *arg)
{
    struct run *run = arg;
    if (leat_sleep(run->plan->grace + LEAT_S) == 0)
        abandon(run);
    return 0;
}

/* Ends the run by a signal. A second one kills. */
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
    if (leat_go(run->watch, lose_patience, run) != 0)
        abandon(run);
}

/* `stopped` has the nanoseconds of all former stops. While the run is stopped, it is less than 0:
 * these minus the time of the stop. So a party that wakes first already sees the clock stand. */
int64_t run_now(struct run *run)
{
    int64_t stopped = atomic_load(&run->stopped);
    return stopped < 0 ? -stopped : leat_now() - stopped;
}

static void stop_and_continue(struct run *run)
{
    signal_jobs(run, SIGTSTP);
    hosts_flush(run);
    atomic_store(&run->stopped, -run_now(run));
    raise(SIGSTOP);
    atomic_store(&run->stopped, leat_now() - run_now(run));
    signal_jobs(run, SIGCONT);
}

static void act_on(void *arg, int number)
{
    struct run *run = arg;
    if (number == SIGTSTP)
        stop_and_continue(run);
    else if (number == SIGCONT)
        signal_jobs(run, SIGCONT);
    else
        end_by(run, number);
}

int signals_attend(struct run *run)
{
    return stop_open(&run->stop, run->watch, true, act_on, run);
}
