/* io.h: a descriptor from the inside.
 *
 * Readiness is a channel: a promise without bytes for each direction, which its keeper raises and
 * lowers. While it is raised, an operation of that direction may succeed, and each receive from the
 * channel succeeds. A party that has to wait for the descriptor receives from it. So every kind of
 * party waits for descriptors by the rules of channels: in a select too, and with cancelling.
 *
 * Raising and lowering. The reactor raises a channel and counts that in its `raises`. An operation
 * reads the count before it makes its system call. If the call shows that there is no more to read
 * or no room, the operation lowers the channel, unless the count has changed: then an event came
 * after the call, or during it, and the call may not have seen its cause. Two kinds of calls show
 * that:
 *  - one that returns EAGAIN, unless it looks aside (lt_io_looks_aside);
 *  - one on a stream that moved less than it could. A short count says nothing about an end or an
 *    error after the last bytes. So once the reactor has seen one (`hung`), a short count no longer
 *    lowers the channel; only EAGAIN does.
 *
 * A descriptor is registered with a reactor when a party first waits for it, so that short
 * connections are never registered. Until then both directions count as raised. The channel for
 * writing is made at the first wait to write; until then it counts as raised, too.
 *
 * The ring. With LEAT_IO=uring, a task on a worker reads from an unregistered socket by an
 * operation in the worker's ring (sched/uring.h), if the read would have to wait. It writes so if
 * other parties are ready, whose operations go into the same call. Such a task is in no channel's
 * queue: `in_ring` names it to the closer. An operation that was cancelled, or whose deadline has
 * passed, ends with its own completion. If bytes have moved by then, the call returns their number.
 *
 * Users. Each operation counts itself in `users`, and so does the open descriptor. Closing marks it
 * and wakes all waiters; the last user closes the descriptor.
 *
 * Unread bytes. Bytes that a copy has read and could not write go back: the next reads take them
 * before they ask the system. While there are some, the channel for reading stays raised: it is
 * raised again when bytes come back, and no call is made that could lower it.
 *
 * A leat_io is one piece of memory with its channel for reading, and ends with it. */
#pragma once

#include "base/clock.h"
#include "chan/chan.h"
#include "sched/reactor.h"

#include <leat/io.h>

#include <signal.h>

enum lt_way { LT_IN, LT_OUT, LT_WAYS };

enum lt_io_kind {
    LT_IO_SOCKET,   /* each call says that it must not block */
    LT_IO_NEVER,    /* O_NONBLOCK is set: calls never block */
    LT_IO_FOREIGN,  /* a pipe, a terminal or the like: RWF_NOWAIT may keep a call from blocking */
    LT_IO_POLLED,   /* the same where RWF_NOWAIT does not: poll(2) first, then a thread */
    LT_IO_FILE,     /* may block for a disk; there is nothing to wait for */
    LT_IO_SIMULATED /* in a seeded world: io/simulated.h */
};

struct leat_io {
    union {
        struct lt_source source;
        struct {
            void *no_worker; /* NULL: such a descriptor is never registered, and `fd` is -ENOTSUP */
            /* LT_IO_SIMULATED: its state, or NULL while it is made. */
            struct lt_simulated *simulated;
        };
    };
    struct lt_lock lock; /* for registering, and for what is in `more` */
    _Atomic bool hung[LT_WAYS];
    int fd;
    _Atomic uint8_t kind;   /* enum lt_io_kind */
    bool stream;            /* a call that moved less than it could shows that no more is there */
    bool lent;              /* the caller owns the descriptor: leat does not close it */
    _Atomic uint8_t strays; /* waits on a worker other than the one it is registered with */
    _Atomic bool urgent;    /* urgent data has come: reads stop before it */
    _Atomic bool dry;       /* the last read showed that no more is there: a hint */
    _Atomic bool taken[LT_WAYS]; /* lt_io_call_alone: a call that may block is being made */
    _Atomic uint32_t users;
    _Atomic int16_t unsaid[LT_WAYS]; /* the error of a call that had already moved some bytes */
    _Atomic(leat_chan *) writable;   /* NULL until a party waits to write */
    _Atomic(struct lt_io_more *) more;
};

/* There may be many descriptors, and malloc(3) adds a header of 8 bytes to these. */
_Static_assert(sizeof(leat_chan) + sizeof(struct leat_io) == 240 - 8 || sizeof(void *) != 8,
               "a piece of malloc(3) without a rest");

/* What few descriptors need: made when it is first used, freed with the descriptor. */
struct lt_io_more {
    /* A block has made calls that look aside: see lt_io_looks_aside. */
    _Atomic bool aside[LT_WAYS];
    _Atomic(struct lt_unread *) unread; /* the first of a list; written under `lock` */
    /* The task whose operation is in a ring, or NULL. Changed under `lock`. */
    _Atomic(struct lt_task *) in_ring[LT_WAYS];
};

/* Set in `users` when it has been closed. */
#define LT_IO_CLOSED (UINT32_C(1) << 31)

/* Whether a socket is a `stream`; a listener's connections are if the listener is. Other streams
 * may have borders at which a read stops: in a UNIX socket after a message with descriptors, or
 * where the writer changes; in a pipe if the writer has set O_DIRECT. */
bool lt_io_is_tcp(int fd);

/* As leat_io_adopt, for a descriptor whose `kind` and `stream` are known. With an fd below 0 there
 * is none, for a caller that needs the memory first: lt_io_set_fd may set it later. */
int lt_io_new(leat_scope *scope, int fd, enum lt_io_kind kind, bool stream, leat_io **made);

static inline void lt_io_set_fd(leat_io *io, int fd)
{
    /* Relaxed: a look may read it. Other parties get the leat_io later. */
    __atomic_store_n(&io->fd, fd, __ATOMIC_RELAXED);
}

/* Opens a pipe of the library's own, above 0, 1 and 2: see lt_move_up. 0 or a negative errno value.
 * Changes errno, and is a cancellation point. */
int lt_io_open_pipe(int ends[2]);

/* Gives the caller's only reference to a scope, unless that is NULL. */
void lt_io_own(leat_scope *scope, leat_io *io);

/* lt_io_enter begins an operation, lt_io_leave ends it. False: it is closed. */
bool lt_io_enter(leat_io *io);
int lt_io_leave(leat_io *io);

/* The same for an operation that may wait: 0, -EINVAL, -ECANCELED or -EBADF. After 0 the caller
 * must call lt_io_finish, in which a task spends its budget. */
int lt_io_begin(leat_io *io, int64_t deadline);
void lt_io_finish(leat_io *io, int64_t deadline);

/* Registers the descriptor and, for LT_OUT, makes the channel. 0 or a negative errno value. */
int lt_io_register(leat_io *io);
int lt_io_make_writable(leat_io *io);

static inline bool lt_io_is_simulated(leat_io *io)
{
    /* Relaxed: of that kind from the beginning, or never. */
    return atomic_load_explicit(&io->kind, memory_order_relaxed) == LT_IO_SIMULATED;
}

static inline bool lt_io_is_registered(leat_io *io)
{
    return atomic_load_explicit(&io->source.worker, memory_order_acquire) != NULL;
}

static inline leat_chan *lt_io_chan(leat_io *io, enum lt_way way)
{
    /* Acquire: the channel is seen whole. */
    return way == LT_IN ? lt_chan_of_extra(io)
                        : atomic_load_explicit(&io->writable, memory_order_acquire);
}

/* Whether a call may succeed: a hint. */
static inline bool lt_io_is_raised(leat_io *io, enum lt_way way)
{
    leat_chan *ch = lt_io_chan(io, way);
    return !ch || lt_chan_count(ch) != 0;
}

static inline uint32_t lt_io_raise_count(leat_io *io, enum lt_way way)
{
    leat_chan *ch = lt_io_chan(io, way);
    /* Acquire: read before the system call that it dates. */
    return ch ? atomic_load_explicit(&ch->raises, memory_order_acquire) : 0;
}

/* The reactor's events (lt_kinds.events). */
struct lt_party *lt_io_events(struct lt_source *source, uint32_t events);

/* Raises the channels for EPOLLIN and EPOLLOUT, as the reactor does. */
void lt_io_raise(leat_io *io, uint32_t events);

/* Counts one more raise. With the channel's lock held. */
static inline void lt_io_count_raise(leat_chan *ch)
{
    uint32_t raises = atomic_load_explicit(&ch->raises, memory_order_relaxed);
    /* Release: see lt_io_raise_count. */
    atomic_store_explicit(&ch->raises, raises + 1, memory_order_release);
}

/* Lowers the channel if it has not been raised again since `raises` was read. `surely`: the call
 * returned EAGAIN. */
void lt_io_lower(leat_io *io, enum lt_way way, uint32_t raises, bool surely);

/* After a call that returned EAGAIN: 0 if the caller may wait for the channel or try again, else a
 * negative errno value. */
int lt_io_drained(leat_io *io, enum lt_way way, uint32_t raises);

/* Makes the channels of these events, LEAT_IN or LEAT_OUT, match the state now. Returns that state,
 * as leat_ready does, or a negative errno value. */
int lt_io_settle(leat_io *io, unsigned events);

/* As leat_io_readable and leat_io_writable: finds the channel. 0; or the error for which there is
 * none. */
int lt_io_find(leat_io *io, enum lt_way way, leat_chan **ch);

/* Called before a wait, by a user of the descriptor: its task may have moved since the descriptor
 * was registered. After some waits on another worker the descriptor follows the task, so that an
 * event need not wake two workers. */
void lt_io_follow(leat_io *io);

/* Waits until the channel is raised. The deadline is not LEAT_NOW. 0; -EBADF if it was closed;
 * -ETIMEDOUT, -ECANCELED, -EDEADLK. */
int lt_io_wait(leat_io *io, enum lt_way way, int64_t deadline);

/* With LEAT_IO=uring: receives or sends in the worker's ring, if that pays, and waits for the
 * completion. `part`: the only part of a transfer; NULL if it has several. -EAGAIN: the ring does
 * not do it, or has no room; -EINTR: the operation starts again. Else the result. */
int64_t lt_io_by_ring(leat_io *io, enum lt_way way, const struct iovec *part, int64_t deadline);

/* After a read that returned EAGAIN: whether the ring may do it from now on, so that the reactor
 * need not watch the descriptor. */
bool lt_io_turns_to_ring(leat_io *io, const struct iovec *part, int64_t deadline);

/* Records whether a read outside of the ring has shown that no more is there. */
void lt_io_set_dry(leat_io *io, bool dry);

/* NULL while it is not needed. */
static inline struct lt_io_more *lt_io_more(const leat_io *io)
{
    /* Acquire: it is seen zeroed. */
    return atomic_load_explicit(&io->more, memory_order_acquire);
}

/* The same, made if it is not there. NULL when memory has run out. */
struct lt_io_more *lt_io_make_more(leat_io *io);

static inline struct lt_task *lt_io_in_ring(const leat_io *io, enum lt_way way)
{
    const struct lt_io_more *more = lt_io_more(io);
    /* Relaxed: certain under the lock, a hint for a look without it. */
    return more ? atomic_load_explicit(&more->in_ring[way], memory_order_relaxed) : NULL;
}

/* After a close, lt_io_unread or lt_io_keep: calls off the operations in rings. */
void lt_io_end_ring(leat_io *io);

/* A system call that does not block, or blocks for a disk. Returns a count, or a negative errno
 * value. */
typedef int64_t lt_io_call(leat_io *io, void *arg);

/* What a system call has returned, as an lt_io_call returns it. */
static inline int64_t lt_io_result(ssize_t n)
{
    return n >= 0 ? n : -errno;
}

/* Whether the system had no descriptor, memory or watch left: a later try may succeed. */
static inline bool lt_io_is_shortage(int64_t error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM ||
           error == -ENOSPC;
}

/* poll(2) for one direction, without a wait: 0, -EAGAIN or another error. */
int lt_io_poll_now(int fd, enum lt_way way);

/* On a thread that may block: polls, and makes a call that may block if the descriptor is ready.
 * One party at a time does so. Of two that have both found it ready the second might block, and
 * then neither deadline nor cancelling ends the call. (Another process may still do that.) */
int64_t lt_io_call_alone(leat_io *io, enum lt_way way, lt_io_call *call, void *arg);

/* Whether EAGAIN from this call does not show that the channel must be lowered. A queue of errors
 * may be empty beside bytes, and urgent data may be announced that have not come; a peek may begin
 * behind the bytes (SO_PEEK_OFF). An address may have no room although the socket has (AF_UNIX). */
bool lt_io_looks_aside(lt_io_call *call, const void *arg);

/* What passes at least between two such calls, if the channel is raised. */
#define LT_IO_PAUSE LEAT_MS

/* Checks the parts of a transfer, and sums up their bytes. 0 or -EINVAL. */
int lt_io_total(const struct iovec *parts, int n, size_t *bytes);

/* As leat_readv and leat_writev. `asks`: for a block or a callback, which cannot wait: a call that
 * may block is not made and returns -EDEADLK. */
int64_t lt_io_readv(leat_io *io, const struct iovec *parts, int n, int64_t deadline, bool asks);
int64_t lt_io_writev(leat_io *io, struct iovec *parts, int n, int64_t deadline, bool asks);

/* An operation of a block or a callback: it may make several calls, with waits in between. If it
 * may block, it runs on a thread of the pool. */
struct lt_io_turn {
    /* Makes the calls with LEAT_NOW. `asks` as above. Returns the status; -EAGAIN: the caller waits
     * for the descriptor; or -EDEADLK, if it asks. */
    int (*make)(const struct lt_io_turn *turn, bool asks);
    leat_io *io;
    enum lt_way way;
    size_t n; /* these three are for `make` */
    void *at, *more;
};

/* For a block: does the operation, once. Returns LEAT_DONE_ or LEAT_PARKED_. */
int lt_io_turn_in_block(leat_block *b, const struct lt_io_turn *turn);

/* For a callback: does the operation until it is over. Returns as leat_read_then. */
int lt_io_turn_then(leat_io_op *op, const struct lt_io_turn *turn, leat_io_op_fn *fn);

/* Bytes that were read and go back: bytes[begin] up to bytes[end]. */
struct lt_unread {
    struct lt_unread *next;
    size_t begin, end;
    char bytes[];
};

static inline bool lt_io_has_unread(leat_io *io)
{
    const struct lt_io_more *more = lt_io_more(io);
    /* Relaxed: a party that was woken because they came back has synchronised with that by the
     * channel; any other party may as well have been earlier. */
    return LT_UNLIKELY(more && atomic_load_explicit(&more->unread, memory_order_relaxed) != NULL);
}

/* Whether the next call of that direction returns an error of an earlier one. */
static inline bool lt_io_has_unsaid(leat_io *io, enum lt_way way)
{
    /* Relaxed: as above. */
    return LT_UNLIKELY(atomic_load_explicit(&io->unsaid[way], memory_order_relaxed) != 0);
}

/* Gives bytes back, at least one, before those that are there already. The leat_io frees them. The
 * caller has called lt_io_make_more. */
void lt_io_unread(leat_io *io, struct lt_unread *unread);

/* If lt_io_has_unread: reads some of these bytes, and removes them unless `peek`. Returns their
 * number; or -EINTR if another party was faster: then the caller may ask the system. */
int64_t lt_io_reread(leat_io *io, const struct iovec *parts, size_t n, bool peek);

/* Frees `more`, with the unread bytes, when the leat_io ends. */
void lt_io_drop_more(leat_io *io);

/* lt_io_hush and lt_io_unhush surround a call that may raise SIGPIPE and has no flag against that.
 * That call returned `n` and could move `whole` bytes. Both keep errno. */
struct lt_io_hush {
    bool pending;
    sigset_t before;
};
void lt_io_hush(struct lt_io_hush *hush);
void lt_io_unhush(const struct lt_io_hush *hush, ssize_t n, size_t whole);

/* The total size of the parts in bytes. */
static inline size_t lt_io_bytes(const struct iovec *parts, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

/* Whether the deadline has passed. */
static inline bool lt_io_is_late(int64_t deadline)
{
    return deadline != LEAT_NEVER && deadline != LEAT_NOW && lt_clock_now() >= deadline;
}

/* Keeps an error for the next call of that direction, after a call with this deadline that moved
 * some bytes; but not the end of a wait. Wakes the parties that wait: one of them may get it. */
void lt_io_keep(leat_io *io, enum lt_way way, int64_t error, int64_t deadline);

/* Makes the call until it returns something other than EAGAIN, and waits in between. `whole`: the
 * bytes that it could move at most. */
int64_t lt_io_repeat(leat_io *io, enum lt_way way, lt_io_call *call, void *arg, size_t whole,
                     int64_t deadline);
