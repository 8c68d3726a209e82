#define _GNU_SOURCE /* ppoll */
#include "look/look.h"

#include "base/alloc.h"
#include "base/bell.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/futex.h"
#include "base/util.h"
#include "base/world.h"
#include "dump/monitor.h"
#include "look/answer.h"
#include "look/place.h"
#include "sched/pool.h"
#include "sched/runtime.h"
#include "scope/scope.h"
#include "trace/trace.h"

#include <leat/watch.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- a client ---- */

enum { CLIENTS = 16, LONGEST_HEAD = 8192 };

/* How long a client may take to ask, and to read more; how long, if another client may want its
 * place; and how long a failing listener pauses: mostly no descriptor is left. */
static const int64_t patience = 10 * LEAT_S, least_patience = LEAT_S,
                     pause_of_listener = LEAT_S / 10;

enum state { ASKS, RECORDS, READS };

struct client {
    int fd; /* -1: there is none */
    enum state state;
    short events; /* of the last wait */
    bool stranger;
    int64_t until; /* the client is given up then; while RECORDS the trace is complete */
    size_t asked, sent;
    struct lt_answer answer;
    char head[LONGEST_HEAD + 1];
};

struct lt_server {
    struct lt_owned owned; /* by leat_look's scope */
    struct lt_place place;
    pthread_t thread;
    int stop;        /* an eventfd: readable when the thread must end */
    int64_t listens; /* listens only from then on */
    struct client clients[CLIENTS];
    const char *token; /* or NULL */
    char bytes[];      /* of the token */
};

static void leave(struct client *c)
{
    if (c->state == RECORDS)
        lt_trace_end_record(NULL);
    lt_close(c->fd);
    free(c->answer.bytes);
    c->answer.bytes = NULL;
    c->fd = -1;
}

/* Reads what the client has sent after its head, for a while: a UNIX socket that is closed with
 * unread bytes resets the connection. */
static void drop_rest(struct client *c)
{
    for (int i = 0; i < 64 && recv(c->fd, c->head, LONGEST_HEAD, 0) > 0; i++) {
    }
}

static void send_more(struct client *c)
{
    ssize_t n = send(c->fd, c->answer.bytes + c->sent, c->answer.length - c->sent, MSG_NOSIGNAL);
    if (n > 0) {
        c->sent += (size_t)n;
        c->until = lt_clock_now() + patience;
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        leave(c);
    } else if (c->sent == c->answer.length) {
        shutdown(c->fd, SHUT_WR);
        drop_rest(c);
        leave(c);
    }
}

static void begin_to_send(struct client *c)
{
    if (!c->answer.bytes)
        lt_answer_status(&c->answer, 500);
    c->state = READS;
    c->until = lt_clock_now() + patience;
    if (!c->answer.bytes)
        leave(c);
    else
        send_more(c);
}

static void answer(struct lt_server *server, struct client *c, size_t head)
{
    struct lt_asker asker = { server->token, c->stranger };
    int64_t records = lt_answer(&c->answer, &asker, c->head, head);
    if (records) {
        c->state = RECORDS;
        c->until = lt_clock_now() + records;
    } else {
        begin_to_send(c);
    }
}

static void read_more(struct lt_server *server, struct client *c)
{
    ssize_t n = recv(c->fd, c->head + c->asked, LONGEST_HEAD - c->asked, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        leave(c);
        return;
    }
    c->asked += (size_t)n;
    size_t head = lt_head_length(c->head, c->asked);
    if (head) {
        answer(server, c, head);
    } else if (c->asked == LONGEST_HEAD) {
        lt_answer_status(&c->answer, 400);
        begin_to_send(c);
    }
}

/* While a trace is recorded, only the client's end matters. Over TCP that is the end of what it
 * sends. */
static void attend(struct lt_server *server, struct client *c)
{
    short events = c->events;
    if (c->state == ASKS && events)
        read_more(server, c);
    else if (c->state == READS && events)
        send_more(c);
    else if (c->state == RECORDS && events & (POLLHUP | POLLRDHUP | POLLERR))
        leave(c);
    if (c->fd < 0 || lt_clock_now() < c->until)
        return;
    if (c->state == RECORDS) {
        lt_answer_trace(&c->answer);
        begin_to_send(c);
    } else {
        leave(c);
    }
}

/* ---- the thread ---- */

/* The place for the next client: a free one; or that of the client that has done nothing for the
 * longest time, so that some idle clients cannot shut out all others. NULL: all are busy. *from:
 * when the next client may have it. */
static struct client *next_place(struct lt_server *server, int64_t *from)
{
    struct client *idle = NULL;
    *from = server->listens;
    for (struct client *c = server->clients; c < server->clients + CLIENTS; c++) {
        if (c->fd < 0)
            return c;
        if (c->state != RECORDS && !c->events && (!idle || c->until < idle->until))
            idle = c;
    }
    if (idle && *from < idle->until - patience + least_patience)
        *from = idle->until - patience + least_patience;
    return idle;
}

static void take_client(struct lt_server *server)
{
    int64_t from, now = lt_clock_now();
    struct client *c = next_place(server, &from);
    bool stranger = false;
    if (!c || from > now)
        return;
    int fd = lt_place_accept(&server->place, &stranger);
    if (fd >= 0) {
        if (c->fd >= 0)
            leave(c);
        c->fd = fd;
        c->state = ASKS;
        c->events = 0;
        c->stranger = stranger;
        c->until = now + patience;
        c->asked = c->sent = 0;
    } else if (fd != -EAGAIN && fd != -EINTR && fd != -ECONNABORTED) {
        server->listens = now + pause_of_listener;
    }
}

enum { STOP, LISTENER, FIRST_CLIENT, DESCRIPTORS = FIRST_CLIENT + CLIENTS };

/* Returns the number of descriptors to wait for. poll(2) takes no more entries than RLIMIT_NOFILE,
 * also if their descriptor is -1; so `fds` gets only those clients that are there. *until: how long
 * to wait. */
static nfds_t prepare(struct lt_server *server, struct pollfd *fds, int64_t now, int64_t *until)
{
    static const short events[] = { POLLIN, POLLRDHUP, POLLOUT };
    for (size_t i = 0; i < CLIENTS; i++)
        server->clients[i].events = 0;
    int64_t from;
    bool place = next_place(server, &from), listens = place && from <= now;
    *until = place && !listens ? from : LEAT_NEVER;
    fds[STOP] = (struct pollfd){ .fd = server->stop, .events = POLLIN };
    fds[LISTENER] = (struct pollfd){ .fd = listens ? server->place.fd : -1, POLLIN, 0 };
    nfds_t n = FIRST_CLIENT;
    for (struct client *c = server->clients; c < server->clients + CLIENTS; c++) {
        if (c->fd < 0)
            continue;
        fds[n++] = (struct pollfd){ .fd = c->fd, .events = events[c->state] };
        if (c->until < *until)
            *until = c->until;
    }
    return n;
}

/* After a wait that the system has refused: poll(2) does if the program now allows itself fewer
 * descriptors than are in use. The page does not answer then, but the thread can end. Returns what
 * wait_for_events does. */
static int pause_after(int error, int stop)
{
    uint64_t count;
    if (error != EINTR)
        lt_nap(pause_of_listener);
    return read(stop, &count, sizeof count) == sizeof count ? -1 : 0;
}

/* Waits for the first event, or for the earliest time. Returns the events of the listener, or -1
 * when the thread must end. */
static int wait_for_events(struct lt_server *server)
{
    struct pollfd fds[DESCRIPTORS], *next = fds + FIRST_CLIENT;
    int64_t until, now = lt_clock_now();
    nfds_t n = prepare(server, fds, now, &until);
    int64_t left = until > now ? until - now : 0;
    struct timespec most = { (time_t)(left / LEAT_S), (long)(left % LEAT_S) };
    if (ppoll(fds, n, until == LEAT_NEVER ? NULL : &most, NULL) < 0)
        return pause_after(errno, server->stop);
    for (size_t i = 0; i < CLIENTS; i++)
        if (server->clients[i].fd >= 0)
            server->clients[i].events = next++->revents;
    return fds[STOP].revents ? -1 : fds[LISTENER].revents;
}

static void *serve(void *argument)
{
    struct lt_server *server = argument;
    int calls;
    while ((calls = wait_for_events(server)) >= 0) {
        if (calls)
            take_client(server);
        for (size_t i = 0; i < CLIENTS; i++)
            if (server->clients[i].fd >= 0)
                attend(server, &server->clients[i]);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        if (server->clients[i].fd >= 0)
            leave(&server->clients[i]);
    return NULL;
}

/* ---- beginning and end ---- */

static void free_server(struct lt_server *server)
{
    if (server->stop >= 0)
        lt_close(server->stop);
    lt_free(server);
}

static struct lt_server *make_server(const char *token)
{
    size_t size = token ? strlen(token) + 1 : 0;
    struct lt_server *server = lt_alloc(sizeof *server + size);
    if (!server)
        return NULL;
    if (token)
        server->token = memcpy(server->bytes, token, size);
    for (size_t i = 0; i < CLIENTS; i++)
        server->clients[i].fd = -1;
    int saved = errno;
    server->stop = lt_move_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    errno = saved;
    return server;
}

/* `token` may be NULL, and is copied. */
static int start_server(struct lt_server **to, const char *address, const char *token)
{
    struct lt_server *server = make_server(token);
    if (!server)
        return -ENOMEM;
    int error = server->stop < 0 ? -ENOMEM : lt_place_open(&server->place, address, token);
    if (!error && (error = lt_thread_start(&server->thread, serve, server)))
        lt_place_close(&server->place);
    if (error) {
        free_server(server);
        return error;
    }
    lt_monitor_bystander(1);
    *to = server;
    return 0;
}

static void stop_server(struct lt_server *server)
{
    int saved = errno, cancel = lt_cancel_put_off();
    lt_monitor_bystander(-1);
    lt_bell_ring(server->stop);
    pthread_join(server->thread, NULL);
    lt_place_close(&server->place);
    free_server(server);
    lt_cancel_restore(cancel);
    errno = saved;
}

/* ---- for a scope ---- */

static void free_owned(struct lt_owned *owned)
{
    stop_server(LT_CONTAINER(owned, struct lt_server, owned));
}

static const struct lt_owned_kind owned_kind = { .free = free_owned };

int leat_look(leat_scope *scope, const char *address, const char *token)
{
    if (!scope || !address || (token && !*token) || !lt_running())
        return -EINVAL;
    if (lt_world())
        return -ENOTSUP;
    struct lt_server *server;
    int cancel = lt_cancel_put_off(), error = start_server(&server, address, token);
    lt_cancel_restore(cancel);
    if (error)
        return error;
    server->owned.kind = &owned_kind;
    lt_scope_own(scope, &server->owned);
    return 0;
}

/* ---- from the environment ---- */

static struct lt_server *from_environment; /* while the runtime starts, runs and stops */

int lt_look_serve(void)
{
    const char *address = lt_env("LEAT_LOOK");
    if (!address)
        return 0;
    int error = start_server(&from_environment, address, lt_env("LEAT_LOOK_TOKEN"));
    if (error == -EINVAL)
        return lt_env_refuse("LEAT_LOOK", "an address such as 127.0.0.1:8080 or unix:/path");
    if (error == -EPERM)
        return lt_env_refuse("LEAT_LOOK",
                             "an address of this machine, unless LEAT_LOOK_TOKEN is set");
    if (error)
        dprintf(STDERR_FILENO, "leat: LEAT_LOOK: %s: %s\n", address, strerror(-error));
    return 0;
}

void lt_look_serve_end(void)
{
    if (from_environment)
        stop_server(from_environment);
    from_environment = NULL;
}
