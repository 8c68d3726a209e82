/* feed.c: the jobs, one after another, as soon as there is room for them. */
#include "map/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The command as the log has it, and --dry-run prints it: whatever the number and the place. */
static char *command_of(const struct run *run, const struct input *input)
{
    struct text arguments = { 0 }, line = { 0 };
    size_t count = command_fill(run->plan, input->row, (struct which){ 0 }, &arguments);
    if (!arguments.broken)
        command_quote(&line, arguments.bytes, count);
    if (run->plan->output) {
        text_clear(&arguments);
        command_output(run->plan, input->row, (struct which){ 0 }, &arguments);
        text_str(&line, " >");
        if (text_string(&arguments))
            command_quote(&line, arguments.bytes, 1);
    }
    bool good = !arguments.broken && text_string(&line);
    text_free(&arguments);
    if (!good)
        text_free(&line);
    return good ? line.bytes : NULL;
}

static void pass_by(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    run->tally.passed++;
    pthread_mutex_unlock(&run->lock);
}

/* A job without memory for its task is over before it begins. */
static void start_job(struct run *run, struct job *job)
{
    if (!run->plan->unordered && !run->plan->lines)
        leat_send(run->order, &job); /* there is room for the whole window */
    if (leat_go(run->jobs, job_do, job) == 0)
        return;
    job_refuse(job, run->plan->command[0], -ENOMEM);
    job_end(job);
}

static int make_job(struct run *run, const struct input *input, char *command)
{
    unsigned place = 0;
    int error = leat_acquire(run->window, 1);
    if (!error)
        error = place_take_free(run, &place);
    /* A place that came at the same time as the end of the run is not used. */
    if (error || leat_chan_closed(run->stopping))
        return error ? error : -ECANCELED;
    struct job *job = job_new(run, input, command, place);
    if (!job)
        return -ENOMEM;
    leat_shield(); /* the deliverer waits for it */
    start_job(run, job);
    leat_unshield();
    return 0;
}

static int print_command(struct run *run, const struct input *input)
{
    char *command = command_of(run, input);
    struct line_state state = { 0 };
    if (!command)
        return -ENOMEM;
    streams_write(&run->streams, STREAM_OUT, NULL, &state, command, strlen(command));
    streams_write(&run->streams, STREAM_OUT, NULL, &state, "\n", 1);
    free(command);
    return run->streams.error[STREAM_OUT];
}

static int feed_one(struct run *run, struct input *input)
{
    char *command = NULL;
    int error = 0;
    bool started = false;
    if (run->plan->dry_run) {
        error = print_command(run, input);
    } else if (run->plan->log && !(command = command_of(run, input))) {
        error = -ENOMEM;
    } else if (command && log_has(&run->log, command)) {
        pass_by(run);
    } else {
        error = make_job(run, input, command);
        started = !error;
    }
    if (!started) {
        free(command);
        free(input->row);
        free(input->block);
    }
    return error;
}

static void complain(struct run *run, int error)
{
    if (!end_run(run, false, 0, EXIT_TROUBLE) || run->streams.error[STREAM_OUT])
        return;
    if (run->items.complaint)
        streams_say(&run->streams, "%s: %s", run->items.name, run->items.complaint);
    else if (error == -ENOMEM)
        streams_say(&run->streams, "memory exhausted");
    else
        streams_say(&run->streams, "%s: %s", run->items.name, strerror(-error));
}

static void count_jobs(struct run *run)
{
    uint64_t total = items_total(&run->items);
    pthread_mutex_lock(&run->lock);
    run->total = total;
    pthread_mutex_unlock(&run->lock);
}

static int feed_all(struct run *run)
{
    struct input input;
    int got = items_open(&run->items, run->plan, run->feeding);
    if (!got && run->streams.progress.on)
        count_jobs(run);
    while (got >= 0 && (got = items_next(&run->items, &input)) == 1)
        got = feed_one(run, &input);
    return got;
}

static void set_feeding(struct run *run, leat_scope *scope)
{
    pthread_mutex_lock(&run->lock);
    run->feeding = scope;
    if (scope && leat_chan_closed(run->stopping))
        leat_scope_cancel(scope);
    pthread_mutex_unlock(&run->lock);
}

int feed(void *arg)
{
    struct run *run = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = -ENOMEM;
    if (scope) {
        set_feeding(run, scope);
        error = feed_all(run);
        set_feeding(run, NULL);
        /* An error of what reads the items has cancelled the scope. */
        leat_scope_cancel(scope);
        int unread = leat_scope_close(scope);
        if (error == -ECANCELED)
            error = unread;
    }
    if (error)
        complain(run, error);
    leat_close(run->order);
    leat_send(run->news, &(struct news){ NULL, false });
    return 0;
}
