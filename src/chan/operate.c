/* operate.c: one send or one receive. Both are the same, seen from the two sides.
 *
 *  - operate: the owner of the channel's lock takes the fast path.
 *  - fast_path_unowned: any other caller uses one end of a split buffer, or takes a free lock for
 *    the fast path.
 *  - slow_path: a lock that is taken, an unusual channel, items that are not short.
 *  - fast_wait, slow_wait: nothing can be done at once. */
#include "base/clock.h"
#include "chan/now.h"
#include "sched/global_queue.h"

#include <sched.h>

struct operation {
    struct lt_wait wait;
    struct lt_far_waiter far;
    leat_chan *ch;
    enum lt_side side;
};

static bool withdraw(struct lt_wait *wait)
{
    struct operation *op = LT_CONTAINER(wait, struct operation, wait);
    lt_chan_lock(op->ch);
    bool was_queued = lt_chan_dequeue(op->ch, op->side, &op->far.waiter);
    lt_chan_unlock(op->ch);
    return was_queued;
}

static void describe(const struct lt_wait *wait, struct lt_listener *listener)
{
    const struct operation *op = LT_CONTAINER(wait, struct operation, wait);
    listener->hear(listener, op->side == LT_RECEIVE ? LT_TO_RECEIVE : LT_TO_SEND, op->ch);
}

static const struct lt_wait_kind operates = { .withdraw = withdraw, .describe = describe };

/* Whether only the running task wants the worker just now. */
static bool is_free(struct lt_worker *worker)
{
    /* Relaxed: hints. */
    int64_t timer = atomic_load_explicit(&worker->next_timer, memory_order_relaxed);
    return !LT_HINT(worker->ready_head) && lt_local_queue_length(&worker->local_queue) == 0 &&
           !lt_global_queue_any() && !lt_worker_has_mail(worker) && !lt_worker_is_nudged(worker) &&
           (timer == LEAT_NEVER || timer > lt_clock_now());
}

/* For a caller with nothing else to do: waits a moment for a full or empty buffer to change. Each
 * look takes the channel's cache line from the partners. So looks come ever less often, and then
 * mostly find room, or items, for many operations. */
static void spin_for_change(leat_chan *ch, enum lt_side side, struct lt_spin *spin,
                            struct lt_worker *here)
{
    enum { LONGEST = 128, YIELDS = 4 };
    unsigned left = lt_spin_looks(spin), yields = !here && lt_spin_paid(spin) ? YIELDS : 0;
    bool ready = false;
    for (unsigned pauses = 16; !ready && left >= pauses && (!here || is_free(here));
         ready = lt_chan_looks_ready(ch, side)) {
        for (unsigned i = 0; i < pauses; i++)
            lt_pause();
        left -= pauses;
        if (pauses < LONGEST)
            pauses *= 2;
    }
    for (; !ready && yields > 0; yields--) {
        sched_yield();
        ready = lt_chan_looks_ready(ch, side);
    }
    lt_spin_learn(spin, ready);
}

/* Before an operation at one end of a split buffer: waits while the other end gets some distance
 * ahead. Otherwise both ends use the same cache lines of the buffer, and these move at every item.
 * The wait ends when a look finds no more than the look before. If items have come one by one
 * lately, there is no wait, except one time in LT_SPIN_PROBE. */
static void wait_for_distance(leat_chan *ch, struct lt_split *split, enum lt_side side,
                              struct lt_spin *spin)
{
    enum { FIRST = 16, LAST = 128 };
    size_t before = 0, left = lt_split_left(ch, split, side), found = left;
    if (left == 0 || (spin->alone >= LT_SPIN_PROBE && ++spin->alone % LT_SPIN_PROBE != 0))
        return;
    for (unsigned pauses = FIRST; left > before && left < 2 * split->few && pauses <= LAST;
         pauses *= 2) {
        for (unsigned i = 0; i < pauses; i++)
            lt_pause();
        before = left;
        left = lt_split_left(ch, split, side);
    }
    spin->alone = left > found || left >= 2 * split->few ? 0 : spin->alone + 1;
}

/* The spin state of a caller that is to spin before it waits; else NULL. Spinning pays if there is
 * another processor to wait for and nothing else to do here: in a thread, or in a task that is
 * alone on its worker. (That worker would spin otherwise.) */
static struct lt_spin *spin_to_use(struct lt_party *self, struct lt_worker *here, int64_t deadline)
{
    struct lt_spin *spin = NULL;
    if (deadline == LEAT_NOW || lt_world())
        return NULL;
    if (self->kind == LT_THREAD)
        spin = &LT_CONTAINER(self, struct lt_thread, party)->spin;
    else if (self->kind == LT_TASK && is_free(here))
        spin = &here->spin;
    return spin && spin->most ? spin : NULL;
}

/* One operation at one end of a split buffer: 0, or LT_NOT_NOW: it needs the channel's lock. */
__attribute__((noinline)) static int split_path(leat_chan *ch, struct lt_split *split,
                                                enum lt_side side, void *item, int64_t deadline,
                                                struct lt_party *self)
{
    int status = lt_split_move(ch, split, side, item, split->few);
    if (status == 0 || lt_chan_is_closed(ch))
        return status;
    struct lt_worker *here = lt_current_worker();
    struct lt_spin *spin = spin_to_use(self, here, deadline);
    if (spin && !lt_chan_looks_ready(ch, side))
        spin_for_change(ch, side, spin, here);
    if (spin && (!here || is_free(here)))
        wait_for_distance(ch, split, side, spin);
    return lt_split_move(ch, split, side, item, 1);
}

/* With the lock held, released here: waits for a partner. */
static int wait_for_partner(leat_chan *ch, enum lt_side side, void *item, int64_t deadline,
                            struct lt_party *self)
{
    struct operation op;
    op.ch = ch;
    op.side = side;
    op.far.party = self;
    op.far.waiter.item = item;
    op.far.waiter.shared = op.far.waiter.embedded = false;
    lt_wait_begin(&op.wait, self, &operates);
    lt_chan_enqueue(ch, side, &op.far.waiter);
    lt_chan_unlock(ch);
    if (LT_LIKELY(!(lt_wait_park(&op.wait, deadline) | op.far.waiter.status)))
        return 0;
    /* Reads `op`, not `self`: a value that is kept over the wait costs a register. */
    return op.wait.result ? op.wait.result : lt_wait_told(op.far.party, op.far.waiter.status);
}

/* After an operation that did not have to wait, with no lock held: wakes its partners. */
static void finish(struct lt_party *self, struct lt_party *woken, int64_t deadline)
{
    lt_ready_all(woken);
    lt_task_spend(lt_current_worker(), self, deadline);
}

/* With the lock held, released here: nothing could be done at once. */
__attribute__((noinline)) static int slow_wait(leat_chan *ch, enum lt_side side, void *item,
                                               int64_t deadline, struct lt_party *self)
{
    struct lt_party *woken = NULL;
    int error = -EAGAIN;
    if (deadline != LEAT_NOW) {
        /* With a split buffer it has spun already, in split_path. */
        bool spins = self->kind == LT_THREAD && ch->capacity && !ch->special && !lt_world() &&
                     !lt_chan_split_buffer(ch);
        /* With one processor the two ends are never used at the same time. */
        if (self->kind == LT_THREAD && !lt_world() &&
            (LT_SPLIT_ALONE || LT_CONTAINER(self, struct lt_thread, party)->spin.most))
            lt_chan_split(ch);
        if (self->enlisted && !spins)
            return wait_for_partner(ch, side, item, deadline, self);
        lt_chan_unlock(ch);
        if (spins)
            spin_for_change(ch, side, &LT_CONTAINER(self, struct lt_thread, party)->spin, NULL);
        else if ((error = lt_wait_prepare(self)) != 0)
            return error;
        lt_chan_lock(ch);
        error = lt_chan_now(ch, side, item, &woken);
        if (error == LT_NOT_NOW) /* the party is enlisted by now */
            return wait_for_partner(ch, side, item, deadline, self);
    }
    lt_chan_unlock(ch);
    finish(self, woken, deadline);
    return lt_wait_told(self, error);
}

/* With the lock held, released here: tries the operation on any kind of channel, and else waits. */
__attribute__((noinline)) static int slow_path_locked(leat_chan *ch, enum lt_side side, void *item,
                                                      int64_t deadline, struct lt_party *self)
{
    struct lt_party *woken;
    int error = lt_chan_now(ch, side, item, &woken);
    if (LT_LIKELY(!error)) {
        lt_chan_unlock(ch);
        finish(self, woken, deadline);
        return 0;
    }
    if (error == LT_NOT_NOW)
        return slow_wait(ch, side, item, deadline, self);
    lt_chan_unlock(ch);
    finish(self, woken, deadline);
    return lt_wait_told(self, error);
}

/* With the lock held, released here: nothing could be done at once, so most callers wait now. */
__attribute__((always_inline)) static inline int fast_wait(leat_chan *ch, enum lt_side side,
                                                           void *item, int64_t deadline,
                                                           struct lt_party *self,
                                                           struct lt_worker *here)
{
    if (LT_LIKELY(here && self->enlisted && deadline != LEAT_NOW))
        return wait_for_partner(ch, side, item, deadline, self);
    return slow_wait(ch, side, item, deadline, self);
}

/* With no lock held; not for the owner of the channel's lock. */
__attribute__((noinline)) static int slow_path(leat_chan *ch, enum lt_side side, void *item,
                                               int64_t deadline)
{
    struct lt_party *self = lt_current_party();
    int error = lt_wait_allowed(self);
    if (LT_UNLIKELY(error))
        return error;
    struct lt_worker *here = lt_current_worker();
    struct lt_split *split = lt_chan_split_buffer(ch);
    if (split && split_path(ch, split, side, item, deadline, self) == 0) {
        lt_task_spend(here, self, deadline);
        return 0;
    }
    lt_chan_lock_shared(ch, here);
    return slow_path_locked(ch, side, item, deadline, self);
}

__attribute__((noinline)) static int wake_partner(struct lt_worker *here, struct lt_party *woken,
                                                  int64_t deadline)
{
    lt_ready_from(here, woken);
    lt_task_spend(here, lt_current_party_or_null(), deadline);
    return 0;
}

/* Returns 0, for the caller's tail call. */
__attribute__((noinline)) static int renew_budget(struct lt_worker *here)
{
    lt_budget_renew(here, lt_current_party_or_null());
    return 0;
}

LT_NOW int spend_budget(struct lt_worker *here, bool is_worker, int64_t deadline)
{
    if (deadline != LEAT_NOW && (is_worker || here))
        return LT_UNLIKELY(--here->budget == 0) ? renew_budget(here) : 0;
    lt_point();
    return 0;
}

/* Releases what lt_biased_grip (`gripped`) or lt_biased_try took. */
static inline void release(leat_chan *ch, bool gripped)
{
    if (gripped)
        lt_biased_let_go(&ch->lock);
    else
        lt_unlock(&ch->lock.lock);
}

/* With the lock held, released here. `gripped`: the lock's owner took it by lt_biased_grip. */
LT_NOW int fast_path(leat_chan *ch, enum lt_side side, void *item, int64_t deadline,
                     struct lt_worker *here, bool gripped)
{
    int error = lt_wait_allowed(lt_current_party_or_null());
    if (LT_UNLIKELY(error)) {
        release(ch, gripped);
        return error;
    }
    struct lt_party *woken;
    size_t size = ch->item_size;
    if (LT_UNLIKELY(lt_chan_is_unusual(ch) || !lt_item_is_short(size)))
        return slow_path_locked(ch, side, item, deadline, lt_current_party_or_null());
    if (lt_chan_plain_now(ch, side, size, item, &woken) == LT_NOT_NOW)
        return fast_wait(ch, side, item, deadline, lt_current_party_or_null(), here);
    release(ch, gripped);
    if (woken) {
        if (LT_UNLIKELY(!lt_is_at_home(here, woken) || !lt_worker_append_now(here, woken)))
            return wake_partner(here, woken, deadline);
    }
    return spend_budget(here, gripped, deadline);
}

/* For a caller that does not own the channel's lock: another worker, or a thread. */
LT_NOW int fast_path_unowned(leat_chan *ch, enum lt_side side, void *item, int64_t deadline)
{
    struct lt_worker *here = lt_current_worker();
    const struct lt_party *self = lt_current_party_or_null();
    struct lt_split *split = lt_chan_split_buffer(ch);
    size_t size = ch->item_size;
    if (LT_UNLIKELY(!self))
        return slow_path(ch, side, item, deadline);
    if (split && lt_wait_allowed(self) == 0 && lt_item_is_short(size) &&
        lt_split_move_known(ch, split, side, size, item))
        return spend_budget(here, false, deadline);
    if (split || LT_UNLIKELY(!lt_biased_try(&ch->lock, here)))
        return slow_path(ch, side, item, deadline);
    if (LT_LIKELY(!lt_chan_split_buffer(ch)))
        return fast_path(ch, side, item, deadline, here, false);
    lt_unlock(&ch->lock.lock); /* the buffer was split in the meantime */
    return slow_path(ch, side, item, deadline);
}

__attribute__((noinline)) static int send_unowned(leat_chan *ch, void *item, int64_t deadline)
{
    return fast_path_unowned(ch, LT_SEND, item, deadline);
}

__attribute__((noinline)) static int receive_unowned(leat_chan *ch, void *item, int64_t deadline)
{
    return fast_path_unowned(ch, LT_RECEIVE, item, deadline);
}

/* Each caller gets a copy in which `side`, and mostly the deadline, is a constant. The fast path is
 * in here, and calls a function only as its last act: so it has no registers to save. */
__attribute__((always_inline)) static inline int operate(leat_chan *ch, enum lt_side side,
                                                         void *item, int64_t deadline)
{
    if (LT_UNLIKELY(lt_chan_check(ch, side, item) != 0 || deadline < 0))
        return -EINVAL;
    struct lt_worker *here = lt_current_worker();
    if (LT_LIKELY(lt_biased_grip(&ch->lock, here)))
        return fast_path(ch, side, item, deadline, here, true);
    return side == LT_SEND ? send_unowned(ch, item, deadline) : receive_unowned(ch, item, deadline);
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
__attribute__((always_inline)) static inline int try_now(leat_chan *ch, enum lt_side side,
                                                         void *item)
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
    if (side == LT_RECEIVE && ch->buffer == LEAT_PROMISE)
        n = 1;
    struct lt_party *self = lt_current_party(), *woken;
    for (size_t waited = 0;; waited = 1) {
        int status = waited ? 0 : lt_wait_allowed(self);
        if (status)
            return status;
        void *rest = items ? (unsigned char *)items + waited * ch->item_size : NULL;
        lt_chan_lock(ch);
        size_t moved = lt_chan_many_now(ch, side, rest, n - waited, &woken, &status);
        lt_chan_unlock(ch);
        finish(self, woken, deadline);
        if (moved + waited)
            return (int64_t)(moved + waited);
        /* Nothing can be moved at once: wait for one item, then see what else can be moved. */
        status =
            status == LT_NOT_NOW ? operate(ch, side, items, deadline) : lt_wait_told(self, status);
        if (status)
            return status;
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
