/* copy.c: bytes from one descriptor to another: from a file to a socket in the kernel (sendfile),
 * else through a buffer.
 *
 * What has been read and can not be written goes back to the source (lt_io_unread), so a copy that
 * is cut short loses nothing, whatever the two descriptors are. There is no splice(2): between a
 * pipe and a socket its EAGAIN does not say which of the two is not ready, and between two sockets
 * it needs a pipe, whose bytes would have to go back as well. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "io/io.h"

#include <leat/task.h>

#include <fcntl.h>
#include <sys/sendfile.h>

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

/* Returns as leat_read does. After an error it has something left, perhaps. */
static int64_t copy_piece(struct copy *copy, struct lt_unread *left)
{
    left->begin = left->end = 0;
    int64_t n =
        leat_read_until(copy->from, left->bytes, next_bytes(copy, COPY_BYTES), copy->deadline);
    if (n <= 0)
        return n;
    left->end = (size_t)n;
    int64_t written = leat_write_until(copy->to, left->bytes, left->end, copy->deadline);
    if (written < 0)
        return written;
    copy->done += written;
    left->begin = (size_t)written;
    return written < n ? -EIO : n; /* the next write says why */
}

static int64_t copy_by_buffer(struct copy *copy)
{
    struct lt_unread *left = lt_alloc_unset(sizeof *left + COPY_BYTES);
    int64_t n = left ? 1 : -ENOMEM;
    while (n > 0 && copy->done < copy->most)
        n = copy_piece(copy, left);
    if (left && left->begin < left->end)
        lt_io_unread(copy->from, left);
    else
        lt_free(left);
    return n;
}

/* Where it may wait for the disk. It does not wait for the socket. */
static int send_piece(void *arg)
{
    const struct copy *copy = arg;
    size_t most = next_bytes(copy, SENDFILE_BYTES);
    struct lt_io_hush hush;
    lt_io_hush(&hush);
    ssize_t n = sendfile(copy->to->fd, copy->from->fd, NULL, most);
    lt_io_unhush(&hush, n < 0 ? errno == EPIPE : (size_t)n < most);
    return n >= 0 ? (int)n : -errno;
}

/* On a thread that may block, as a read of a file: the file may be cold, and nothing asks the
 * system for those of its bytes only that are in memory. Handing it over costs little beside up to
 * a MiB that is sent. */
static int64_t call_sendfile(leat_io *to, void *copy)
{
    (void)to;
    int n = leat_blocking(send_piece, copy);
    return n == -EDEADLK ? send_piece(copy) : n; /* a block or a callback */
}

/* -EINVAL: the kernel can not do that with these two. */
static int64_t copy_by_sendfile(struct copy *copy)
{
    int64_t n = 1;
    if (!lt_io_enter(copy->from))
        return -EBADF;
    while (n > 0 && copy->done < copy->most) {
        n = lt_io_repeat(copy->to, LT_OUT, call_sendfile, copy, 0, copy->deadline);
        if (n > 0)
            copy->done += n;
    }
    lt_io_leave(copy->from);
    return n;
}

/* sendfile waits for the socket unless it has O_NONBLOCK, as those have that leat has made. */
static bool suits_sendfile(const leat_io *to, leat_io *from)
{
    return to->kind == LT_IO_SOCKET && from->kind == LT_IO_FILE && !lt_io_has_unread(from) &&
           fcntl(to->fd, F_GETFL) & O_NONBLOCK;
}

int64_t leat_copy(leat_io *to, leat_io *from, int64_t most, int64_t deadline)
{
    if (!to || !from || most < 1 || deadline < 0)
        return -EINVAL;
    struct copy copy = { .to = to, .from = from, .most = most, .deadline = deadline };
    int64_t n = suits_sendfile(to, from) ? copy_by_sendfile(&copy) : -EINVAL;
    if (n == -EINVAL && !copy.done)
        n = copy_by_buffer(&copy);
    return copy.done || n > 0 ? copy.done : n;
}
