/* lines.c: lines from a descriptor to a channel, and back.
 *
 * The reader's buffer begins with the bytes of a line whose end has not come. They are at most
 * most + 1: with more than that, the line is complete or a piece of it is sent. So there is always
 * room for a read of LT_STREAM_BYTES. */
#include <leat/lines.h>

#include "base/alloc.h"
#include "chan/chan.h"
#include "io/stream.h"

#include <stdbool.h>
#include <string.h>

enum { DEFAULT_MOST = 64 * 1024, HIGHEST_MOST = 1 << 30, DEFAULT_CAPACITY = 64 };

/* Lines that are sent, or written, in one call. */
enum { AT_ONCE = 128 };

void leat_line_free(void *line)
{
    if (line)
        lt_free(((leat_line *)line)->text);
}

static void free_lines(leat_line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        leat_line_free(&lines[i]);
}

/* ---- reading ---- */

struct reader {
    struct lt_stream stream;
    size_t most;
    char end; /* of a line */
    bool crlf;
    bool ended;      /* no more bytes will come */
    size_t have;     /* bytes in the buffer */
    size_t searched; /* these first bytes hold no newline */
    size_t n;        /* lines to be sent */
    leat_line lines[AT_ONCE];
    char buffer[];
};

/* Finds the next item in the `left` bytes at `at`, and sets all of it but its text. Returns the
 * bytes that it takes up; 0: more bytes have to come. */
static size_t find_item(struct reader *r, const char *at, size_t left, leat_line *item)
{
    size_t reach = r->most + 1 + r->crlf; /* a newline farther away does not end this item */
    size_t window = left < reach ? left : reach;
    const char *newline = memchr(at + r->searched, r->end, window - r->searched);
    r->searched = 0;
    if (newline) {
        size_t size = (size_t)(newline - at), taken = size + 1;
        if (r->crlf && size && at[size - 1] == '\r')
            size--;
        if (size <= r->most) {
            *item = (leat_line){ .size = size };
            return taken;
        }
    } else if (window < reach && !r->ended) {
        r->searched = window;
        return 0;
    } else if (left <= r->most) {
        *item = (leat_line){ .size = left };
        return left;
    }
    *item = (leat_line){ .size = r->most, .cut = 1 };
    return r->most;
}

static int set_text(leat_line *item, const char *bytes)
{
    item->text = lt_alloc_unset(item->size + 1);
    if (!item->text)
        return -ENOMEM;
    memcpy(item->text, bytes, item->size);
    item->text[item->size] = '\0';
    return 0;
}

static int send_lines(struct reader *r)
{
    size_t sent;
    int error = lt_stream_send(&r->stream, r->lines, r->n, &sent);
    free_lines(r->lines + sent, r->n - sent);
    r->n = 0;
    return error;
}

/* Sends the items in the buffer, and moves the rest to its beginning. */
static int empty_buffer(struct reader *r)
{
    const char *at = r->buffer, *end = r->buffer + r->have;
    int error = 0;
    while (!error && at < end) {
        leat_line *item = &r->lines[r->n];
        size_t taken = find_item(r, at, (size_t)(end - at), item);
        if (!taken)
            break;
        error = set_text(item, at);
        r->n += !error;
        at += taken;
        if (r->n == AT_ONCE)
            error = send_lines(r);
    }
    int unsent = send_lines(r);
    r->have = (size_t)(end - at);
    if (r->have && at != r->buffer)
        memmove(r->buffer, at, r->have);
    return error ? error : unsent;
}

static int read_lines(void *arg)
{
    struct reader *r = arg;
    int error = 0;
    while (!error && !r->ended) {
        int64_t n = leat_read(r->stream.io, r->buffer + r->have, LT_STREAM_BYTES);
        if (n >= 0) {
            r->have += (size_t)n;
            r->ended = n == 0;
        }
        error = n < 0 ? (int)n : empty_buffer(r);
    }
    return lt_stream_end_out(&r->stream, error);
}

int leat_lines(leat_scope *scope, leat_io *io, const leat_lines_options *options, leat_chan **lines)
{
    leat_lines_options o = options ? *options : (leat_lines_options){ 0 };
    size_t most = o.most ? o.most : DEFAULT_MOST;
    if (!scope || !io || !lines || most > HIGHEST_MOST)
        return -EINVAL;
    leat_chan_spec spec = { .item_size = sizeof(leat_line),
                            .capacity = o.capacity ? o.capacity : DEFAULT_CAPACITY,
                            .drop = leat_line_free,
                            .name = "leat_lines" };
    struct reader *r = lt_alloc_unset(sizeof *r + most + 1 + LT_STREAM_BYTES);
    if (!r)
        return -ENOMEM;
    leat_chan *out = leat_chan_open(scope, &spec);
    *r = (struct reader){
        .stream = { scope, io, out }, .most = most, .end = o.zero ? 0 : '\n', .crlf = o.crlf != 0
    };
    int error = lt_stream_start(&r->stream, read_lines, "leat_lines");
    if (!error)
        *lines = out;
    return error;
}

/* ---- writing ---- */

struct writer {
    struct lt_stream stream;
    leat_line lines[AT_ONCE];
    struct iovec parts[2 * AT_ONCE];
};

static int write_some(struct writer *w, size_t n)
{
    static char newline = '\n';
    int parts = 0;
    for (size_t i = 0; i < n; i++) {
        const leat_line *line = &w->lines[i];
        if (line->size)
            w->parts[parts++] = (struct iovec){ line->text, line->size };
        if (!line->cut)
            w->parts[parts++] = (struct iovec){ &newline, 1 };
    }
    return lt_stream_write(&w->stream, w->parts, parts);
}

static int write_lines(void *arg)
{
    struct writer *w = arg;
    leat_chan *in = w->stream.ch;
    int64_t n;
    int error = 0;
    while (!error && (n = leat_recv_many(in, w->lines, AT_ONCE, LEAT_NEVER)) != -EPIPE) {
        error = n < 0 ? (int)n : write_some(w, (size_t)n);
        free_lines(w->lines, n < 0 ? 0 : (size_t)n);
    }
    return lt_stream_end_in(&w->stream, error);
}

int leat_write_lines(leat_scope *scope, leat_chan *lines, leat_io *io)
{
    if (!scope || !lines || !io || lines->item_size != sizeof(leat_line))
        return -EINVAL;
    struct writer *w = lt_alloc_unset(sizeof *w);
    if (!w)
        return -ENOMEM;
    w->stream = (struct lt_stream){ scope, io, lines };
    return lt_stream_start(&w->stream, write_lines, "leat_write_lines");
}
