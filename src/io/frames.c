/* frames.c: items of a fixed size from a descriptor to a channel, and back. */
#include <leat/lines.h>

#include "base/alloc.h"
#include "chan/chan.h"
#include "io/stream.h"

#include <string.h>

enum { HIGHEST_SIZE = 1 << 20 };

struct frames {
    struct lt_stream stream;
    size_t size, most; /* bytes of a frame; frames in the buffer */
    unsigned char buffer[];
};

static struct frames *make(leat_scope *scope, leat_io *io, size_t size)
{
    size_t most = size < LT_STREAM_BYTES ? LT_STREAM_BYTES / size : 1;
    struct frames *f = lt_alloc_unset(sizeof *f + most * size);
    if (f)
        *f = (struct frames){ .stream = { scope, io, NULL }, .size = size, .most = most };
    return f;
}

/* ---- reading ---- */

static int read_frames(void *arg)
{
    struct frames *f = arg;
    size_t have = 0, sent; /* bytes in the buffer; frames */
    int64_t n = 1;
    int error = 0;
    while (n && !error) {
        n = leat_read(f->stream.io, f->buffer + have, f->most * f->size - have);
        have += n > 0 ? (size_t)n : 0;
        error = n < 0 ? (int)n : lt_stream_send(&f->stream, f->buffer, have / f->size, &sent);
        memmove(f->buffer, f->buffer + have / f->size * f->size, have % f->size);
        have %= f->size;
    }
    return lt_stream_end_out(&f->stream, !error && have ? -EBADMSG : error);
}

int leat_frames(leat_scope *scope, leat_io *io, size_t size, size_t capacity, leat_chan **frames)
{
    if (!scope || !io || !frames || !size || size > HIGHEST_SIZE)
        return -EINVAL;
    leat_chan_spec spec = { .item_size = size, .capacity = capacity, .name = "leat_frames" };
    struct frames *f = make(scope, io, size);
    if (!f)
        return -ENOMEM;
    leat_chan *ch = f->stream.ch = leat_chan_open(scope, &spec);
    int error = lt_stream_start(&f->stream, read_frames, "leat_frames");
    if (!error)
        *frames = ch;
    return error;
}

/* ---- writing ---- */

static int write_frames(void *arg)
{
    struct frames *f = arg;
    leat_chan *in = f->stream.ch;
    int64_t n;
    int error = 0;
    while (!error && (n = leat_recv_many(in, f->buffer, f->most, LEAT_NEVER)) != -EPIPE) {
        struct iovec part = { f->buffer, n < 0 ? 0 : (size_t)n * f->size };
        error = n < 0 ? (int)n : lt_stream_write(&f->stream, &part, 1);
    }
    return lt_stream_end_in(&f->stream, error);
}

int leat_write_frames(leat_scope *scope, leat_chan *frames, leat_io *io)
{
    if (!scope || !frames || !io || !frames->item_size)
        return -EINVAL;
    struct frames *f = make(scope, io, frames->item_size);
    if (!f)
        return -ENOMEM;
    f->stream.ch = frames;
    return lt_stream_start(&f->stream, write_frames, "leat_write_frames");
}
