#define _GNU_SOURCE
#include "map/host.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* The ways to a worker that does not answer end after a while. */
static const char default_ssh[] =
    "ssh -o BatchMode=yes -o ServerAliveInterval=15 -o ServerAliveCountMax=4";

static const int64_t farewell = 5 * LEAT_S;

/* ---- its jobs ---- */

bool host_add(struct host *host, struct remote *remote)
{
    pthread_mutex_lock(&host->lock);
    bool lost = host->lost;
    if (!lost) {
        remote->job = ++host->last_job;
        remote->next = host->first;
        host->first = remote;
    }
    pthread_mutex_unlock(&host->lock);
    return !lost;
}

void host_remove(struct remote *remote)
{
    struct host *host = remote->host;
    pthread_mutex_lock(&host->lock);
    struct remote **at = &host->first;
    while (*at != remote)
        at = &(*at)->next;
    *at = remote->next;
    pthread_mutex_unlock(&host->lock);
}

static int take_output(struct remote *r, struct frame *f, enum stream stream)
{
    if (f->left > r->credit[stream])
        return -EBADMSG;
    r->credit[stream] -= f->left;
    text_add(&r->output[stream], f->body, f->left);
    return r->output[stream].broken ? -ENOMEM : 0;
}

static int take_credit(struct remote *r, struct frame *f)
{
    uint64_t kind = frame_number(f, 1), bytes = frame_number(f, 4);
    if (f->broken || kind != FRAME_INPUT || bytes > FRAME_CREDIT_MOST - r->input_credit)
        return -EBADMSG;
    r->input_credit += bytes;
    return 0;
}

static int take_end(struct remote *r, struct frame *f)
{
    uint32_t first = (uint32_t)frame_number(f, 4);
    if (f->kind == FRAME_REFUSED) {
        if (f->broken || first < 1 || first > INT32_MAX)
            return -EBADMSG;
        r->refused = (int)first;
    } else {
        uint32_t signal = (uint32_t)frame_number(f, 4);
        if (f->broken)
            return -EBADMSG;
        r->exit = (leat_exit){ .code = (int)(int32_t)first, .signal = (int)signal };
    }
    r->ended = true;
    return 0;
}

/* With the lock held. */
static int take_frame(struct host *host, struct frame *f)
{
    struct remote *r = host->first;
    while (r && r->job != f->job)
        r = r->next;
    int error = -EBADMSG;
    if (!r || r->ended)
        return error;
    switch (f->kind) {
    case FRAME_OUTPUT: error = take_output(r, f, STREAM_OUT); break;
    case FRAME_ERRORS: error = take_output(r, f, STREAM_ERR); break;
    case FRAME_CREDIT: error = take_credit(r, f); break;
    case FRAME_REFUSED:
    case FRAME_ENDED: error = take_end(r, f); break;
    default: break;
    }
    leat_try_send(r->changed, NULL);
    return error;
}

/* Until the link ends. */
static int receive_frames(struct host *host)
{
    struct frame f;
    int error;
    while (!(error = link_receive(&host->link, &f))) {
        pthread_mutex_lock(&host->lock);
        error = take_frame(host, &f);
        pthread_mutex_unlock(&host->lock);
        if (error)
            break;
    }
    return error;
}

bool host_is_lost(struct host *host)
{
    pthread_mutex_lock(&host->lock);
    bool lost = host->lost;
    pthread_mutex_unlock(&host->lock);
    return lost;
}

static void lose_jobs(struct host *host)
{
    pthread_mutex_lock(&host->lock);
    host->lost = true;
    for (struct remote *r = host->first; r; r = r->next) {
        r->lost = !r->ended;
        leat_try_send(r->changed, NULL);
    }
    pthread_mutex_unlock(&host->lock);
}

/* ---- its places ---- */

static unsigned places_of(const struct run *run, const struct machine *m, unsigned cores)
{
    return m->places ? m->places : run->plan->jobs_given ? run->plan->jobs : cores;
}

/* False: it has none, and would be waited for without end if the others were lost. */
static bool add_places(struct host *host, unsigned wanted)
{
    unsigned added = places_add(host->run, host, wanted);
    if (added < wanted)
        streams_say(&host->run->streams, "%s: runs %u jobs in place of %u: no more than %d can run",
                    host->machine->name, added, wanted, JOBS_MOST);
    return added > 0;
}

/* Without a machine there will be no place. */
static void give_up_machine(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    if (--run->machines_left == 0)
        leat_close(run->places);
    pthread_mutex_unlock(&run->lock);
}

/* ---- the worker ---- */

static int start_ssh(struct host *host, leat_scope *scope)
{
    const char *wanted = getenv("LEAT_SSH");
    char *words = strdup(wanted && *wanted ? wanted : default_ssh), *rest = words;
    /* Each word but the last one has a blank behind it. */
    const char **argv = words ? calloc(strlen(words) / 2 + 5, sizeof *argv) : NULL;
    size_t n = 0;
    if (!argv) {
        free(words);
        return -ENOMEM;
    }
    for (char *word; (word = strsep(&rest, " "));)
        if (*word)
            argv[n++] = word;
    argv[n++] = host->machine->name;
    argv[n++] = "leat";
    argv[n++] = "worker";
    leat_spawn_options options = { .flags = LEAT_PIPE_IN | LEAT_PIPE_OUT | LEAT_PIPE_ERR };
    int error = leat_spawn(scope, argv, &options, &host->ssh);
    if (error)
        streams_say(&host->run->streams, "%s: %s: %s", host->machine->name, argv[0],
                    strerror(-error));
    free(argv);
    free(words);
    return error;
}

static void say_hello(struct host *host)
{
    const struct plan *plan = host->run->plan;
    const char *folder = plan->folder ? plan->folder : "";
    struct text body = { 0 };
    text_add(&body, leat_version(), strlen(leat_version()) + 1);
    frame_add(&body, (uint64_t)plan->grace, 8);
    text_add(&body, folder, strlen(folder) + 1);
    link_send(&host->link, FRAME_HELLO, 0, body.bytes, body.len);
    text_free(&body);
}

/* What came in place of a frame: the greeting of a shell, perhaps. */
static void say_stranger(struct host *host)
{
    char said[61];
    size_t n = 0;
    const struct link *l = &host->link;
    for (size_t i = l->taken; i < l->len && n + 1 < sizeof said && l->bytes[i] != '\n'; i++)
        said[n++] = isprint((unsigned char)l->bytes[i]) ? l->bytes[i] : '?';
    said[n] = '\0';
    streams_say(&host->run->streams, "%s: this is not a leat worker: it said '%s'",
                host->machine->name, said);
}

/* Waits for the worker's hello. Any error has been told. */
static int hear_hello(struct host *host, unsigned *cores)
{
    struct run *run = host->run;
    struct frame f;
    int error = link_receive(&host->link, &f);
    if (!error && (f.kind != FRAME_HELLO || f.job))
        error = -EBADMSG;
    const char *version = error ? "" : frame_string(&f);
    if (!error && strcmp(version, leat_version()) != 0) {
        streams_say(&run->streams, "%s: it has version %s of leat, and here is %s",
                    host->machine->name, version, leat_version());
        return -EPROTO;
    }
    *cores = error ? 0 : (unsigned)frame_number(&f, 4);
    if (error == -EBADMSG || (!error && (f.broken || !*cores))) {
        say_stranger(host);
        return -EPROTO;
    }
    return error;
}

/* What ssh says, and the worker. */
static int pass_messages(void *arg)
{
    struct host *host = arg;
    leat_line line;
    leat_chan *lines;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = scope ? leat_lines(scope, leat_process_err(host->ssh), NULL, &lines) : -ENOMEM;
    while (!error && !(error = leat_recv(lines, &line))) {
        streams_say(&host->run->streams, "%s: %s", host->machine->name, line.text);
        leat_line_free(&line);
    }
    leat_scope_cancel(scope);
    leat_scope_close(scope);
    leat_close(host->quiet);
    return 0;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Ends the link with the run, and the ssh of a worker that does not end. One that has not answered
 * yet runs nothing: nobody waits for it. Only one that ends jobs may take the grace. */
static int see_out(void *arg)
{
    struct host *host = arg;
    struct run *run = host->run;
    const int64_t patience[] = { 0, farewell, run->plan->grace + farewell, LEAT_S };
    int64_t limit = LEAT_NEVER;
    leat_case cases[] = { LEAT_RECV(leat_process_ended(host->ssh), NULL),
                          LEAT_RECV(run->over, NULL), LEAT_RECV(run->killing, NULL),
                          LEAT_RECV(run->streams.abandoned, NULL) };
    for (;;) {
        int got = leat_select(cases, 4, limit);
        if (got <= 0)
            break;
        if (got == 1)
            link_finish(&host->link);
        limit = earlier(limit, leat_after(host->ready ? patience[got] : 0));
        cases[got].ch = NULL;
    }
    leat_process_end(host->ssh, SIGTERM);
    return 0;
}

static int connect_to(struct host *host, leat_scope *scope)
{
    int error = start_ssh(host, scope);
    if (!error)
        error =
            link_open(&host->link, scope, leat_process_out(host->ssh), leat_process_in(host->ssh));
    if (!error)
        error = leat_go(scope, pass_messages, host);
    if (!error)
        error = leat_go(scope, see_out, host);
    if (!error)
        say_hello(host);
    return error;
}

/* Says why the link has ended, unless that has been said or the run is over. */
static void say_end(struct host *host, int error)
{
    struct run *run = host->run;
    const char *name = host->machine->name;
    /* What ssh says comes first. */
    leat_recv_until(host->quiet, NULL, leat_after(LEAT_S));
    if (error == -EPROTO || leat_chan_closed(run->over) || leat_chan_closed(run->killing))
        return;
    if (!host->ready)
        streams_say(&run->streams, "%s: no leat worker answers", name);
    else if (error == -EBADMSG)
        streams_say(&run->streams, "%s: lost: no leat worker sends this", name);
    else
        streams_say(&run->streams, "%s: lost", name);
}

static void serve(struct host *host, leat_scope *scope)
{
    unsigned cores = 0;
    int error = connect_to(host, scope);
    bool started = !error;
    host->ready = started && !(error = hear_hello(host, &cores));
    if (host->ready)
        error = add_places(host, places_of(host->run, host->machine, cores)) ? receive_frames(host)
                                                                             : -EPROTO;
    lose_jobs(host);
    if (started) {
        leat_process_end(host->ssh, SIGTERM);
        say_end(host, error);
    }
}

static int host_do(void *arg)
{
    struct host *host = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    host->quiet = scope ? leat_chan_make(scope, 0, 0) : NULL;
    if (host->quiet)
        serve(host, scope);
    leat_scope_cancel(scope);
    leat_scope_close(scope);
    give_up_machine(host->run);
    return 0;
}

/* ---- all of them ---- */

static int open_host(struct run *run, struct host *host, const struct machine *machine)
{
    if (strcmp(machine->name, ":") == 0) {
        places_add(run, NULL, places_of(run, machine, run->plan->jobs));
        return 0;
    }
    host->run = run;
    host->machine = machine;
    pthread_mutex_init(&host->lock, NULL);
    return leat_go(run->machines, host_do, host);
}

int hosts_open(struct run *run)
{
    size_t n = run->plan->machine_count;
    run->over = leat_chan_make(NULL, 0, 0);
    run->hosts = calloc(n, sizeof *run->hosts);
    run->host_of = calloc(JOBS_MOST + 1, sizeof(struct host *));
    run->machines_left = n;
    if (!run->over || !run->hosts || !run->host_of)
        return -ENOMEM;
    int error = 0;
    for (size_t i = 0; i < n && !error; i++)
        error = open_host(run, &run->hosts[i], &run->plan->machines[i]);
    return error;
}

void hosts_close(struct run *run)
{
    if (!run->over)
        return;
    pthread_mutex_lock(&run->lock);
    leat_close(run->over);
    pthread_mutex_unlock(&run->lock);
}

void hosts_free(struct run *run)
{
    if (run->over)
        leat_chan_unref(run->over);
    for (size_t i = 0; run->hosts && i < run->plan->machine_count; i++)
        if (run->hosts[i].run)
            link_free(&run->hosts[i].link);
    free(run->hosts);
    free(run->host_of);
}

void hosts_flush(struct run *run)
{
    int64_t limit = leat_after(LEAT_S / 4);
    for (size_t i = 0; run->hosts && i < run->plan->machine_count; i++)
        if (run->hosts[i].run)
            link_flush(&run->hosts[i].link, limit);
}
