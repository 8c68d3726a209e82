/* operate.h: one send or one receive, in three steps: the fast path does at once what an open,
 * plain channel with a free lock can do; the slow path (chan/operate.c) does all the rest; and a
 * party that has to wait parks until a partner, its deadline or its scope ends the wait.
 *
 * The fast path is inlined into leat_send and its variants, where `side` and mostly the deadline
 * are constants. All its calls are tail calls, so it has no registers to save. That is why
 * functions here, and only here, may be called with the channel's lock held and return without
 * it. */
#pragma once

#include "chan/now.h"

/* ---- how the fast path of a task or a thread ends ---- */

/* The slow path. With no lock held. */
int lt_operate_slowly(leat_chan *ch, enum lt_side side, void *item, int64_t deadline);

/* Gets a task ready to wait for the first time. That takes a moment, so the operation starts again.
 * With no lock held. */
int lt_operate_first_wait(leat_chan *ch, enum lt_side side, void *item, int64_t deadline);

/* The end of an operation that woke a partner. Returns 0, for the caller's tail call. */
int lt_operate_wake(struct lt_worker *here, struct lt_party *woken, int64_t deadline);

/* ---- the wait ---- */

struct lt_chan_wait {
    struct lt_wait wait;
    struct lt_far_waiter far;
    leat_chan *ch;
    enum lt_side side;
};

extern const struct lt_wait_kind lt_chan_wait_kind;

/* With the lock held. The party is enlisted. */
LT_INLINE void lt_chan_wait_begin(struct lt_chan_wait *op, leat_chan *ch, enum lt_side side,
                                  void *item, struct lt_party *self)
{
    op->ch = ch;
    op->side = side;
    op->far.party = self;
    op->far.waiter.item = item;
    op->far.waiter.shared = op->far.waiter.embedded = false;
    lt_wait_begin(&op->wait, self, &lt_chan_wait_kind);
    lt_chan_enqueue(ch, side, &op->far.waiter);
}

/* With no lock held; the deadline is not LEAT_NOW. */
LT_INLINE int lt_chan_wait_park(struct lt_chan_wait *op, int64_t deadline)
{
    if (LT_LIKELY(!(lt_wait_park(&op->wait, deadline) | op->far.waiter.status)))
        return 0;
    /* Reads `op`, not a variable of the caller's: a value kept across the wait costs a register. */
    return op->wait.result ? op->wait.result
                           : lt_wait_outcome(op->far.party, op->far.waiter.status);
}

/* With the lock held, released here. */
__attribute__((noinline)) static int lt_fast_wait(leat_chan *ch, enum lt_side side, void *item,
                                                  int64_t deadline, struct lt_party *self)
{
    struct lt_chan_wait op;
    lt_chan_wait_begin(&op, ch, side, item, self);
    lt_chan_unlock(ch);
    return lt_chan_wait_park(&op, deadline);
}

/* ---- the fast path ---- */

/* With the lock held, for any kind of party. 0: the operation is done, and *woken is a party to
 * make ready, or NULL. LT_NOT_NOW: it must wait. LT_UNDECIDED: the slow path has to do it. */
LT_INLINE int lt_fast_try(leat_chan *ch, enum lt_side side, void *item, const struct lt_party *self,
                          struct lt_party **woken)
{
    size_t size = ch->item_size;
    if (LT_UNLIKELY(lt_wait_allowed(self) != 0 || lt_chan_is_unusual(ch) ||
                    !lt_item_is_short(size)))
        return LT_UNDECIDED;
    return lt_chan_plain_now(ch, side, size, item, woken);
}

LT_INLINE int lt_fast_spend(struct lt_worker *here, bool is_worker, int64_t deadline)
{
    if (deadline != LEAT_NOW && (is_worker || here))
        return LT_UNLIKELY(--here->budget == 0) ? lt_budget_renew(here) : 0;
    lt_point();
    return 0;
}

/* With the lock held, released here: lt_biased_grip (`gripped`) or lt_biased_try took it. A
 * thread that finds a buffer full or empty looks again for a moment before it waits
 * (chan/linger.h): that is slow anyway. */
LT_INLINE int lt_fast_path(leat_chan *ch, enum lt_side side, void *item, int64_t deadline,
                           struct lt_worker *here, bool gripped)
{
    struct lt_party *woken;
    int status = lt_fast_try(ch, side, item, lt_current_party_or_null(), &woken);
    bool waits = status == LT_NOT_NOW && deadline != LEAT_NOW && (here || ch->capacity == 0);
    if (waits) {
        struct lt_party *self = lt_current_party_or_null();
        if (LT_LIKELY(self->enlisted))
            return lt_fast_wait(ch, side, item, deadline, self);
    }
    if (gripped)
        lt_biased_let_go(&ch->lock);
    else
        lt_unlock(&ch->lock.lock);
    if (waits)
        return lt_operate_first_wait(ch, side, item, deadline);
    if (status)
        return lt_operate_slowly(ch, side, item, deadline);
    if (woken && LT_UNLIKELY(!lt_is_at_home(here, woken) || !lt_worker_append_now(here, woken)))
        return lt_operate_wake(here, woken, deadline);
    return lt_fast_spend(here, gripped, deadline);
}

/* With no lock held: for a caller that does not own the channel's lock: another worker, or a
 * thread. It uses one end of a split buffer, or a free lock. */
LT_INLINE int lt_fast_path_unowned(leat_chan *ch, enum lt_side side, void *item, int64_t deadline)
{
    struct lt_worker *here = lt_current_worker();
    const struct lt_party *self = lt_current_party_or_null();
    struct lt_split *split = lt_chan_split_buffer(ch);
    size_t size = ch->item_size;
    if (LT_UNLIKELY(!self))
        return lt_operate_slowly(ch, side, item, deadline);
    if (split && lt_wait_allowed(self) == 0 && lt_item_is_short(size) &&
        lt_split_move_known(ch, split, side, size, item))
        return lt_fast_spend(here, false, deadline);
    if (split || LT_UNLIKELY(!lt_biased_try(&ch->lock, here)))
        return lt_operate_slowly(ch, side, item, deadline);
    if (LT_LIKELY(!lt_chan_split_buffer(ch)))
        return lt_fast_path(ch, side, item, deadline, here, false);
    lt_unlock(&ch->lock.lock); /* the buffer was split before this call got the lock */
    return lt_operate_slowly(ch, side, item, deadline);
}
