/* io.h: a descriptor from the inside.
 *
 * Readiness is a channel: a promise without bytes for each direction, that its keeper raises and
 * lowers. While it is raised, an operation of that direction may succeed, and each receive from the
 * channel succeeds. A party that has to wait for the descriptor receives from it. So every kind of
 * party waits for descriptors by the rules of channels, in a select too, and is cancelled by them.
 *
 * Raising and lowering. The reactor raises the channels and counts that in `told`. An operation
 * reads the count before it makes its system call. If the call shows that there is no more, the
 * operation lowers the channel, unless the count has changed: then an event came after the call, or
 * during it, and may tell of something that the call did not see. Two calls show that:
 *  - one that returns EAGAIN;
 *  - one on a stream that moved less than it could. It says nothing of an end or an error behind
 *    the last bytes: so if one of these has been seen (`hung`), the channel stays raised.
 *
 * A descriptor is registered with a reactor when a party first waits for it, so that short
 * connections are never registered. Until then both directions count as raised. The channel for
 * writing is made at the first wait to write; until then it counts as raised, too.
 *
 * The ring. With LEAT_IO=uring, a task on a worker reads from a socket that is not registered by an
 * operation in the worker's ring (sched/uring.h), if the read would have to wait; and it writes so
 * when other parties are ready, whose operations go into the same call. Such a task is in no
 * channel: `in_ring` names it to the closer. An operation that was cancelled, or whose deadline has
 * passed, ends with its own completion; if that says that bytes have moved, so does the call.
 *
 * Users. Each operation counts itself in `users`, and so does the open descriptor. Closing marks it
 * and wakes all waiters; the last user closes the descriptor.
 *
 * Unread bytes. What a copy has read and could not write goes back: the next reads take it before
 * they ask the system. While there is some, the channel for reading stays raised: it is raised
 * again when bytes come back, and no call is made that could lower it.
 *
 * A leat_io is one piece of memory with its channel for reading, and ends with it. */
#ifndef LT_IO_IO_H
#define LT_IO_IO_H

#include "chan/chan.h"
#include "sched/reactor.h"

#include <leat/io.h>

#include <signal.h>

enum lt_way { LT_IN, LT_OUT, LT_WAYS };

enum lt_io_kind {
    LT_IO_SOCKET,   /* each call says that it must not block */
    LT_IO_NEVER,    /* O_NONBLOCK is set: calls never block */
    LT_IO_FOREIGN,  /* a pipe or a terminal: calls can be told not to block, perhaps */
    LT_IO_POLLED,   /* the same where they cannot: poll(2) first */
    LT_IO_FILE,     /* blocks for a disk; nothing to wait for */
    LT_IO_SIMULATED /* in a seeded world: io/simulated.h */
};

struct leat_io {
    union {
        struct lt_source source;
        /* Of that kind, or NULL while it is made. Such a one is never registered, so the source's
         * first word is free; and `fd` is -ENOTSUP. */
        struct lt_simulated *simulated;
    };
    struct lt_lock lock; /* for registering, and for `unread` and `in_ring` */
    _Atomic bool hung[LT_WAYS];
    int fd;
    _Atomic uint8_t kind;   /* enum lt_io_kind */
    bool stream;            /* a call that moved less than it could shows that there is no more */
    bool lent;              /* the descriptor is the caller's: not closed */
    _Atomic uint8_t strays; /* waits on another worker than the one it is registered with */
    _Atomic bool urgent;    /* urgent data has come: reads stop before it */
    _Atomic bool dry;       /* the last read showed that there is no more: a hint */
    _Atomic uint32_t users;
    _Atomic int16_t unsaid[LT_WAYS]; /* the error of a call that had moved some bytes */
    _Atomic uint32_t told[LT_WAYS];
    _Atomic(leat_chan *) ready[LT_WAYS];
    _Atomic(struct lt_unread *) unread; /* the first of a list; written under `lock` */
    _Atomic(leat_scope *) scope;        /* set once */
    /* The task whose operation is in a ring, or NULL. Changed under `lock`. */
    _Atomic(struct lt_task *) in_ring[LT_WAYS];
};

/* Five lines of a cache, with the header that malloc(3) adds. There may be many. */
_Static_assert(sizeof(leat_chan) + sizeof(struct leat_io) <= 5 * LT_CACHE_LINE - 8 ||
                   sizeof(void *) != 8,
               "a line more for each connection");

/* Set in `users` when it has been closed. */
#define LT_IO_CLOSED (UINT32_C(1) << 31)

/* Whether a socket is a `stream`; what a listener accepts is what the listener is. Other streams
 * may have borders at which a read stops: a UNIX socket behind a message with descriptors, or where
 * the writer changes; a pipe where the writer has set O_DIRECT. */
bool lt_io_is_tcp(int fd);

/* As leat_io_adopt. `kind` and `stream` are known for what leat has made. */
int lt_io_new(leat_scope *scope, int fd, enum lt_io_kind kind, bool stream, leat_io **made);

/* Gives the caller's one reference to a scope. */
void lt_io_own(leat_scope *scope, leat_io *io);

/* An operation begins, and ends. False: it is closed. */
bool lt_io_enter(leat_io *io);
int lt_io_leave(leat_io *io);

/* The same for an operation that may wait: 0, -EINVAL, -ECANCELED or -EBADF; and after 0 the end,
 * where a task spends its budget. */
int lt_io_begin(leat_io *io, int64_t deadline);
void lt_io_finish(leat_io *io, int64_t deadline);

/* Registers it and, for LT_OUT, makes the channel. 0 or a negative errno value. */
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
    return atomic_load_explicit(&io->ready[way], memory_order_acquire);
}

/* Whether a call may succeed: a hint. */
static inline bool lt_io_is_raised(leat_io *io, enum lt_way way)
{
    leat_chan *ch = lt_io_chan(io, way);
    return !ch || lt_chan_count(ch) != 0;
}

static inline uint32_t lt_io_told(leat_io *io, enum lt_way way)
{
    /* Acquire: read before the system call that it dates. */
    return atomic_load_explicit(&io->told[way], memory_order_acquire);
}

/* As the reactor does: raises the channels for EPOLLIN and EPOLLOUT. */
void lt_io_tell(leat_io *io, uint32_t events);

/* Lowers the channel if nothing was told since `told`. `surely`: the call said EAGAIN. */
void lt_io_lower(leat_io *io, enum lt_way way, uint32_t told, bool surely);

/* After a call that said EAGAIN: 0 if the caller may wait for the channel or try again, else a
 * negative errno value. */
int lt_io_drained(leat_io *io, enum lt_way way, uint32_t told);

/* Waits until the channel is raised: 0; -EBADF when it was closed; -EAGAIN, -ETIMEDOUT, -ECANCELED,
 * -EDEADLK. */
int lt_io_wait(leat_io *io, enum lt_way way, int64_t deadline);

/* With LEAT_IO=uring: receives or sends in the worker's ring, where that pays, and waits for the
 * completion. `part`: of a transfer that has no other; else NULL. -EAGAIN: it is not made there, or
 * there is no room; -EINTR: it begins again. Else the result. */
int64_t lt_io_by_ring(leat_io *io, enum lt_way way, const struct iovec *part, int64_t deadline);

/* After a read that said EAGAIN: whether the ring may make it from now on, so that the reactor need
 * not watch the descriptor. */
bool lt_io_turns_to_ring(leat_io *io, const struct iovec *part, int64_t deadline);

/* What a read outside of the ring has shown: there is no more. */
void lt_io_set_dry(leat_io *io, bool dry);

static inline struct lt_task *lt_io_in_ring(const leat_io *io, enum lt_way way)
{
    /* Relaxed: certain under the lock, for a look without it. */
    return atomic_load_explicit(&io->in_ring[way], memory_order_relaxed);
}

/* After it was closed, or lt_io_unread: operations in rings are called off. */
void lt_io_end_ring(leat_io *io);

/* A system call that does not block, or blocks for a disk. Returns a count, or a negative errno
 * value. */
typedef int64_t lt_io_call(leat_io *io, void *arg);

/* As leat_readv and leat_writev. `asks`: a block or a callback, which can not wait, gets -EDEADLK
 * for a call that may block, in place of that call. */
int64_t lt_io_readv(leat_io *io, const struct iovec *parts, int n, int64_t deadline, bool asks);
int64_t lt_io_writev(leat_io *io, struct iovec *parts, int n, int64_t deadline, bool asks);

/* A call that a block or a callback makes, perhaps several times and with waits in between. It is
 * made on a thread of the pool if it may block. */
struct lt_io_turn {
    /* Makes it with LEAT_NOW. `asks` as above. Returns the status; -EAGAIN: the caller waits for
     * the descriptor; or -EDEADLK, if it asks. */
    int (*make)(const struct lt_io_turn *turn, bool asks);
    leat_io *io;
    enum lt_way way;
    size_t n; /* these three are for `make` */
    void *at, *more;
};

/* A block makes it, once. Returns LEAT_DONE_ or LEAT_PARKED_. */
int lt_io_turn_in_block(leat_block *b, const struct lt_io_turn *turn);

/* A callback makes it until it is over. Returns as leat_read_then. */
int lt_io_turn_then(leat_io_op *op, const struct lt_io_turn *turn, leat_io_op_fn *fn);

/* Bytes that were read and go back: those at bytes[begin] up to bytes[end]. */
struct lt_unread {
    struct lt_unread *next;
    size_t begin, end;
    char bytes[];
};

static inline bool lt_io_has_unread(leat_io *io)
{
    /* Relaxed: a party that was woken by their coming back has synchronised with it by the channel;
     * another one may as well have been earlier. */
    return LT_UNLIKELY(atomic_load_explicit(&io->unread, memory_order_relaxed) != NULL);
}

/* Gives bytes back, of which there is one at least: before those that are there already. The
 * leat_io frees them. */
void lt_io_unread(leat_io *io, struct lt_unread *unread);

/* Where lt_io_has_unread: reads some of these bytes, and removes them unless `peek`. Returns how
 * many; or -EINTR when another party has been faster: then the system may be asked. */
int64_t lt_io_reread(leat_io *io, const struct iovec *parts, size_t n, bool peek);

/* Frees them when the leat_io ends. */
void lt_io_drop_unread(leat_io *io);

/* Around a call that may raise SIGPIPE, when it has no flag against that. `perhaps`: it may have
 * been raised. Both keep errno. */
struct lt_io_hush {
    bool foreign, pending;
    sigset_t before;
};
void lt_io_hush(struct lt_io_hush *hush);
void lt_io_unhush(const struct lt_io_hush *hush, bool perhaps);

/* How many bytes there are in these parts. */
static inline size_t lt_io_bytes(const struct iovec *parts, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

/* Makes the call until it says something other than EAGAIN, and waits in between. `whole`: the
 * bytes that it could move at most. */
int64_t lt_io_repeat(leat_io *io, enum lt_way way, lt_io_call *call, void *arg, size_t whole,
                     int64_t deadline);

#endif
