#define _GNU_SOURCE
#include "map/streams.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int streams_open(struct streams *s, const struct plan *p, leat_scope *scope)
{
    static const int fds[STREAMS] = { STDOUT_FILENO, STDERR_FILENO };
    *s = (struct streams){ .one_terminal = isatty(STDOUT_FILENO) };
    progress_open(&s->progress, p->progress);
    s->lock = leat_mutex_open(scope);
    s->abandoned = leat_chan_make(scope, 0, 0);
    if (!s->lock || !s->abandoned)
        return -ENOMEM;
    /* A closed stream is an error when something must be written to it. */
    for (int i = 0; i < STREAMS; i++)
        set_error(s, i, leat_io_adopt(scope, fds[i], &s->io[i]));
    return 0;
}

void streams_close(struct streams *s)
{
    progress_erase(&s->progress);
    for (int i = 0; i < STREAMS; i++)
        if (s->io[i])
            leat_io_release(s->io[i]); /* leat does not own the descriptor */
    text_free(&s->lines);
}

/* ---- writing, with the lock held ---- */

static int wait_to_write(struct streams *s, enum stream to)
{
    leat_case cases[] = { LEAT_RECV(s->abandoned, NULL), LEAT_WRITABLE(s->io[to]) };
    int got = leat_select_ordered(cases, 2, LEAT_NEVER);
    return got == 1 ? 0 : -ECANCELED;
}

static void put(struct streams *s, enum stream to, const char *bytes, size_t n)
{
    while (n > 0 && !streams_error(s, to)) {
        int64_t wrote = leat_write_until(s->io[to], bytes, n, LEAT_NOW);
        if (wrote == -EAGAIN)
            wrote = wait_to_write(s, to);
        if (wrote < 0) {
            set_error(s, to, (int)wrote);
            break;
        }
        bytes += wrote;
        n -= (size_t)wrote;
    }
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

void streams_write(struct streams *s, enum stream to, const char *tag, struct line_state *state,
                   const char *bytes, size_t n)
{
    if (n == 0)
        return;
    leat_mutex_lock(s->lock);
    if (to == STREAM_ERR || s->one_terminal)
        progress_erase(&s->progress);
    if (tag)
        put_tagged(s, to, tag, state->within, bytes, n);
    else
        put(s, to, bytes, n);
    state->within = bytes[n - 1] != '\n';
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
    struct line_state none = { 0 };
    leat_shield(); /* also when the feeder ends */
    streams_write(s, STREAM_ERR, NULL, &none, line, (size_t)len);
    leat_unshield();
    free(line);
}

void streams_show(struct streams *s, const char *text)
{
    if (leat_mutex_lock(s->lock) != 0)
        return; /* the run is over */
    progress_show(&s->progress, text);
    leat_mutex_unlock(s->lock);
}
