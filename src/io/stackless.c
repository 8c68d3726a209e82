/* stackless.c: descriptors for blocks and callbacks: they try, wait for the channel, and try again.
 * A call that may block runs on a thread of the pool. */
#include "base/alloc.h"
#include "base/futex.h"
#include "block/block.h"
#include "block/callback.h"
#include "block/machine.h"
#include "io/io.h"

#include <limits.h>

static enum lt_way way_of(unsigned event)
{
    return event == LEAT_IN ? LT_IN : LT_OUT;
}

/* ---- turns ---- */

struct call {
    struct lt_call call;
    struct lt_io_turn turn;
};

/* The thread may wait, so it need not ask. */
static int run_call(struct lt_call *call)
{
    const struct lt_io_turn *turn = &LT_CONTAINER(call, struct call, call)->turn;
    return turn->make(turn, false);
}

static struct lt_call *make_call(const struct lt_io_turn *turn)
{
    struct call *call = lt_alloc(sizeof *call);
    if (!call)
        return NULL;
    call->call.run = run_call;
    call->turn = *turn;
    return &call->call;
}

int lt_io_turn_in_block(leat_block *b, const struct lt_io_turn *turn)
{
    int status = turn->make(turn, true);
    if (LT_LIKELY(status != -EDEADLK))
        return lt_block_answer(b, status);
    struct lt_call *call = make_call(turn);
    return call ? lt_block_call(b, call) : lt_block_answer(b, -ENOMEM);
}

struct operation {
    struct lt_trial trial;
    struct lt_io_turn turn;
};

_Static_assert(sizeof(struct operation) <= offsetof(leat_io_op, leat_fn), "fits the public struct");

static int attempt(struct lt_trial *trial)
{
    const struct lt_io_turn *turn = &LT_CONTAINER(trial, struct operation, trial)->turn;
    return turn->make(turn, true);
}

static struct lt_call *call(struct lt_trial *trial)
{
    return make_call(&LT_CONTAINER(trial, struct operation, trial)->turn);
}

static leat_chan *channel(struct lt_trial *trial)
{
    const struct lt_io_turn *turn = &LT_CONTAINER(trial, struct operation, trial)->turn;
    return lt_io_chan(turn->io, turn->way);
}

static const struct lt_trial_kind turns = { attempt, call, channel };

static void report(leat_op *op, int status)
{
    leat_io_op *mine = (leat_io_op *)op;
    mine->leat_fn(mine, status);
}

int lt_io_turn_then(leat_io_op *op, const struct lt_io_turn *turn, leat_io_op_fn *fn)
{
    if (!op || !turn->io || !fn)
        return -EINVAL;
    if (lt_callback_is_busy(&op->op))
        return -EBUSY;
    struct operation *mine = (struct operation *)op;
    mine->trial.kind = &turns;
    mine->turn = *turn;
    op->leat_fn = fn;
    op->done = 0;
    return lt_trial_begin(&mine->trial, report);
}

/* ---- readiness ---- */

/* The channel is raised, and yet the block has found nothing: see lt_io_looks_aside. */
static bool is_ready_for_others(leat_io *io, enum lt_way way)
{
    const struct lt_io_more *more = lt_io_more(io);
    return LT_UNLIKELY(more && atomic_load_explicit(&more->aside[way], memory_order_relaxed)) &&
           lt_io_is_raised(io, way);
}

static int make_pause(const struct lt_io_turn *turn, bool asks)
{
    (void)asks;
    lt_nap((int64_t)turn->n);
    return 0;
}

/* On a thread of the pool: without a deadline the block has no alarm to sleep by. */
static int pause_in_block(leat_block *b, int64_t deadline)
{
    int64_t left = deadline - lt_clock_now();
    if (left <= 0)
        return lt_block_answer(b, deadline == LEAT_NOW ? -EAGAIN : -ETIMEDOUT);
    int64_t pause = left < LT_IO_PAUSE ? left : LT_IO_PAUSE;
    struct lt_call *call =
        make_call(&(struct lt_io_turn){ .make = make_pause, .n = (size_t)pause });
    return call ? lt_block_call(b, call) : lt_block_answer(b, -ENOMEM);
}

/* After a call with LEAT_NOW that returned -EAGAIN: so the channel exists, and is up to date. */
int leat_block_ready(leat_block *b, leat_io *io, unsigned event, int64_t deadline,
                     leat_alarm *alarm)
{
    enum lt_way way = way_of(event);
    if (io && is_ready_for_others(io, way))
        return pause_in_block(b, deadline);
    return leat_block_recv(b, io ? lt_io_chan(io, way) : NULL, NULL, deadline, alarm);
}

int leat_ready_then(leat_op *op, leat_io *io, unsigned event, leat_op_fn *fn)
{
    if (!op || !io || (event != LEAT_IN && event != LEAT_OUT))
        return -EINVAL;
    leat_chan *ch;
    int error = lt_io_find(io, way_of(event), &ch);
    return error ? error : leat_recv_then(op, ch, NULL, fn);
}

int leat_block_answer(leat_block *b, int64_t status)
{
    return lt_block_answer(b, (int)status);
}

/* ---- reading ---- */

static int make_readv(const struct lt_io_turn *turn, bool asks)
{
    return (int)lt_io_readv(turn->io, turn->at, (int)turn->n, LEAT_NOW, asks);
}

static int make_read(const struct lt_io_turn *turn, bool asks)
{
    struct iovec part = { turn->at, turn->n };
    return (int)lt_io_readv(turn->io, &part, 1, LEAT_NOW, asks);
}

static bool is_drained(leat_io *io)
{
    return io && !lt_io_is_raised(io, LT_IN) && !lt_chan_is_closed(lt_io_chan(io, LT_IN)) &&
           !lt_io_has_unsaid(io, LT_IN);
}

/* A block that has read all bytes goes on to wait without a system call. */
static int read_in_block(leat_block *b, const struct lt_io_turn *turn)
{
    if (is_drained(turn->io))
        return lt_block_answer(b, -EAGAIN);
    return lt_io_turn_in_block(b, turn);
}

int leat_block_read(leat_block *b, leat_io *io, void *buffer, size_t n)
{
    if (!buffer || n - 1 >= INT_MAX)
        return lt_block_answer(b, -EINVAL);
    return read_in_block(b, &(struct lt_io_turn){ make_read, io, LT_IN, n, buffer, NULL });
}

int leat_block_readv(leat_block *b, leat_io *io, const struct iovec *parts, int n)
{
    size_t bytes;
    if (lt_io_total(parts, n, &bytes) != 0 || bytes > INT_MAX)
        return lt_block_answer(b, -EINVAL);
    void *at = (void *)(uintptr_t)parts;
    return read_in_block(b, &(struct lt_io_turn){ make_readv, io, LT_IN, (size_t)n, at, NULL });
}

int leat_read_then(leat_io_op *op, leat_io *io, void *buffer, size_t n, leat_io_op_fn *fn)
{
    if (!buffer || !n || n > INT_MAX)
        return -EINVAL;
    return lt_io_turn_then(op, &(struct lt_io_turn){ make_read, io, LT_IN, n, buffer, NULL }, fn);
}

/* ---- writing ---- */

/* Writes again after some bytes, until a call returns -EAGAIN or another error. */
static int make_write(const struct lt_io_turn *turn, bool asks)
{
    size_t *done = turn->more;
    do {
        struct iovec part = { (char *)turn->at + *done, turn->n - *done };
        int64_t more = lt_io_writev(turn->io, &part, 1, LEAT_NOW, asks);
        if (more < 0)
            return (int)more;
        *done += (size_t)more;
    } while (*done < turn->n);
    return 0;
}

int leat_block_write(leat_block *b, leat_io *io, const void *data, size_t n, size_t *done)
{
    void *at = (void *)(uintptr_t)data;
    return lt_io_turn_in_block(b, &(struct lt_io_turn){ make_write, io, LT_OUT, n, at, done });
}

/* The call leaves the unwritten rest in the array. */
static int make_writev(const struct lt_io_turn *turn, bool asks)
{
    int64_t more;
    do
        more = lt_io_writev(turn->io, turn->at, (int)turn->n, LEAT_NOW, asks);
    while (more > 0 && lt_io_bytes(turn->at, turn->n));
    return more < 0 ? (int)more : 0;
}

int leat_block_writev(leat_block *b, leat_io *io, struct iovec *parts, int n)
{
    return lt_io_turn_in_block(
        b, &(struct lt_io_turn){ make_writev, io, LT_OUT, (size_t)n, parts, NULL });
}

int leat_write_then(leat_io_op *op, leat_io *io, const void *data, size_t n, leat_io_op_fn *fn)
{
    if (!op || !data || !n)
        return -EINVAL;
    void *at = (void *)(uintptr_t)data;
    return lt_io_turn_then(op, &(struct lt_io_turn){ make_write, io, LT_OUT, n, at, &op->done },
                           fn);
}
