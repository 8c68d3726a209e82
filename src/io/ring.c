/* ring.c: reads and writes of tasks in their worker's ring. */
#include "io/io.h"
#include "scope/scope.h"
#include "scope/wait.h"

struct ring_wait {
    struct lt_wait wait;
    struct lt_uring_op op;
    leat_io *io;
    enum lt_way way;
};

/* Only the completion ends the wait: the kernel writes to the buffer until then. */
static bool call_off(struct lt_wait *wait)
{
    struct ring_wait *w = LT_CONTAINER(wait, struct ring_wait, wait);
    struct lt_task *task = LT_CONTAINER(wait->party, struct lt_task, party);
    lt_uring_call_off(&lt_task_home(task)->reactor.ring, &w->op);
    return false;
}

static bool is_closed(const leat_io *io)
{
    /* Acquire: see leat_io_close. */
    return atomic_load_explicit(&io->users, memory_order_acquire) & LT_IO_CLOSED;
}

/* The descriptor is closed, or unread bytes or an error come before the kernel's. */
static bool is_over(leat_io *io, enum lt_way way)
{
    return is_closed(io) || lt_io_has_unsaid(io, way) || (way == LT_IN && lt_io_has_unread(io));
}

static void look(struct lt_wait *wait)
{
    struct ring_wait *w = LT_CONTAINER(wait, struct ring_wait, wait);
    if (is_over(w->io, w->way))
        call_off(wait);
}

/* Describes the wait as if it were for the channel. */
static void describe(const struct lt_wait *wait, struct lt_listener *listener)
{
    const struct ring_wait *w = LT_CONTAINER(wait, struct ring_wait, wait);
    leat_chan *ch = lt_io_chan(w->io, w->way);
    if (ch)
        listener->hear(listener, LT_TO_RECEIVE, ch);
}

static const struct lt_wait_kind in_ring = { .withdraw = call_off,
                                             .look = look,
                                             .describe = describe };

/* Relaxed: under the lock; a look reads it. */
static void set_in_ring(leat_io *io, enum lt_way way, struct lt_task *task)
{
    atomic_store_explicit(&lt_io_more(io)->in_ring[way], task, memory_order_relaxed);
}

/* One task of each direction at a time; all others wait for the channel. */
static bool begin(leat_io *io, enum lt_way way, struct lt_task *task)
{
    if (!lt_io_make_more(io))
        return false;
    lt_lock(&io->lock);
    bool free = !lt_io_in_ring(io, way);
    if (free)
        set_in_ring(io, way, task);
    lt_unlock(&io->lock);
    return free;
}

static void finish(leat_io *io, enum lt_way way)
{
    lt_lock(&io->lock);
    set_in_ring(io, way, NULL);
    lt_unlock(&io->lock);
}

void lt_io_end_ring(leat_io *io)
{
    lt_lock(&io->lock);
    for (enum lt_way way = LT_IN; way < LT_WAYS; way++)
        if (lt_io_in_ring(io, way))
            lt_scope_nudge(lt_io_in_ring(io, way));
    lt_unlock(&io->lock);
}

/* Queues the operation and parks. False: there is no room. */
static bool run(struct ring_wait *w, struct lt_task *task, struct lt_uring *ring, void *buffer,
                size_t n, int64_t deadline)
{
    lt_worker_go_in(lt_task_home(task));
    bool queued = lt_uring_queue(ring, &w->op, w->way == LT_IN ? LT_URING_RECV : LT_URING_SEND,
                                 w->io->fd, buffer, n);
    if (queued)
        lt_wait_park_inside(&w->wait, task, deadline);
    lt_worker_go_out(lt_task_home(task));
    return queued;
}

/* The reason for which the operation was called off. If there is none any more, or its ring was
 * refused, it starts again. */
static int64_t reason(const leat_io *io, const struct lt_party *self, int64_t deadline)
{
    int error = is_closed(io) ? -EBADF : lt_wait_allowed(self);
    if (!error && lt_io_is_late(deadline))
        error = -ETIMEDOUT;
    return error ? error : -EINTR;
}

static int64_t transfer(leat_io *io, enum lt_way way, struct lt_task *task, struct lt_uring *ring,
                        void *buffer, size_t n, int64_t deadline)
{
    struct ring_wait w = { .op.party = &task->party, .io = io, .way = way };
    /* After `in_ring` has been set: either this check sees the end, or lt_io_end_ring sees the
     * task. */
    if (is_over(io, way))
        return is_closed(io) ? -EBADF : -EINTR;
    lt_wait_begin(&w.wait, &task->party, &in_ring);
    if (!run(&w, task, ring, buffer, n, deadline))
        return -EAGAIN;
    return w.op.result == -ECANCELED ? reason(io, &task->party, deadline) : w.op.result;
}

static int64_t by_ring(leat_io *io, enum lt_way way, void *buffer, size_t n, int64_t deadline)
{
    struct lt_party *self = lt_current_party();
    struct lt_task *task = LT_CONTAINER(self, struct lt_task, party);
    struct lt_uring *ring = lt_reactor_uring(lt_task_home(task));
    int error = ring ? lt_wait_prepare(self) : -EAGAIN;
    if (error)
        return error;
    if (!begin(io, way, task))
        return -EAGAIN;
    int64_t result = transfer(io, way, task, ring, buffer, n, deadline);
    finish(io, way);
    return result;
}

/* ---- when it pays ---- */

/* Longer writes are as fast without a ring. */
enum { SHORT = 16 * 1024 };

/* Other tasks are ready, or have operations queued: one call submits them all. */
static bool has_company(const struct lt_worker *here)
{
    return LT_HINT(here->ready_head) || lt_uring_has_queued(&here->reactor.ring);
}

/* A task's plain transfer of a socket for whose events no party waits. */
static bool suits(leat_io *io, enum lt_way way, const struct iovec *part, int64_t deadline)
{
    return part && deadline != LEAT_NOW &&
           atomic_load_explicit(&io->kind, memory_order_relaxed) == LT_IO_SOCKET &&
           lt_current_party()->kind == LT_TASK && !lt_io_is_registered(io) &&
           (way == LT_OUT || !lt_io_has_unread(io));
}

/* Relaxed: a hint; the ring does not depend on it. */
static bool is_dry(const leat_io *io)
{
    return atomic_load_explicit(&io->dry, memory_order_relaxed);
}

void lt_io_set_dry(leat_io *io, bool dry)
{
    atomic_store_explicit(&io->dry, dry, memory_order_relaxed);
}

bool lt_io_turns_to_ring(leat_io *io, const struct iovec *part, int64_t deadline)
{
    if (is_dry(io) || !suits(io, LT_IN, part, deadline))
        return false;
    lt_io_set_dry(io, true);
    return true;
}

int64_t lt_io_by_ring(leat_io *io, enum lt_way way, const struct iovec *part, int64_t deadline)
{
    if (!suits(io, way, part, deadline) ||
        (way == LT_IN ? !is_dry(io) : part->iov_len > SHORT || !has_company(lt_current_worker())))
        return -EAGAIN;
    int64_t n = by_ring(io, way, part->iov_base, part->iov_len, deadline);
    if (n != -EAGAIN && n != -EINTR && way == LT_IN)
        lt_io_set_dry(io, n > 0 && (size_t)n < part->iov_len);
    return n;
}
