/* copy.c: copies bytes from one descriptor to another: from a file to a socket in the kernel
 * (sendfile); from one TCP socket to another, if bytes come in bulk, through a pipe (splice);
 * otherwise through a buffer.
 *
 * Bytes that were read but cannot be written go back to the source (lt_io_unread). So a copy that
 * is cut short loses nothing, whatever the two descriptors are. That is also why a pipe is filled
 * only when it is empty, and emptied before it is filled again: so EAGAIN shows which of the two
 * sockets is not ready, and the buffer has room for the bytes that go back. Between a program's
 * pipe and a socket EAGAIN would not show that. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/cancel.h"
#include "io/io.h"
#include "scope/wait.h"

#include <leat/task.h>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024, SENDFILE_BYTES = 1 << 20 };

struct copy {
    leat_io *to, *from;
    int64_t most, done;
    int64_t deadline;
};

static size_t next_bytes(const struct copy *copy, size_t at_once)
{
    int64_t left = copy->most - copy->done;
    return left < (int64_t)at_once ? (size_t)left : at_once;
}

/* A read has failed. An error of a stream comes once: if the call returns a count, the next read
 * returns the error. (An error of the destination comes again with the bytes that go back.) */
static int64_t not_read(const struct copy *copy, int64_t error)
{
    if (copy->done)
        lt_io_keep(copy->from, LT_IN, error, copy->deadline);
    return error;
}

/* Two descriptors that are always ready never wait, so no wait ends at the deadline. */
static int end_in_time(const struct copy *copy)
{
    if (!lt_io_is_late(copy->deadline))
        return 0;
    return lt_wait_allowed(lt_current_party()) ? -ECANCELED : -ETIMEDOUT;
}

/* Returns as leat_read does. After an error, bytes may be left in it. */
static int64_t copy_piece(struct copy *copy, struct lt_unread *left)
{
    left->begin = left->end = 0;
    int end = end_in_time(copy);
    if (end)
        return end;
    int64_t n =
        leat_read_until(copy->from, left->bytes, next_bytes(copy, COPY_BYTES), copy->deadline);
    if (n <= 0)
        return n ? not_read(copy, n) : 0;
    left->end = (size_t)n;
    int64_t written = leat_write_until(copy->to, left->bytes, left->end, copy->deadline);
    if (written < 0)
        return written;
    copy->done += written;
    left->begin = (size_t)written;
    return written < n ? -EIO : n; /* the next write returns the reason */
}

/* ---- through a pipe ---- */

struct hose {
    struct copy *copy;
    int ends[2];
    size_t inside;
};

static bool has_bytes(leat_io *io)
{
    char byte;
    return recv(io->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* -EXDEV: bytes that have come back to the source must go first, or the kernel cannot do it: it
 * goes past no urgent byte, and reports that there is nothing more, or the end. */
static int64_t fill(leat_io *from, void *arg)
{
    const struct hose *hose = arg;
    /* Relaxed: the reactor sets it before it raises the channel for which this waits. */
    bool urgent = atomic_load_explicit(&from->urgent, memory_order_relaxed);
    if (urgent || lt_io_has_unread(from))
        return -EXDEV;
    size_t most = next_bytes(hose->copy, COPY_BYTES);
    ssize_t n = splice(from->fd, NULL, hose->ends[1], NULL, most, SPLICE_F_NONBLOCK);
    if (n == 0 && has_bytes(from))
        return -EXDEV;
    return n >= 0 ? n : errno == EINVAL ? -EXDEV : -errno;
}

static int64_t drain(leat_io *to, void *arg)
{
    const struct hose *hose = arg;
    struct lt_io_hush hush;
    lt_io_hush(&hush);
    ssize_t n = splice(hose->ends[0], NULL, to->fd, NULL, hose->inside, 0);
    lt_io_unhush(&hush, n, hose->inside);
    return n >= 0 ? n : -errno;
}

/* Returns as leat_read does. After an error, bytes may be left inside. */
static int64_t pass_piece(struct hose *hose)
{
    struct copy *copy = hose->copy;
    int64_t out, n = end_in_time(copy);
    if (n)
        return n;
    n = lt_io_repeat(copy->from, LT_IN, fill, hose, 0, copy->deadline);
    if (n <= 0)
        return n && n != -EXDEV ? not_read(copy, n) : n;
    for (hose->inside = (size_t)n; hose->inside; hose->inside -= (size_t)out) {
        out = lt_io_repeat(copy->to, LT_OUT, drain, hose, 0, copy->deadline);
        if (out <= 0)
            return out ? out : -EIO;
        copy->done += out;
    }
    return n;
}

/* No call on these waits: the pipe is empty, or has bytes; and the sockets have O_NONBLOCK. */
static bool suits_splice(const struct copy *copy)
{
    return copy->to->kind == LT_IO_SOCKET && copy->from->kind == LT_IO_SOCKET && copy->to->stream &&
           copy->from->stream && fcntl(copy->to->fd, F_GETFL) & O_NONBLOCK &&
           fcntl(copy->from->fd, F_GETFL) & O_NONBLOCK;
}

/* False also if the user has so many pipes that the kernel only makes small ones. */
static bool open_hose(struct hose *hose)
{
    int saved = errno, cancel = lt_cancel_put_off();
    bool made = lt_io_open_pipe(hose->ends) == 0;
    bool large = made && fcntl(hose->ends[0], F_GETPIPE_SZ) >= COPY_BYTES;
    if (made && !large) {
        close(hose->ends[0]);
        close(hose->ends[1]);
    }
    lt_cancel_restore(cancel);
    errno = saved;
    return large;
}

static void close_hose(struct hose *hose, struct lt_unread *left)
{
    int saved = errno, cancel = lt_cancel_put_off();
    ssize_t back = 0;
    while (hose->inside && (back = read(hose->ends[0], left->bytes, hose->inside)) < 0 &&
           errno == EINTR)
        continue;
    left->begin = 0;
    left->end = back > 0 ? (size_t)back : 0;
    close(hose->ends[0]);
    close(hose->ends[1]);
    lt_cancel_restore(cancel);
    errno = saved;
}

/* -EXDEV: the rest goes through the buffer. */
static int64_t copy_by_pipe(struct copy *copy, struct lt_unread *left)
{
    struct hose hose = { .copy = copy };
    if (!suits_splice(copy) || !open_hose(&hose))
        return -EXDEV;
    int64_t n = 1;
    while (n > 0 && copy->done < copy->most)
        n = pass_piece(&hose);
    close_hose(&hose, left);
    return n;
}

/* ---- through a buffer ---- */

static int64_t copy_by_buffer(struct copy *copy)
{
    bool may = lt_io_make_more(copy->from) != NULL;
    struct lt_unread *left = may ? lt_alloc_unset(sizeof *left + COPY_BYTES) : NULL;
    int64_t n = left ? 1 : -ENOMEM;
    bool tried = false;
    while (n > 0 && copy->done < copy->most) {
        n = copy_piece(copy, left);
        /* A short message is not worth a pipe. */
        if (n < COPY_BYTES || copy->done >= copy->most || tried)
            continue;
        int64_t passed = copy_by_pipe(copy, left);
        tried = true;
        n = passed == -EXDEV ? n : passed;
    }
    if (left && left->begin < left->end)
        lt_io_unread(copy->from, left);
    else
        lt_free(left);
    return n;
}

/* ---- from a file ---- */

/* Runs where a call may wait for the disk. It does not wait for the socket. */
static int send_piece(void *arg)
{
    const struct copy *copy = arg;
    size_t most = next_bytes(copy, SENDFILE_BYTES);
    struct lt_io_hush hush;
    lt_io_hush(&hush);
    ssize_t n = sendfile(copy->to->fd, copy->from->fd, NULL, most);
    lt_io_unhush(&hush, n, most);
    return n >= 0 ? (int)n : -errno;
}

/* Runs on a thread that may block, as reads of files do: the file may not be in memory, and no flag
 * restricts sendfile to the bytes that are. A switch to another thread costs little beside sending
 * up to a MiB. */
static int64_t call_sendfile(leat_io *to, void *copy)
{
    (void)to;
    int n = leat_blocking(send_piece, copy);
    /* For a block or a callback; or the system allows no more threads. */
    return n == -EDEADLK || n == -ENOMEM ? send_piece(copy) : n;
}

/* -EINVAL: the kernel cannot do that with these two descriptors. */
static int64_t copy_by_sendfile(struct copy *copy)
{
    int64_t n = 1;
    while (n > 0 && copy->done < copy->most) {
        bool closed = lt_chan_is_closed(lt_io_chan(copy->from, LT_IN));
        n = closed ? -EBADF : end_in_time(copy);
        if (!n)
            n = lt_io_repeat(copy->to, LT_OUT, call_sendfile, copy, 0, copy->deadline);
        if (n > 0)
            copy->done += n;
    }
    return n;
}

/* sendfile waits for the socket unless the socket has O_NONBLOCK, which leat's own sockets have. */
static bool suits_sendfile(const leat_io *to, leat_io *from)
{
    return to->kind == LT_IO_SOCKET && from->kind == LT_IO_FILE && !lt_io_has_unread(from) &&
           fcntl(to->fd, F_GETFL) & O_NONBLOCK;
}

int64_t leat_copy(leat_io *to, leat_io *from, int64_t most, int64_t deadline)
{
    if (!to || !from || most < 1 || deadline < 0)
        return -EINVAL;
    /* Also while it writes: what it could not write goes back there. */
    if (!lt_io_enter(from))
        return -EBADF;
    struct copy copy = { .to = to, .from = from, .most = most, .deadline = deadline };
    int64_t n = suits_sendfile(to, from) ? copy_by_sendfile(&copy) : -EINVAL;
    if (n == -EINVAL && !copy.done)
        n = copy_by_buffer(&copy);
    lt_io_leave(from);
    return copy.done || n > 0 ? copy.done : n;
}
