#define _GNU_SOURCE
#include "out.h"

#include "halt.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writing to a regular file, or to a device like /dev/null, does not block. */
static bool may_block(int fd)
{
    struct stat about;
    if (fstat(fd, &about) < 0 || S_ISREG(about.st_mode))
        return false;
    return !S_ISCHR(about.st_mode) || isatty(fd);
}

void out_open(struct out *o, int fd, char line_end)
{
    *o = (struct out){ .fd = fd, .line_end = line_end, .may_block = may_block(fd) };
}

/* The number of bytes to write at once: a pipe that has room takes at least PIPE_BUF bytes without
 * blocking. */
static size_t piece(const struct out *o, const char *from, size_t len)
{
    if (!o->may_block || len <= PIPE_BUF)
        return len;
    const char *last = memrchr(from, o->line_end, PIPE_BUF);
    return last ? (size_t)(last - from) + 1 : PIPE_BUF;
}

int out_flush(struct out *o)
{
    if (o->text.broken && !o->error)
        o->error = -ENOMEM;
    const char *from = o->text.bytes;
    size_t len = o->text.len;
    while (len > 0 && !o->error) {
        if (o->may_block && halt_wait(o->fd, POLLOUT) < 0) {
            text_clear(&o->text);
            return -ECANCELED;
        }
        ssize_t n = write(o->fd, from, piece(o, from, len));
        if (n >= 0) {
            from += n;
            len -= (size_t)n;
        } else if (errno != EINTR && errno != EAGAIN) {
            o->error = -errno;
        }
    }
    text_clear(&o->text);
    return o->error;
}
