#include "chan/chan.h"

#include "base/alloc.h"

enum { ITEM_MAX = 1 << 20 };

/* ---- the life of a channel ---- */

static void *slot(leat_chan *ch, size_t index)
{
    return ch->items + index % ch->capacity * ch->item_size;
}

static size_t count(const leat_chan *ch)
{
    return atomic_load_explicit(&ch->count, memory_order_relaxed);
}

static void destroy(leat_chan *ch)
{
    if (!lt_list_empty(&ch->receivers) || !lt_list_empty(&ch->senders))
        lt_die("leat: channel %s is freed while somebody waits on it",
               ch->name ? ch->name : "without a name");
    if (ch->drop)
        for (size_t i = 0; i < count(ch); i++)
            ch->drop(slot(ch, ch->first + i));
    lt_free(ch);
}

static void destroy_owned(struct lt_owned *owned)
{
    destroy(LT_CONTAINER(owned, leat_chan, owned));
}

leat_chan *leat_chan_open(leat_scope *scope, const leat_chan_spec *spec)
{
    size_t bytes;
    if (!spec || spec->item_size > ITEM_MAX ||
        __builtin_mul_overflow(spec->item_size, spec->capacity, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(leat_chan), &bytes))
        return NULL;
    leat_chan *ch = lt_alloc(bytes);
    if (!ch)
        return NULL;
    ch->item_size = (uint32_t)spec->item_size;
    ch->capacity = spec->capacity;
    ch->drop = spec->drop;
    ch->name = spec->name;
    ch->scope = scope;
    lt_list_init(&ch->receivers);
    lt_list_init(&ch->senders);
    atomic_store_explicit(&ch->references, 1, memory_order_relaxed);
    if (scope) {
        ch->owned.free = destroy_owned;
        lt_scope_own(scope, &ch->owned);
    }
    return ch;
}

leat_chan *leat_chan_make(leat_scope *scope, size_t item_size, size_t capacity)
{
    return leat_chan_open(scope, &(leat_chan_spec){.item_size = item_size, .capacity = capacity});
}

int leat_chan_ref(leat_chan *ch)
{
    if (!ch || ch->scope)
        return -EINVAL;
    /* Relaxed: the caller has a reference already. */
    atomic_fetch_add_explicit(&ch->references, 1, memory_order_relaxed);
    return 0;
}

int leat_chan_unref(leat_chan *ch)
{
    if (!ch || ch->scope)
        return -EINVAL;
    /* Release what this holder did; acquire, for the last, what all the others did. */
    if (atomic_fetch_sub_explicit(&ch->references, 1, memory_order_acq_rel) == 1)
        destroy(ch);
    return 0;
}

/* ---- waiters ---- */

static struct lt_node *queue_of(leat_chan *ch, enum lt_side side)
{
    return side == LT_RECEIVE ? &ch->receivers : &ch->senders;
}

static void count_waiting(leat_chan *ch, enum lt_side side, int change)
{
    _Atomic uint32_t *waiting = side == LT_RECEIVE ? &ch->receivers_waiting : &ch->senders_waiting;
    uint32_t now = atomic_load_explicit(waiting, memory_order_relaxed) + (uint32_t)change;
    atomic_store_explicit(waiting, now, memory_order_relaxed);
}

void lt_chan_enqueue(leat_chan *ch, enum lt_side side, struct lt_waiter *waiter)
{
    lt_list_append(queue_of(ch, side), &waiter->node);
    count_waiting(ch, side, 1);
}

bool lt_chan_dequeue(leat_chan *ch, enum lt_side side, struct lt_waiter *waiter)
{
    if (!lt_listed(&waiter->node))
        return false;
    lt_list_remove(&waiter->node);
    count_waiting(ch, side, -1);
    return true;
}

/* Claims the first waiter that can be claimed; NULL when there is none. */
static struct lt_waiter *claim_first(leat_chan *ch, enum lt_side side)
{
    struct lt_node *queue = queue_of(ch, side);
    while (!lt_list_empty(queue)) {
        struct lt_waiter *waiter = LT_CONTAINER(queue->next, struct lt_waiter, node);
        lt_chan_dequeue(ch, side, waiter);
        if (!waiter->claim)
            return waiter;
        /* Acquire and release: the winner's writes are for the party alone, which reads them after
         * lt_ready; the order between the claims of several channels is what matters here. */
        bool taken = false;
        if (atomic_compare_exchange_strong_explicit(&waiter->claim->taken, &taken, true,
                                                    memory_order_acq_rel, memory_order_relaxed)) {
            waiter->claim->winner = waiter;
            return waiter;
        }
    }
    return NULL;
}

/* ---- sending and receiving, under the lock ---- */

static void push(leat_chan *ch, const void *item)
{
    size_t n = count(ch);
    lt_item_copy(slot(ch, ch->first + n), item, ch->item_size);
    atomic_store_explicit(&ch->count, n + 1, memory_order_relaxed);
}

static void pop(leat_chan *ch, void *item)
{
    if (item)
        lt_item_copy(item, slot(ch, ch->first), ch->item_size);
    ch->first = ch->first + 1 == ch->capacity ? 0 : ch->first + 1;
    atomic_store_explicit(&ch->count, count(ch) - 1, memory_order_relaxed);
}

static int send_now(leat_chan *ch, const void *item, struct lt_party **woken)
{
    if (atomic_load_explicit(&ch->closed, memory_order_relaxed))
        return -EPIPE;
    struct lt_waiter *receiver = claim_first(ch, LT_RECEIVE);
    if (receiver) {
        if (receiver->item)
            lt_item_copy(receiver->item, item, ch->item_size);
        receiver->status = 0;
        *woken = receiver->party;
        return 0;
    }
    if (count(ch) == ch->capacity)
        return -EAGAIN;
    push(ch, item);
    return 0;
}

static int receive_now(leat_chan *ch, void *item, struct lt_party **woken)
{
    bool buffered = count(ch) > 0;
    if (buffered)
        pop(ch, item);
    else if (atomic_load_explicit(&ch->closed, memory_order_relaxed))
        return -EPIPE;
    struct lt_waiter *sender = claim_first(ch, LT_SEND);
    if (!sender)
        return buffered ? 0 : -EAGAIN;
    if (buffered) /* the place just left is the next sender's */
        push(ch, sender->item);
    else if (item)
        lt_item_copy(item, sender->item, ch->item_size);
    sender->status = 0;
    *woken = sender->party;
    return 0;
}

int lt_chan_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken)
{
    *woken = NULL;
    return side == LT_RECEIVE ? receive_now(ch, item, woken) : send_now(ch, item, woken);
}

/* ---- closing ---- */

static struct lt_party *refuse_all(leat_chan *ch, enum lt_side side, struct lt_party *chain)
{
    for (struct lt_waiter *waiter; (waiter = claim_first(ch, side));) {
        waiter->status = -EPIPE;
        waiter->party->next = chain;
        chain = waiter->party;
    }
    return chain;
}

/* Under the lock; returns who must be made ready. */
static struct lt_party *close_now(leat_chan *ch)
{
    atomic_store_explicit(&ch->closed, true, memory_order_relaxed);
    return refuse_all(ch, LT_SEND, refuse_all(ch, LT_RECEIVE, NULL));
}

int leat_close(leat_chan *ch)
{
    if (!ch)
        return -EINVAL;
    lt_lock(&ch->lock);
    struct lt_party *woken = close_now(ch);
    lt_unlock(&ch->lock);
    lt_ready_all(woken);
    return 0;
}

int leat_chan_senders(leat_chan *ch, unsigned n)
{
    if (!ch || !n)
        return -EINVAL;
    int error = 0;
    lt_lock(&ch->lock);
    if (atomic_load_explicit(&ch->closed, memory_order_relaxed))
        error = -EPIPE;
    else if (n > UINT32_MAX - ch->counted_senders)
        error = -EINVAL;
    else
        ch->counted_senders += n;
    lt_unlock(&ch->lock);
    return error;
}

int leat_chan_done(leat_chan *ch)
{
    if (!ch)
        return -EINVAL;
    struct lt_party *woken = NULL;
    lt_lock(&ch->lock);
    bool counted = ch->counted_senders > 0;
    if (counted && --ch->counted_senders == 0)
        woken = close_now(ch);
    lt_unlock(&ch->lock);
    lt_ready_all(woken);
    return counted ? 0 : -EINVAL;
}

/* ---- for people who look ---- */

size_t leat_chan_len(const leat_chan *ch)
{
    return ch ? count(ch) : 0;
}

size_t leat_chan_cap(const leat_chan *ch)
{
    return ch ? ch->capacity : 0;
}

int leat_chan_closed(const leat_chan *ch)
{
    return !ch || atomic_load_explicit(&ch->closed, memory_order_relaxed);
}
