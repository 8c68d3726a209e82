/* try.c: one try of a job: its program is started with what it gets, and runs to its end. */
#define _GNU_SOURCE
#include "map/draft.h"
#include "map/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { VARIABLES = 3 };

static const int64_t shortage = 50 * LEAT_MS;

/* ---- what a program gets ---- */

/* Pointers to `count` strings that are one behind another, then NULL. NULL: no memory. */
static const char **point_to(const char *strings, size_t count)
{
    const char **at = calloc(count + 1, sizeof *at);
    for (size_t i = 0; at && i < count; i++) {
        at[i] = strings;
        strings += strlen(strings) + 1;
    }
    return at;
}

/* The environment, with the job's own variables before others of these names. */
static const char **environment(const struct job *job, char variables[VARIABLES][40])
{
    size_t n = 0;
    while (environ[n])
        n++;
    const char **all = calloc(n + VARIABLES + 1, sizeof *all);
    if (!all)
        return NULL;
    snprintf(variables[0], 40, "LEAT_SEQ=%llu", (unsigned long long)job->number);
    snprintf(variables[1], 40, "LEAT_SLOT=%u", job->place);
    snprintf(variables[2], 40, "LEAT_TRY=%u", job->try);
    size_t kept = 0;
    for (; kept < VARIABLES; kept++)
        all[kept] = variables[kept];
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "LEAT_SEQ=", 9) != 0 &&
            strncmp(environ[i], "LEAT_SLOT=", 10) != 0 && strncmp(environ[i], "LEAT_TRY=", 9) != 0)
            all[kept++] = environ[i];
    return all;
}

/* ---- what the system is short of ---- */

static bool is_shortage(int error)
{
    return error == -EAGAIN || error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* What the system is short of comes back when other jobs end. Only one job waits for that: those
 * that want to wait, too, hold nothing meanwhile. */
struct patience {
    bool is_first;
    unsigned left; /* tries while no job runs */
};

/* False: the run ends, or there is nothing left to wait for. */
static bool wait_for_others(struct run *run, struct patience *p)
{
    if (!p->is_first) {
        leat_mutex_lock(run->shortage);
        *p = (struct patience){ true, 20 };
        return true;
    }
    pthread_mutex_lock(&run->lock);
    bool alone = !run->running;
    pthread_mutex_unlock(&run->lock);
    if (alone && p->left-- == 0)
        return false;
    return leat_recv_until(run->stopping, NULL, leat_after(shortage)) == -ETIMEDOUT;
}

static void end_patience(struct run *run, const struct patience *p)
{
    if (p->is_first)
        leat_mutex_unlock(run->shortage);
}

/* ---- the program ---- */

static int start(struct job *job, leat_scope *scope, const char **argv, int out,
                 leat_process **process)
{
    struct run *run = job->run;
    char variables[VARIABLES][40];
    const char **all = environment(job, variables);
    leat_spawn_options options = {
        .environment = all,
        .out = out < 0 ? 0 : out,
        .grace = run->plan->grace,
        .flags = (run->plan->block ? LEAT_PIPE_IN : LEAT_NULL_IN) | LEAT_PIPE_ERR |
                 (out < 0 ? LEAT_PIPE_OUT : 0),
    };
    struct patience patience = { 0 };
    int error = -ENOMEM;
    if (all)
        do
            error = leat_spawn(scope, argv, &options, process);
        while (is_shortage(error) && wait_for_others(run, &patience));
    end_patience(run, &patience);
    free(all);
    return error;
}

/* 0 when the program has run; else it has not, and the error says why. */
static int run_program(struct job *job, const struct text *arguments, size_t count, int out)
{
    const char **argv = arguments->broken ? NULL : point_to(arguments->bytes, count);
    char *buffer = malloc(CAPTURE_BUFFER);
    leat_scope *scope = argv && buffer ? leat_scope_open(LEAT_NEVER) : NULL;
    leat_process *process;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    job->start = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    job->begun = leat_now();
    job->paused = 0;
    job->timed_out = false;
    int error = scope ? start(job, scope, argv, out, &process) : -ENOMEM;
    if (!error)
        capture(job, process, buffer);
    if (scope)
        leat_scope_close(scope);
    free(argv);
    free(buffer);
    return error;
}

static void say_command(struct job *job, const struct text *arguments, size_t count)
{
    struct text line = { 0 };
    if (!arguments->broken)
        command_quote(&line, arguments->bytes, count);
    streams_say(&job->run->streams, "%s", text_string(&line) ? line.bytes : "memory exhausted");
    text_free(&line);
}

/* A program that cannot be run would fail for every item: the run ends. Not so if the arguments of
 * this one are too long. */
void job_refuse(struct job *job, const char *program, int error)
{
    struct run *run = job->run;
    bool missing = error == -ENOENT;
    job->exit = (leat_exit){ .code = missing ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN };
    job->took = 0;
    job->unlogged = error != -E2BIG;
    int status = is_shortage(error) ? EXIT_TROUBLE : job->exit.code;
    if (error == -E2BIG || end_run(run, false, 0, status))
        streams_say(&run->streams, "%s: %s", program,
                    missing ? "command not found" : strerror(-error));
}

/* ---- the try ---- */

/* Whether the job has a file to write to, or needs none. Else the run ends. */
static int open_draft(struct job *job, struct draft *draft)
{
    struct run *run = job->run;
    struct text name = { 0 };
    command_output(run->plan, job->input.row, (struct which){ job->number, job->place }, &name);
    if (!text_string(&name))
        return -ENOMEM;
    draft->name = name.bytes;
    struct patience patience = { 0 };
    int error;
    do
        error = draft_open(draft, run->mask);
    while (is_shortage(error) && wait_for_others(run, &patience));
    end_patience(run, &patience);
    return error;
}

static void refuse_draft(struct job *job, const struct draft *draft, int error)
{
    job->exit = (leat_exit){ .code = EXIT_TROUBLE };
    if (end_run(job->run, false, 0, EXIT_TROUBLE))
        streams_say(&job->run->streams, "%s: %s", draft->name ? draft->name : "output",
                    strerror(-error));
}

void job_try(struct job *job)
{
    struct run *run = job->run;
    struct text arguments = { 0 };
    struct draft draft = { .fd = -1 };
    struct which which = { job->number, job->place };
    size_t count = command_fill(run->plan, job->input.row, which, &arguments);
    if (run->plan->verbose)
        say_command(job, &arguments, count);
    int unwritten = run->plan->output ? open_draft(job, &draft) : 0;
    if (!unwritten) {
        int error = run_program(job, &arguments, count, draft.fd);
        if (error)
            job_refuse(job, arguments.broken ? "memory" : arguments.bytes, error);
        if (draft.fd >= 0)
            job->received = draft_size(&draft);
        unwritten = draft_close(&draft, !error && job_has_succeeded(job) && !job->killed);
    }
    if (unwritten)
        refuse_draft(job, &draft, unwritten);
    draft_free(&draft);
    text_free(&arguments);
}
