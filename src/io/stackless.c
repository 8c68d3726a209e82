/* stackless.c: descriptors for blocks and callbacks: they try, wait for the channel, and try
 * again. */
#include "io/io.h"

#include <limits.h>

static enum lt_way way_of(unsigned event)
{
    return event == LEAT_IN ? LT_IN : LT_OUT;
}

/* After a call with LEAT_NOW that returned -EAGAIN. So the channel is there, and up to date. */
int leat_block_ready(leat_block *b, leat_io *io, unsigned event, int64_t deadline,
                     leat_alarm *alarm)
{
    leat_chan *ch = io ? lt_io_chan(io, way_of(event)) : NULL;
    return leat_block_recv(b, ch, NULL, deadline, alarm);
}

/* A block that has read all goes on to wait: that needs no system call. */
int leat_block_read(leat_io *io, void *buffer, size_t n)
{
    if (n > INT_MAX)
        return -EINVAL;
    if (io && !lt_io_is_raised(io, LT_IN) && !lt_chan_is_closed(lt_io_chan(io, LT_IN)) &&
        !atomic_load_explicit(&io->unsaid[LT_IN], memory_order_relaxed))
        return -EAGAIN;
    return (int)leat_read_until(io, buffer, n, LEAT_NOW);
}

int leat_block_write(leat_io *io, const void *data, size_t n, size_t *done)
{
    /* Again after some bytes: the call that says -EAGAIN or another error is the last. */
    do {
        int64_t more = leat_write_until(io, (const char *)data + *done, n - *done, LEAT_NOW);
        if (more < 0)
            return (int)more;
        *done += (size_t)more;
    } while (*done < n);
    return 0;
}

int leat_ready_then(leat_op *op, leat_io *io, unsigned event, leat_op_fn *fn)
{
    if (!op || !io || (event != LEAT_IN && event != LEAT_OUT))
        return -EINVAL;
    leat_chan *ch = event == LEAT_IN ? leat_io_readable(io) : leat_io_writable(io);
    return ch ? leat_recv_then(op, ch, NULL, fn) : -ENOMEM;
}
