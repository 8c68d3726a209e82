#include "lines.h"

#include "halt.h"

#include <errno.h>
#include <leat/scope.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 32 * 1024 };

void lines_open(struct lines *l, int fd, char end)
{
    struct stat about;
    *l = (struct lines){ .fd = fd, .end = end };
    l->patient = fstat(fd, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

void lines_close(struct lines *l)
{
    if (l->fd != STDIN_FILENO)
        close(l->fd);
    free(l->bytes);
}

/* Makes room for a block and one byte after it, first in place of lines that were returned. */
static int make_room(struct lines *l)
{
    if (l->from > 0) {
        memmove(l->bytes, l->bytes + l->from, l->to - l->from);
        l->to -= l->from;
        l->from = 0;
    }
    if (l->cap - l->to > BLOCK)
        return 0;
    size_t cap = 2 * l->cap + 2 * BLOCK;
    char *bytes = realloc(l->bytes, cap);
    if (!bytes)
        return -ENOMEM;
    l->bytes = bytes;
    l->cap = cap;
    return 0;
}

static int fill(struct lines *l)
{
    int err = leat_cancelled(NULL) ? -ECANCELED : make_room(l);
    while (!err) {
        if (l->patient)
            err = halt_wait(l->fd, POLLIN);
        if (err)
            break;
        ssize_t n = read(l->fd, l->bytes + l->to, BLOCK);
        if (n >= 0) {
            l->to += (size_t)n;
            l->at_end = n == 0;
            break;
        }
        if (errno != EINTR && !(errno == EAGAIN && l->patient))
            err = -errno;
    }
    return err;
}

/* The end of the line, whose first `looked_at` bytes have none; NULL if it has not been read. */
static char *find_end(const struct lines *l, size_t looked_at)
{
    size_t there = l->to - l->from;
    return there > looked_at ? memchr(l->bytes + l->from + looked_at, l->end, there - looked_at)
                             : NULL;
}

/* Skips the rest of a line that is too long. */
static int skip(struct lines *l)
{
    int err = 0;
    while (l->skipping && !err) {
        const char *end = find_end(l, 0);
        l->from = end ? (size_t)(end - l->bytes) + 1 : l->to;
        l->skipping = !end && !l->at_end;
        if (l->skipping)
            err = fill(l);
    }
    return err;
}

int lines_next(struct lines *l, char **line, size_t *len)
{
    size_t looked_at = 0;
    int err = skip(l);
    while (!err) {
        const char *end = find_end(l, looked_at);
        size_t there = l->to - l->from;
        if (end || (l->at_end && there > 0)) {
            *line = l->bytes + l->from;
            *len = end ? (size_t)(end - *line) + 1 : there;
            l->from += *len;
            return 1;
        }
        if (l->at_end)
            return 0;
        if (there > LINE_MOST) {
            l->skipping = true;
            return -E2BIG;
        }
        looked_at = there;
        err = fill(l);
    }
    return err;
}
