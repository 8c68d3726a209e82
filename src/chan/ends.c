#include "chan/ends.h"

#include "base/alloc.h"
#include "chan/now.h"

/* ---- the whole channel ---- */

LT_COLD void lt_ends_gather(leat_chan *ch)
{
    struct lt_ends *ends = lt_chan_ends(ch);
    lt_lock(&ends->of[LT_SEND].lock);
    lt_lock(&ends->of[LT_RECEIVE].lock);
    ch->first = ends->of[LT_RECEIVE].slot;
    lt_chan_set_count(ch, lt_ends_count(ends));
}

/* `first` and `count` may have changed in any way: the receiving end's count stays, and the other is made to fit. */
LT_COLD void lt_ends_give_back(leat_chan *ch)
{
    struct lt_ends *ends = lt_chan_ends(ch);
    struct lt_end *sending = &ends->of[LT_SEND], *receiving = &ends->of[LT_RECEIVE];
    size_t count = lt_chan_count(ch);
    size_t received = atomic_load_explicit(&receiving->moved, memory_order_relaxed);
    size_t tail = ch->first + count;
    receiving->slot = ch->first;
    sending->slot = tail < ch->slots ? tail : tail - ch->slots;
    /* Relaxed: others come to know of it by the locks, or take it as a hint. */
    atomic_store_explicit(&receiving->seen, received + count, memory_order_relaxed);
    atomic_store_explicit(&sending->seen, received, memory_order_relaxed);
    atomic_store_explicit(&sending->moved, received + count, memory_order_relaxed);
    lt_unlock(&receiving->lock);
    lt_unlock(&sending->lock);
}

void lt_chan_visit(leat_chan *ch)
{
    lt_biased_visit(&ch->lock, lt_worker_here());
    if (lt_chan_ends(ch))
        lt_ends_gather(ch);
}

LT_COLD void lt_chan_split(leat_chan *ch)
{
    if (ch->capacity < LT_SPLIT_FROM || lt_chan_is_unusual(ch))
        return;
    struct lt_ends *ends = lt_alloc(sizeof *ends);
    if (!ends)
        return;
    size_t quarter = ch->capacity / 4 + 1;
    ends->few = quarter < LT_ENDS_FEW ? quarter : LT_ENDS_FEW;
    lt_biased_settle(&ch->lock);
    lt_lock(&ends->of[LT_SEND].lock);
    lt_lock(&ends->of[LT_RECEIVE].lock);
    /* Relaxed: for those who look without a lock, and seen with the ends. */
    atomic_store_explicit(&ends->of[LT_SEND].moved, lt_chan_count(ch), memory_order_relaxed);
    /* Relaxed: it tells who has the lock that there is more to ask. */
    atomic_store_explicit(&ch->unusual, true, memory_order_relaxed);
    /* Release: who finds them without the lock finds their locks taken. */
    atomic_store_explicit(&ch->ends, ends, memory_order_release);
}

void lt_chan_unsplit(leat_chan *ch)
{
    struct lt_ends *ends = lt_chan_ends(ch);
    if (!ends)
        return;
    /* Who gave the ends back, with the item that was waited for until now, may still have to give this back. */
    lt_lock(&ch->lock.lock);
    lt_ends_gather(ch);
    atomic_store_explicit(&ch->ends, NULL, memory_order_relaxed); /* nobody else is there */
    lt_free(ends);
}

/* ---- one end ---- */

/* Under the end's lock. */
static bool is_there(const leat_chan *ch, struct lt_ends *ends, enum lt_side side, size_t least)
{
    if (LT_LIKELY(lt_ends_know_some(ends, side, ch->capacity)))
        return true;
    /* Acquire: the items up to there are in their slots, or have left them. */
    size_t seen = atomic_load_explicit(&ends->of[!side].moved, memory_order_acquire);
    size_t moved = atomic_load_explicit(&ends->of[side].moved, memory_order_relaxed);
    atomic_store_explicit(&ends->of[side].seen, seen, memory_order_relaxed);
    return (side == LT_SEND ? ch->capacity - (moved - seen) : seen - moved) >= least;
}

int lt_ends_move(leat_chan *ch, struct lt_ends *ends, enum lt_side side, void *item, size_t least)
{
    struct lt_end *end = &ends->of[side];
    int status = LT_NOT_NOW;
    lt_lock(&end->lock);
    if (LT_LIKELY(!lt_end_takes_all(ch, side) && is_there(ch, ends, side, least))) {
        lt_end_pass(ch, end, side, ch->item_size, item);
        status = 0;
    }
    lt_unlock(&end->lock);
    return status;
}

size_t lt_ends_length(const struct lt_ends *ends, size_t capacity)
{
    enum { LOOKS = 16 };
    size_t sent, before, received = lt_ends_moved(ends, LT_RECEIVE);
    unsigned looks = LOOKS;
    do {
        before = received;
        sent = lt_ends_moved(ends, LT_SEND);
        received = lt_ends_moved(ends, LT_RECEIVE);
    } while (received != before && --looks > 0);
    return sent - before < capacity ? sent - before : capacity;
}

size_t lt_ends_left(const leat_chan *ch, const struct lt_ends *ends, enum lt_side side)
{
    size_t count = lt_ends_count(ends);
    if (count > ch->capacity)
        count = ch->capacity;
    return side == LT_SEND ? ch->capacity - count : count;
}
