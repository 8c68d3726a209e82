#include "io/stream.h"

#include "scope/cancel.h"

static size_t bytes_of(const struct iovec *parts, int n)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

/* leat_writev leaves nothing of the parts that it has written, and some of the next. */
static int first_left(const struct iovec *parts, int n, size_t left)
{
    while (left)
        left -= parts[--n].iov_len;
    return n;
}

int lt_stream_write(leat_io *io, struct iovec *parts, int n)
{
    size_t left = bytes_of(parts, n);
    while (left) {
        int64_t done = leat_writev(io, parts, n, LEAT_NEVER);
        if (done < 0)
            return (int)done;
        left -= (size_t)done;
        int first = first_left(parts, n, left);
        parts += first;
        n -= first;
    }
    return 0;
}

/* The scope is cancelled first: then a partner's verdict, which follows from the end of the
 * channel, does not come before the error that caused it. */
int lt_stream_end_out(leat_scope *scope, leat_chan *out, int error)
{
    if (!error || error == -EPIPE) { /* -EPIPE: the receivers want no more */
        leat_close(out);
        return 0;
    }
    lt_scope_cancel(scope, error);
    leat_cut(out);
    return error;
}

int lt_stream_end_in(leat_scope *scope, leat_chan *in, int error)
{
    if (error)
        lt_scope_cancel(scope, error);
    leat_close(in);
    return error;
}
