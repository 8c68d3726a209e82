/* work.c: a job at the far end of a link: its program, and what goes to and from it. */
#include "worker/work.h"
#include "shared/program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>

static const int64_t shortage = 50 * LEAT_MS;

struct far {
    struct work *work;
    leat_process *process;
    leat_io *from[STREAMS]; /* NULL: it has ended */
    leat_io *to;            /* NULL: there is no input, or it has ended */
    struct text input;      /* that the program has not read yet */
    size_t written;         /* bytes of it */
    bool input_ended;
    char *buffer; /* of FRAME_BODY_MOST bytes */
};

/* ---- starting ---- */

/* What the system is short of comes back when other jobs end. False: none runs, or the worker
 * ends. */
static bool wait_for_others(struct worker *worker, unsigned *tries)
{
    pthread_mutex_lock(&worker->lock);
    bool alone = !worker->running;
    pthread_mutex_unlock(&worker->lock);
    if (alone && (*tries)-- == 0)
        return false;
    return leat_sleep(shortage) == 0;
}

static int start(struct work *work, leat_scope *scope, leat_process **process)
{
    const char **strings = program_strings(work->strings.bytes, work->count);
    const char **environment = strings ? program_environment(strings, PROGRAM_VARIABLES) : NULL;
    leat_spawn_options options = {
        .environment = environment,
        .grace = work->worker->grace,
        .flags = (work->has_input ? LEAT_PIPE_IN : LEAT_NULL_IN) | LEAT_PIPE_OUT | LEAT_PIPE_ERR,
    };
    unsigned tries = 20;
    int error = environment ? 0 : -ENOMEM;
    if (!error)
        do
            error = leat_spawn(scope, strings + PROGRAM_VARIABLES, &options, process);
        while (program_is_shortage(error) && wait_for_others(work->worker, &tries));
    free(environment);
    free(strings);
    return error;
}

void work_signal(struct work *work, int signal, bool ends)
{
    if (!work->process) {
        /* What ends it counts, and KILL more than that. */
        if (!work->ends || signal == SIGKILL)
            work->signal = signal;
        work->ends = signal != SIGKILL && (ends || work->ends);
    } else if (ends) {
        leat_process_end(work->process, signal);
    } else {
        leat_kill_all(work->process, signal);
    }
}

static void has_process(struct work *work, leat_process *process)
{
    struct worker *worker = work->worker;
    pthread_mutex_lock(&worker->lock);
    work->process = process;
    worker->running++;
    if (work->signal)
        work_signal(work, work->signal, work->ends);
    pthread_mutex_unlock(&worker->lock);
}

static void has_no_process(struct work *work)
{
    struct worker *worker = work->worker;
    pthread_mutex_lock(&worker->lock);
    work->process = NULL;
    worker->running--;
    pthread_mutex_unlock(&worker->lock);
}

/* ---- its input ---- */

static void end_input(struct far *f)
{
    leat_io_close(f->to);
    f->to = NULL;
}

/* Takes what has come since. */
static void take_input(struct far *f)
{
    struct work *work = f->work;
    if (f->written < f->input.len || !f->to)
        return;
    text_clear(&f->input);
    f->written = 0;
    pthread_mutex_lock(&work->worker->lock);
    struct text come = work->input;
    work->input = f->input;
    f->input_ended = work->input_ended;
    pthread_mutex_unlock(&work->worker->lock);
    f->input = come;
    if (!f->input.len && f->input_ended)
        end_input(f);
}

/* An error means that the program does not want more. */
static void write_some(struct far *f)
{
    int64_t n =
        leat_write_until(f->to, f->input.bytes + f->written, f->input.len - f->written, LEAT_NOW);
    if (n > 0) {
        f->written += (size_t)n;
        link_send_credit(&f->work->worker->link, f->work->job, FRAME_INPUT, (size_t)n);
    } else if (n != -EAGAIN) {
        end_input(f);
    }
}

/* ---- its output ---- */

/* How many bytes may be read now. */
static size_t room(const struct far *f, enum stream stream)
{
    struct work *work = f->work;
    pthread_mutex_lock(&work->worker->lock);
    size_t credit = work->credit[stream];
    pthread_mutex_unlock(&work->worker->lock);
    return credit < FRAME_BODY_MOST ? credit : FRAME_BODY_MOST;
}

static void send_some(struct far *f, enum stream stream, size_t most)
{
    struct work *work = f->work;
    int64_t n = leat_read_until(f->from[stream], f->buffer, most, LEAT_NOW);
    if (n == -EAGAIN)
        return;
    if (n <= 0) {
        f->from[stream] = NULL;
        return;
    }
    pthread_mutex_lock(&work->worker->lock);
    work->credit[stream] -= (size_t)n;
    pthread_mutex_unlock(&work->worker->lock);
    link_send(&work->worker->link, FRAME_OUTPUT + stream, work->job, f->buffer, (size_t)n);
}

/* What the pipe holds when the program has ended, and not what others write to it later. */
static int drain(struct far *f, enum stream stream)
{
    int there = 0, error = 0;
    if (!f->from[stream] || ioctl(leat_io_fd(f->from[stream]), FIONREAD, &there) != 0)
        return 0;
    while (there > 0 && f->from[stream] && !error) {
        size_t most = room(f, stream), wanted = (size_t)there;
        if (most == 0) {
            error = leat_recv(f->work->changed, NULL);
            continue;
        }
        most = wanted < most ? wanted : most;
        send_some(f, stream, most);
        there -= (int)most;
    }
    return error;
}

/* ---- while it runs ---- */

/* Until the program has ended. 0, or -ECANCELED. */
static int attend(struct far *f)
{
    for (;;) {
        take_input(f);
        size_t most[STREAMS] = { room(f, STREAM_OUT), room(f, STREAM_ERR) };
        leat_case cases[] = { LEAT_READABLE(most[STREAM_OUT] ? f->from[STREAM_OUT] : NULL),
                              LEAT_READABLE(most[STREAM_ERR] ? f->from[STREAM_ERR] : NULL),
                              LEAT_WRITABLE(f->written < f->input.len ? f->to : NULL),
                              LEAT_RECV(f->work->changed, NULL),
                              LEAT_RECV(leat_process_ended(f->process), NULL) };
        int got = leat_select(cases, 5, LEAT_NEVER);
        if (got < 0)
            return got;
        switch (got) {
        case 0: send_some(f, STREAM_OUT, most[STREAM_OUT]); break;
        case 1: send_some(f, STREAM_ERR, most[STREAM_ERR]); break;
        case 2: write_some(f); break;
        case 3: break;
        default: return 0;
        }
    }
}

static void tell_refused(struct work *work, int error)
{
    struct text body = { 0 };
    frame_add(&body, (uint32_t)-error, 4);
    link_send(&work->worker->link, FRAME_REFUSED, work->job, body.bytes, body.len);
    text_free(&body);
}

static void tell_ended(struct work *work, const leat_exit *how)
{
    struct text body = { 0 };
    frame_add(&body, (uint32_t)how->code, 4);
    frame_add(&body, (uint32_t)how->signal, 4);
    link_send(&work->worker->link, FRAME_ENDED, work->job, body.bytes, body.len);
    text_free(&body);
}

static void run_program(struct work *work, leat_process *process, char *buffer)
{
    struct far f = { .work = work,
                     .process = process,
                     .from = { leat_process_out(process), leat_process_err(process) },
                     .to = leat_process_in(process),
                     .buffer = buffer };
    leat_exit how;
    has_process(work, process);
    int error = attend(&f);
    for (enum stream i = 0; i < STREAMS && !error; i++)
        error = drain(&f, i);
    has_no_process(work);
    if (!error && leat_wait(process, &how, LEAT_NEVER) == 0)
        tell_ended(work, &how);
    text_free(&f.input);
}

int work_do(void *arg)
{
    struct work *work = arg;
    char *buffer = malloc(FRAME_BODY_MOST);
    leat_scope *scope = buffer ? leat_scope_open(LEAT_NEVER) : NULL;
    leat_process *process;
    int error = scope ? start(work, scope, &process) : -ENOMEM;
    if (!error)
        run_program(work, process, buffer);
    else if (error != -ECANCELED)
        tell_refused(work, error);
    if (scope)
        leat_scope_close(scope);
    free(buffer);
    works_remove(work);
    return 0;
}
