/* copy.c: bytes from one descriptor to another: from a file to a socket in the kernel (sendfile),
 * else through a buffer. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "io/io.h"

#include <fcntl.h>
#include <sys/sendfile.h>

enum { COPY_BYTES = 64 * 1024, SENDFILE_BYTES = 1 << 20 };

struct copy {
    leat_io *from;
    int64_t most, done;
    int64_t deadline;
};

static size_t next_bytes(const struct copy *copy, size_t at_once)
{
    int64_t left = copy->most - copy->done;
    return left < (int64_t)at_once ? (size_t)left : at_once;
}

/* What was read before a write failed is lost: there is no way to give it back. */
static int64_t copy_by_buffer(leat_io *to, struct copy *copy)
{
    char *buffer = lt_alloc_unset(COPY_BYTES);
    int64_t n = buffer ? 1 : -ENOMEM;
    while (n > 0 && copy->done < copy->most) {
        n = leat_read_until(copy->from, buffer, next_bytes(copy, COPY_BYTES), copy->deadline);
        if (n <= 0)
            break;
        int64_t written = leat_write_until(to, buffer, (size_t)n, copy->deadline);
        if (written > 0)
            copy->done += written;
        if (written < n)
            n = written < 0 ? written : -EIO; /* the next write says why */
    }
    lt_free(buffer);
    return n;
}

static int64_t call_sendfile(leat_io *to, void *arg)
{
    struct copy *copy = arg;
    size_t most = next_bytes(copy, SENDFILE_BYTES);
    struct lt_io_hush hush;
    lt_io_hush(&hush);
    ssize_t n = sendfile(to->fd, copy->from->fd, NULL, most);
    lt_io_unhush(&hush, n < 0 ? errno == EPIPE : (size_t)n < most);
    return n >= 0 ? n : -errno;
}

/* -EINVAL: the kernel can not do that with these two. */
static int64_t copy_by_sendfile(leat_io *to, struct copy *copy)
{
    int64_t n = 1;
    if (!lt_io_enter(copy->from))
        return -EBADF;
    while (n > 0 && copy->done < copy->most) {
        n = lt_io_repeat(to, LT_OUT, call_sendfile, copy, 0, copy->deadline);
        if (n > 0)
            copy->done += n;
    }
    lt_io_leave(copy->from);
    return n;
}

/* sendfile waits for the socket unless it has O_NONBLOCK, as those have that leat has made. */
static bool suits_sendfile(const leat_io *to, const leat_io *from)
{
    return to->kind == LT_IO_SOCKET && from->kind == LT_IO_FILE &&
           fcntl(to->fd, F_GETFL) & O_NONBLOCK;
}

int64_t leat_copy(leat_io *to, leat_io *from, int64_t most, int64_t deadline)
{
    if (!to || !from || most < 1 || deadline < 0)
        return -EINVAL;
    struct copy copy = { .from = from, .most = most, .deadline = deadline };
    int64_t n = suits_sendfile(to, from) ? copy_by_sendfile(to, &copy) : -EINVAL;
    if (n == -EINVAL && !copy.done)
        n = copy_by_buffer(to, &copy);
    return copy.done || n > 0 ? copy.done : n;
}
