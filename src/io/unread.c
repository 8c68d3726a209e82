/* unread.c: what few descriptors need: bytes that were read and have come back. */
#include "base/alloc.h"
#include "base/lock.h"
#include "io/io.h"

#include <string.h>
#include <sys/epoll.h>

struct lt_io_more *lt_io_make_more(leat_io *io)
{
    struct lt_io_more *there = lt_io_more(io), *more = there ? there : lt_alloc(sizeof *more);
    /* Acquire: another party's is seen zeroed. Release: so is this one. */
    if (there || !more ||
        atomic_compare_exchange_strong_explicit(&io->more, &there, more, memory_order_acq_rel,
                                                memory_order_acquire))
        return more;
    lt_free(more);
    return there;
}

void lt_io_unread(leat_io *io, struct lt_unread *unread)
{
    struct lt_io_more *more = lt_io_more(io);
    lt_lock(&io->lock);
    /* In front: they were read before the bytes that are there. */
    unread->next = atomic_load_explicit(&more->unread, memory_order_relaxed);
    /* Relaxed: a party that sees it takes the lock. */
    atomic_store_explicit(&more->unread, unread, memory_order_relaxed);
    lt_unlock(&io->lock);
    /* Called after the bytes are linked, so that a reader that is woken finds them. A reader that
     * found none, and asks the system, has read the count of raises before: so it does not lower
     * the channel. */
    lt_io_raise(io, EPOLLIN);
    lt_io_end_ring(io);
    lt_point();
}

static size_t copy_out(const struct lt_unread *unread, const struct iovec *parts, size_t n)
{
    size_t done = 0, left = unread->end - unread->begin;
    for (size_t i = 0; i < n && left; i++) {
        size_t bytes = parts[i].iov_len < left ? parts[i].iov_len : left;
        if (bytes && parts[i].iov_base) /* NULL: a message's, with MSG_TRUNC */
            memcpy(parts[i].iov_base, unread->bytes + unread->begin + done, bytes);
        done += bytes;
        left -= bytes;
    }
    return done;
}

/* The system has not been asked, so the reader must not lower the channel. */
static void keep_raised(leat_chan *ch)
{
    lt_chan_lock(ch);
    lt_io_count_raise(ch);
    lt_chan_unlock(ch);
}

int64_t lt_io_reread(leat_io *io, const struct iovec *parts, size_t n, bool peek)
{
    struct lt_io_more *more = lt_io_more(io);
    struct lt_unread *first, *empty = NULL;
    int64_t done = -EINTR;
    lt_lock(&io->lock);
    first = atomic_load_explicit(&more->unread, memory_order_relaxed);
    if (first) {
        size_t bytes = copy_out(first, parts, n);
        done = (int64_t)bytes;
        first->begin += peek ? 0 : bytes;
        if (first->begin == first->end) {
            empty = first;
            atomic_store_explicit(&more->unread, first->next, memory_order_relaxed);
        }
    }
    lt_unlock(&io->lock);
    lt_free(empty);
    if (done >= 0)
        keep_raised(lt_io_chan(io, LT_IN));
    return done;
}

void lt_io_drop_more(leat_io *io)
{
    struct lt_io_more *more = lt_io_more(io);
    if (!more)
        return;
    /* Relaxed: no other party uses it any more. */
    struct lt_unread *unread = atomic_load_explicit(&more->unread, memory_order_relaxed);
    while (unread) {
        struct lt_unread *next = unread->next;
        lt_free(unread);
        unread = next;
    }
    lt_free(more);
}
