#include "chan/split.h"

#include "base/alloc.h"
#include "chan/now.h"

/* ---- the whole channel ---- */

LT_COLD void lt_split_gather(leat_chan *ch)
{
    struct lt_split *split = lt_chan_split_buffer(ch);
    lt_lock(&split->of[LT_SEND].lock);
    lt_lock(&split->of[LT_RECEIVE].lock);
    ch->first = split->of[LT_RECEIVE].slot;
    lt_chan_set_count(ch, lt_split_count(split));
}

/* `first` and `count` may have changed in any way: the receiving end's `moved` stays, and the
 * sending end's is set to match. */
LT_COLD void lt_split_give_back(leat_chan *ch)
{
    struct lt_split *split = lt_chan_split_buffer(ch);
    struct lt_end *sending = &split->of[LT_SEND], *receiving = &split->of[LT_RECEIVE];
    size_t count = lt_chan_count(ch);
    size_t received = atomic_load_explicit(&receiving->moved, memory_order_relaxed);
    size_t tail = ch->first + count;
    receiving->slot = ch->first;
    sending->slot = tail < ch->capacity ? tail : tail - ch->capacity;
    /* Relaxed: read under the locks, or as hints. */
    atomic_store_explicit(&receiving->seen, received + count, memory_order_relaxed);
    atomic_store_explicit(&sending->seen, received, memory_order_relaxed);
    atomic_store_explicit(&sending->moved, received + count, memory_order_relaxed);
    lt_unlock(&receiving->lock);
    lt_unlock(&sending->lock);
}

void lt_chan_visit(leat_chan *ch)
{
    lt_biased_visit(&ch->lock, lt_current_worker());
    if (lt_chan_split_buffer(ch))
        lt_split_gather(ch);
}

LT_COLD void lt_chan_split(leat_chan *ch)
{
    if (ch->capacity < LT_SPLIT_FROM || lt_chan_is_unusual(ch))
        return;
    struct lt_split *split = lt_alloc_lines(sizeof *split);
    if (!split)
        return;
    lt_clear(split, sizeof *split);
    size_t quarter = ch->capacity / 4 + 1;
    split->few = quarter < LT_SPLIT_FEW ? quarter : LT_SPLIT_FEW;
    ch->lock.settled = true; /* from now on no party becomes the owner */
    lt_lock(&split->of[LT_SEND].lock);
    lt_lock(&split->of[LT_RECEIVE].lock);
    /* Relaxed: a reader without a lock sees this together with `split`. */
    atomic_store_explicit(&split->of[LT_SEND].moved, lt_chan_count(ch), memory_order_relaxed);
    /* Relaxed: it is read under the lock, and sends an operation to the slow path. */
    atomic_store_explicit(&ch->unusual, true, memory_order_relaxed);
    /* Release: a thread that sees the split buffer sees both ends locked. */
    atomic_store_explicit(&ch->split, split, memory_order_release);
}

void lt_chan_unsplit(leat_chan *ch)
{
    struct lt_split *split = lt_chan_split_buffer(ch);
    if (!split)
        return;
    /* The sender of the last item has released both ends, but perhaps not this lock yet. */
    lt_lock(&ch->lock.lock);
    lt_split_gather(ch);
    /* Relaxed: no other party knows the channel. */
    atomic_store_explicit(&ch->split, NULL, memory_order_relaxed);
    lt_unlock(&ch->lock.lock); /* a drop function may still use the channel */
    lt_free(split);
}

/* ---- one end ---- */

/* Under the end's lock. */
static bool can_move(const leat_chan *ch, struct lt_split *split, enum lt_side side, size_t least)
{
    if (LT_LIKELY(lt_split_know_some(split, side, ch->capacity)))
        return true;
    /* Acquire: the items up to there are in their slots, or have left them. */
    size_t seen = atomic_load_explicit(&split->of[!side].moved, memory_order_acquire);
    size_t moved = atomic_load_explicit(&split->of[side].moved, memory_order_relaxed);
    atomic_store_explicit(&split->of[side].seen, seen, memory_order_relaxed);
    return (side == LT_SEND ? ch->capacity - (moved - seen) : seen - moved) >= least;
}

int lt_split_move(leat_chan *ch, struct lt_split *split, enum lt_side side, void *item,
                  size_t least)
{
    struct lt_end *end = &split->of[side];
    int status = LT_NOT_NOW;
    lt_lock(&end->lock);
    if (LT_LIKELY(!lt_end_takes_all(ch, side) && can_move(ch, split, side, least))) {
        lt_end_pass(ch, end, side, ch->item_size, item);
        status = 0;
    }
    lt_unlock(&end->lock);
    return status;
}

size_t lt_split_length(const struct lt_split *split, size_t capacity)
{
    enum { LOOKS = 16 };
    size_t sent, before, received = lt_split_moved(split, LT_RECEIVE);
    unsigned looks = LOOKS;
    do {
        before = received;
        sent = lt_split_moved(split, LT_SEND);
        received = lt_split_moved(split, LT_RECEIVE);
    } while (received != before && --looks > 0);
    return sent - before < capacity ? sent - before : capacity;
}

size_t lt_split_left(const leat_chan *ch, const struct lt_split *split, enum lt_side side)
{
    size_t count = lt_split_count(split);
    if (count > ch->capacity)
        count = ch->capacity;
    return side == LT_SEND ? ch->capacity - count : count;
}
