/* take.c: a worker at a queue, from its first job to the signal that ends it. */
#define _GNU_SOURCE
#include "worker/queue.h"

#include "link/frame.h"
#include "shared/stop.h"
#include "worker/worker.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void print_message(void *arg, const char *message)
{
    (void)arg;
    fprintf(stderr, "leat worker: %s\n", message);
}

/* The name only has characters that a log and a terminal may show. */
static void find_host(struct taker *taker)
{
    char *name = taker->host;
    if (gethostname(name, sizeof taker->host) != 0 || !*name)
        snprintf(name, sizeof taker->host, "unknown");
    name[sizeof taker->host - 1] = '\0';
    for (; *name; name++)
        if (!isgraph((unsigned char)*name))
            *name = '?';
}

/* The first signal: no more jobs, and running jobs have the grace. The second: they end now. */
static void end_jobs(void *arg, int number)
{
    struct taker *taker = arg;
    (void)number;
    if (leat_cancelled(taker->serving))
        leat_close(taker->hurry);
    leat_scope_cancel(taker->serving);
}

static int serve(struct taker *taker, leat_link *link)
{
    struct stop stop;
    taker->serving = leat_scope_open(LEAT_NEVER);
    int error = taker->serving ? stop_open(&stop, taker->serving, false, end_jobs, taker) : -ENOMEM;
    if (!error) {
        error = leat_serve_stage(link, &(leat_serve_stage_spec){ .stage = taker->queue.stage,
                                                                 .n = taker->jobs,
                                                                 .run = errand_do,
                                                                 .arg = taker,
                                                                 .max_bytes = FRAME_PARCEL_MOST,
                                                                 .grace = taker->grace });
        stop_close(&stop);
    }
    leat_scope_close(taker->serving);
    return error == -ECANCELED ? 0 : error;
}

static int work(void *arg)
{
    struct taker *taker = arg;
    leat_link *link;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    taker->hurry = scope ? leat_chan_make(scope, 0, 0) : NULL;
    taker->turn = scope ? leat_mutex_open(scope) : NULL;
    int error = taker->hurry && taker->turn ? 0 : -ENOMEM;
    if (!error)
        error = leat_link_open(scope, taker->queue.engine,
                               &(leat_link_spec){ .lease = taker->lease, .tell = print_message },
                               &link);
    /* The link has the password, and no job may get it. */
    queue_hide_password();
    /* LEAT_LINK_CA may be a path from where the worker began, so the link opens first. */
    int status = !error && taker->folder && chdir(taker->folder) != 0
                     ? worker_complain(taker->folder, -errno)
                     : 0;
    if (!error && !status)
        error = serve(taker, link);
    leat_scope_close(scope);
    if (error)
        fprintf(stderr, "leat worker: %s: %s\n", taker->address, queue_error(&taker->queue, error));
    return error ? WORKER_TROUBLE : status;
}

int taker_run(struct taker *taker)
{
    signal(SIGPIPE, SIG_IGN);
    find_host(taker);
    /* The kernel does the work: more workers would only wake each other in vain. */
    int status = leat_main_with(work, taker, &(leat_options){ .workers = 1 });
    return status < 0 ? worker_complain("cannot start", status) : status;
}
