/* worker.c: a worker at the far end of a stream, from its first frame to the last. */
#define _GNU_SOURCE
#include "worker/worker.h"

#include "shared/stop.h"
#include "worker/work.h"

#include <errno.h>
#include <leat/runtime.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int worker_complain(const char *what, int error)
{
    fprintf(stderr, "leat worker: %s: %s\n", what, strerror(-error));
    return WORKER_TROUBLE;
}

/* ---- the first frame ---- */

static void say_hello(struct link *link)
{
    struct text body = { 0 };
    text_word(&body, leat_version());
    frame_add(&body, leat_cores(), 4);
    link_send(link, FRAME_HELLO, 0, body.bytes, body.len);
    text_free(&body);
}

/* Answers the hello of a leat map. 0 or the exit status. To another version, the worker sends its
 * own version and ends. */
static int hear_hello(void *arg)
{
    struct worker *worker = arg;
    struct frame f;
    int error = reader_first(worker, &f);
    if (error)
        return error == -EPIPE ? WORKER_TROUBLE : worker_complain("the link", error);
    const char *version = frame_string(&f);
    bool same = strcmp(version, leat_version()) == 0;
    uint64_t grace = same ? frame_number(&f, 8) : 0;
    const char *folder = same ? frame_string(&f) : "";
    if (f.kind != FRAME_HELLO || f.broken || grace > INT64_MAX)
        return worker_complain("the link", -EBADMSG);
    worker->grace = (int64_t)grace;
    if (*folder && chdir(folder) != 0)
        return worker_complain(folder, -errno);
    say_hello(&worker->link);
    return same ? 0 : WORKER_TROUBLE;
}

/* ---- serving ---- */

/* A signal ends the worker in the same way as the end of the link. */
static void end_link(void *arg, int number)
{
    struct worker *worker = arg;
    (void)number;
    leat_io_close(worker->link.in);
}

/* Serves until the link ends. */
static int serve(void *arg)
{
    int error = reader_serve(arg);
    return error == -EPIPE ? 0 : worker_complain("the link", error);
}

/* A thread waits for standard input: there, unlike in a worker, one call waits and one reads. */
static int as_reader(leat_fn *fn, struct worker *worker)
{
    int status = leat_blocking(fn, worker);
    return status < 0 ? worker_complain("the link", status) : status;
}

static int run(struct worker *worker, leat_scope *scope)
{
    struct stop stop;
    int status = as_reader(hear_hello, worker);
    worker->jobs = status ? NULL : leat_scope_open(LEAT_NEVER);
    int error = worker->jobs ? stop_open(&stop, scope, false, end_link, worker) : 0;
    if (error) {
        status = worker_complain("cannot start", error);
    } else if (worker->jobs) {
        status = as_reader(serve, worker);
        stop_close(&stop);
    }
    leat_scope_cancel(worker->jobs);
    leat_scope_close(worker->jobs);
    link_finish(&worker->link);
    return leat_scope_close(scope) ? WORKER_TROUBLE : status;
}

static int open_link(struct worker *worker, leat_scope *scope)
{
    leat_io *out, *bell[2];
    int error = leat_io_adopt(scope, STDOUT_FILENO, &out);
    if (!error)
        error = leat_io_pipe(scope, bell);
    worker->turn = leat_mutex_open(scope);
    if (!error && !worker->turn)
        error = -ENOMEM;
    if (!error)
        error = reader_open(worker, leat_io_fd(bell[0]));
    return error ? error : link_open(&worker->link, scope, bell[1], out);
}

static int work(void *arg)
{
    struct worker *worker = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = open_link(worker, scope);
    if (!error)
        return run(worker, scope);
    /* First, since leat map ends a worker that closes its output. */
    int status = worker_complain("the link", error);
    leat_scope_close(scope);
    return status;
}

int worker_on_stream(void)
{
    static struct worker worker; /* zeroed */
    signal(SIGPIPE, SIG_IGN);
    pthread_mutex_init(&worker.lock, NULL);
    /* The kernel does the work: more workers would only wake each other in vain. */
    int status = leat_main_with(work, &worker, &(leat_options){ .workers = 1 });
    works_free(&worker);
    link_free(&worker.link);
    return status < 0 ? worker_complain("cannot start", status) : status;
}
