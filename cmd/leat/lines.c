#include "lines.h"

#include "halt.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
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

/* Room for a block and the byte after the last line: first where lines have been given out. */
static int make_room(struct lines *l)
{
    if (l->from > 0) {
        memmove(l->bytes, l->bytes + l->from, l->to - l->from);
        l->to -= l->from;
        l->from = 0;
    }
    if (l->cap - l->to > BLOCK)
        return 0;
    if (l->cap > SIZE_MAX / 4)
        return -ENOMEM;
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
    int err = make_room(l);
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

int lines_next(struct lines *l, char **line, size_t *len)
{
    size_t looked_at = 0;
    for (;;) {
        char *from = l->bytes + l->from;
        size_t there = l->to - l->from;
        char *end = there > looked_at ? memchr(from + looked_at, l->end, there - looked_at) : NULL;
        if (end || (l->at_end && there > 0)) {
            *line = from;
            *len = end ? (size_t)(end - from) + 1 : there;
            l->from += *len;
            return 1;
        }
        if (l->at_end)
            return 0;
        looked_at = there;
        int err = fill(l);
        if (err)
            return err;
    }
}
