#define _GNU_SOURCE
#include "io/io.h"

#include "base/cancel.h"
#include "base/world.h"
#include "chan/operate.h"
#include "chan/special.h"
#include "io/simulated.h"
#include "scope/sight.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* ---- events ---- */

/* Under the slot's lock. Adds the parties that it wakes to the chain. */
static void raise_way(leat_io *io, enum lt_way way, bool hung, struct lt_party **chain)
{
    leat_chan *ch = lt_io_chan(io, way);
    if (!ch)
        return;
    lt_chan_lock(ch);
    lt_io_count_raise(ch);
    if (hung)
        atomic_store_explicit(&io->hung[way], true, memory_order_relaxed);
    lt_special_raise(ch, chain);
    lt_chan_unlock(ch);
}

struct lt_party *lt_io_events(struct lt_source *source, uint32_t events)
{
    leat_io *io = LT_CONTAINER(source, leat_io, source);
    struct lt_party *chain = NULL;
    if (events & EPOLLPRI)
        atomic_store_explicit(&io->urgent, true, memory_order_relaxed);
    if (events & ~(uint32_t)EPOLLOUT)
        raise_way(io, LT_IN, events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR), &chain);
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        raise_way(io, LT_OUT, events & (EPOLLHUP | EPOLLERR), &chain);
    return chain;
}

void lt_io_raise(leat_io *io, uint32_t events)
{
    lt_ready_all(lt_io_events(&io->source, events));
}

int lt_io_register(leat_io *io)
{
    int error = 0;
    if (lt_io_is_registered(io) || lt_io_is_simulated(io))
        return 0;
    lt_lock(&io->lock);
    if (!lt_io_is_registered(io))
        error = lt_reactor_add(&io->source, LT_SOURCE_IO, io->fd);
    lt_unlock(&io->lock);
    return error;
}

/* Waits on another worker until a descriptor follows: on one that has fewer descriptors, and on one
 * that has as many or more. Without the difference most of them came to be with one worker. */
enum { STRAYS = 8, STRAYS_TO_MORE = 64 };

static LT_COLD void follow(leat_io *io, const struct lt_worker *here)
{
    int error = 0;
    lt_lock(&io->lock);
    if (atomic_load_explicit(&io->source.worker, memory_order_relaxed) != here)
        error = lt_reactor_move(&io->source, LT_SOURCE_IO, io->fd);
    lt_unlock(&io->lock);
    /* No event comes any more: all waiting parties try again, and find the error. */
    if (error)
        lt_io_raise(io, EPOLLIN | EPOLLOUT);
}

void lt_io_follow(leat_io *io)
{
    const struct lt_worker *here = lt_current_worker(),
                           *there = atomic_load_explicit(&io->source.worker, memory_order_relaxed);
    if (LT_LIKELY(here == there) || !here || !there)
        return;
    /* All relaxed: approximate counts will do. */
    bool fewer = lt_reactor_sources(&here->reactor) < lt_reactor_sources(&there->reactor);
    unsigned strays = 1u + atomic_load_explicit(&io->strays, memory_order_relaxed);
    bool follows = strays >= (fewer ? STRAYS : STRAYS_TO_MORE);
    atomic_store_explicit(&io->strays, (uint8_t)(follows ? 0 : strays), memory_order_relaxed);
    if (follows)
        follow(io, here);
}

int lt_io_wait(leat_io *io, enum lt_way way, int64_t deadline)
{
    struct lt_chan_wait op;
    leat_chan *ch = lt_io_chan(io, way);
    struct lt_party *self = lt_current_party();
    lt_io_follow(io);
    int error = lt_wait_prepare(self);
    if (error)
        return error;
    lt_chan_lock(ch);
    bool raised = lt_chan_count(ch) != 0, waits = !raised && !lt_chan_is_closed(ch);
    if (waits)
        lt_chan_wait_begin(&op, ch, LT_RECEIVE, NULL, self);
    lt_chan_unlock(ch);
    if (raised)
        return 0;
    error = waits ? lt_chan_wait_park(&op, deadline) : lt_wait_closed(self);
    return error == -EPIPE ? -EBADF : error;
}

void lt_io_lower(leat_io *io, enum lt_way way, uint32_t raises, bool surely)
{
    leat_chan *ch = lt_io_chan(io, way);
    lt_chan_lock(ch);
    if (lt_io_raise_count(io, way) == raises &&
        (surely || !atomic_load_explicit(&io->hung[way], memory_order_relaxed)))
        lt_chan_set_count(ch, 0);
    lt_chan_unlock(ch);
}

int lt_io_drained(leat_io *io, enum lt_way way, uint32_t raises)
{
    /* The caller then tries again, since the reactor may have raised it in between. */
    if (!lt_io_chan(io, way))
        return lt_io_make_writable(io);
    int error = lt_io_register(io);
    if (!error)
        lt_io_lower(io, way, raises, true);
    return error;
}

/* ---- users ---- */

bool lt_io_enter(leat_io *io)
{
    uint32_t users = atomic_load_explicit(&io->users, memory_order_relaxed);
    do
        if (LT_UNLIKELY(users & LT_IO_CLOSED))
            return false;
    /* Acquire: sees what happened before other users admitted more. */
    while (!atomic_compare_exchange_weak_explicit(&io->users, &users, users + 1,
                                                  memory_order_acquire, memory_order_relaxed));
    return true;
}

static int end(leat_io *io)
{
    if (!lt_io_is_simulated(io))
        lt_reactor_remove(&io->source, io->fd);
    else if (io->simulated)
        lt_simulated_close(io);
    return io->lent || io->fd < 0 ? 0 : lt_close(io->fd);
}

int lt_io_leave(leat_io *io)
{
    /* Acquire and release: the last user sees what all others have done. */
    if (atomic_fetch_sub_explicit(&io->users, 1, memory_order_acq_rel) == (LT_IO_CLOSED | 1))
        return end(io);
    return 0;
}

int lt_io_begin(leat_io *io, int64_t deadline)
{
    if (!io || deadline < 0)
        return -EINVAL;
    int error = lt_wait_allowed(lt_current_party());
    return error ? error : lt_io_enter(io) ? 0 : -EBADF;
}

void lt_io_finish(leat_io *io, int64_t deadline)
{
    lt_io_leave(io);
    lt_task_spend(lt_current_worker(), deadline);
}

/* Waiters see that it is closed. */
static void close_ready(leat_io *io)
{
    for (enum lt_way way = LT_IN; way < LT_WAYS; way++) {
        leat_chan *ch = lt_io_chan(io, way);
        if (!ch)
            continue;
        lt_chan_lock(ch);
        lt_chan_set_count(ch, 0); /* a receive from a closed promise would still succeed */
        struct lt_party *woken = lt_chan_close_now(ch);
        lt_chan_unlock(ch);
        lt_ready_all(woken);
    }
}

/* ---- for looks ---- */

static bool see(leat_io *io, struct lt_sight *sight)
{
    /* Acquire: a look may find the channel while lt_io_new still makes the rest. */
    uint32_t users = atomic_load_explicit(&io->users, memory_order_acquire);
    if (!users)
        return false;
    /* Relaxed: the number of a pipe or of a connection is set later. */
    int fd = __atomic_load_n(&io->fd, __ATOMIC_RELAXED);
    if (fd < 0 && !lt_world())
        return false;
    *sight = (struct lt_sight){ .kind = LT_SEES_DESCRIPTOR,
                                .self = io,
                                .scope = sight->scope,
                                .fd = fd,
                                .closed = users & LT_IO_CLOSED,
                                .ways = { lt_io_chan(io, LT_IN), lt_io_chan(io, LT_OUT) },
                                .in_ring = { lt_io_in_ring(io, LT_IN), lt_io_in_ring(io, LT_OUT) },
                                .steps = sight->steps };
    return true;
}

static bool see_readable(leat_chan *ch, struct lt_sight *sight)
{
    return see(lt_chan_extra(ch), sight);
}

static bool see_writable(leat_chan *ch, struct lt_sight *sight)
{
    return see(*(leat_io **)lt_chan_extra(ch), sight);
}

static void see_owned(struct lt_owned *owned, struct lt_sight *sight)
{
    see(lt_chan_extra(LT_CONTAINER(owned, leat_chan, owned)), sight);
}

/* ---- making and freeing ---- */

static void free_io(leat_chan *ch)
{
    leat_io *io = lt_chan_extra(ch);
    leat_chan *writable = lt_io_chan(io, LT_OUT);
    if (!(atomic_load_explicit(&io->users, memory_order_relaxed) & LT_IO_CLOSED))
        end(io);
    lt_io_drop_more(io);
    if (writable)
        leat_chan_unref(writable);
}

static void free_owned(struct lt_owned *owned)
{
    leat_chan *ch = LT_CONTAINER(owned, leat_chan, owned);
    lt_chan_disown(ch);
    leat_chan_unref(ch);
}

static const struct lt_keeper readable_keeper = { .free = free_io, .see = see_readable },
                              writable_keeper = { .see = see_writable, .follows = true };
static const struct lt_owned_kind owned_kind = { .free = free_owned, .see = see_owned };

int lt_io_make_writable(leat_io *io)
{
    leat_chan *none = NULL, *ch = lt_chan_open_kept(&writable_keeper, LEAT_PROMISE, "writable",
                                                    sizeof(leat_io *));
    if (!ch)
        return -ENOMEM;
    *(leat_io **)lt_chan_extra(ch) = io;
    lt_chan_set_count(ch, 1);
    /* Not 0, as for a call that was made before there was a channel: an event that came since then
     * has raised none, so that call must not lower this one. Relaxed: no other thread has the
     * channel yet. */
    atomic_store_explicit(&ch->raises, 1, memory_order_relaxed);
    /* Under the lock of the first channel, so that a close does not miss the second. */
    leat_chan *readable = lt_io_chan(io, LT_IN);
    lt_chan_lock(readable);
    bool open = !lt_chan_is_closed(readable);
    bool made = open && atomic_compare_exchange_strong_explicit(
                            &io->writable, &none, ch, memory_order_release, memory_order_relaxed);
    lt_chan_unlock(readable);
    if (!made)
        leat_chan_unref(ch);
    return open ? 0 : -EBADF;
}

void lt_io_own(leat_scope *scope, leat_io *io)
{
    if (scope)
        lt_chan_own(scope, lt_chan_of_extra(io), &owned_kind);
}

int lt_io_new(leat_scope *scope, int fd, enum lt_io_kind kind, bool stream, leat_io **made)
{
    leat_chan *ch = lt_chan_open_kept(&readable_keeper, LEAT_PROMISE, "readable", sizeof(leat_io));
    if (!ch)
        return -ENOMEM;
    leat_io *io = lt_chan_extra(ch);
    io->fd = fd;
    io->stream = stream;
    atomic_store_explicit(&io->kind, (uint8_t)kind, memory_order_relaxed);
    lt_chan_set_count(ch, 1);
    /* Release: a look that sees a user sees the rest. */
    atomic_store_explicit(&io->users, 1, memory_order_release);
    lt_io_own(scope, io);
    *made = io;
    return 0;
}

/* A negative errno value if it is no socket. */
static int ask_socket(int fd, int option)
{
    int answer;
    socklen_t size = sizeof answer;
    return getsockopt(fd, SOL_SOCKET, option, &answer, &size) == 0 ? answer : -errno;
}

/* Other families and types give the same number to protocols of theirs. */
bool lt_io_is_tcp(int fd)
{
    return ask_socket(fd, SO_TYPE) == SOCK_STREAM && ask_socket(fd, SO_PROTOCOL) == IPPROTO_TCP;
}

static int adopt(leat_scope *scope, int fd, leat_io **made)
{
    if (lt_io_is_tcp(fd))
        return lt_io_new(scope, fd, LT_IO_SOCKET, true, made);
    struct stat stat;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &stat) != 0)
        return -errno;
    if (S_ISSOCK(stat.st_mode))
        return lt_io_new(scope, fd, LT_IO_SOCKET, false, made);
    if (S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode) || S_ISBLK(stat.st_mode))
        return lt_io_new(scope, fd, LT_IO_FILE, false, made);
    /* The flag belongs to the open file. Other processes share the open files of 0, 1 and 2, and
     * may change the flag at any time: a shell does. */
    bool never = flags & O_NONBLOCK && fd > STDERR_FILENO;
    return lt_io_new(scope, fd, never ? LT_IO_NEVER : LT_IO_FOREIGN, false, made);
}

int leat_io_adopt(leat_scope *scope, int fd, leat_io **io)
{
    if (fd < 0 || !io || !lt_running())
        return -EINVAL;
    if (lt_world())
        return -ENOTSUP;
    int saved = errno, error = adopt(scope, fd, io);
    errno = saved;
    return error;
}

int leat_io_fd(const leat_io *io)
{
    return io ? io->fd : -EINVAL;
}

static bool is_owned(leat_io *io)
{
    return lt_chan_of_extra(io)->owned.kind;
}

int leat_io_ref(leat_io *io)
{
    return io && !is_owned(io) ? leat_chan_ref(lt_chan_of_extra(io)) : -EINVAL;
}

int leat_io_unref(leat_io *io)
{
    return io && !is_owned(io) ? leat_chan_unref(lt_chan_of_extra(io)) : -EINVAL;
}

int leat_io_close(leat_io *io)
{
    if (!io)
        return -EINVAL;
    /* Release: operations that find it closed see what was done before. */
    if (atomic_fetch_or_explicit(&io->users, LT_IO_CLOSED, memory_order_acq_rel) & LT_IO_CLOSED)
        return -EBADF;
    close_ready(io);
    lt_io_end_ring(io);
    int error = lt_io_leave(io);
    lt_point();
    return error;
}

static bool is_waited_for(leat_io *io, enum lt_way way)
{
    leat_chan *ch = lt_io_chan(io, way);
    return ch && lt_chan_has_receiver(ch);
}

/* True when the open descriptor's own use is the only one from now on. Under the lock: a copy that
 * is still a user may give bytes back. A block, a callback or a select that waits is no user. */
static bool take_over(leat_io *io)
{
    uint32_t idle = 1;
    lt_lock(&io->lock);
    bool free = !lt_io_has_unread(io) && !is_waited_for(io, LT_IN) && !is_waited_for(io, LT_OUT) &&
                atomic_compare_exchange_strong_explicit(&io->users, &idle, LT_IO_CLOSED | 1,
                                                        memory_order_acq_rel, memory_order_relaxed);
    lt_unlock(&io->lock);
    return free;
}

int leat_io_release(leat_io *io)
{
    if (!io)
        return -EINVAL;
    if (lt_io_is_simulated(io))
        return -ENOTSUP;
    if (!take_over(io))
        return atomic_load_explicit(&io->users, memory_order_relaxed) & LT_IO_CLOSED ? -EBADF
                                                                                     : -EBUSY;
    io->lent = true;
    close_ready(io);
    lt_io_leave(io);
    return io->fd;
}
