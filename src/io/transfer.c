/* transfer.c: reading and writing, with waits in between. */
#define _GNU_SOURCE
#include "base/cancel.h"
#include "base/futex.h"
#include "base/gap.h"
#include "io/io.h"
#include "io/simulated.h"
#include "io/socket.h"
#include "sched/uring.h"

#include <leat/task.h>
#include <leat/time.h>

#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct vector {
    struct iovec *at;
    int n;
    bool asks; /* see lt_io_readv */
};

/* ---- the loop ---- */

/* The end of a wait is not kept: the next call finds it again, or it does not concern that call.
 * -ETIMEDOUT is also an error of TCP. */
void lt_io_keep(leat_io *io, enum lt_way way, int64_t error, int64_t deadline)
{
    if (error == -EAGAIN || error == -ECANCELED || error == -EBADF || error == -EDEADLK ||
        (error == -ETIMEDOUT && lt_io_is_late(deadline)))
        return;
    atomic_store_explicit(&io->unsaid[way], (int16_t)error, memory_order_relaxed);
    lt_io_raise(io, way == LT_IN ? EPOLLIN : EPOLLOUT);
    lt_io_end_ring(io);
}

static int64_t moved(leat_io *io, enum lt_way way, size_t done, int64_t error, int64_t deadline)
{
    if (!done)
        return error;
    if (error < 0)
        lt_io_keep(io, way, error, deadline);
    return (int64_t)done;
}

static int take_unsaid(leat_io *io, enum lt_way way)
{
    if (!lt_io_has_unsaid(io, way))
        return 0;
    return atomic_exchange_explicit(&io->unsaid[way], 0, memory_order_relaxed);
}

LT_INLINE int64_t call_readv(leat_io *io, void *arg);
LT_INLINE int64_t call_writev(leat_io *io, void *arg);

/* The only part of a plain transfer, which a ring could make; else NULL. */
static inline const struct iovec *only_part(lt_io_call *call, const void *arg)
{
    const struct vector *v = arg;
    return (call == call_readv || call == call_writev) && v->n == 1 ? v->at : NULL;
}

/* Says to leat_block_ready that the channel may be raised for others. */
static int note_aside(leat_io *io, enum lt_way way)
{
    struct lt_io_more *more = lt_io_make_more(io);
    if (!more)
        return -ENOMEM;
    /* Relaxed: the block itself reads it. */
    atomic_store_explicit(&more->aside[way], true, memory_order_relaxed);
    return -EAGAIN;
}

/* After a call that looks aside: 0 if the caller may wait for the channel or try again. While there
 * are bytes or there is room, which others may use, the channel stays raised, and the caller tries
 * again and again. A block does so by leat_block_ready. */
static int await_aside(leat_io *io, enum lt_way way, int64_t deadline)
{
    bool in_block = lt_current_party()->kind == LT_BLOCK;
    if (deadline == LEAT_NOW && !in_block)
        return -EAGAIN;
    int found = lt_io_settle(io, way == LT_IN ? LEAT_IN : LEAT_OUT);
    if (found <= 0)
        return found;
    if (deadline == LEAT_NOW)
        return note_aside(io, way);
    int64_t next = lt_clock_after(lt_clock_now(), LT_IO_PAUSE);
    int error = leat_sleep_until(next < deadline ? next : deadline);
    return error ? error : lt_io_is_late(deadline) ? -ETIMEDOUT : 0;
}

/* After a call that returned EAGAIN: -EINTR if repeat begins again, else the result. */
LT_COLD static int64_t would_block(leat_io *io, enum lt_way way, lt_io_call *call, const void *arg,
                                   uint32_t raises, int64_t deadline)
{
    if (way == LT_IN && lt_uring_is_wanted() &&
        lt_io_turns_to_ring(io, only_part(call, arg), deadline))
        return -EINTR;
    int error = lt_io_looks_aside(call, arg) ? await_aside(io, way, deadline)
                                             : lt_io_drained(io, way, raises);
    return error ? error : deadline == LEAT_NOW ? -EAGAIN : -EINTR;
}

/* Linux moves no more bytes in a call; with pages of 4 KiB at most 0x7ffff000. A call that moved so
 * many is not short. */
enum { AT_ONCE = 0x7fff0000 };

/* Whether a call that moved less than it could shows that no more is there. */
static inline bool shows_dry(leat_io *io, enum lt_way way)
{
    return io->stream && lt_io_is_registered(io) &&
           !atomic_load_explicit(&io->urgent, memory_order_relaxed) && lt_io_chan(io, way);
}

/* The system call, and what it shows. -EINTR: repeat begins again. From here to `transfer` all is
 * inlined: a read and a write have copies of their own, in which `call` is a constant. */
LT_INLINE int64_t attempt(leat_io *io, enum lt_way way, lt_io_call *call, void *arg, size_t whole,
                          int64_t deadline)
{
    uint32_t raises = lt_io_raise_count(io, way);
    int64_t n = call(io, arg);
    lt_gap();
    if (n == -EAGAIN)
        return would_block(io, way, call, arg, raises, deadline);
    bool is_short = n > 0 && (size_t)n < whole && n < AT_ONCE;
    if (is_short && shows_dry(io, way))
        lt_io_lower(io, way, raises, false);
    else if (way == LT_IN && n != -EINTR && LT_UNLIKELY(lt_uring_is_wanted()))
        lt_io_set_dry(io, is_short);
    return n;
}

/* In a thread that is no worker. The calls are cancellation points. Workers are never cancelled. */
LT_COLD static int64_t attempt_in_thread(leat_io *io, enum lt_way way, lt_io_call *call, void *arg,
                                         size_t whole, int64_t deadline)
{
    int cancel = lt_cancel_put_off();
    int64_t n = attempt(io, way, call, arg, whole, deadline);
    lt_cancel_restore(cancel);
    return n;
}

/* The errno of the thread that the caller runs in now, as leat_errno_location. */
static inline int *errno_now(void)
{
    struct lt_worker *here = lt_current_worker();
    return LT_LIKELY(here) ? here->errno_here : leat_errno_location();
}

LT_INLINE int64_t repeat(leat_io *io, enum lt_way way, lt_io_call *call, void *arg, size_t whole,
                         int64_t deadline)
{
    int64_t n;
    int saved = *errno_now();
    do {
        n = take_unsaid(io, way);
        if (n)
            break;
        n = LT_UNLIKELY(lt_uring_is_wanted())
                ? lt_io_by_ring(io, way, only_part(call, arg), deadline)
                : -EAGAIN;
        if (n != -EAGAIN)
            continue;
        /* Without a wait it asks the system at once: the reactor may not have looked yet. */
        bool waits = deadline != LEAT_NOW && !lt_io_is_raised(io, way);
        n = waits ? lt_io_wait(io, way, deadline) : 0;
        if (!n)
            n = LT_LIKELY(lt_current_worker())
                    ? attempt(io, way, call, arg, whole, deadline)
                    : attempt_in_thread(io, way, call, arg, whole, deadline);
    } while (n == -EINTR);
    *errno_now() = saved;
    return n;
}

LT_INLINE int64_t transfer(leat_io *io, enum lt_way way, lt_io_call *call, void *arg, size_t whole,
                           int64_t deadline)
{
    int error = lt_io_begin(io, deadline);
    if (error)
        return error;
    int64_t n = repeat(io, way, call, arg, whole, deadline);
    lt_io_finish(io, deadline);
    return n;
}

int64_t lt_io_repeat(leat_io *io, enum lt_way way, lt_io_call *call, void *arg, size_t whole,
                     int64_t deadline)
{
    return transfer(io, way, call, arg, whole, deadline);
}

/* ---- calls that may block, on the pool's threads ---- */

struct blocking {
    lt_io_call *call;
    leat_io *io;
    enum lt_way way;
    struct vector *v;
    int64_t result;
};

int lt_io_poll_now(int fd, enum lt_way way)
{
    struct pollfd one = { .fd = fd, .events = way == LT_IN ? POLLIN : POLLOUT };
    int n = poll(&one, 1, 0);
    return n > 0 ? 0 : n == 0 ? -EAGAIN : -errno;
}

int64_t lt_io_call_alone(leat_io *io, enum lt_way way, lt_io_call *call, void *arg)
{
    /* Acquire and release, as a lock. */
    while (atomic_exchange_explicit(&io->taken[way], true, memory_order_acquire))
        lt_nap(100 * LEAT_US);
    int64_t n = lt_io_poll_now(io->fd, way);
    if (!n)
        n = call(io, arg);
    atomic_store_explicit(&io->taken[way], false, memory_order_release);
    return n;
}

static bool is_polled(leat_io *io)
{
    return atomic_load_explicit(&io->kind, memory_order_relaxed) == LT_IO_POLLED;
}

static int run_blocking(void *arg)
{
    struct blocking *b = arg;
    b->result =
        is_polled(b->io) ? lt_io_call_alone(b->io, b->way, b->call, b->v) : b->call(b->io, b->v);
    return 0;
}

/* For kinds that may block: RWF_NOWAIT has refused, or it is a file. */
static int64_t call_slowly(leat_io *io, enum lt_way way, lt_io_call *call, struct vector *v)
{
    struct blocking b = { .call = call, .io = io, .way = way, .v = v };
    int64_t not_now = is_polled(io) ? lt_io_poll_now(io->fd, way) : 0;
    if (not_now)
        return not_now;
    int error = leat_blocking(run_blocking, &b);
    /* Made here, a call keeps the worker. But a block that calls leat_read itself has no stack to
     * wait on, and the system may allow no more threads. */
    if ((error == -EDEADLK || error == -ENOMEM) && !v->asks)
        error = run_blocking(&b);
    return error ? error : b.result;
}

static bool refuses_nowait(leat_io *io, ssize_t n)
{
    if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL && errno != ESPIPE))
        return false;
    atomic_store_explicit(&io->kind, LT_IO_POLLED, memory_order_relaxed);
    return true;
}

/* ---- reading ---- */

static int64_t block_readv(leat_io *io, void *arg)
{
    struct vector *v = arg;
    return lt_io_result(readv(io->fd, v->at, v->n));
}

/* One buffer of a socket: what most calls are for. */
static inline bool is_usual(leat_io *io, const struct vector *v)
{
    return LT_LIKELY(v->n == 1 &&
                     atomic_load_explicit(&io->kind, memory_order_relaxed) == LT_IO_SOCKET);
}

__attribute__((noinline)) static int64_t read_unusual(leat_io *io, struct vector *v)
{
    switch (atomic_load_explicit(&io->kind, memory_order_relaxed)) {
    case LT_IO_SOCKET: {
        struct msghdr message = { .msg_iov = v->at, .msg_iovlen = (size_t)v->n };
        return lt_io_result(recvmsg(io->fd, &message, MSG_DONTWAIT));
    }
    case LT_IO_NEVER: return block_readv(io, v);
    case LT_IO_SIMULATED: return lt_simulated_read(io, v->at, v->n);
    case LT_IO_FOREIGN: {
        ssize_t n = preadv2(io->fd, v->at, v->n, -1, RWF_NOWAIT);
        if (!refuses_nowait(io, n))
            return lt_io_result(n);
    }
        __attribute__((fallthrough));
    default: return call_slowly(io, LT_IN, block_readv, v);
    }
}

LT_INLINE int64_t call_readv(leat_io *io, void *arg)
{
    struct vector *v = arg;
    if (lt_io_has_unread(io))
        return lt_io_reread(io, v->at, (size_t)v->n, false);
    if (is_usual(io, v))
        return lt_io_result(lt_recv(io->fd, v->at->iov_base, v->at->iov_len, MSG_DONTWAIT));
    return read_unusual(io, v);
}

int lt_io_total(const struct iovec *parts, int n, size_t *bytes)
{
    *bytes = 0;
    if (!parts || n < 1 || n > 1024)
        return -EINVAL;
    for (int i = 0; i < n; i++)
        if ((!parts[i].iov_base && parts[i].iov_len) ||
            __builtin_add_overflow(*bytes, parts[i].iov_len, bytes) || *bytes > INT64_MAX)
            return -EINVAL;
    return *bytes ? 0 : -EINVAL;
}

LT_INLINE int64_t read_parts(leat_io *io, struct vector *v, size_t bytes, int64_t deadline)
{
    int64_t got = transfer(io, LT_IN, call_readv, v, bytes, deadline);
    return LT_LIKELY(got) ? got : lt_wait_ended(lt_current_party());
}

int64_t lt_io_readv(leat_io *io, const struct iovec *parts, int n, int64_t deadline, bool asks)
{
    size_t bytes;
    if (lt_io_total(parts, n, &bytes) != 0)
        return -EINVAL;
    return read_parts(io, &(struct vector){ (struct iovec *)(uintptr_t)parts, n, asks }, bytes,
                      deadline);
}

int64_t leat_readv(leat_io *io, const struct iovec *parts, int n, int64_t deadline)
{
    return lt_io_readv(io, parts, n, deadline, false);
}

int64_t leat_read_until(leat_io *io, void *buffer, size_t n, int64_t deadline)
{
    struct iovec part = { buffer, n };
    if (!buffer || n - 1 >= INT64_MAX)
        return -EINVAL;
    return read_parts(io, &(struct vector){ &part, 1, false }, n, deadline);
}

int64_t leat_read(leat_io *io, void *buffer, size_t n)
{
    return leat_read_until(io, buffer, n, LEAT_NEVER);
}

int64_t leat_read_full(leat_io *io, void *buffer, size_t n, int64_t deadline)
{
    size_t done = 0;
    int64_t got = 1;
    /* After the deadline an error of the system is left to the next call: here -ETIMEDOUT would be
     * taken for the deadline. */
    while (done < n && !(done && lt_io_is_late(deadline)) &&
           (got = leat_read_until(io, (char *)buffer + done, n - done, deadline)) > 0)
        done += (size_t)got;
    return n ? moved(io, LT_IN, done, got, deadline) : -EINVAL;
}

/* ---- writing ---- */

static ssize_t writev_quietly(int fd, const struct vector *v, int flags)
{
    struct lt_io_hush hush;
    lt_io_hush(&hush);
    ssize_t n = pwritev2(fd, v->at, v->n, -1, flags);
    lt_io_unhush(&hush, n, lt_io_bytes(v->at, (size_t)v->n));
    return n;
}

static int64_t block_writev(leat_io *io, void *arg)
{
    return lt_io_result(writev_quietly(io->fd, arg, 0));
}

/* A pipe that poll(2) calls ready takes PIPE_BUF bytes without waiting. A longer write would wait
 * for the reader, whatever the deadline. */
static int64_t write_slowly(leat_io *io, struct vector *v)
{
    if (!is_polled(io) || lt_io_bytes(v->at, (size_t)v->n) <= PIPE_BUF)
        return call_slowly(io, LT_OUT, block_writev, v);
    struct iovec *first = v->at;
    while (!first->iov_len)
        first++;
    struct iovec piece = { first->iov_base, first->iov_len < PIPE_BUF ? first->iov_len : PIPE_BUF };
    return call_slowly(io, LT_OUT, block_writev, &(struct vector){ &piece, 1, v->asks });
}

enum { QUIETLY = MSG_DONTWAIT | MSG_NOSIGNAL };

__attribute__((noinline)) static int64_t write_unusual(leat_io *io, struct vector *v)
{
    switch (atomic_load_explicit(&io->kind, memory_order_relaxed)) {
    case LT_IO_SOCKET: {
        struct msghdr message = { .msg_iov = v->at, .msg_iovlen = (size_t)v->n };
        return lt_io_result(sendmsg(io->fd, &message, QUIETLY));
    }
    case LT_IO_NEVER: return block_writev(io, v);
    case LT_IO_SIMULATED: return lt_simulated_write(io, v->at, v->n);
    case LT_IO_FOREIGN: {
        ssize_t n = writev_quietly(io->fd, v, RWF_NOWAIT);
        if (!refuses_nowait(io, n))
            return lt_io_result(n);
    }
        __attribute__((fallthrough));
    default: return write_slowly(io, v);
    }
}

LT_INLINE int64_t call_writev(leat_io *io, void *arg)
{
    struct vector *v = arg;
    if (is_usual(io, v))
        return lt_io_result(lt_send(io->fd, v->at->iov_base, v->at->iov_len, QUIETLY));
    return write_unusual(io, v);
}

/* Skips the bytes that have been written, and removes them from the array. */
static void advance(struct iovec **parts, int *n, size_t bytes)
{
    while (*n && bytes >= (*parts)->iov_len) {
        bytes -= (*parts)->iov_len;
        (*parts)->iov_len = 0;
        ++*parts;
        --*n;
    }
    if (*n) {
        (*parts)->iov_base = (char *)(*parts)->iov_base + bytes;
        (*parts)->iov_len -= bytes;
    }
}

/* After a first transfer, which has returned `more`. */
static int64_t write_rest(leat_io *io, struct vector *v, size_t bytes, int64_t more,
                          int64_t deadline)
{
    size_t done = 0;
    while (more >= 0) {
        done += (size_t)more;
        advance(&v->at, &v->n, (size_t)more);
        if (done == bytes)
            break;
        more = lt_io_repeat(io, LT_OUT, call_writev, v, bytes - done, deadline);
    }
    return moved(io, LT_OUT, done, more, deadline);
}

int64_t lt_io_writev(leat_io *io, struct iovec *parts, int n, int64_t deadline, bool asks)
{
    size_t bytes;
    if (lt_io_total(parts, n, &bytes) != 0)
        return -EINVAL;
    struct vector v = { parts, n, asks };
    int64_t first = lt_io_repeat(io, LT_OUT, call_writev, &v, bytes, deadline);
    return write_rest(io, &v, bytes, first, deadline);
}

int64_t leat_writev(leat_io *io, struct iovec *parts, int n, int64_t deadline)
{
    return lt_io_writev(io, parts, n, deadline, false);
}

int64_t leat_write_until(leat_io *io, const void *data, size_t n, int64_t deadline)
{
    struct iovec part = { (void *)(uintptr_t)data, n };
    struct vector v = { &part, 1, false };
    if (!data || n - 1 >= INT64_MAX)
        return -EINVAL;
    int64_t first = transfer(io, LT_OUT, call_writev, &v, n, deadline);
    return LT_LIKELY(first == (int64_t)n) ? first : write_rest(io, &v, n, first, deadline);
}

int64_t leat_write(leat_io *io, const void *data, size_t n)
{
    return leat_write_until(io, data, n, LEAT_NEVER);
}

int leat_shutdown(leat_io *io, int how)
{
    if (!io)
        return -EINVAL;
    if (!lt_io_enter(io))
        return -EBADF;
    int saved = errno, error;
    if (lt_io_is_simulated(io))
        error = lt_simulated_shutdown(io, how);
    else
        error = shutdown(io->fd, how) == 0 ? 0 : -errno;
    errno = saved;
    lt_io_leave(io);
    lt_point();
    return error;
}
