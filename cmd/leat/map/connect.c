/* connect.c: the connection to a machine: its ssh, the worker's hello, and what both write to
 * standard error. */
#define _GNU_SOURCE
#include "map/host.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* With these options ssh ends by itself after a while if a worker does not answer. */
static const char default_ssh[] =
    "ssh -o BatchMode=yes -o ServerAliveInterval=15 -o ServerAliveCountMax=4";

static const int64_t farewell = 5 * LEAT_S;

static int start_ssh(struct host *host, leat_scope *scope)
{
    const char *wanted = getenv("LEAT_SSH");
    char *words = strdup(wanted && *wanted ? wanted : default_ssh), *rest = words;
    /* Each word but the last one has a blank after it. */
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

void host_add_hello(struct text *to, const struct plan *plan)
{
    text_word(to, leat_version());
    frame_add(to, (uint64_t)plan->grace, 8);
    text_word(to, plan->folder ? plan->folder : "");
}

static void say_hello(struct host *host)
{
    struct text body = { 0 };
    host_add_hello(&body, host->run->plan);
    link_send(&host->link, FRAME_HELLO, 0, body.bytes, body.len);
    text_free(&body);
}

enum { QUOTED = 61 };

/* The first line of a stranger's output, or its beginning, in a form that a terminal may show. */
static void quote(char to[QUOTED], const char *bytes, size_t n)
{
    size_t i = 0;
    for (; i < n && i + 1 < QUOTED && bytes[i] && bytes[i] != '\n'; i++)
        to[i] = (char)(isprint((unsigned char)bytes[i]) ? bytes[i] : '?');
    to[i] = '\0';
}

/* Reports the output that came instead of a frame, perhaps the greeting of a shell. */
static void say_stranger(struct host *host)
{
    char said[QUOTED];
    const struct link *l = &host->link;
    quote(said, l->bytes + l->taken, l->len - l->taken);
    streams_say(&host->run->streams, "%s: this is not a leat worker: it said '%s'",
                host->machine->name, said);
}

int host_hear_hello(struct host *host, unsigned *cores)
{
    struct run *run = host->run;
    struct frame f;
    int error = link_receive(&host->link, &f);
    if (!error && (f.kind != FRAME_HELLO || f.job))
        error = -EBADMSG;
    const char *version = error ? "" : frame_string(&f);
    if (!error && strcmp(version, leat_version()) != 0) {
        char quoted[QUOTED];
        quote(quoted, version, strlen(version));
        streams_say(&run->streams, "%s: it has version %s of leat, and here is %s",
                    host->machine->name, quoted, leat_version());
        return -EPROTO;
    }
    *cores = error ? 0 : (unsigned)frame_number(&f, 4);
    if (error == -EBADMSG || (!error && (f.broken || !*cores))) {
        say_stranger(host);
        return -EPROTO;
    }
    return error;
}

/* Passes on the messages of ssh and of the worker. */
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

/* The ssh has ended, but a process that it has left behind may hold its pipes. So this waits, for a
 * moment, until what has come is received, but not for the end of the pipe. */
static void close_pipes(struct host *host)
{
    int there;
    int64_t limit = leat_after(LEAT_S);
    link_finish(&host->link);
    while (ioctl(leat_io_fd(host->link.in), FIONREAD, &there) == 0 && there && leat_now() < limit &&
           leat_sleep(LEAT_MS) == 0) {
    }
    leat_io_close(host->link.in);
}

/* Ends the link with the run, and the ssh of a worker that does not end. A worker that has not
 * answered yet runs nothing, so this does not wait for it. Only a worker that is ending jobs may
 * take the grace. */
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
        int64_t end = leat_after(host->ready ? patience[got] : 0);
        limit = end < limit ? end : limit;
        cases[got].ch = NULL;
    }
    leat_process_end(host->ssh, SIGTERM);
    if (leat_recv(leat_process_ended(host->ssh), NULL) == 0)
        close_pipes(host);
    return 0;
}

int host_connect(struct host *host, leat_scope *scope)
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
