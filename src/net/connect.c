/* connect.c: connects to the first of several addresses that answers.
 *
 * One party makes all attempts. Each attempt has its own descriptor, and the party waits in one
 * select until one of them is writable, or until it is time for the next attempt. */
#define _GNU_SOURCE
#include "net/net.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/world.h"
#include "io/io.h"

#include <leat/select.h>
#include <leat/time.h>

#include <string.h>

#define APART (250 * LEAT_MS) /* RFC 8305, section 5 */

struct race {
    int type;
    int error;    /* of the first attempt that failed */
    int64_t next; /* when the next attempt begins */
    leat_io *winner;
    int runners;
    leat_io *running[LT_NET_ADDRESSES];
    leat_case cases[LT_NET_ADDRESSES];
    int n;
    leat_address addresses[LT_NET_ADDRESSES];
};

/* 0, -EINPROGRESS, or another error. */
static int connect_now(int fd, const leat_address *to)
{
    int error, cancel = lt_cancel_put_off();
    do
        error = connect(fd, (const struct sockaddr *)&to->at, to->size) == 0 ? 0 : -errno;
    while (error == -EINTR);
    lt_cancel_restore(cancel);
    /* The call that was interrupted has begun it, or finished. */
    if (error == -EALREADY || error == -EISCONN)
        return error == -EISCONN ? 0 : -EINPROGRESS;
    if (error == -EAGAIN && to->at.ss_family != AF_UNIX)
        return -EADDRNOTAVAIL; /* no port is free */
    return error;
}

/* Makes a socket as a leat_io with one reference. */
static int make_socket(int family, int type, leat_io **made)
{
    int fd = lt_net_socket(family, type);
    if (fd < 0)
        return fd;
    if (type == SOCK_STREAM && family != AF_UNIX)
        lt_net_undelay(fd);
    int error = lt_io_new(NULL, fd, LT_IO_SOCKET, lt_io_is_tcp(fd), made);
    if (error)
        lt_close(fd);
    return error;
}

/* ---- several addresses ---- */

/* TCP lets a socket connect to its own port, if the system chooses that port and there is no
 * listener. */
static bool is_its_own_peer(int fd)
{
    leat_address here = { .size = sizeof here.at }, there = { .size = sizeof there.at };
    return getsockname(fd, (struct sockaddr *)&here.at, &here.size) == 0 &&
           getpeername(fd, (struct sockaddr *)&there.at, &there.size) == 0 &&
           here.size == there.size && memcmp(&here.at, &there.at, here.size) == 0;
}

/* The outcome of an attempt: 0, -EINPROGRESS, or the error. */
static int outcome(int fd)
{
    struct sockaddr_storage peer;
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return -errno;
    size = sizeof peer;
    if (error || getpeername(fd, (struct sockaddr *)&peer, &size) != 0)
        return error ? -error : errno == ENOTCONN ? -EINPROGRESS : -errno;
    return 0;
}

static void failed(struct race *race, int error)
{
    if (!race->error)
        race->error = error;
    race->next = 0;
}

/* Takes the result of an attempt. */
static void settle(struct race *race, leat_io *io, int error)
{
    if (!error && race->type == SOCK_STREAM && is_its_own_peer(io->fd))
        error = -ECONNREFUSED;
    if (!error) {
        race->winner = io;
        return;
    }
    leat_io_unref(io);
    failed(race, error);
}

static void begin(struct race *race, const leat_address *to)
{
    leat_io *io;
    race->next = lt_clock_after(lt_clock_now(), APART);
    int error = make_socket(to->at.ss_family, race->type, &io);
    if (error) {
        failed(race, error);
        return;
    }
    error = connect_now(io->fd, to);
    if (error == -EINPROGRESS)
        race->running[race->runners++] = io;
    else
        settle(race, io, error);
}

static int wait_for_one(struct race *race, int64_t deadline)
{
    for (int i = 0; i < race->runners; i++) {
        leat_chan *ch;
        int error = lt_io_find(race->running[i], LT_OUT, &ch);
        if (error)
            return error;
        race->cases[i] = (leat_case)LEAT_RECV(ch, NULL);
    }
    int i = leat_select(race->cases, (size_t)race->runners, deadline);
    if (i < 0)
        return i;
    leat_io *io = race->running[i];
    int error = outcome(io->fd);
    /* The select does not see the deadline while the system calls the socket writable. */
    if (error == -EINPROGRESS)
        return deadline == LEAT_NOW ? -EAGAIN : lt_io_is_late(deadline) ? -ETIMEDOUT : 0;
    race->running[i] = race->running[--race->runners];
    settle(race, io, error);
    return 0;
}

static int run(struct race *race, int64_t deadline)
{
    for (int next = 0; !race->winner;) {
        bool more = next < race->n;
        if (more && (!race->runners || lt_clock_now() >= race->next)) {
            begin(race, &race->addresses[next++]);
            continue;
        }
        if (!race->runners)
            return race->error;
        int64_t until = more && race->next < deadline ? race->next : deadline;
        int error = wait_for_one(race, until);
        if (error && (error != -ETIMEDOUT || until == deadline))
            return error;
    }
    return 0;
}

/* Lets the two families take turns; the first address stays first. */
static void take_turns(leat_address *addresses, int n)
{
    for (int i = 1; i < n; i++) {
        int other = i;
        while (other < n && addresses[other].at.ss_family == addresses[i - 1].at.ss_family)
            other++;
        if (other == n)
            return;
        leat_address moved = addresses[other];
        memmove(&addresses[i + 1], &addresses[i], (size_t)(other - i) * sizeof moved);
        addresses[i] = moved;
    }
}

/* Finds the addresses. Returns their number, or an error. */
static int find(const struct lt_endpoint *end, leat_address *addresses, int64_t deadline)
{
    if (*end->host)
        return leat_resolve(end->host, end->service, addresses, LT_NET_ADDRESSES, deadline);
    int n = lt_net_number("127.0.0.1", end->service, &addresses[0]);
    if (!n)
        return leat_resolve("localhost", end->service, addresses, LT_NET_ADDRESSES, deadline);
    return n < 0 ? n : n + lt_net_number("::1", end->service, &addresses[1]);
}

static int connect_race(const struct lt_endpoint *end, leat_io **made, int64_t deadline)
{
    struct race *race = lt_alloc(sizeof *race);
    if (!race)
        return -ENOMEM;
    race->type = end->type;
    race->n = find(end, race->addresses, deadline);
    take_turns(race->addresses, race->n);
    int error = race->n < 0 ? race->n : run(race, deadline);
    for (int i = 0; i < race->runners; i++)
        leat_io_unref(race->running[i]);
    *made = race->winner;
    lt_free(race);
    return error;
}

/* ---- "unix:" ---- */

/* Such a connect is done at once, or refused because the backlog is full. */
static int repeat_connect(int fd, const leat_address *to, int64_t deadline)
{
    for (int64_t pause = LEAT_MS;; pause = pause < 50 * LEAT_MS ? 2 * pause : 100 * LEAT_MS) {
        int error = connect_now(fd, to);
        if (error != -EAGAIN || deadline == LEAT_NOW)
            return error;
        int64_t now = lt_clock_now(), until = lt_clock_after(now, pause);
        if (now >= deadline)
            return -ETIMEDOUT;
        error = leat_sleep_until(until < deadline ? until : deadline);
        if (error)
            return error;
    }
}

static int connect_local(const leat_address *to, leat_io **made, int64_t deadline)
{
    leat_io *io;
    int error = make_socket(AF_UNIX, SOCK_STREAM, &io);
    if (error)
        return error;
    error = repeat_connect(io->fd, to, deadline);
    if (error)
        leat_io_unref(io);
    *made = io;
    return error;
}

int leat_connect(leat_scope *scope, const char *address, leat_io **connection, int64_t deadline)
{
    struct lt_endpoint end;
    if (!connection || deadline < 0 || !lt_running())
        return -EINVAL;
    int error = lt_net_parse(address, &end);
    if (!error)
        error = lt_world() ? -ENOTSUP : lt_wait_allowed(lt_current_party());
    if (error)
        return error;
    leat_io *made = NULL;
    int saved = errno;
    error = end.is_local ? connect_local(&end.address, &made, deadline)
                         : connect_race(&end, &made, deadline);
    errno = saved;
    if (error)
        return error;
    lt_io_own(scope, made);
    *connection = made;
    return 0;
}
