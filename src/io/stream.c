#include "io/stream.h"

#include "io/io.h"
#include "scope/scope.h"

/* A call removes the bytes that it has written from the array. If it has not written all of them,
 * the next one returns the reason. */
int lt_stream_write(leat_io *io, struct iovec *parts, int n)
{
    for (size_t left = lt_io_bytes(parts, (size_t)n); left;) {
        int64_t done = leat_writev(io, parts, n, LEAT_NEVER);
        if (done < 0)
            return (int)done;
        left -= (size_t)done;
    }
    return 0;
}

/* The scope is cancelled first, so that a partner's verdict, which follows from the end of the
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
