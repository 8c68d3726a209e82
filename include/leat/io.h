/* leat/io.h: descriptors: sockets, pipes, terminals, files.
 *
 *     leat_io *io;
 *     leat_io_adopt(scope, fd, &io);
 *     int64_t n;
 *     while ((n = leat_read(io, buffer, sizeof buffer)) > 0)
 *         leat_write(io, buffer, (size_t)n);
 *
 * A leat_io is a descriptor that parties wait for as they wait for channels: a task parks and its
 * worker runs other parties, a deadline and a cancelled scope end the wait, and a select waits for
 * descriptors and channels together. No thread of its own is needed: an idle worker waits for all
 * its descriptors at once (epoll).
 *
 * Owning. A scope owns a leat_io, and closes its descriptor when the scope closes. A leat_io that
 * was made with a NULL scope counts references instead; its descriptor is closed when the last
 * reference is given back. leat_io_close closes either kind earlier. While leat has a descriptor,
 * the program must not close(2) it; any other use is allowed.
 *
 * Several parties may use a leat_io at the same time, for instance one that reads and one that
 * writes. If two parties read from one descriptor, each byte reaches one of them. If two parties
 * write at the same time, their bytes may mix.
 *
 * Blocking. leat never sets O_NONBLOCK on a descriptor that the program has made: that flag belongs
 * to the open file, which other processes may share. On a socket, leat asks the system in each call
 * not to block; also on a pipe or a terminal, where the system can do that. Otherwise the call runs
 * on a thread of leat_blocking when the descriptor is ready. So do calls on regular files and on
 * other descriptors that cannot be waited for. A block or a callback waits for such a call in
 * LEAT_AWAIT_READ, leat_read_then and the like; neither a deadline nor cancelling ends that wait.
 * If a block or a callback makes a plain leat_read or leat_write on such a descriptor, even with
 * LEAT_NOW, the call keeps the worker until it is done. So does the call of a task if the system
 * allows no more threads. A terminal counts as ready when it has a little room. A larger write then
 * waits in the system until somebody reads, and nothing ends that call, unless the program has
 * opened the terminal with O_NONBLOCK.
 *
 * Results. Functions return a count of bytes, 0 at the end of the stream, or a negative errno
 * value: the error of the system call, or one of these.
 *   -EINVAL     an argument is wrong: NULL, no bytes, a negative deadline; or no runtime runs
 *   -EBADF      the leat_io is closed, perhaps during the call
 *   -EAGAIN     with LEAT_NOW: the call would have to wait
 *   -ETIMEDOUT  the deadline has passed
 *   -ECANCELED  the caller's scope was cancelled
 *   -EDEADLK    the caller is a block or a callback, and would have to wait
 *   -EMFILE, -ENFILE, -ENOMEM, -ENOSPC   the system cannot watch one more descriptor
 *   -ENOTSUP    in a seeded world (leat/sim.h), which has no descriptors: only the pipes and pairs
 *               of leat_io_pipe and leat_io_pair
 * A call that returns an error has moved nothing. A write to a pipe or a socket without a reader
 * returns -EPIPE and raises no signal.
 *
 * Environment. LEAT_IO is auto, epoll or uring. With uring, reads and writes of tasks on sockets go
 * through an io_uring of their worker, if the system allows it; auto, the default, is epoll. The
 * results are the same. docs/io.md says when a ring pays.
 *
 * Where Go has net.Conn and SetDeadline, leat has leat_io and a deadline in each call. */
#ifndef LEAT_IO_H
#define LEAT_IO_H

#include <leat/base.h>
#include <leat/block.h>
#include <leat/callback.h>
#include <leat/chan.h>
#include <leat/scope.h>
#include <leat/select.h>

#include <sys/socket.h>
#include <sys/uio.h>

typedef struct leat_io leat_io;

/* ---- owning ---- */

/* Make a pipe, or a pair of connected stream sockets (AF_UNIX). In a pipe, ends[0] is for reading,
 * and ends[1] is for writing. In a pair, both ends are for both. `scope` owns the two leat_ios; if
 * `scope` is NULL, the caller holds the only reference to each. They are written to `ends`. Their
 * descriptors do not block, and are closed in programs that this process executes. Never wait.
 *
 * In a seeded world both are simulated, and there are no descriptors: leat/sim.h says how they
 * behave. All functions of this header work with them, except those that need a number or a
 * message: leat_io_fd, leat_io_release, leat_recvfrom, leat_recvmsg, leat_sendto and leat_sendmsg
 * return -ENOTSUP. Use the ends in their world: outside of it they can only be closed, and all
 * other calls return -EINVAL.
 * Returns 0; -EINVAL for a NULL `ends`, or when no runtime runs; -EMFILE, -ENFILE, -ENOMEM. Unless
 * it returns 0, `ends` is unchanged. */
LEAT_API int leat_io_pipe(leat_scope *scope, leat_io *ends[2]);
LEAT_API int leat_io_pair(leat_scope *scope, leat_io *ends[2]);

/* Takes over the descriptor `fd`, which may be of any kind. `scope` owns the new leat_io; if
 * `scope` is NULL, the caller holds the only reference to it. The leat_io is written to *io. When
 * it ends, leat closes `fd`.
 * Returns 0; -EINVAL for a NULL io or a negative fd, or when no runtime runs; -EBADF when fd is not
 * open; -ENOMEM; -ENOTSUP in a seeded world. Unless it returns 0, fd stays the caller's, and *io is
 * unchanged. */
LEAT_API int leat_io_adopt(leat_scope *scope, int fd, leat_io **io);

/* Add or give back a reference to a leat_io that was made with a NULL scope. leat_io_unref frees it
 * with its last reference, and closes the descriptor if that has not been done.
 * Returns 0; -EINVAL for NULL, or for a leat_io that a scope owns. */
LEAT_API int leat_io_ref(leat_io *io);
LEAT_API int leat_io_unref(leat_io *io);

/* Closes the descriptor. Parties that wait for it get -EBADF at once. The descriptor's number is
 * free for reuse when the last call that uses it has ended, usually before this returns. The
 * leat_io itself stays until its scope closes, or its last reference is given back. Never waits.
 * Returns 0; -EBADF when it was closed before; -EINVAL for NULL; or the error of close(2), and then
 * the descriptor is closed all the same. */
LEAT_API int leat_io_close(leat_io *io);

/* Takes the descriptor back from leat: the descriptor stays open and is the caller's. The leat_io
 * counts as closed from then on.
 * Returns the descriptor; -EBUSY while another party uses it or waits for it, or while there are
 * bytes that a leat_copy has given back; -EBADF when it was closed before; -EINVAL for NULL;
 * -ENOTSUP for a simulated one. */
LEAT_API int leat_io_release(leat_io *io);

/* Tells the number of the descriptor, for setsockopt(2) and the like.
 * Returns it, also when it has been closed; -EINVAL for NULL; -ENOTSUP for a simulated one. */
LEAT_API int leat_io_fd(const leat_io *io);

/* ---- reading ---- */

/* Reads up to `n` bytes, 1 or more, into `buffer`. Waits until there is at least one, or until the
 * deadline.
 * Returns how many bytes were read; 0 at the end of the stream; or an error, see the top. */
LEAT_API int64_t leat_read(leat_io *io, void *buffer, size_t n);
LEAT_API int64_t leat_read_until(leat_io *io, void *buffer, size_t n, int64_t deadline);

/* Reads `n` bytes, 1 or more, into `buffer`: waits until all have come, the stream ends, or the
 * deadline passes.
 * Returns how many bytes were read. Fewer than n: the stream has ended, or an error has ended the
 * call, and the next call returns that error. 0 at the end of the stream; or, when no byte was
 * read, an error. */
LEAT_API int64_t leat_read_full(leat_io *io, void *buffer, size_t n, int64_t deadline);

/* Reads as leat_read_until does, into the `n` pieces of memory at `parts`, 1 to 1,024, one after
 * the other.
 * Returns what leat_read_until does. */
LEAT_API int64_t leat_readv(leat_io *io, const struct iovec *parts, int n, int64_t deadline);

/* Receives a datagram of up to `n` bytes into `buffer`; a longer one is cut off. The sender's
 * address is written to `from`. *size is the size of the memory at `from` before the call, and the
 * size of the address after it. Both may be NULL.
 * Returns the bytes received, which may be 0; or an error, see the top. */
LEAT_API int64_t leat_recvfrom(leat_io *io, void *buffer, size_t n, struct sockaddr *from,
                               socklen_t *size, int64_t deadline);

/* Receives as recvmsg(2) does, with its `flags`, but does not wait for all bytes (MSG_WAITALL): use
 * leat_read_full. Descriptors that come along are closed in programs that this process executes. If
 * the kernel decrypts the socket (TLS_RX), use this function instead of leat_read: leat_read ends
 * before a record without data, such as an alert, and the next leat_read may wait although that
 * record has come.
 * Returns what leat_recvfrom does. */
LEAT_API int64_t leat_recvmsg(leat_io *io, struct msghdr *header, int flags, int64_t deadline);

/* ---- writing ---- */

/* Writes the `n` bytes at `data`, 1 or more. Waits until the system has taken all of them, or until
 * the deadline. If a call is cut short, it returns how many bytes it has written; if an error of
 * the descriptor cut it short, the next write returns that error. With LEAT_NOW it writes as many
 * bytes as it can without waiting.
 * Returns how many bytes were written: n, or fewer; or, when none was written, an error, see the
 * top. */
LEAT_API int64_t leat_write(leat_io *io, const void *data, size_t n);
LEAT_API int64_t leat_write_until(leat_io *io, const void *data, size_t n, int64_t deadline);

/* Writes as leat_write_until does, from the `n` pieces of memory at `parts`, 1 to 1,024, one after
 * the other. When the call is cut short, the array holds what is left: it may be given to the next
 * call as it is.
 * Returns what leat_write_until does. */
LEAT_API int64_t leat_writev(leat_io *io, struct iovec *parts, int n, int64_t deadline);

/* Sends the `n` bytes at `data`, 0 or more, as a datagram to the address at `to`, of `size` bytes;
 * if `to` is NULL, to the address that the socket is connected to.
 * Returns the bytes sent; or an error, see the top. */
LEAT_API int64_t leat_sendto(leat_io *io, const void *data, size_t n, const struct sockaddr *to,
                             socklen_t size, int64_t deadline);

/* Sends as sendmsg(2) does, with its `flags`.
 * Returns what leat_sendto does. */
LEAT_API int64_t leat_sendmsg(leat_io *io, const struct msghdr *header, int flags,
                              int64_t deadline);

/* Ends one direction of a connection, or both: `how` is SHUT_RD, SHUT_WR or SHUT_RDWR. After
 * SHUT_WR the other side reads the end of the stream. Never waits.
 * Returns 0; -EBADF when it is closed; -EINVAL for NULL; or the error of shutdown(2). */
LEAT_API int leat_shutdown(leat_io *io, int how);

/* Copies bytes from `from` to `to` until the stream ends, `most` bytes, 1 or more, have been
 * copied, or the deadline passes; INT64_MAX is no limit. From a file to a socket that leat has
 * made, the bytes stay in the kernel. If the call is cut short, the bytes that it has read and
 * could not write go back to `from`: the next read returns these bytes first, so nothing is lost.
 * (leat holds them: read(2) does not see them, and leat_io_release returns -EBUSY until they have
 * been read.) If an error of `from` cuts the call short, the next read or copy from there returns
 * that error.
 * Returns how many bytes were written; 0 at the end of the stream; or, when none was written, an
 * error of either side, see the top. */
LEAT_API int64_t leat_copy(leat_io *to, leat_io *from, int64_t most, int64_t deadline);

/* ---- readiness ---- */

/* What a descriptor can be ready for: LEAT_IN a read, LEAT_OUT a write. LEAT_HUP is only reported:
 * the other side has hung up, or there is an error, which the next read or write returns. */
enum { LEAT_IN = 1, LEAT_OUT = 2, LEAT_HUP = 4 };

/* Waits until the descriptor is ready for one of `events`, LEAT_IN or LEAT_OUT or both, or until
 * the deadline. If another party is faster, a read that follows may have to wait all the same.
 * Returns the events for which the descriptor is ready now, and LEAT_HUP if it holds; or an error,
 * see the top. */
LEAT_API int leat_ready(leat_io *io, unsigned events, int64_t deadline);

/* The same for a descriptor that leat does not have. It must stay open during the call. Each call
 * registers and unregisters the descriptor, which takes some microseconds: use leat_io_adopt if you
 * wait often.
 * Returns what leat_ready does; -EINVAL also for a negative fd; -EBADF when fd is not open. */
LEAT_API int leat_poll(int fd, unsigned events, int64_t deadline);

/* Find the channel from which a party can receive while the descriptor is ready to be read, or
 * written: the items have no bytes. A select waits on it:
 *
 *     leat_case cases[] = { LEAT_RECV(jobs, &job), LEAT_READABLE(io) };
 *
 * Then leat_read_until with LEAT_NOW reads. Receiving does not change the readiness; reading does.
 * Call leat_io_readable anew before each select: it brings the channel up to date. The channel
 * belongs to the leat_io. It closes when the descriptor is closed.
 * Returns the channel; NULL for NULL, and when the system cannot watch the descriptor: that case of
 * a select then never happens. leat_ready returns the error. */
LEAT_API leat_chan *leat_io_readable(leat_io *io);
LEAT_API leat_chan *leat_io_writable(leat_io *io);

/* Initialise a leat_case: the descriptor is ready to be read, or to be written. */
#define LEAT_READABLE(io) LEAT_RECV(leat_io_readable(io), NULL)
#define LEAT_WRITABLE(io) LEAT_RECV(leat_io_writable(io), NULL)

/* ---- blocks ---- */

/* Read as leat_read does, in a block; b->status is the result, so `n` is at most INT_MAX. Before
 * each wait the arguments are evaluated again. `alarm` is as for LEAT_AWAIT_RECV_UNTIL. */
#define LEAT_AWAIT_READ(b, io, buffer, n) LEAT_AWAIT_READ_UNTIL(b, io, buffer, n, LEAT_NEVER, NULL)
#define LEAT_AWAIT_READ_UNTIL(b, io, buffer, n, deadline, alarm) \
    LEAT_AWAIT_IO_(b, io, LEAT_IN, leat_block_read(b, io, buffer, n), deadline, alarm)

/* Reads as leat_readv does, in a block. The array must stay where it is during the wait: in the
 * block's struct. The rest is as for LEAT_AWAIT_READ_UNTIL. */
#define LEAT_AWAIT_READV(b, io, parts, n, deadline, alarm) \
    LEAT_AWAIT_IO_(b, io, LEAT_IN, leat_block_readv(b, io, parts, n), deadline, alarm)

/* Write as leat_write does, in a block. `done` is a size_t in the block's struct: how many bytes
 * have been written. b->status is 0 when all have been; else the error that ended the call. Before
 * each wait the arguments are evaluated again. */
#define LEAT_AWAIT_WRITE(b, io, data, n, done) \
    LEAT_AWAIT_WRITE_UNTIL(b, io, data, n, done, LEAT_NEVER, NULL)
#define LEAT_AWAIT_WRITE_UNTIL(b, io, data, n, done, deadline, alarm) \
    do { \
        (done) = 0; \
        LEAT_AWAIT_IO_(b, io, LEAT_OUT, leat_block_write(b, io, data, n, &(done)), deadline, \
                       alarm); \
    } while (0)

/* Writes as leat_writev does, in a block. The array must stay where it is during the wait, and then
 * holds what is left. b->status is 0 when all bytes have been written; else the error that ended
 * the call. */
#define LEAT_AWAIT_WRITEV(b, io, parts, n, deadline, alarm) \
    LEAT_AWAIT_IO_(b, io, LEAT_OUT, leat_block_writev(b, io, parts, n), deadline, alarm)

/* Send and receive messages as leat_recvfrom, leat_sendto, leat_recvmsg and leat_sendmsg do, in a
 * block; b->status is the result. Before each wait the arguments are evaluated again. */
#define LEAT_AWAIT_RECVFROM(b, io, buffer, n, from, size, deadline, alarm) \
    LEAT_AWAIT_IO_(b, io, LEAT_IN, \
                   leat_block_answer(b, leat_recvfrom(io, buffer, n, from, size, LEAT_NOW)), \
                   deadline, alarm)
#define LEAT_AWAIT_SENDTO(b, io, data, n, to, size, deadline, alarm) \
    LEAT_AWAIT_IO_(b, io, LEAT_OUT, \
                   leat_block_answer(b, leat_sendto(io, data, n, to, size, LEAT_NOW)), deadline, \
                   alarm)
#define LEAT_AWAIT_RECVMSG(b, io, header, flags, deadline, alarm) \
    LEAT_AWAIT_IO_(b, io, LEAT_IN, \
                   leat_block_answer(b, leat_recvmsg(io, header, flags, LEAT_NOW)), deadline, \
                   alarm)
#define LEAT_AWAIT_SENDMSG(b, io, header, flags, deadline, alarm) \
    LEAT_AWAIT_IO_(b, io, LEAT_OUT, \
                   leat_block_answer(b, leat_sendmsg(io, header, flags, LEAT_NOW)), deadline, \
                   alarm)

/* Waits for one event, LEAT_IN or LEAT_OUT, in a block; b->status is 0 or an error. */
#define LEAT_AWAIT_READY(b, io, event, deadline, alarm) \
    do { \
        (b)->status = leat_ready(io, event, LEAT_NOW); \
        if ((b)->status == -EAGAIN) \
            LEAT_AWAIT_(b, leat_block_ready(b, io, event, deadline, alarm)); \
        else if ((b)->status > 0) \
            (b)->status = 0; \
        if ((b)->status == -EPIPE) \
            (b)->status = -EBADF; \
    } while (0)

/* For the macros only. `event` is what the block waits for after -EAGAIN. -EPIPE: the leat_io was
 * closed, and the next attempt says -EBADF. */
#define LEAT_AWAIT_IO_(b, io, event, attempt, deadline, alarm) \
    do { \
        LEAT_AWAIT_(b, attempt); \
        if ((b)->status != -EAGAIN) \
            break; \
        LEAT_AWAIT_(b, leat_block_ready(b, io, event, deadline, alarm)); \
    } while ((b)->status == 0 || (b)->status == -EPIPE)

/* For the macros only. b->status is the result: that of leat_read and so on with LEAT_NOW, but 0
 * when all is written.
 * Returns LEAT_DONE_; or LEAT_PARKED_, and then the step function must return, too. */
LEAT_API int leat_block_ready(leat_block *b, leat_io *io, unsigned event, int64_t deadline,
                              leat_alarm *alarm);
LEAT_API int leat_block_read(leat_block *b, leat_io *io, void *buffer, size_t n);
LEAT_API int leat_block_readv(leat_block *b, leat_io *io, const struct iovec *parts, int n);
LEAT_API int leat_block_write(leat_block *b, leat_io *io, const void *data, size_t n, size_t *done);
LEAT_API int leat_block_writev(leat_block *b, leat_io *io, struct iovec *parts, int n);
LEAT_API int leat_block_answer(leat_block *b, int64_t status);

/* ---- callbacks ---- */

typedef struct leat_io_op leat_io_op;

/* Called with the result of an operation: `status` is as for the LEAT_AWAIT_… of that name. */
typedef void leat_io_op_fn(leat_io_op *op, int status);

/* Memory for an operation, set by LEAT_IO_OP. leat uses the struct and the bytes until it calls the
 * function; the rules of leat/callback.h hold. leat_withdraw(&io_op.op) takes the operation back:
 * nothing has been read or accepted then, and `done` bytes have been written. If it returns
 * -EALREADY, the function may yet be called with -ECANCELED. */
struct leat_io_op {
    leat_op op;
    void *leat_private[12];
    leat_io_op_fn *leat_fn;
    size_t done; /* of leat_write_then: how many bytes have been written */
};

/* Initialises a leat_io_op. The arguments are those of LEAT_OP. */
/* clang-format off */
#define LEAT_IO_OP(in_scope, with_flags) { LEAT_OP(in_scope, with_flags), { NULL }, NULL, 0 }
/* clang-format on */

/* Reads up to `n` bytes, 1 to INT_MAX, into `buffer`, and calls fn(op, status) when it has read at
 * least one: the status is what leat_read returns. Never waits.
 * Returns 0 when fn has been or will be called, once. When it will not: -EBUSY while the operation
 * is under way already; -EINVAL for a NULL, no bytes or too many, or when no runtime runs. */
LEAT_API int leat_read_then(leat_io_op *op, leat_io *io, void *buffer, size_t n, leat_io_op_fn *fn);

/* Writes the `n` bytes at `data`, 1 or more, and calls fn(op, status): the status is 0 when all
 * bytes have been written, else the error that ended the operation; op->done is the number of bytes
 * written. Never waits.
 * Returns what leat_read_then does. */
LEAT_API int leat_write_then(leat_io_op *op, leat_io *io, const void *data, size_t n,
                             leat_io_op_fn *fn);

/* Calls fn(op, status) when the descriptor is ready for `event`, LEAT_IN or LEAT_OUT. The status is
 * 0, -EPIPE when the leat_io was closed, or -ECANCELED. fn then reads or writes with LEAT_NOW, and
 * starts another wait when that returns -EAGAIN. The rules of leat_recv_then hold; leat_withdraw
 * takes the operation back.
 * Returns 0 when fn has been or will be called, once; or an error, see the top, and fn will not be
 * called. */
LEAT_API int leat_ready_then(leat_op *op, leat_io *io, unsigned event, leat_op_fn *fn);

#endif
