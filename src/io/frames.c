/* frames.c: items of a fixed size from a descriptor to a channel, and back. */
#include <leat/lines.h>

#include "base/alloc.h"
#include "chan/chan.h"
#include "io/stream.h"

#include <leat/task.h>

#include <string.h>

enum { HIGHEST_SIZE = 1 << 20 };

struct frames {
    leat_scope *scope;
    leat_io *io;
    leat_chan *ch;
    size_t size, most; /* bytes of a frame; frames in the buffer */
    unsigned char buffer[];
};

static struct frames *make(leat_scope *scope, leat_io *io, size_t size)
{
    size_t most = size < LT_STREAM_BYTES ? LT_STREAM_BYTES / size : 1;
    struct frames *f = lt_alloc_unset(sizeof *f + most * size);
    if (f)
        *f = (struct frames){ .scope = scope, .io = io, .size = size, .most = most };
    return f;
}

static int start(struct frames *f, leat_fn *fn, const char *name)
{
    int error = f->ch ? leat_go_named(f->scope, fn, f, name, 0) : -ENOMEM;
    if (error)
        lt_free(f);
    return error;
}

/* ---- reading ---- */

static int send_frames(const struct frames *f, size_t n)
{
    for (size_t sent = 0; sent < n;) {
        int64_t more = leat_send_many(f->ch, f->buffer + sent * f->size, n - sent, LEAT_NEVER);
        if (more < 0)
            return (int)more;
        sent += (size_t)more;
    }
    return 0;
}

static int read_frames(void *arg)
{
    struct frames *f = arg;
    size_t have = 0; /* bytes in the buffer */
    int64_t n = 1;
    int error = 0;
    while (n && !error) {
        n = leat_read(f->io, f->buffer + have, f->most * f->size - have);
        have += n > 0 ? (size_t)n : 0;
        error = n < 0 ? (int)n : send_frames(f, have / f->size);
        memmove(f->buffer, f->buffer + have / f->size * f->size, have % f->size);
        have %= f->size;
    }
    error = lt_stream_end_out(f->scope, f->ch, !error && have ? -EBADMSG : error);
    lt_free(f);
    return error;
}

int leat_frames(leat_scope *scope, leat_io *io, size_t size, size_t capacity, leat_chan **frames)
{
    if (!scope || !io || !frames || !size || size > HIGHEST_SIZE)
        return -EINVAL;
    leat_chan_spec spec = { .item_size = size, .capacity = capacity, .name = "leat_frames" };
    struct frames *f = make(scope, io, size);
    if (!f)
        return -ENOMEM;
    leat_chan *ch = f->ch = leat_chan_open(scope, &spec);
    int error = start(f, read_frames, "leat_frames");
    if (!error)
        *frames = ch;
    return error;
}

/* ---- writing ---- */

static int write_frames(void *arg)
{
    struct frames *f = arg;
    int64_t n;
    int error = 0;
    while (!error && (n = leat_recv_many(f->ch, f->buffer, f->most, LEAT_NEVER)) != -EPIPE) {
        struct iovec part = { f->buffer, n < 0 ? 0 : (size_t)n * f->size };
        error = n < 0 ? (int)n : lt_stream_write(f->io, &part, 1);
    }
    error = lt_stream_end_in(f->scope, f->ch, error);
    lt_free(f);
    return error;
}

int leat_write_frames(leat_scope *scope, leat_chan *frames, leat_io *io)
{
    if (!scope || !frames || !io || !frames->item_size)
        return -EINVAL;
    struct frames *f = make(scope, io, frames->item_size);
    if (!f)
        return -ENOMEM;
    f->ch = frames;
    return start(f, write_frames, "leat_write_frames");
}
