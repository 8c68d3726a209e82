#define _GNU_SOURCE
#include "look/server.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "look/answer.h"
#include "look/listen.h"
#include "sched/thread.h"
#include "watch/deadlock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CLIENTS = 16, LONGEST_HEAD = 8192 };

/* How long a client may take to ask, and to read some more; and a listener that fails, to recover:
 * mostly there is no descriptor left. */
static const int64_t patience = 10 * LEAT_S, pause_of_listener = LEAT_S / 10;

enum state { ASKS, RECORDS, READS };

struct client {
    int fd; /* -1: there is none */
    enum state state;
    bool stranger;
    int64_t until; /* it is given up then; while RECORDS the trace is complete */
    size_t asked, sent;
    struct lt_text answer;
    char head[LONGEST_HEAD + 1];
};

struct lt_server {
    struct lt_place place;
    pthread_t thread;
    int stop; /* an eventfd: readable when the thread is to end */
    char *token;
    int64_t listens; /* not before */
    struct client clients[CLIENTS];
};

/* ---- a client ---- */

static void leave(struct client *c)
{
    if (c->state == RECORDS)
        lt_answer_no_trace();
    lt_net_close(c->fd);
    lt_text_free(&c->answer);
    c->fd = -1;
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
        leave(c);
    }
}

static void begin_to_send(struct client *c)
{
    if (c->answer.failed) {
        lt_text_free(&c->answer);
        lt_answer_status(&c->answer, 500);
    }
    c->state = READS;
    c->until = lt_clock_now() + patience;
    if (c->answer.failed)
        leave(c);
    else
        send_more(c);
}

static void answer(struct lt_server *server, struct client *c)
{
    struct lt_request request;
    struct lt_asker asker = { server->token, c->stranger };
    int status = lt_request_parse(&request, c->head, c->asked);
    int64_t records = 0;
    if (status)
        lt_answer_status(&c->answer, status);
    else
        records = lt_answer(&c->answer, &asker, &request);
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
    if (lt_request_is_whole(c->head, c->asked)) {
        answer(server, c);
    } else if (c->asked == LONGEST_HEAD) {
        lt_answer_status(&c->answer, 400);
        begin_to_send(c);
    }
}

/* While a trace is recorded, only the client's end is of interest. */
static void attend(struct lt_server *server, struct client *c, short events)
{
    if (c->state == ASKS && events)
        read_more(server, c);
    else if (c->state == READS && events)
        send_more(c);
    else if (c->state == RECORDS && events & (POLLHUP | POLLERR))
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

static struct client *free_client(struct lt_server *server)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (server->clients[i].fd < 0)
            return &server->clients[i];
    return NULL;
}

static void take_client(struct lt_server *server)
{
    struct client *c = free_client(server);
    bool stranger = false;
    int fd = lt_place_accept(&server->place, &stranger);
    if (fd >= 0) {
        c->fd = fd;
        c->state = ASKS;
        c->stranger = stranger;
        c->until = lt_clock_now() + patience;
        c->asked = c->sent = 0;
    } else if (fd != -EAGAIN && fd != -EINTR && fd != -ECONNABORTED) {
        server->listens = lt_clock_now() + pause_of_listener;
    }
}

enum { STOP, LISTENER, FIRST_CLIENT, DESCRIPTORS = FIRST_CLIENT + CLIENTS };

/* Waits for the first event, or for the first time. */
static void wait_for_events(struct lt_server *server, struct pollfd *fds)
{
    static const short events[] = { POLLIN, 0, POLLOUT };
    int64_t now = lt_clock_now(), first = LEAT_NEVER;
    bool listens = free_client(server) && server->listens <= now;
    if (free_client(server) && !listens)
        first = server->listens;
    fds[STOP] = (struct pollfd){ .fd = server->stop, .events = POLLIN };
    fds[LISTENER] = (struct pollfd){ .fd = listens ? server->place.fd : -1, .events = POLLIN };
    for (size_t i = 0; i < CLIENTS; i++) {
        const struct client *c = &server->clients[i];
        fds[FIRST_CLIENT + i] = (struct pollfd){ .fd = c->fd, .events = events[c->state] };
        if (c->fd >= 0 && c->until < first)
            first = c->until;
    }
    int64_t left = first == LEAT_NEVER ? 0 : first > now ? first - now : 0;
    struct timespec most = { (time_t)(left / LEAT_S), (long)(left % LEAT_S) };
    if (ppoll(fds, DESCRIPTORS, first == LEAT_NEVER ? NULL : &most, NULL) < 0)
        for (size_t i = 0; i < DESCRIPTORS; i++)
            fds[i].revents = 0;
}

static void *serve(void *argument)
{
    struct lt_server *server = argument;
    struct pollfd fds[DESCRIPTORS];
    for (;;) {
        wait_for_events(server, fds);
        if (fds[STOP].revents)
            break;
        for (size_t i = 0; i < CLIENTS; i++)
            if (server->clients[i].fd >= 0)
                attend(server, &server->clients[i], fds[FIRST_CLIENT + i].revents);
        if (fds[LISTENER].revents)
            take_client(server);
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
        lt_net_close(server->stop);
    lt_free(server->token);
    lt_free(server);
}

static int prepare(struct lt_server *server, const char *token)
{
    int saved = errno;
    for (size_t i = 0; i < CLIENTS; i++)
        server->clients[i].fd = -1;
    server->stop = eventfd(0, EFD_CLOEXEC);
    errno = saved;
    if (token) {
        size_t size = strlen(token) + 1;
        server->token = lt_alloc(size);
        if (server->token)
            memcpy(server->token, token, size);
    }
    return server->stop < 0 || (token && !server->token) ? -ENOMEM : 0;
}

int lt_server_start(struct lt_server **to, const char *address, const char *token)
{
    struct lt_server *server = lt_alloc(sizeof *server);
    if (!server)
        return -ENOMEM;
    int error = prepare(server, token);
    if (error) {
        free_server(server);
        return error;
    }
    error = lt_place_open(&server->place, address, token);
    if (!error) {
        error = lt_thread_start(&server->thread, serve, server);
        if (error)
            lt_place_close(&server->place);
    }
    if (error)
        free_server(server);
    else
        *to = server;
    if (!error)
        lt_deadlock_bystander(1);
    return error;
}

void lt_server_stop(struct lt_server *server)
{
    int saved = errno;
    lt_deadlock_bystander(-1);
    ssize_t written = write(server->stop, &(uint64_t){ 1 }, sizeof(uint64_t));
    (void)written;
    pthread_join(server->thread, NULL);
    lt_place_close(&server->place);
    free_server(server);
    errno = saved;
}
