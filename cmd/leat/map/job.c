#define _GNU_SOURCE
#include "map/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 64 * 1024, VARIABLES = 3 };

static const int64_t shortage = 50 * LEAT_MS, longest_backoff = 60 * LEAT_S;

/* ---- making and freeing ---- */

/* The items with a space between them. */
static char *make_tag(const struct row *row)
{
    struct text tag = { 0 };
    if (row->whole)
        text_str(&tag, row->whole);
    for (size_t i = 0; i < row->count && !row->whole; i++) {
        if (i)
            text_char(&tag, ' ');
        text_str(&tag, row->values[i]);
    }
    text_char(&tag, '\0');
    return tag.broken ? NULL : tag.bytes;
}

struct job *job_new(struct run *run, const struct input *input, char *command, unsigned place)
{
    struct job *job = calloc(1, sizeof *job);
    char *tag = run->plan->tag ? make_tag(input->row) : NULL;
    if (!job || (run->plan->tag && !tag)) {
        free(job);
        free(tag);
        return NULL;
    }
    pthread_mutex_lock(&run->lock);
    uint64_t number = ++run->tally.started + run->tally.passed;
    pthread_mutex_unlock(&run->lock);
    *job = (struct job){ .run = run,
                         .input = *input,
                         .command = command,
                         .tag = tag,
                         .place = place,
                         .number = number };
    return job;
}

static void forget_input(struct job *job)
{
    free(job->input.row);
    free(job->input.block);
    job->input = (struct input){ 0 };
}

void job_free(struct job *job)
{
    store_drop(&job->run->store, &job->held);
    forget_input(job);
    for (int i = 0; i < STREAMS; i++)
        text_free(&job->rest[i]);
    free(job->command);
    free(job->tag);
    free(job);
}

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

/* ---- the file of --output ---- */

struct file {
    char *name, *draft; /* what it will be called, and what it is called until it is whole */
    int fd;
};

/* 0 or a negative errno value. */
static int open_draft(struct job *job, struct file *file)
{
    struct text name = { 0 };
    command_output(job->run->plan, job->input.row, (struct which){ job->number, job->place },
                   &name);
    const char *whole = text_string(&name);
    if (!whole)
        return -ENOMEM;
    file->name = name.bytes;
    /* A device would be replaced, and so would a link. */
    struct stat about;
    if (lstat(whole, &about) == 0 && !S_ISREG(about.st_mode))
        return S_ISDIR(about.st_mode) ? -EISDIR : -EEXIST;
    const char *slash = strrchr(whole, '/');
    int folder = slash ? (int)(slash + 1 - whole) : 0;
    if (asprintf(&file->draft, "%.*s.leat-map-XXXXXX", folder, whole) < 0) {
        file->draft = NULL;
        return -ENOMEM;
    }
    file->fd = mkostemp(file->draft, O_CLOEXEC);
    if (file->fd < 0) {
        int error = -errno;
        free(file->draft);
        file->draft = NULL;
        return error;
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(file->fd, 0666 & ~mask);
    return 0;
}

/* The draft gets its name if it is good. 0 or a negative errno value. */
static int close_draft(struct file *file, bool good)
{
    int error = 0;
    if (file->draft) {
        if (good && rename(file->draft, file->name) != 0)
            error = -errno;
        if (!good || error)
            unlink(file->draft);
        close(file->fd);
    }
    free(file->draft);
    free(file->name);
    *file = (struct file){ .fd = -1 };
    return error;
}

/* ---- while the program runs ---- */

struct capture {
    struct job *job;
    leat_process *process;
    leat_io *from[STREAMS]; /* NULL: there is no pipe, or it has ended */
    leat_io *to;            /* the program's standard input, until it has all */
    size_t sent;
    char *buffer;
};

/* When the job is too late. A multiple of the median may change while the job runs. */
static int64_t due(const struct job *job, int64_t *look_again)
{
    struct run *run = job->run;
    *look_again = LEAT_NEVER;
    if (job->timed_out)
        return LEAT_NEVER;
    int64_t begun = job->begun + job->paused;
    if (run->plan->timeout)
        return begun + run->plan->timeout;
    if (run->plan->timeout_times == 0)
        return LEAT_NEVER;
    pthread_mutex_lock(&run->lock);
    double limit = (double)tally_median(&run->tally) * run->plan->timeout_times;
    pthread_mutex_unlock(&run->lock);
    *look_again = leat_after(LEAT_S);
    return limit > 0 && limit < 9e18 - (double)begun ? begun + (int64_t)limit : LEAT_NEVER;
}

static void read_some(struct capture *c, enum stream stream, size_t most)
{
    int64_t n = leat_read_until(c->from[stream], c->buffer, most, LEAT_NOW);
    if (n > 0) {
        /* The job may wait for us meanwhile: that is not its fault. */
        int64_t before = leat_now();
        output_take(c->job, stream, c->buffer, (size_t)n);
        c->job->paused += leat_now() - before;
    } else if (n != -EAGAIN) {
        c->from[stream] = NULL;
    }
}

/* An error means that the program does not want more. */
static void write_some(struct capture *c)
{
    const struct input *input = &c->job->input;
    int64_t n =
        leat_write_until(c->to, input->block + c->sent, input->block_size - c->sent, LEAT_NOW);
    if (n > 0)
        c->sent += (size_t)n;
    if (c->sent == input->block_size || (n < 0 && n != -EAGAIN)) {
        leat_io_close(c->to);
        c->to = NULL;
    }
}

/* What the pipe holds now: what processes write later that the program has left behind is not
 * waited for. */
static void drain(struct capture *c, enum stream stream)
{
    int there = 0;
    if (!c->from[stream] || ioctl(leat_io_fd(c->from[stream]), FIONREAD, &there) != 0)
        return;
    while (there > 0 && c->from[stream]) {
        size_t most = there < BUFFER ? (size_t)there : BUFFER;
        read_some(c, stream, most);
        there -= (int)most;
    }
}

/* Until the program has ended. */
static void attend(struct capture *c)
{
    for (;;) {
        int64_t look_again, end = due(c->job, &look_again);
        leat_case cases[] = { LEAT_READABLE(c->from[STREAM_OUT]),
                              LEAT_READABLE(c->from[STREAM_ERR]), LEAT_WRITABLE(c->to),
                              LEAT_RECV(leat_process_ended(c->process), NULL) };
        switch (leat_select(cases, 4, end < look_again ? end : look_again)) {
        case 0: read_some(c, STREAM_OUT, BUFFER); break;
        case 1: read_some(c, STREAM_ERR, BUFFER); break;
        case 2: write_some(c); break;
        case 3: return;
        case -ETIMEDOUT:
            if (leat_now() >= end) {
                c->job->timed_out = true;
                leat_process_end(c->process, SIGTERM);
            }
        }
    }
}

/* ---- one try ---- */

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

static void run_started(struct job *job, leat_scope *scope, leat_process *process, char *buffer)
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
    job->took = leat_now() - job->begun;
    drain(&c, STREAM_OUT);
    drain(&c, STREAM_ERR);
    job->sent = c.sent;
    job_rests(job->run, job);
    leat_wait(process, &job->exit, LEAT_NEVER);
    leat_scope_close(scope);
}

/* 0 when the program has run; else it has not, and the error says why. */
static int run_program(struct job *job, const struct text *arguments, size_t count, int out)
{
    const char **argv = arguments->broken ? NULL : point_to(arguments->bytes, count);
    char *buffer = malloc(BUFFER);
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
        run_started(job, scope, process, buffer);
    else if (scope)
        leat_scope_close(scope);
    free(argv);
    free(buffer);
    return error;
}

static bool has_succeeded(const struct job *job)
{
    return job->exit.code == 0 && !job->timed_out;
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
static void refuse(struct job *job, const char *program, int error)
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

static int open_file(struct job *job, struct file *file)
{
    struct patience patience = { 0 };
    int error;
    do {
        free(file->name);
        *file = (struct file){ .fd = -1 };
        error = open_draft(job, file);
    } while (is_shortage(error) && wait_for_others(job->run, &patience));
    end_patience(job->run, &patience);
    return error;
}

static void try_once(struct job *job)
{
    struct run *run = job->run;
    struct text arguments = { 0 };
    struct file file = { .fd = -1 };
    struct which which = { job->number, job->place };
    size_t count = command_fill(run->plan, job->input.row, which, &arguments);
    if (run->plan->verbose)
        say_command(job, &arguments, count);
    int error = run->plan->output ? open_file(job, &file) : 0;
    bool bad_file = error;
    if (!error) {
        error = run_program(job, &arguments, count, file.fd);
        if (error)
            refuse(job, arguments.broken ? "memory" : arguments.bytes, error);
        bool good = !error && has_succeeded(job) && !job->killed;
        struct stat about;
        if (file.fd >= 0 && fstat(file.fd, &about) == 0)
            job->received = (uint64_t)about.st_size;
        char *name = file.name ? strdup(file.name) : NULL;
        error = close_draft(&file, good);
        bad_file = error;
        file.name = name;
    }
    if (bad_file) {
        job->exit = (leat_exit){ .code = EXIT_TROUBLE };
        if (end_run(run, false, 0, EXIT_TROUBLE))
            streams_say(&run->streams, "%s: %s", file.name ? file.name : "output",
                        strerror(-error));
    }
    free(file.name);
    text_free(&arguments);
}

/* ---- the job ---- */

static unsigned chance_of(const struct job *job)
{
    uint64_t x = (uint64_t)leat_now() ^ job->number << 32;
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    return (unsigned)(x >> 40);
}

/* D, 2D, 4D …, at most a minute, and up to a quarter more by chance. */
static int64_t backoff(const struct job *job)
{
    int64_t pause = job->run->plan->backoff;
    for (unsigned i = 1; i < job->try && pause < longest_backoff; i++)
        pause *= 2;
    if (pause > longest_backoff)
        pause = longest_backoff;
    return pause + pause / 4 * (chance_of(job) % 1024) / 1024;
}

static void give_place_back(struct job *job)
{
    if (job->place)
        leat_send(job->run->places, &job->place);
    job->place = 0;
}

/* Gives the place back, waits, and takes a place again. False: the run ends. */
static bool wait_for_retry(struct job *job)
{
    struct run *run = job->run;
    give_place_back(job);
    if (leat_recv_until(run->stopping, NULL, leat_after(backoff(job))) != -ETIMEDOUT)
        return false;
    return place_take(run, run->stopping, &job->place) == 0;
}

static bool may_retry(const struct job *job)
{
    return job->try <= job->run->plan->retries && !job->committed && !has_succeeded(job) &&
           !leat_chan_closed(job->run->stopping);
}

static void end_job(struct job *job)
{
    struct run *run = job->run;
    /* Before the place is free: a halt lets no further job begin. */
    if (!job->killed)
        job_counts(run, job, has_succeeded(job));
    give_place_back(job);
    forget_input(job);
    leat_send(run->news, &(struct news){ job, true });
}

void job_refuse(struct job *job, int error)
{
    refuse(job, job->run->plan->command[0], error);
    end_job(job);
}

int job_do(void *arg)
{
    struct job *job = arg;
    for (job->try = 1;; job->try++) {
        try_once(job);
        if (!may_retry(job) || !wait_for_retry(job))
            break;
        output_forget(job);
    }
    end_job(job);
    return 0;
}
