/* work.c: a job at the far end of a link: runs its program, and passes its input and output on. */
#include "worker/work.h"
#include "shared/program.h"
#include "shared/shortage.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>

struct far {
    struct work *work;
    leat_process *process;
    leat_io *from[STREAMS]; /* NULL: it has ended */
    char *buffer;           /* of FRAME_BODY_MOST bytes */
    int error;              /* why the output cannot be read, or 0 */
};

/* ---- starting ---- */

/* False: there is nothing left to wait for, or the worker ends. Jobs without credit may wait for
 * this one: only the map knows that. So it is told soon, and about every job that waits. */
static bool wait_for_others(struct work *work, struct patience *patience)
{
    struct worker *worker = work->worker;
    pthread_mutex_lock(&worker->lock);
    bool starved = worker->running && worker->starving == worker->running;
    bool alone = (starved || !worker->running) && starved == work->starved; /* for a while */
    work->starved = starved;
    worker->hopeless &= starved;
    bool hopeless = worker->hopeless && patience->has_turn;
    worker->waiting += !work->waits;
    work->waits = true;
    pthread_mutex_unlock(&worker->lock);
    if (!hopeless && shortage_wait(worker->turn, patience, alone, NULL))
        return true;
    pthread_mutex_lock(&worker->lock);
    worker->hopeless |= work->starved;
    pthread_mutex_unlock(&worker->lock);
    return false;
}

static void end_wait(struct work *work, const struct patience *patience)
{
    struct worker *worker = work->worker;
    if (!work->waits)
        return;
    shortage_over(worker->turn, patience);
    pthread_mutex_lock(&worker->lock);
    worker->waiting--;
    work->waits = false;
    pthread_mutex_unlock(&worker->lock);
}

static int start(struct work *work, leat_scope *scope, leat_process **process)
{
    leat_spawn_options options = {
        .grace = work->worker->grace,
        .flags = (work->has_input ? LEAT_PIPE_IN : LEAT_NULL_IN) | LEAT_PIPE_OUT | LEAT_PIPE_ERR |
                 LEAT_ATTENDED,
    };
    struct patience patience = { 0 };
    int error;
    do
        error = program_spawn(scope, work->strings.bytes, work->count, options, process);
    while (shortage_is(error) && !work->as_thread && wait_for_others(work, &patience));
    end_wait(work, &patience);
    return shortage_is(error) && work->starved ? -EDEADLK : error;
}

void work_signal(struct work *work, int signal, bool ends)
{
    if (!work->process) {
        /* A signal that ends it counts more than others, and KILL more than all. */
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

/* Takes the input that has come since. False: it has ended. */
static bool take_input(struct work *work, struct text *mine)
{
    text_clear(mine);
    pthread_mutex_lock(&work->worker->lock);
    struct text come = work->input;
    work->input = *mine;
    bool ended = work->input_ended;
    pthread_mutex_unlock(&work->worker->lock);
    *mine = come;
    return come.len || !ended;
}

/* False: the program wants no more input, or has ended. `owed`: bytes that it took, without credit
 * for them yet. A pipe that the system cannot watch is tried again a moment later. */
static bool write_input(struct work *work, const struct text *input, size_t *owed)
{
    for (size_t done = 0; done < input->len;) {
        int64_t n = leat_write(work->to, input->bytes + done, input->len - done);
        if (shortage_of_watches((int)n) && leat_sleep(SHORTAGE_PAUSE) == 0)
            continue;
        if (n < 0)
            return false;
        done += (size_t)n;
        *owed += (size_t)n;
        if (*owed < FRAME_CREDIT_STEP)
            continue;
        link_send_credit(&work->worker->link, work->job, FRAME_INPUT, *owed);
        *owed = 0;
    }
    return true;
}

static int pass_input(void *arg)
{
    struct work *work = arg;
    struct text mine = { 0 };
    size_t owed = 0;
    while (take_input(work, &mine) && write_input(work, &mine, &owed) &&
           (mine.len || leat_recv(work->fed, NULL) == 0)) {
    }
    text_free(&mine);
    leat_io_close(work->to);
    return 0;
}

/* ---- its output ---- */

/* The number of bytes that may be read now. */
static size_t room(const struct far *f, enum stream stream)
{
    struct work *work = f->work;
    pthread_mutex_lock(&work->worker->lock);
    size_t credit = work->credit[stream];
    pthread_mutex_unlock(&work->worker->lock);
    return credit < FRAME_BODY_MOST ? credit : FRAME_BODY_MOST;
}

/* Returns as leat_read does. */
static int64_t send_some(struct far *f, enum stream stream, size_t most)
{
    struct work *work = f->work;
    int64_t n = leat_read_until(f->from[stream], f->buffer, most, LEAT_NOW);
    if (n == 0)
        f->from[stream] = NULL;
    else if (n == -ENOMEM)
        leat_sleep(SHORTAGE_PAUSE); /* other jobs may give memory back */
    else if (n < 0 && n != -EAGAIN && !shortage_of_watches((int)n))
        f->error = (int)n;
    if (n <= 0)
        return n;
    pthread_mutex_lock(&work->worker->lock);
    work->credit[stream] -= (size_t)n;
    pthread_mutex_unlock(&work->worker->lock);
    link_send(&work->worker->link, FRAME_OUTPUT + stream, work->job, f->buffer, (size_t)n);
    return n;
}

static int await_credit(struct work *work)
{
    struct worker *worker = work->worker;
    pthread_mutex_lock(&worker->lock);
    worker->starving++;
    pthread_mutex_unlock(&worker->lock);
    int error = leat_recv(work->credited, NULL);
    pthread_mutex_lock(&worker->lock);
    worker->starving--;
    pthread_mutex_unlock(&worker->lock);
    return error;
}

/* Reads what the pipe holds when the program has ended, but not what other processes write to it
 * later. 0, -ECANCELED, or why it cannot be read. */
static int drain(struct far *f, enum stream stream)
{
    int there = 0, tries = SHORTAGE_TRIES;
    if (f->from[stream] && ioctl(leat_io_fd(f->from[stream]), FIONREAD, &there) != 0)
        f->error = -errno;
    while (there > 0 && f->from[stream] && !f->error) {
        size_t most = room(f, stream), wanted = (size_t)there;
        if (most == 0) {
            int error = await_credit(f->work);
            if (error)
                return error;
            continue;
        }
        int64_t n = send_some(f, stream, wanted < most ? wanted : most);
        if (n >= 0)
            there -= (int)n;
        else if (n != -ENOMEM)
            break;
        else if (tries-- == 0)
            f->error = -ENOMEM;
    }
    return f->error;
}

/* ---- the running program ---- */

/* Attends to the program until it has ended. 0, -ECANCELED, or why its output cannot be read.
 * Without credit for one stream, the map does not take the other one either, so the job waits only
 * for that credit. */
static int attend(struct far *f)
{
    while (!f->error) {
        size_t most[STREAMS] = { room(f, STREAM_OUT), room(f, STREAM_ERR) };
        if ((f->from[STREAM_OUT] && !most[STREAM_OUT]) ||
            (f->from[STREAM_ERR] && !most[STREAM_ERR])) {
            int error = await_credit(f->work);
            if (error)
                return error;
            continue;
        }
        unsigned pipes =
            (f->from[STREAM_OUT] ? LEAT_PIPE_OUT : 0) | (f->from[STREAM_ERR] ? LEAT_PIPE_ERR : 0);
        int ready = leat_attend(f->process, pipes, LEAT_NEVER);
        if (ready <= 0)
            return ready;
        if (ready & LEAT_PIPE_OUT)
            send_some(f, STREAM_OUT, most[STREAM_OUT]);
        if (ready & LEAT_PIPE_ERR)
            send_some(f, STREAM_ERR, most[STREAM_ERR]);
    }
    return f->error;
}

/* The thread takes the lead first: otherwise the next job might wake the reader. */
static void report(struct work *work, enum frame_kind kind, const struct text *body)
{
    work->leads = work->as_thread && reader_take_lead(work->worker);
    link_send(&work->worker->link, kind, work->job, body->bytes, body->len);
}

/* REFUSED or UNREAD. */
static void report_error(struct work *work, enum frame_kind kind, int error)
{
    struct text body = { 0 };
    frame_add(&body, (uint32_t)-error, 4);
    report(work, kind, &body);
    text_free(&body);
}

static void report_ended(struct work *work, const leat_exit *how)
{
    struct text body = { 0 };
    frame_add(&body, (uint32_t)how->code, 4);
    frame_add(&body, (uint32_t)how->signal, 4);
    report(work, FRAME_ENDED, &body);
    text_free(&body);
}

static int attend_and_drain(struct far *f)
{
    int error = attend(f);
    for (enum stream i = 0; i < STREAMS && !error; i++)
        error = drain(f, i);
    return error;
}

/* As attend_and_drain, with a task for the input: when this returns, no more credit is given. */
static int feed_and_attend(struct far *f)
{
    struct work *work = f->work;
    leat_scope *feeding = leat_scope_open(LEAT_NEVER);
    work->to = leat_process_in(f->process);
    int error = feeding ? leat_go(feeding, pass_input, work) : -ENOMEM;
    if (!error)
        error = attend_and_drain(f);
    leat_scope_cancel(feeding);
    leat_scope_close(feeding);
    return error;
}

/* When the worker ends, the map regards the jobs that it ends as lost. 0: it is reported how the
 * program has ended. */
static int run_program(struct work *work, leat_process *process, char *buffer)
{
    struct far f = { .work = work,
                     .process = process,
                     .from = { leat_process_out(process), leat_process_err(process) },
                     .buffer = buffer };
    leat_exit how;
    has_process(work, process);
    int error = work->has_input ? feed_and_attend(&f) : attend_and_drain(&f);
    has_no_process(work);
    if (!error)
        error = leat_wait(process, &how, LEAT_NEVER);
    if (leat_cancelled(work->worker->jobs))
        return -ECANCELED;
    if (!error)
        report_ended(work, &how);
    return error;
}

/* The system lacks something, perhaps threads: the job waits for it as a task, without a thread. */
static bool goes_on_as_task(struct work *work, int error)
{
    if (!work->as_thread || !shortage_is(error))
        return false;
    work->as_thread = false;
    return leat_go(work->worker->jobs, work_do, work) == 0;
}

/* Returns whether the thread has the lead. */
static bool do_one(struct work *work)
{
    char *buffer = malloc(FRAME_BODY_MOST);
    leat_scope *scope = buffer ? leat_scope_open(LEAT_NEVER) : NULL;
    leat_process *process;
    int error = scope ? start(work, scope, &process) : -ENOMEM;
    bool starts = !error, goes_on = scope && goes_on_as_task(work, error);
    if (starts)
        error = run_program(work, process, buffer);
    /* The program may take long to end. */
    leat_scope_cancel(scope);
    leat_scope_close(scope);
    free(buffer);
    if (goes_on)
        return false; /* the task has it now */
    if (error && error != -ECANCELED)
        report_error(work, starts ? FRAME_UNREAD : FRAME_REFUSED, error);
    bool leads = work->leads;
    works_remove(work);
    return leads;
}

int work_do(void *arg)
{
    struct work *work = arg;
    struct worker *worker = work->worker;
    while (work)
        work = do_one(work) ? reader_lead(worker) : NULL;
    return 0;
}
