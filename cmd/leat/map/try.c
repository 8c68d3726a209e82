/* try.c: one try of a job: starts its program with its input, and runs it to its end. */
#define _GNU_SOURCE
#include "map/draft.h"
#include "map/host.h"
#include "shared/program.h"
#include "shared/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- shortages of the system ---- */

/* Whether a job runs and does not only wait for its turn. While the deliverer writes, a job that
 * waits may be about to get its turn. With the lock held. */
static bool any_goes_on(const struct run *run)
{
    bool writes = !atomic_load_explicit(&run->at_news, memory_order_relaxed);
    for (const struct job *job = run->running; job; job = job->next)
        if (!job->turn || job->has_turn || writes)
            return true;
    return false;
}

/* No other job begins before the jobs that wait (`wants`), which hold nothing meanwhile, not even a
 * thread. False: the run ends, there is nothing left to wait for, or the job `yields`. */
static bool wait_for_others(struct job *job, struct patience *p)
{
    struct run *run = job->run;
    job->yields = job->as_thread;
    if (job->yields)
        return false;
    if (!p->has_turn)
        atomic_fetch_add_explicit(&run->wants, 1, memory_order_relaxed);
    pthread_mutex_lock(&run->lock);
    bool alone = !any_goes_on(run);
    pthread_mutex_unlock(&run->lock);
    bool again = shortage_wait(run->shortage, p, alone, run->stopping);
    if (!p->has_turn)
        atomic_fetch_sub_explicit(&run->wants, 1, memory_order_relaxed);
    return again;
}

static void end_patience(struct run *run, const struct patience *p)
{
    if (p->has_turn)
        atomic_fetch_sub_explicit(&run->wants, 1, memory_order_relaxed);
    shortage_over(run->shortage, p);
}

/* ---- the program ---- */

static int start(struct job *job, leat_scope *scope, const struct text *strings, size_t count,
                 int out, leat_process **process)
{
    struct run *run = job->run;
    leat_spawn_options options = {
        .folder = run->plan->folder,
        .out = out < 0 ? 0 : out,
        .grace = run->plan->grace,
        .flags = (run->plan->block ? LEAT_PIPE_IN : LEAT_NULL_IN) | LEAT_PIPE_ERR | LEAT_ATTENDED |
                 (out < 0 ? LEAT_PIPE_OUT : 0),
    };
    struct patience patience = { 0 };
    int error;
    do
        error = program_spawn(scope, strings->bytes, count, options, process);
    while (shortage_is(error) && wait_for_others(job, &patience));
    end_patience(run, &patience);
    return error;
}

/* 0 when the program has run; else it has not, and the error is the reason. */
static int run_here(struct job *job, const struct text *strings, size_t count, int out)
{
    char *buffer = malloc(CAPTURE_BUFFER);
    leat_scope *scope = buffer ? leat_scope_open(LEAT_NEVER) : NULL;
    leat_process *process;
    int error = scope ? start(job, scope, strings, count, out, &process) : -ENOMEM;
    if (!error)
        capture(job, process, buffer);
    leat_scope_close(scope);
    free(buffer);
    return error;
}

static void add_variables(const struct job *job, struct text *to)
{
    static const char *const names[PROGRAM_VARIABLES] = { "LEAT_SEQ=", "LEAT_SLOT=", "LEAT_TRY=" };
    const uint64_t values[PROGRAM_VARIABLES] = { job->number, job->place, job->try };
    for (int i = 0; i < PROGRAM_VARIABLES; i++) {
        text_str(to, names[i]);
        text_number(to, values[i]);
        text_char(to, '\0');
    }
}

/* As run_here; *unwritten: an error on `out`. */
static int run_program(struct job *job, const struct text *arguments, size_t count, int out,
                       int *unwritten)
{
    struct timespec now;
    struct text strings = { 0 };
    int error = -ENOMEM;
    clock_gettime(CLOCK_REALTIME, &now);
    job->start = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    job->begun = run_now(job->run);
    job->paused = 0;
    job->timed_out = false;
    job->host = place_host(job->run, job->place);
    job->lost = false;
    free(job->ran_on);
    job->ran_on = NULL;
    add_variables(job, &strings);
    text_add(&strings, arguments->bytes, arguments->len);
    count += PROGRAM_VARIABLES;
    if (!strings.broken && !arguments->broken)
        error = job->host ? remote_run(job, &strings, count, out, unwritten)
                          : run_here(job, &strings, count, out);
    text_free(&strings);
    return error;
}

static void say_command(struct job *job, const struct text *arguments, size_t count)
{
    struct text line = { 0 };
    if (!arguments->broken)
        command_quote(&line, arguments->bytes, count);
    streams_say(&job->run->streams, "%s", text_string(&line) ? line.bytes : "memory exhausted");
    text_free(&line);
    if (streams_error(&job->run->streams, STREAM_ERR))
        note_trouble(job->run);
}

/* Whether a script that was not found is there, and only its interpreter is not. */
static bool lacks_interpreter(const struct plan *p, const char *program)
{
    int folder = p->folder ? open(p->folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    bool there = strchr(program, '/') && faccessat(folder, program, F_OK, 0) == 0;
    if (folder >= 0)
        close(folder);
    return there;
}

/* What could not be run, why, and the exit status. The system has one error for a missing folder, a
 * missing interpreter and a missing program. Of another machine no more is known. */
struct refusal {
    const char *what, *why;
    int status;
};

static struct refusal explain(const struct job *job, const char *program, int error)
{
    const struct plan *p = job->run->plan;
    const char *what = *program ? program : "''";
    if (!job->host && p->folder && !shortage_is(error) && access(p->folder, X_OK) != 0)
        return (struct refusal){ p->folder, strerror(errno), EXIT_TROUBLE };
    if (error == -ENOENT && !job->host && lacks_interpreter(p, program))
        return (struct refusal){ what, "its interpreter is not found", EXIT_CANNOT_RUN };
    if (error == -ENOENT)
        return (struct refusal){ what, "command not found", EXIT_NOT_FOUND };
    return (struct refusal){ what, strerror(-error),
                             shortage_is(error) ? EXIT_TROUBLE : EXIT_CANNOT_RUN };
}

/* A program that cannot be run would fail for every item, so the run ends. It does not if only this
 * job's arguments are too long, or its input is too large for a queue. */
void job_refuse(struct job *job, const char *program, int error)
{
    struct run *run = job->run;
    const char *where = job_where(job);
    bool large = error == -E2BIG || error == -EMSGSIZE;
    struct refusal r = explain(job, program, error);
    job->exit = (leat_exit){ .code = r.status };
    job->took = 0;
    job->unlogged = !large;
    const char *colon = *where ? ": " : "";
    if (large)
        streams_say(&run->streams, "%s%sjob %llu: %s: %s", where, colon,
                    (unsigned long long)job->number, program, strerror(-error));
    else if (end_run(run, false, 0, r.status))
        streams_say(&run->streams, "%s%s%s: %s%s", where, colon, r.what, r.why,
                    shortage_is(error) ? ": no more jobs can run within the limits (ulimit -a)"
                                       : "");
}

/* ---- the try ---- */

/* If printed output has not come again, the result cannot be trusted: the job fails as if the
 * connection had been lost. */
static void check_replay(struct job *job)
{
    if (job->lost || job->killed || replay_is_whole(&job->replay))
        return;
    job->exit = (leat_exit){ .code = -1, .signal = SIGHUP };
    streams_say(&job->run->streams, "%s was lost, and on %s job %llu did not print the same again",
                job->former, job->host ? job->host->machine->name : "this machine",
                (unsigned long long)job->number);
}

/* Opens the job's output file, if it needs one. False: the run ends. */
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
        error = draft_open(draft, run->mask, run->log.fd);
    while (shortage_is(error) && wait_for_others(job, &patience));
    end_patience(run, &patience);
    return error;
}

/* The job has not run, or its output is not kept: --resume has to run it. */
static void refuse_draft(struct job *job, const struct draft *draft, int error)
{
    job->exit = (leat_exit){ .code = EXIT_TROUBLE };
    job->unlogged = true;
    if (end_run(job->run, false, 0, EXIT_TROUBLE))
        streams_say(&job->run->streams, "%s: %s", draft->name ? draft->name : "output",
                    error == -EEXIST ? "--output replaces a file, but no log, link, device or pipe"
                                     : strerror(-error));
}

void job_try(struct job *job)
{
    struct run *run = job->run;
    struct text arguments = { 0 };
    struct draft draft = { .fd = -1 };
    struct which which = { job->number, job->place };
    size_t count = command_fill(run->plan, job->input.row, which, &arguments);
    bool resumes = job->yields;
    job->yields = false;
    if (run->plan->verbose && !resumes)
        say_command(job, &arguments, count);
    int unwritten = run->plan->output ? open_draft(job, &draft) : 0;
    if (!unwritten) {
        int error = run_program(job, &arguments, count, draft.fd, &unwritten);
        if (error && !job->yields)
            job_refuse(job, arguments.broken ? "memory" : arguments.bytes, error);
        else if (draft.fd < 0)
            check_replay(job);
        if (draft.fd >= 0)
            job->received = draft_size(&draft);
        bool good = !error && !unwritten && !job->lost && job_has_succeeded(job) && !job->killed;
        int unfinished = draft_close(&draft, good);
        unwritten = unwritten ? unwritten : unfinished;
    }
    if (unwritten && !job->yields)
        refuse_draft(job, &draft, unwritten);
    draft_free(&draft);
    text_free(&arguments);
}
