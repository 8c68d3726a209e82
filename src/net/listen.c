/* listen.c: sockets that listen, and the connections that they accept. */
#define _GNU_SOURCE
#include "net/net.h"

#include "base/cancel.h"
#include "base/world.h"
#include "io/io.h"

#include <leat/task.h>

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/stat.h>

/* ---- listening ---- */

static int bind_socket(int fd, const struct lt_endpoint *end, bool both, int backlog, mode_t mode)
{
    const struct sockaddr *at = (const struct sockaddr *)&end->address.at;
    bool stream = end->type == SOCK_STREAM;
    if (at->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ !both }, sizeof(int));
    if (stream && !end->is_local) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
        lt_net_undelay(fd); /* accepted sockets inherit it */
    }
    if (end->is_local && mode)
        fchmod(fd, mode); /* its file gets the mode */
    if (bind(fd, at, end->address.size) != 0)
        return -errno;
    return stream && listen(fd, backlog ? backlog : INT_MAX) != 0 ? -errno : 0;
}

int lt_net_listen(const struct lt_endpoint *end, bool both, int backlog, mode_t mode)
{
    int fd = lt_net_socket(end->address.at.ss_family, end->type);
    int error = fd < 0 ? fd : bind_socket(fd, end, both, backlog, mode);
    if (error && fd >= 0)
        lt_close(fd);
    return error ? error : fd;
}

static int open_listener(const char *address, struct lt_endpoint *end, int backlog)
{
    int error = lt_net_parse(address, end);
    if (error)
        return error;
    bool everywhere = !end->is_local && !*end->host;
    const char *host = everywhere ? "::" : end->host;
    int is_number = end->is_local ? 1 : lt_net_number(host, end->service, &end->address);
    if (is_number != 1)
        return is_number ? is_number : -EINVAL;
    int fd = lt_net_listen(end, everywhere, backlog, 0);
    if (!everywhere || (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL))
        return fd;
    lt_net_number("0.0.0.0", end->service, &end->address);
    return lt_net_listen(end, false, backlog, 0);
}

int leat_listen(leat_scope *scope, const char *address, int backlog, leat_io **listener)
{
    if (!address || backlog < 0 || !listener || !lt_running())
        return -EINVAL;
    if (lt_world())
        return -ENOTSUP;
    struct lt_endpoint end;
    int saved = errno, fd = open_listener(address, &end, backlog);
    errno = saved;
    if (fd < 0)
        return fd;
    /* By LT_IO_NEVER leat_accept knows that the socket is leat's own. Datagrams belong to
     * sockets. */
    enum lt_io_kind kind = end.type == SOCK_STREAM ? LT_IO_NEVER : LT_IO_SOCKET;
    int error = lt_io_new(scope, fd, kind, lt_io_is_tcp(fd), listener);
    if (error)
        lt_close(fd);
    return error;
}

/* ---- accepting ---- */

static int accept_now(int fd)
{
    int got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (got >= 0)
        return got;
    switch (errno) {
    /* Errors of one connection, which is gone. Call again. */
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET: return -EINTR;
    default: return -errno;
    }
}

static int64_t accept_of_program(leat_io *io, void *arg)
{
    (void)arg;
    int got = accept_now(io->fd);
    if (got >= 0)
        lt_net_undelay(got);
    return got;
}

/* Runs on a thread that may block: another process may take the connection in between. */
static int accept_slowly(void *io)
{
    return (int)lt_io_call_alone(io, LT_IN, accept_of_program, NULL);
}

static int64_t call_accept(leat_io *io, void *arg)
{
    if (lt_io_is_simulated(io))
        return -ENOTSUP;
    if (atomic_load_explicit(&io->kind, memory_order_relaxed) == LT_IO_NEVER)
        return accept_now(io->fd);
    int flags = fcntl(io->fd, F_GETFL);
    if (flags < 0)
        return -errno;
    if (!(flags & O_NONBLOCK)) {
        int error = lt_io_poll_now(io->fd, LT_IN);
        return error ? error : leat_blocking(accept_slowly, io);
    }
    return accept_of_program(io, arg);
}

/* A socket that does not listen never has a connection: without this check a party would wait for
 * one. Returns 0 or an error. */
static int check_listens(leat_io *io)
{
    if (!io)
        return -EINVAL;
    if (atomic_load_explicit(&io->kind, memory_order_relaxed) == LT_IO_NEVER ||
        lt_io_is_simulated(io))
        return 0;
    if (!lt_io_enter(io))
        return -EBADF;
    int saved = errno, listens = 0, type = 0, error = 0;
    socklen_t size = sizeof(int);
    if (getsockopt(io->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0)
        error = -errno;
    else if (!listens)
        error = getsockopt(io->fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_DGRAM
                    ? -EOPNOTSUPP
                    : -EINVAL;
    errno = saved;
    lt_io_leave(io);
    return error;
}

int leat_accept(leat_io *listener, leat_scope *scope, leat_io **connection, int64_t deadline)
{
    if (!connection)
        return -EINVAL;
    /* Allocated first, so that no connection is accepted for which there is no memory. */
    leat_io *made;
    int error = check_listens(listener);
    if (!error)
        error = lt_io_new(NULL, -1, LT_IO_SOCKET, listener->stream, &made);
    if (error)
        return error;
    int64_t fd = lt_io_repeat(listener, LT_IN, call_accept, NULL, 0, deadline);
    if (fd < 0) {
        leat_io_unref(made);
        return (int)fd;
    }
    lt_io_set_fd(made, (int)fd);
    lt_io_own(scope, made);
    *connection = made;
    return 0;
}

/* ---- for blocks and callbacks ---- */

/* -EDEADLK comes from leat_blocking, for a listener of the program's that may block. */
static int make_accept(const struct lt_io_turn *turn, bool asks)
{
    (void)asks;
    return leat_accept(turn->io, turn->more, (leat_io **)turn->at, LEAT_NOW);
}

static struct lt_io_turn accepting(leat_io *listener, leat_scope *scope, leat_io **connection)
{
    return (struct lt_io_turn){ make_accept, listener, LT_IN, 0, (void *)connection, scope };
}

int leat_block_accept(leat_block *b, leat_io *listener, leat_scope *scope, leat_io **connection)
{
    struct lt_io_turn turn = accepting(listener, scope, connection);
    return lt_io_turn_in_block(b, &turn);
}

int leat_accept_then(leat_io_op *op, leat_io *listener, leat_scope *scope, leat_io **connection,
                     leat_io_op_fn *fn)
{
    struct lt_io_turn turn = accepting(listener, scope, connection);
    return connection ? lt_io_turn_then(op, &turn, fn) : -EINVAL;
}
