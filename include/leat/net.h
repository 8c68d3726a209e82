/* leat/net.h: connections: listen, accept, connect, serve, and the addresses of names.
 *
 *     static int echo(leat_io *connection, void *arg) {
 *         char bytes[4096];
 *         int64_t n;
 *         while ((n = leat_read(connection, bytes, sizeof bytes)) > 0)
 *             leat_write(connection, bytes, (size_t)n);
 *         return 0;
 *     }
 *     …
 *     leat_io *listener;
 *     leat_listen(scope, "127.0.0.1:7000", 0, &listener);
 *     leat_serve(listener, echo, NULL, NULL);
 *
 * The text of an address is one of these. A port is a number from 0 to 65535; 0 lets the system
 * choose one.
 *   127.0.0.1:80      an IPv4 address and a port
 *   [::1]:80          an IPv6 address, perhaps with a zone as in [fe80::1%eth0]:80
 *   :80               to listen: every address of this machine; to connect: this machine
 *   example.org:http  to connect: a name; the port may be the name of a service
 *   udp:127.0.0.1:53  any of these, for datagrams instead of a stream
 *   unix:/run/x       a socket of this machine, in the file system
 *   unix:@x           one in the abstract name space of Linux
 *
 * A socket that leat makes does not block, and is closed in programs that this process executes.
 * Small writes to a connection are sent at once (TCP_NODELAY).
 *
 * Blocks and callbacks may call these functions, too; there a call that would have to wait returns
 * -EDEADLK. A block accepts by LEAT_AWAIT_ACCEPT, a callback by leat_accept_then.
 *
 * Functions return the error of the system call that failed, or one of these.
 *   -EINVAL     an argument is wrong: NULL, a text that is no address, a negative deadline; or no
 *               runtime runs
 *   -EAGAIN     with LEAT_NOW: the call would have to wait
 *   -ETIMEDOUT  the deadline has passed; or the other side has not answered the system in time
 *   -ECANCELED  the caller's scope was cancelled
 *   -EDEADLK    the caller is a block or a callback, and would have to wait
 *   -ENAMETOOLONG   the address has a path of 108 bytes or more, or another part of 256 or more
 *   -EMFILE, -ENFILE, -ENOMEM, -ENOBUFS   the system has no descriptor or no memory left
 *   -ENOSPC     the system cannot watch one more descriptor
 *   -ENOTSUP    in a seeded world (leat/sim.h), where there are no descriptors */
#ifndef LEAT_NET_H
#define LEAT_NET_H

#include <leat/base.h>
#include <leat/io.h>
#include <leat/scope.h>

#include <sys/socket.h>

/* ---- listening and connecting ---- */

/* Makes a socket that listens at `address`, which has numbers and no names; with "udp:" one that
 * receives datagrams there (leat_recvfrom). `backlog`, 0 or more, is how many connections may wait
 * to be accepted; 0 is as many as the system allows. `scope` owns the leat_io; if `scope` is NULL,
 * the caller holds the only reference to it. The leat_io is written to *listener. A port can be
 * used again as soon as an earlier program has ended. An IPv6 address in brackets serves IPv6 only,
 * also [::]. leat does not remove the file of a "unix:" address: neither one that exists already,
 * nor its own at the end. "unix:@" lets the system choose a name. Never waits.
 * Returns 0; -EADDRINUSE when the address is taken, or a file has that path; -EADDRNOTAVAIL when it
 * is no address of this machine; -EACCES; -EAFNOSUPPORT when the system lacks IPv6; or an error,
 * see the top. */
LEAT_API int leat_listen(leat_scope *scope, const char *address, int backlog, leat_io **listener);

/* Takes the next connection that has come to `listener`. Waits until there is one, or until the
 * deadline. Several parties may accept from one listener. `scope` owns the connection; if `scope`
 * is NULL, the caller holds the only reference to it. The connection is written to *connection.
 * Connections that fail before they are accepted are skipped. If a call is cancelled, no connection
 * is lost.
 *
 * The listener may be one that the program has made (leat_io_adopt). If it has no O_NONBLOCK, and
 * another process accepts from it, too, a call may keep a thread of leat_blocking until the next
 * connection comes, and then neither deadline nor cancelling ends it.
 * Returns 0; -EBADF when the listener is closed, perhaps during the call; -EINVAL also for a socket
 * that does not listen; -EOPNOTSUPP for one of datagrams; -EMFILE, -ENFILE, and then the connection
 * still waits; or an error, see the top. */
LEAT_API int leat_accept(leat_io *listener, leat_scope *scope, leat_io **connection,
                         int64_t deadline);

/* Connects to `address`. A name is resolved first, as leat_resolve does. If there are several
 * addresses, the families take turns (RFC 8305): the next attempt begins after 250 ms, or at once
 * when one fails; the first that succeeds wins, and the others are closed. If the backlog of a
 * "unix:" listener is full, the call tries again, after 1 ms at first and 100 ms at most. With
 * "udp:" the socket sends to that address and receives only from there. `scope` owns the
 * connection; if `scope` is NULL, the caller holds the only reference to it. The connection is
 * written to *connection.
 * Returns 0; -ECONNREFUSED when nobody listens there; -ENOENT when the name, the service or the
 * path does not exist; -EHOSTUNREACH, -ENETUNREACH; another error of leat_resolve; or an error, see
 * the top. If all of several attempts fail, it returns the error of the one that failed first. */
LEAT_API int leat_connect(leat_scope *scope, const char *address, leat_io **connection,
                          int64_t deadline);

/* Accepts as leat_accept does, in a block; b->status is 0 or an error. Before each wait the
 * arguments are evaluated again. `alarm` is as for LEAT_AWAIT_RECV_UNTIL. */
#define LEAT_AWAIT_ACCEPT(b, listener, scope, connection, deadline, alarm) \
    LEAT_AWAIT_IO_(b, listener, LEAT_IN, leat_block_accept(b, listener, scope, connection), \
                   deadline, alarm)

/* Accepts as leat_accept does, and calls fn(op, status): the status is 0 when there is a
 * connection, else an error. Never waits.
 * Returns 0 when fn has been or will be called, once. When it will not: -EBUSY while the operation
 * is under way already; -EINVAL for a NULL, or when no runtime runs. */
LEAT_API int leat_accept_then(leat_io_op *op, leat_io *listener, leat_scope *scope,
                              leat_io **connection, leat_io_op_fn *fn);

/* For the macro only. b->status is what leat_accept returns with LEAT_NOW.
 * Returns LEAT_DONE_; or LEAT_PARKED_, and then the step function must return, too. */
LEAT_API int leat_block_accept(leat_block *b, leat_io *listener, leat_scope *scope,
                               leat_io **connection);

/* ---- serving ---- */

/* Serves one connection. `arg` is that of leat_serve. When the function has returned, the
 * connection is closed, unless the function has taken the descriptor back (leat_io_release).
 * Returns a verdict: 0, or a negative errno value. */
typedef int leat_serve_fn(leat_io *connection, void *arg);

/* How leat_serve serves. A field that is 0 has its default. */
typedef struct leat_serve_options {
    /* The most connections that are served at a time; further ones wait in the backlog. Default: no
     * limit. */
    unsigned most;
    /* Not 0: each connection has a thread to itself, as by leat_go_blocking. */
    int threads;
    /* Not 0: a verdict other than 0 cancels all connections and ends the server. */
    int strict;
    /* The stack of each task, in bytes, as for leat_go_sized. */
    size_t stack_size;
    /* How long connections may go on after the server has stopped accepting, in nanoseconds. Then
     * they are cancelled. LEAT_NEVER: as long as they take. Default: 10 s. */
    int64_t grace;
    /* Called with each error that makes accepting pause: -EMFILE, -ENFILE, -ENOBUFS, -ENOMEM or
     * -ENOSPC. The party that called leat_serve calls it, with that call's `arg`. Default: no
     * function. */
    void (*error)(void *arg, int error);
} leat_serve_options;

/* Accepts connections from `listener` and runs fn(connection, arg) for each, in a task of its own.
 * The task begins on the worker that accepted, or on a worker that has clearly fewer tasks. When
 * the system lacks descriptors, memory or watches, accepting pauses, for 5 ms at first and twice as
 * long each time up to 1 s; connections that come meanwhile wait.
 *
 * The server stops when the listener is closed (leat_io_close), when the caller's scope is
 * cancelled, or when accepting fails for good. It then accepts no more and waits for the
 * connections that are being served, until the grace has passed; then it cancels them. Until then,
 * cancelling the caller's scope does not end the connections' waits. leat_serve returns when each
 * fn has returned. The listener stays open unless it was closed. `options` may be NULL and is
 * copied.
 * Returns 0 when the listener was closed; -ECANCELED when the caller's scope was cancelled; with
 * `strict` the first verdict other than 0; -EINVAL for a NULL listener or fn, a negative grace, or
 * a stack_size out of range; -EDEADLK in a block or callback; -ENOMEM when it could not begin; or
 * the error of leat_accept for which it stopped. */
LEAT_API int leat_serve(leat_io *listener, leat_serve_fn *fn, void *arg,
                        const leat_serve_options *options);

/* The head of the struct of a connection's block, see leat_serve_blocks, which sets all of it. */
typedef struct leat_served {
    leat_block block;
    leat_io *connection;
    void *arg; /* that of leat_serve_blocks */
} leat_served;

/*     int leat_serve_blocks(leat_io *listener, step, size_t size, void *arg,
 *                           const leat_serve_options *options);
 *
 * Serves as leat_serve does, with a block for each connection (leat/block.h), which costs a third
 * of a task's memory or less. `step` is the name of the step function. The block's struct begins
 * with a leat_served and has `size` bytes; the bytes after the leat_served are 0 at first. leat
 * makes the struct, and frees it when the block has ended; so no party may wait for that block.
 * When the block ends, the connection is closed, unless the block has taken the descriptor back
 * (leat_io_release).
 *
 *     struct talk { leat_served served; size_t done; int n; char bytes[512]; };
 *
 *     static int echo(leat_block *b) {
 *         struct talk *me = (struct talk *)b;
 *         LEAT_BEGIN(b);
 *         for (;;) {
 *             LEAT_AWAIT_READ(b, me->served.connection, me->bytes, sizeof me->bytes);
 *             if ((me->n = b->status) <= 0)
 *                 break;
 *             LEAT_AWAIT_WRITE(b, me->served.connection, me->bytes, (size_t)me->n, me->done);
 *         }
 *         LEAT_END(b);
 *     }
 *     …
 *     leat_serve_blocks(listener, echo, sizeof(struct talk), NULL, NULL);
 *
 * Returns what leat_serve does; -EINVAL also for a `size` that is too small, and for options that
 * blocks do not have: threads and stack_size. */
#define leat_serve_blocks(listener, step, size, ...) \
    leat_serve_blocks_typed(listener, LEAT_BLOCK_TYPE_(step), size, __VA_ARGS__)

/* The same as a function, for a step function chosen at run time. `type` is not copied.
 * Returns what leat_serve_blocks does; -EINVAL also for a NULL type or a NULL `step` in it. */
LEAT_API int leat_serve_blocks_typed(leat_io *listener, const leat_block_type *type, size_t size,
                                     void *arg, const leat_serve_options *options);

/* ---- addresses ---- */

/* An address of a socket: pass (struct sockaddr *)&a.at and a.size, or &a.size, to leat_sendto and
 * leat_recvfrom. Before leat_recvfrom, set a.size to sizeof a.at. */
typedef struct leat_address {
    struct sockaddr_storage at;
    socklen_t size; /* of what `at` holds, in bytes */
} leat_address;

/* The room that the text of any address takes, in bytes, with its 0 at the end. */
enum { LEAT_ADDRESS_TEXT = 128 };

/* Finds the addresses of `host`, a name or a number as in "example.org" or "::1", with the port of
 * `service`, a name or a number as in "http" or "80". Writes up to `n` of them, 1 or more, to
 * `addresses`, best first; it finds 32 at most. Numbers are converted at once, also in a cancelled
 * scope. For names, a thread of leat_blocking asks the system (getaddrinfo), at most 32 at a time.
 * Callers that ask for the same name and service at the same time share one lookup. A caller whose
 * deadline passes, or whose scope is cancelled, returns at once; but leat_stop waits until the
 * system has answered.
 * Returns how many addresses were written; -ENOENT when the name or the service does not exist, or
 * has no address; -EHOSTDOWN when the name servers do not answer now; -EPROTO when they answer with
 * a failure; -EMFILE, -ENFILE when there are no more descriptors; or an error, see the top: -EAGAIN
 * for a name with LEAT_NOW, always. */
LEAT_API int leat_resolve(const char *host, const char *service, leat_address *addresses, size_t n,
                          int64_t deadline);

/* Writes the text of an address to `text`, which has room for `n` bytes: LEAT_ADDRESS_TEXT is
 * enough. leat_listen and leat_connect read this text; a 0 in an abstract name becomes an @. The
 * text does not say whether the address is for datagrams: put "udp:" in front of it yourself.
 * Returns the length of the text; -ENOSPC when there is not enough room; -EAFNOSUPPORT for an
 * address of another family; -EINVAL for a NULL, or a size that is wrong. */
LEAT_API int leat_address_text(const leat_address *address, char *text, size_t n);

/* Find a socket's own address, for instance after listening at port 0, and the address of the other
 * side.
 * Returns 0; -EBADF when it is closed; -ENOTSOCK; -ENOTCONN when there is no other side; -EINVAL
 * for a NULL. */
LEAT_API int leat_io_local(leat_io *io, leat_address *address);
LEAT_API int leat_io_peer(leat_io *io, leat_address *address);

/* Writes the text of a socket's own address, as leat_io_local and then leat_address_text do: what
 * leat_connect needs to reach a listener whose port the system has chosen. For a socket of
 * datagrams put "udp:" in front of it.
 * Returns the length of the text; or an error of these two. */
LEAT_API int leat_io_local_text(leat_io *io, char *text, size_t n);

#endif
