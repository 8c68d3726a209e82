#include "shared/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024 };

void lines_open(struct lines *l, int fd, char end)
{
    *l = (struct lines){ .end = end };
    l->error = fd < 0 ? fd : leat_io_adopt(NULL, fd, &l->io);
}

void lines_close(struct lines *l)
{
    if (l->io && leat_io_fd(l->io) == STDIN_FILENO)
        leat_io_release(l->io);
    leat_io_unref(l->io);
    text_free(&l->read);
}

/* Makes room for bytes and one after them, first in place of lines that were returned. */
static bool make_room(struct lines *l, size_t n)
{
    struct text *t = &l->read;
    if (l->from > 0) {
        memmove(t->bytes, t->bytes + l->from, t->len - l->from);
        t->len -= l->from;
        l->from = 0;
    }
    return text_reserve(t, n + 1);
}

int lines_read(struct lines *l, size_t most)
{
    if (l->error)
        return l->error;
    if (!make_room(l, most))
        return -ENOMEM;
    /* Before its first writer has come, a FIFO would seem to be at its end. */
    int64_t n = l->begun ? 0 : leat_ready(l->io, LEAT_IN, LEAT_NEVER);
    if (n >= 0)
        n = leat_read(l->io, l->read.bytes + l->read.len, most);
    if (n < 0)
        return (int)n;
    l->begun = true;
    l->at_end = n == 0;
    l->read.len += (size_t)n;
    return 0;
}

/* The end of the line; the first `looked_at` bytes have none. NULL: it has not been read yet. */
static char *find_end(const struct lines *l, size_t looked_at)
{
    size_t there = l->read.len - l->from;
    return there > looked_at
               ? memchr(l->read.bytes + l->from + looked_at, l->end, there - looked_at)
               : NULL;
}

/* Skips the rest of a line that is too long. */
static int skip(struct lines *l)
{
    int err = 0;
    while (l->skipping && !err) {
        const char *end = find_end(l, 0);
        l->from = end ? (size_t)(end - l->read.bytes) + 1 : l->read.len;
        l->skipping = !end && !l->at_end;
        if (l->skipping)
            err = lines_read(l, BLOCK);
    }
    return err;
}

int lines_next(struct lines *l, char **line, size_t *len)
{
    size_t looked_at = 0;
    int err = skip(l);
    while (!err) {
        const char *end = find_end(l, looked_at);
        size_t there = l->read.len - l->from;
        *len = end ? (size_t)(end - l->read.bytes) - l->from : there;
        if (*len > LINE_MOST) {
            l->skipping = true;
            return -E2BIG;
        }
        if (end || l->at_end) {
            *line = l->read.bytes + l->from;
            *len += end != NULL;
            l->from += *len;
            return *len > 0;
        }
        looked_at = there;
        err = lines_read(l, BLOCK);
    }
    return err;
}
