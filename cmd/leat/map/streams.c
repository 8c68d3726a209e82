#define _GNU_SOURCE
#include "map/streams.h"

#include "shared/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAGGED_ENOUGH = 64 * 1024 }; /* bytes of lines with their tags that are written at once */

/* Relaxed: only the number is read. */
int streams_error(struct streams *s, enum stream to)
{
    return atomic_load_explicit(&s->error[to], memory_order_relaxed);
}

static void set_error(struct streams *s, enum stream to, int error)
{
    atomic_store_explicit(&s->error[to], error, memory_order_relaxed);
}

static const int fds[STREAMS] = { STDOUT_FILENO, STDERR_FILENO };

/* Not for the other end of a pseudo-terminal, which opens another one. */
static bool is_same_terminal(int a, int b)
{
    unsigned x, y;
    return ioctl(a, TIOCGDEV, &x) == 0 && ioctl(b, TIOCGDEV, &y) == 0 && x == y;
}

/* A write to a terminal may block although poll(2) finds room, and then no signal would end it. So
 * this opens the terminal again: this open file is shared with no other program, and may have
 * O_NONBLOCK. -1: it is no terminal, or cannot be opened. */
static int open_terminal(int fd)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = isatty(fd) ? open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    if (own < 0 || is_same_terminal(fd, own))
        return own;
    close(own);
    return -1;
}

static int open_stream(int fd, leat_scope *scope, leat_io **io)
{
    int own = open_terminal(fd);
    int error = leat_io_adopt(scope, own < 0 ? fd : own, io);
    if (error && own >= 0)
        close(own);
    return error;
}

static bool is_one_file(void)
{
    struct stat out, err;
    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
           out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

int streams_open(struct streams *s, const struct plan *p, leat_scope *scope)
{
    *s = (struct streams){ .one_terminal = isatty(STDOUT_FILENO), .one_file = is_one_file() };
    progress_open(&s->progress, p->progress);
    s->lock = leat_mutex_open(scope);
    s->abandoned = leat_chan_make(scope, 0, 0);
    if (!s->lock || !s->abandoned)
        return -ENOMEM;
    /* A closed stream is an error when something must be written to it. */
    for (int i = 0; i < STREAMS; i++)
        set_error(s, i, open_stream(fds[i], scope, &s->io[i]));
    return 0;
}

/* ---- writing, with the lock held ---- */

/* If the system cannot watch the stream, the caller tries again a moment later. */
static int wait_to_write(struct streams *s, enum stream to)
{
    leat_case cases[] = { LEAT_RECV(s->abandoned, NULL), LEAT_WRITABLE(s->io[to]) };
    int got = leat_select_ordered(cases, 2, cases[1].ch ? LEAT_NEVER : leat_after(SHORTAGE_PAUSE));
    return got == 1 || got == -ETIMEDOUT ? 0 : -ECANCELED;
}

/* A file can always be watched: there the same error is the file's. */
static bool has_to_wait(struct streams *s, enum stream to, int64_t wrote)
{
    return wrote == -EAGAIN ||
           (wrote < 0 && shortage_of_watches((int)wrote) && !leat_io_writable(s->io[to]));
}

static void put(struct streams *s, enum stream to, const char *bytes, size_t n)
{
    while (n > 0 && !streams_error(s, to)) {
        int64_t wrote = leat_write_until(s->io[to], bytes, n, LEAT_NOW);
        if (has_to_wait(s, to, wrote))
            wrote = wait_to_write(s, to);
        if (wrote < 0) {
            set_error(s, to, (int)wrote);
            break;
        }
        bytes += wrote;
        n -= (size_t)wrote;
    }
}

static void erase_progress(struct streams *s)
{
    char line[PROGRESS_LINE];
    if (s->progress.shown > 0)
        put(s, STREAM_ERR, line, progress_line(&s->progress, "", line));
}

/* A tag may be as long as an item, and lines may be empty: so this writes some lines at a time. */
static void put_tagged(struct streams *s, enum stream to, const char *tag, bool within,
                       const char *bytes, size_t n)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t len = end ? (size_t)(end - bytes) + 1 : n;
        if (!within) {
            text_str(&s->lines, tag);
            text_char(&s->lines, '\t');
        }
        text_add(&s->lines, bytes, len);
        within = false;
        bytes += len;
        n -= len;
        if (s->lines.broken)
            set_error(s, to, -ENOMEM);
        if (n == 0 || s->lines.len >= TAGGED_ENOUGH || s->lines.broken) {
            put(s, to, s->lines.bytes, s->lines.len);
            text_clear(&s->lines);
        }
    }
}

void streams_write(struct streams *s, enum stream to, const char *tag, bool *within,
                   const char *bytes, size_t n)
{
    if (n == 0)
        return;
    leat_mutex_lock(s->lock);
    if (to == STREAM_ERR || s->one_terminal)
        erase_progress(s);
    if (tag)
        put_tagged(s, to, tag, *within, bytes, n);
    else
        put(s, to, bytes, n);
    if (within)
        *within = bytes[n - 1] != '\n';
    leat_mutex_unlock(s->lock);
}

void streams_say(struct streams *s, const char *format, ...)
{
    va_list args;
    char *text, *line;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        return;
    len = asprintf(&line, "leat map: %s\n", text);
    free(text);
    if (len < 0)
        return;
    leat_shield(); /* also when the feeder ends */
    streams_write(s, STREAM_ERR, NULL, NULL, line, (size_t)len);
    leat_unshield();
    free(line);
}

/* Does not wait for a terminal that has no room: the next line comes soon, or the run is over. */
static void draw(struct streams *s, const char *text)
{
    char line[PROGRESS_LINE];
    size_t len = progress_line(&s->progress, text, line);
    leat_write_until(s->io[STREAM_ERR], line, len, LEAT_NOW);
}

void streams_show(struct streams *s, const char *text)
{
    if (leat_mutex_lock(s->lock) != 0)
        return; /* the run is over */
    draw(s, text);
    leat_mutex_unlock(s->lock);
}

void streams_close(struct streams *s)
{
    if (s->progress.shown > 0)
        draw(s, "");
    for (int i = 0; i < STREAMS; i++)
        if (s->io[i] && leat_io_fd(s->io[i]) == fds[i])
            leat_io_release(s->io[i]); /* leat does not own the descriptor */
    text_free(&s->lines);
}
