/* feed.c: offers the jobs one after another, as soon as the window has room for them. */
#include "map/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The command in the form that the log has and --dry-run prints: independent of the number and the
 * place. */
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

/* If it returns 0, it has taken the input and the command. */
static int offer(struct run *run, const struct input *input, char *command)
{
    int error = leat_acquire(run->window, 1);
    if (!error)
        error = leat_acquire(run->room, 1);
    if (error || leat_chan_closed(run->stopping))
        return error ? error : -ECANCELED;
    pthread_mutex_lock(&run->lock);
    uint64_t number = ++run->fed + run->tally.passed;
    pthread_mutex_unlock(&run->lock);
    return leat_send(run->offers, &(struct offer){ *input, command, number });
}

void offer_free(const struct offer *offer)
{
    free(offer->command);
    free(offer->input.row);
    free(offer->input.block);
}

static int print_command(struct run *run, const struct input *input)
{
    char *command = command_of(run, input);
    if (!command)
        return -ENOMEM;
    streams_write(&run->streams, STREAM_OUT, NULL, NULL, command, strlen(command));
    streams_write(&run->streams, STREAM_OUT, NULL, NULL, "\n", 1);
    free(command);
    int error = streams_error(&run->streams, STREAM_OUT);
    if (error)
        end_unread(run, error);
    return error;
}

static int feed_one(struct run *run, struct input *input)
{
    char *command = NULL;
    int error = 0;
    bool offered = false;
    if (run->plan->dry_run) {
        error = print_command(run, input);
    } else if (run->plan->log && !(command = command_of(run, input))) {
        error = -ENOMEM;
    } else if (command && log_has(&run->log, command)) {
        pass_by(run);
    } else {
        error = offer(run, input, command);
        offered = !error;
    }
    if (!offered)
        offer_free(&(struct offer){ .input = *input, .command = command });
    return error;
}

void feed_complain(struct run *run, int error)
{
    if (!end_run(run, false, 0, EXIT_TROUBLE) || streams_error(&run->streams, STREAM_OUT))
        return;
    if (run->items.complaint)
        streams_say(&run->streams, "%s: %s", run->items.name, run->items.complaint);
    else if (error == -ENOMEM)
        streams_say(&run->streams, "memory exhausted");
    else
        streams_say(&run->streams, "%s: %s", run->items.name, strerror(-error));
}

static void set_total(struct run *run, uint64_t total)
{
    pthread_mutex_lock(&run->lock);
    run->total = total;
    pthread_mutex_unlock(&run->lock);
}

static int count_jobs(void *arg)
{
    struct run *run = arg;
    set_total(run, items_total(&run->items));
    return 0;
}

/* The jobs are counted meanwhile, on another thread: the file may be large, and on a slow disk. */
static int feed_all(struct run *run, leat_scope *scope)
{
    struct input input;
    int got = items_open(&run->items, run->plan);
    if (!got && run->streams.progress.on)
        leat_go_blocking(scope, count_jobs, run);
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
        error = feed_all(run, scope);
        set_feeding(run, NULL);
        leat_scope_cancel(scope);
        leat_scope_close(scope);
        if (!error)
            set_total(run, run->fed + run->tally.passed);
    }
    leat_close(run->offers);
    leat_mutex_lock(run->taking);
    run->fed_all = true;
    run->fed_badly = error == -ECANCELED ? 0 : error; /* the end of the run is no trouble */
    if (run->taken == run->fed)
        leat_close(run->drained);
    leat_mutex_unlock(run->taking);
    return 0;
}
