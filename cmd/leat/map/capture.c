/* capture.c: a job while its program runs: its output, its input, and its time limit. */
#include "map/job.h"
#include "shared/shortage.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* After the end of the program: so many reads empty the largest pipe, of 1 MiB. */
enum { LAST_READS = 32 };

struct capture {
    struct job *job;
    leat_process *process;
    leat_io *from[STREAMS]; /* NULL: there is no pipe, or it has ended */
    leat_io *to;            /* the program's standard input, until it has all of it */
    size_t sent;
    char *buffer;
};

int64_t job_limit(const struct job *job)
{
    struct run *run = job->run;
    if (run->plan->timeout_times == 0)
        return run->plan->timeout;
    pthread_mutex_lock(&run->lock);
    double limit = (double)tally_median(&run->tally) * run->plan->timeout_times;
    pthread_mutex_unlock(&run->lock);
    return limit < 9e18 ? (int64_t)limit : 0;
}

int64_t job_due(const struct job *job, int64_t *look_again)
{
    *look_again = LEAT_NEVER;
    int64_t limit = job->timed_out ? 0 : job_limit(job);
    if (job->run->plan->timeout_times > 0 && !job->timed_out)
        *look_again = leat_after(LEAT_S);
    int64_t begun = job->begun + job->paused + leat_now() - run_now(job->run);
    return limit && limit < LEAT_NEVER - begun ? begun + limit : LEAT_NEVER;
}

void job_lose(const struct job *job, const char *what, int error)
{
    struct run *run = job->run;
    const char *where = job_where(job);
    if (leat_chan_closed(run->killing))
        return;
    streams_say(&run->streams, "%s%sthe %s of job %llu cannot be read: %s", where,
                *where ? ": " : "", what, (unsigned long long)job->number, strerror(-error));
    end_run(run, true, SIGTERM, EXIT_TROUBLE);
}

static void lose_output(struct capture *c, enum stream stream, int error)
{
    c->from[stream] = NULL;
    job_lose(c->job, "output", error);
}

/* Returns as leat_read does. */
static int64_t read_some(struct capture *c, enum stream stream)
{
    int64_t n = leat_read_until(c->from[stream], c->buffer, CAPTURE_BUFFER, LEAT_NOW);
    if (n > 0) {
        /* The job may wait for this writer meanwhile: that time does not count against it. */
        int64_t before = run_now(c->job->run);
        output_take(c->job, stream, c->buffer, (size_t)n);
        c->job->paused += run_now(c->job->run) - before;
    } else if (n == 0) {
        c->from[stream] = NULL;
    } else if (n == -ENOMEM) {
        leat_sleep(SHORTAGE_PAUSE); /* other jobs may give memory back */
    } else if (n != -EAGAIN && !shortage_of_watches((int)n)) {
        lose_output(c, stream, (int)n);
    }
    return n;
}

/* An error means that the program wants no more input; but leat_attend looks after a pipe that the
 * system cannot watch. */
static void write_some(struct capture *c)
{
    const struct input *input = &c->job->input;
    int64_t n =
        leat_write_until(c->to, input->block + c->sent, input->block_size - c->sent, LEAT_NOW);
    if (n > 0)
        c->sent += (size_t)n;
    bool refused = n < 0 && n != -EAGAIN && !shortage_of_watches((int)n);
    if (c->sent == input->block_size || refused) {
        leat_io_close(c->to);
        c->to = NULL;
    }
}

/* Reads what the pipe holds now. Processes that the program has left behind may write later: this
 * does not wait for them. */
static void drain(struct capture *c, enum stream stream)
{
    for (int reads = LAST_READS, tries = SHORTAGE_TRIES; c->from[stream] && reads > 0;) {
        int64_t n = read_some(c, stream);
        if (n >= 0)
            reads--;
        else if (n != -ENOMEM)
            return;
        else if (tries-- == 0)
            lose_output(c, stream, (int)n);
    }
}

/* Attends to the program until it has ended. */
static void attend(struct capture *c)
{
    for (;;) {
        unsigned pipes = (c->from[STREAM_OUT] ? LEAT_PIPE_OUT : 0) |
                         (c->from[STREAM_ERR] ? LEAT_PIPE_ERR : 0) | (c->to ? LEAT_PIPE_IN : 0);
        int64_t look_again, end = job_due(c->job, &look_again);
        int ready = leat_attend(c->process, pipes, end < look_again ? end : look_again);
        if (ready == 0)
            return;
        if (ready > 0 && ready & LEAT_PIPE_OUT)
            read_some(c, STREAM_OUT);
        if (ready > 0 && ready & LEAT_PIPE_ERR)
            read_some(c, STREAM_ERR);
        if (ready > 0 && ready & LEAT_PIPE_IN)
            write_some(c);
        if (ready == -ETIMEDOUT && leat_now() >= job_due(c->job, &look_again)) {
            c->job->timed_out = true;
            leat_process_end(c->process, SIGTERM);
        }
    }
}

void capture(struct job *job, leat_process *process, char *buffer)
{
    struct capture c = { job,
                         process,
                         { leat_process_out(process), leat_process_err(process) },
                         leat_process_in(process),
                         0,
                         buffer };
    job->process = process;
    job_runs(job->run, job);
    attend(&c);
    job->took = run_now(job->run) - job->begun;
    drain(&c, STREAM_OUT);
    drain(&c, STREAM_ERR);
    job->sent = c.sent;
    int error = leat_wait(process, &job->exit, LEAT_NEVER);
    if (error)
        job_lose(job, "status", error);
    job_rests(job->run, job);
}
