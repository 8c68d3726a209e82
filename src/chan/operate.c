#include "chan/operate.h"
#include "chan/linger.h"

/* ---- the slow path ---- */

/* After an operation that did not have to wait, with no lock held: wakes its partners. */
static void finish(struct lt_party *woken, int64_t deadline)
{
    lt_ready_all(woken);
    lt_task_spend(lt_current_worker(), deadline);
}

/* With the lock held, before a thread waits. With one processor the two ends are never used at the
 * same time. */
static void split_for(leat_chan *ch, struct lt_party *self)
{
    if (self->kind == LT_THREAD && !lt_world() &&
        (LT_SPLIT_ALONE || LT_CONTAINER(self, struct lt_thread, party)->spin.most))
        lt_chan_split(ch);
}

/* Tries the operation. If it must wait, begins the wait if `op` is not NULL, and returns
 * LT_NOT_NOW. */
static int try_or_begin(leat_chan *ch, enum lt_side side, void *item, int64_t deadline,
                        struct lt_party *self, struct lt_chan_wait *op, struct lt_party **woken)
{
    lt_chan_lock(ch);
    int status = lt_chan_now(ch, side, item, woken);
    if (status == LT_NOT_NOW && deadline != LEAT_NOW)
        split_for(ch, self);
    if (status == LT_NOT_NOW && op)
        lt_chan_wait_begin(op, ch, side, item, self);
    lt_chan_unlock(ch);
    return status;
}

/* Gets ready to wait only after a try, because that takes a moment; then tries again. */
static int try_or_wait(leat_chan *ch, enum lt_side side, void *item, int64_t deadline,
                       struct lt_party *self, bool lingers)
{
    struct lt_chan_wait op;
    struct lt_party *woken;
    bool waits = deadline != LEAT_NOW, ready = self->enlisted && !lingers;
    int status = try_or_begin(ch, side, item, deadline, self, waits && ready ? &op : NULL, &woken);
    if (status == LT_NOT_NOW && waits && !ready) {
        if (lingers)
            lt_linger(ch, side, LT_CONTAINER(self, struct lt_thread, party));
        int error = lt_wait_prepare(self);
        if (error)
            return error;
        status = try_or_begin(ch, side, item, deadline, self, &op, &woken);
    }
    if (status == LT_NOT_NOW && waits)
        return lt_chan_wait_park(&op, deadline);
    finish(woken, deadline);
    return status == LT_NOT_NOW ? -EAGAIN : lt_wait_outcome(self, status);
}

int lt_operate_slowly(leat_chan *ch, enum lt_side side, void *item, int64_t deadline)
{
    struct lt_party *self = lt_current_party();
    int error = lt_wait_allowed(self);
    if (LT_UNLIKELY(error))
        return error;
    struct lt_split *split = lt_chan_split_buffer(ch);
    if (split && lt_linger_at_end(ch, split, side, item, deadline, self) == 0) {
        lt_task_spend(lt_current_worker(), deadline);
        return 0;
    }
    bool lingers = self->kind == LT_THREAD && !split && ch->capacity && !ch->special && !lt_world();
    return try_or_wait(ch, side, item, deadline, self, lingers);
}

/* ---- the wait ---- */

static bool withdraw(struct lt_wait *wait)
{
    struct lt_chan_wait *op = LT_CONTAINER(wait, struct lt_chan_wait, wait);
    lt_chan_lock(op->ch);
    bool was_queued = lt_chan_dequeue(op->ch, op->side, &op->far.waiter);
    lt_chan_unlock(op->ch);
    return was_queued;
}

static void describe(const struct lt_wait *wait, struct lt_listener *listener)
{
    const struct lt_chan_wait *op = LT_CONTAINER(wait, struct lt_chan_wait, wait);
    listener->hear(listener, op->side == LT_RECEIVE ? LT_TO_RECEIVE : LT_TO_SEND, op->ch);
}

const struct lt_wait_kind lt_chan_wait_kind = { .withdraw = withdraw, .describe = describe };

/* ---- the operations ---- */

__attribute__((noinline)) int lt_operate_wake(struct lt_worker *here, struct lt_party *woken,
                                              int64_t deadline)
{
    lt_ready_from(here, woken);
    lt_task_spend(here, deadline);
    return 0;
}

__attribute__((noinline)) static int send_unowned(leat_chan *ch, void *item, int64_t deadline)
{
    return lt_fast_path_unowned(ch, LT_SEND, item, deadline);
}

__attribute__((noinline)) static int receive_unowned(leat_chan *ch, void *item, int64_t deadline)
{
    return lt_fast_path_unowned(ch, LT_RECEIVE, item, deadline);
}

/* Each caller gets a copy in which `side`, and mostly the deadline, is a constant. */
LT_INLINE int operate(leat_chan *ch, enum lt_side side, void *item, int64_t deadline)
{
    if (LT_UNLIKELY(lt_chan_check(ch, side, item) != 0 || deadline < 0))
        return -EINVAL;
    struct lt_worker *here = lt_current_worker();
    if (LT_LIKELY(lt_biased_grip(&ch->lock, here)))
        return lt_fast_path(ch, side, item, deadline, here, true);
    return side == LT_SEND ? send_unowned(ch, item, deadline) : receive_unowned(ch, item, deadline);
}

int lt_operate_first_wait(leat_chan *ch, enum lt_side side, void *item, int64_t deadline)
{
    int error = lt_wait_prepare(lt_current_party());
    if (error)
        return error;
    return side == LT_SEND ? leat_send_until(ch, item, deadline)
                           : leat_recv_until(ch, item, deadline);
}

__attribute__((noinline)) static int try_locked(leat_chan *ch, enum lt_side side, void *item)
{
    struct lt_party *woken = NULL;
    int error = 0;
    if (!lt_chan_done_split(ch, side, item)) {
        lt_chan_lock(ch);
        error = lt_chan_now(ch, side, item, &woken);
        lt_chan_unlock(ch);
    }
    lt_ready_all(woken);
    lt_point();
    return error == LT_NOT_NOW ? -EAGAIN : error;
}

/* A poll mostly finds nothing. If the worker owns the channel's lock, that is certain without the
 * lock. Otherwise it is certain only under the lock, which also orders the poll after what the
 * caller did before: if the channel is full, the receiver of the item in it must see that. */
LT_INLINE int try_now(leat_chan *ch, enum lt_side side, void *item)
{
    if (LT_UNLIKELY(lt_chan_check(ch, side, item) != 0))
        return -EINVAL;
    if (!lt_chan_is_unready(ch, side) || !lt_biased_is_mine(&ch->lock, lt_current_worker()))
        return try_locked(ch, side, item);
    lt_point();
    return -EAGAIN;
}

static int64_t operate_many(leat_chan *ch, enum lt_side side, void *items, size_t n,
                            int64_t deadline)
{
    if (!n || lt_chan_check(ch, side, items) != 0 || deadline < 0)
        return -EINVAL;
    if (n > INT64_MAX) /* the result counts them */
        n = INT64_MAX;
    if (side == LT_RECEIVE && ch->buffer == LEAT_PROMISE)
        n = 1;
    struct lt_party *self = lt_current_party(), *woken;
    for (size_t done = 0;;) {
        int status = done ? 0 : lt_wait_allowed(self);
        if (status)
            return status;
        void *rest = items ? (unsigned char *)items + done * ch->item_size : NULL;
        lt_chan_lock(ch);
        done += lt_chan_many_now(ch, side, rest, n - done, &woken, &status);
        lt_chan_unlock(ch);
        finish(woken, deadline);
        if (done && (status || done == n))
            return (int64_t)done;
        if (done)
            continue;
        /* Nothing can be moved at once: wait for one item, then see what else can be moved. */
        status = status == LT_NOT_NOW ? operate(ch, side, items, deadline)
                                      : lt_wait_outcome(self, status);
        if (status)
            return status;
        done = 1;
    }
}

int64_t leat_send_many(leat_chan *ch, const void *items, size_t n, int64_t deadline)
{
    return operate_many(ch, LT_SEND, (void *)(uintptr_t)items, n, deadline);
}

int64_t leat_recv_many(leat_chan *ch, void *items, size_t n, int64_t deadline)
{
    return operate_many(ch, LT_RECEIVE, items, n, deadline);
}

int leat_send(leat_chan *ch, const void *item)
{
    return operate(ch, LT_SEND, (void *)(uintptr_t)item, LEAT_NEVER);
}

int leat_send_until(leat_chan *ch, const void *item, int64_t deadline)
{
    return operate(ch, LT_SEND, (void *)(uintptr_t)item, deadline);
}

int leat_try_send(leat_chan *ch, const void *item)
{
    return try_now(ch, LT_SEND, (void *)(uintptr_t)item);
}

int leat_recv(leat_chan *ch, void *item)
{
    return operate(ch, LT_RECEIVE, item, LEAT_NEVER);
}

int leat_recv_until(leat_chan *ch, void *item, int64_t deadline)
{
    return operate(ch, LT_RECEIVE, item, deadline);
}

int leat_try_recv(leat_chan *ch, void *item)
{
    return try_now(ch, LT_RECEIVE, item);
}
