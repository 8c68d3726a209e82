/* ready.c: waiting for readiness without a transfer. */
#define _GNU_SOURCE
#include "base/cancel.h"
#include "io/io.h"
#include "io/simulated.h"

#include <poll.h>
#include <sys/epoll.h>

/* The state now: events asked for, and LEAT_HUP; or a negative errno value. */
static int ask_system(leat_io *io, unsigned events)
{
    if (lt_io_is_simulated(io))
        return lt_simulated_ask(io, events);
    short asked = (short)((events & LEAT_IN ? POLLIN : 0) | (events & LEAT_OUT ? POLLOUT : 0));
    struct pollfd one = { .fd = io->fd, .events = asked };
    int saved = errno, n, cancel = lt_cancel_put_off();
    do
        n = poll(&one, 1, 0);
    while (n < 0 && errno == EINTR);
    int error = n < 0 ? -errno : one.revents & POLLNVAL ? -EBADF : 0;
    lt_cancel_restore(cancel);
    errno = saved;
    if (error)
        return error;
    /* A read or a write then finds the end or the error, and does not wait. */
    if (one.revents & (POLLHUP | POLLERR))
        return (int)(events | LEAT_HUP);
    return (one.revents & POLLIN ? LEAT_IN : 0) | (one.revents & POLLOUT ? LEAT_OUT : 0);
}

/* Of the events: those whose next call returns an error that was kept for it. Their channels may
 * have been lowered since then, and are raised. */
static int raise_unsaid(leat_io *io, unsigned events)
{
    bool in = events & LEAT_IN && lt_io_has_unsaid(io, LT_IN),
         out = events & LEAT_OUT && lt_io_has_unsaid(io, LT_OUT);
    if (in || out)
        lt_io_raise(io, (in ? EPOLLIN : 0) | (out ? EPOLLOUT : 0));
    return (in ? LEAT_IN | LEAT_HUP : 0) | (out ? LEAT_OUT | LEAT_HUP : 0);
}

int lt_io_settle(leat_io *io, unsigned events)
{
    int error = 0;
    if ((events & LEAT_OUT) && !lt_io_chan(io, LT_OUT))
        error = lt_io_make_writable(io);
    /* Counted before it is registered: if it then loses its reactor, a raise tells of that. */
    uint32_t raises[LT_WAYS];
    for (enum lt_way way = LT_IN; way < LT_WAYS; way++)
        raises[way] = lt_io_raise_count(io, way);
    if (!error)
        error = lt_io_register(io);
    if (error == -EPERM) {
        /* No party can wait for such a descriptor: it is always ready. */
        atomic_store_explicit(&io->kind, LT_IO_FILE, memory_order_relaxed);
        return (int)events;
    }
    if (error)
        return error;
    int found = ask_system(io, events);
    if (found >= 0 && lt_io_has_unread(io))
        found |= (int)(events & LEAT_IN);
    if (found >= 0)
        found |= raise_unsaid(io, events);
    if (found < 0 || found & LEAT_HUP)
        return found;
    for (enum lt_way way = LT_IN; way < LT_WAYS; way++)
        if ((events & ~(unsigned)found) & (way == LT_IN ? LEAT_IN : LEAT_OUT))
            lt_io_lower(io, way, raises[way], true);
    return found;
}

static int wait_for(leat_io *io, unsigned events, int64_t deadline)
{
    if (events == LEAT_IN || events == LEAT_OUT)
        return lt_io_wait(io, events == LEAT_IN ? LT_IN : LT_OUT, deadline);
    leat_case cases[] = { LEAT_RECV(lt_io_chan(io, LT_IN), NULL),
                          LEAT_RECV(lt_io_chan(io, LT_OUT), NULL) };
    int way = leat_select(cases, 2, deadline);
    return way < 0 ? way : cases[way].status == -EPIPE ? -EBADF : cases[way].status;
}

static int ready(leat_io *io, unsigned events, int64_t deadline)
{
    for (;;) {
        int found = lt_io_settle(io, events);
        if (found || deadline == LEAT_NOW)
            return found ? found : -EAGAIN;
        int error = wait_for(io, events, deadline);
        if (error)
            return error;
    }
}

int leat_ready(leat_io *io, unsigned events, int64_t deadline)
{
    if (!events || events & ~(unsigned)(LEAT_IN | LEAT_OUT))
        return -EINVAL;
    int error = lt_io_begin(io, deadline);
    if (error)
        return error;
    int found = ready(io, events, deadline);
    lt_io_finish(io, deadline);
    return found;
}

int leat_poll(int fd, unsigned events, int64_t deadline)
{
    leat_io *io;
    int error = leat_io_adopt(NULL, fd, &io);
    if (error)
        return error;
    io->lent = true;
    int found = leat_ready(io, events, deadline);
    leat_io_unref(io);
    return found;
}

int lt_io_find(leat_io *io, enum lt_way way, leat_chan **ch)
{
    *ch = lt_io_chan(io, LT_IN); /* if it is closed, as this reports */
    if (!lt_io_enter(io))
        return 0;
    int found = lt_io_settle(io, way == LT_IN ? LEAT_IN : LEAT_OUT);
    lt_io_follow(io); /* a select may wait next */
    /* It was closed after lt_io_enter: then `writable` may never be made. */
    if (found < 0 && lt_chan_is_closed(*ch))
        found = 0;
    else
        *ch = found < 0 ? NULL : lt_io_chan(io, way);
    lt_io_leave(io);
    return found < 0 ? found : 0;
}

static leat_chan *channel(leat_io *io, enum lt_way way)
{
    leat_chan *ch = NULL;
    if (io)
        lt_io_find(io, way, &ch);
    return ch;
}

leat_chan *leat_io_readable(leat_io *io)
{
    return channel(io, LT_IN);
}

leat_chan *leat_io_writable(leat_io *io)
{
    return channel(io, LT_OUT);
}
