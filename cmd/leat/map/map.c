#define _GNU_SOURCE
#include "map/map.h"

#include "map/host.h"
#include "shared/finish.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_channels(struct run *run, leat_scope *scope)
{
    const struct plan *p = run->plan;
    run->window = leat_semaphore_open(scope, (int64_t)p->window);
    run->shortage = leat_mutex_open(scope);
    run->places = leat_chan_make(scope, sizeof(unsigned), JOBS_MOST);
    unsigned ahead = offers_ahead(p);
    run->offers = leat_chan_make(scope, sizeof(struct offer), ahead);
    run->room = leat_semaphore_open(scope, ahead);
    run->taking = leat_mutex_open(scope);
    run->drained = leat_chan_make(scope, 0, 0);
    run->lend = leat_chan_make(scope, sizeof(unsigned), 0);
    run->order = leat_chan_make(scope, sizeof(struct job *), p->window);
    run->news = leat_chan_make(scope, sizeof(struct news), p->window);
    run->stopping = leat_chan_make(scope, 0, 0);
    run->killing = leat_chan_make(scope, 0, 0);
    run->over = leat_chan_make(scope, 0, 0);
    if (!run->offers || !run->room || !run->taking || !run->drained || !run->window ||
        !run->shortage || !run->places || !run->lend || !run->order || !run->news ||
        !run->stopping || !run->killing || !run->over)
        return -ENOMEM;
    if (!p->machine_count)
        places_add(run, NULL, p->jobs);
    return 0;
}

static int start_tasks(struct run *run)
{
    int error = signals_attend(run);
    if (!error)
        error = leat_go(run->watch, draw_progress, run);
    if (!error)
        error = leat_go(run->jobs, start_jobs, run);
    if (!error)
        error = leat_go(run->jobs, feed, run);
    return error;
}

/* Frees the offers of a run that has ended early. */
static void drop_offers(struct run *run)
{
    struct offer offer;
    while (run->offers && leat_try_recv(run->offers, &offer) == 0)
        offer_free(&offer);
}

static int do_run(void *arg)
{
    struct run *run = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = scope ? streams_open(&run->streams, run->plan, scope) : -ENOMEM;
    if (!error)
        error = open_channels(run, scope);
    run->machines = leat_scope_open(LEAT_NEVER);
    run->jobs = leat_scope_open(LEAT_NEVER);
    run->watch = leat_scope_open(LEAT_NEVER);
    if (!run->machines || !run->jobs || !run->watch)
        error = -ENOMEM;
    if (!error && run->plan->machine_count && !run->plan->dry_run)
        error = hosts_open(run);
    if (!error)
        error = start_tasks(run);
    if (!error)
        deliver(run);
    stop_close(&run->stop);
    leat_scope_cancel(run->watch);
    leat_scope_close(run->watch);
    leat_scope_close(run->jobs);
    items_close(&run->items);
    drop_offers(run);
    leat_close(run->over); /* ends the links */
    leat_scope_close(run->machines);
    streams_close(&run->streams);
    leat_scope_close(scope);
    return error;
}

/* Reports in one line what has failed; but not after output was given up (-ECANCELED): no program
 * may read messages either. */
static int conclude(struct run *run)
{
    const struct tally *t = &run->tally;
    uint64_t ended = t->succeeded + t->failed;
    bool found = run->halted && run->plan->halt.what == HALT_SUCCESS;
    int error = streams_error(&run->streams, STREAM_OUT);
    if (!error && (error = finish_output()) != 0 && !run->status)
        run->status = EXIT_TROUBLE;
    bool says = error != -ECANCELED && streams_error(&run->streams, STREAM_ERR) != -ECANCELED;
    if (says && error && error != -EPIPE)
        fprintf(stderr, "leat map: standard output: %s\n", strerror(-error));
    if (says && run->status < EXIT_CANNOT_RUN && (t->failed || (run->halted && !found)))
        fprintf(stderr, "leat map: %s%llu of %llu jobs failed\n", run->halted ? "halted: " : "",
                (unsigned long long)t->failed, (unsigned long long)ended);
    if (run->status)
        return run->status;
    return (t->failed || run->halted) && !found ? EXIT_FAILED : 0;
}

/* Else each job would find that out, and the message would name the command. */
static int check_folder(const struct plan *p)
{
    bool here = p->machine_count == 0;
    for (size_t i = 0; i < p->machine_count; i++)
        here |= strcmp(p->machines[i].name, ":") == 0;
    struct stat folder;
    if (!p->folder || !here)
        return 0;
    if (stat(p->folder, &folder) == 0 && !S_ISDIR(folder.st_mode))
        errno = ENOTDIR;
    else if (access(p->folder, X_OK) == 0)
        return 0;
    return plan_refuse("%s: %s", p->folder, strerror(errno));
}

static int run_plan(const struct plan *p)
{
    static struct run run; /* zeroed; some kilobytes */
    run.plan = p;
    run.mask = umask(0);
    umask(run.mask);
    pthread_mutex_init(&run.lock, NULL);
    int wrong = log_open(&run.log, p);
    if (wrong)
        return wrong;
    store_open(&run.store, p->spill);
    /* The kernel does the work: more workers would only wake each other in vain. */
    int error = -ENOMEM;
    if (hosts_take_password(&run))
        error = leat_main_with(do_run, &run, &(leat_options){ .workers = 1 });
    hosts_free(&run);
    store_close(&run.store);
    log_close(&run.log);
    if (error) {
        fprintf(stderr, "leat map: cannot start: %s\n", strerror(-error));
        return EXIT_TROUBLE;
    }
    int status = conclude(&run);
    return run.signal ? finish_by_signal(run.signal) : status;
}

int map_main(int argc, char **argv)
{
    struct plan p;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a full file of waiting output has a bound of its own */
    int status = plan_read(&p, argc, argv);
    if (status < 0)
        status = command_check(&p);
    if (status == 0 && p.command)
        status = check_folder(&p);
    if (status == 0 && p.command)
        status = run_plan(&p);
    plan_free(&p);
    return status;
}
