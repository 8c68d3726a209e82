#include "io/stream.h"

#include "base/alloc.h"
#include "io/io.h"

int lt_stream_start(struct lt_stream *stream, leat_fn *fn, const char *name)
{
    int error = stream->ch ? leat_go_named(stream->scope, fn, stream, name, 0) : -ENOMEM;
    if (error)
        lt_free(stream);
    return error;
}

int lt_stream_send(const struct lt_stream *stream, const void *items, size_t n, size_t *sent)
{
    for (*sent = 0; *sent < n;) {
        const char *rest = (const char *)items + *sent * stream->ch->item_size;
        int64_t more = leat_send_many(stream->ch, rest, n - *sent, LEAT_NEVER);
        if (more < 0)
            return (int)more;
        *sent += (size_t)more;
    }
    return 0;
}

/* A call removes the bytes that it has written from the array. If it has not written all of them,
 * the next one returns the reason. */
int lt_stream_write(const struct lt_stream *stream, struct iovec *parts, int n)
{
    for (size_t left = lt_io_bytes(parts, (size_t)n); left;) {
        int64_t done = leat_writev(stream->io, parts, n, LEAT_NEVER);
        if (done < 0)
            return (int)done;
        left -= (size_t)done;
    }
    return 0;
}

/* The scope is cancelled first, so that a partner's verdict, which follows from the end of the
 * channel, does not come before the error that caused it. */
int lt_stream_end_out(struct lt_stream *stream, int error)
{
    /* The receivers want no more. A read may return -EPIPE, too: that is an error. */
    if (error == -EPIPE && leat_chan_closed(stream->ch))
        error = 0;
    if (error) {
        lt_scope_cancel(stream->scope, error);
        leat_cut(stream->ch);
    } else {
        leat_close(stream->ch);
    }
    lt_free(stream);
    return error;
}

int lt_stream_end_in(struct lt_stream *stream, int error)
{
    if (error)
        lt_scope_cancel(stream->scope, error);
    leat_close(stream->ch);
    lt_free(stream);
    return error;
}
