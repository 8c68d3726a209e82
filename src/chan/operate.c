/* operate.c: one send or one receive: at once if it can be, else by waiting. Both are the same, seen
 * from the two sides. */
#include "chan/chan.h"

struct operation {
    struct lt_wait wait;
    struct lt_waiter waiter;
    leat_chan *ch;
    enum lt_side side;
};

static bool withdraw(struct lt_wait *wait)
{
    struct operation *op = LT_CONTAINER(wait, struct operation, wait);
    lt_lock(&op->ch->lock);
    bool was_queued = lt_chan_dequeue(op->ch, op->side, &op->waiter);
    lt_unlock(&op->ch->lock);
    return was_queued;
}

/* With the lock held, which it gives up: waits for a partner. */
static int wait_for_partner(leat_chan *ch, enum lt_side side, void *item, int64_t deadline,
                            struct lt_party *self)
{
    struct operation op;
    op.ch = ch;
    op.side = side;
    op.waiter.party = self;
    op.waiter.item = item;
    op.waiter.claim = NULL;
    lt_wait_begin(&op.wait, self, withdraw);
    lt_chan_enqueue(ch, side, &op.waiter);
    lt_unlock(&ch->lock);
    int error = lt_wait_park(&op.wait, deadline);
    return error ? error : op.waiter.status;
}

/* An operation that did not have to wait: wakes its partner, after the lock. */
static inline void finish(struct lt_party *self, struct lt_party *woken)
{
    if (woken)
        lt_ready(woken);
    lt_task_spend(self);
}

static int try_once(leat_chan *ch, enum lt_side side, void *item)
{
    int error = lt_chan_check(ch, side, item);
    if (error)
        return error;
    struct lt_party *self = lt_self(), *woken;
    lt_lock(&ch->lock);
    error = lt_chan_now(ch, side, item, &woken);
    lt_unlock(&ch->lock);
    finish(self, woken);
    return error;
}

static int operate(leat_chan *ch, enum lt_side side, void *item, int64_t deadline)
{
    int error = lt_chan_check(ch, side, item);
    if (LT_UNLIKELY(error || deadline < 0))
        return -EINVAL;
    struct lt_party *self = lt_self(), *woken;
    for (;;) {
        error = lt_wait_allowed(self);
        if (LT_UNLIKELY(error))
            return error;
        lt_lock(&ch->lock);
        error = lt_chan_now(ch, side, item, &woken);
        if (error != -EAGAIN) {
            lt_unlock(&ch->lock);
            finish(self, woken);
            return error;
        }
        if (LT_LIKELY(self->enlisted && deadline != LEAT_NOW))
            return wait_for_partner(ch, side, item, deadline, self);
        lt_unlock(&ch->lock);
        if (deadline == LEAT_NOW) {
            finish(self, NULL);
            return -EAGAIN;
        }
        lt_wait_enlist(self);
    }
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
    return try_once(ch, LT_SEND, (void *)(uintptr_t)item);
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
    return try_once(ch, LT_RECEIVE, item);
}
