#include "chan/now.h"
#include "chan/special.h"

#include "base/alloc.h"
#include "sched/probe.h"

/* ---- the life of a channel ---- */

/* No party uses the channel, but a drop function may: it finds the channel closed, so that it
 * cannot send items there for ever. */
static void empty(leat_chan *ch)
{
    lt_chan_unsplit(ch);
    atomic_store_explicit(&ch->closed, true, memory_order_relaxed);
    atomic_store_explicit(&ch->unusual, true, memory_order_relaxed);
    leat_drop_fn *drop = lt_chan_drop(ch);
    while (drop && lt_chan_count(ch)) {
        void *item = lt_chan_slot(ch, 0);
        lt_chan_pop(ch, ch->item_size, NULL);
        drop(item);
    }
}

static void destroy(leat_chan *ch)
{
    if (!lt_list_empty(&ch->receivers) || !lt_list_empty(&ch->senders))
        lt_die("leat: channel %s is freed while a party waits on it",
               ch->name ? ch->name : "without a name");
    empty(ch);
    if (ch->kept && ch->keeper->free)
        ch->keeper->free(ch);
    lt_free(ch);
}

static void destroy_owned(struct lt_owned *owned)
{
    destroy(LT_CONTAINER(owned, leat_chan, owned));
}

static void empty_owned(struct lt_owned *owned)
{
    empty(LT_CONTAINER(owned, leat_chan, owned));
}

static const struct lt_owned_kind owned_kind = { .empty = empty_owned, .free = destroy_owned };

leat_chan *lt_chan_owned(struct lt_owned *owned)
{
    return owned->kind == &owned_kind ? LT_CONTAINER(owned, leat_chan, owned) : NULL;
}

void lt_chan_disown(leat_chan *ch)
{
    lt_scope_own(&lt_root, &ch->owned);
}

static void adopt(leat_chan *ch)
{
    lt_lock(&lt_root.lock);
    lt_list_remove(&ch->owned.node);
    lt_unlock(&lt_root.lock);
}

void lt_chan_own(leat_scope *scope, leat_chan *ch, const struct lt_owned_kind *kind)
{
    adopt(ch);
    ch->owned.kind = kind;
    lt_scope_own(scope, &ch->owned);
}

static leat_chan *allocate(size_t item_size, size_t capacity)
{
    size_t bytes;
    if (__builtin_mul_overflow(item_size, capacity, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(leat_chan), &bytes))
        return NULL;
    return lt_alloc(bytes);
}

/* While items are traced, no operation may bypass the trace by the fast path. */
static void set_usual(leat_chan *ch)
{
    bool unusual = ch->special || lt_chan_split_buffer(ch) || (lt_probing() & LT_PROBE_ITEMS);
    atomic_store_explicit(&ch->unusual, unusual, memory_order_relaxed);
}

/* Reports the new channel to its scope, to dumps and to a trace. */
static void announce(leat_chan *ch)
{
    if (ch->scope) {
        ch->owned.kind = &owned_kind;
        lt_scope_own(ch->scope, &ch->owned);
    } else {
        lt_chan_disown(ch);
    }
    if (LT_UNLIKELY(lt_probing() & LT_PROBE_ITEMS) && !ch->special)
        lt_observer->new_channel(ch->number, ch->name);
}

/* Makes a channel of zeroed memory, or returns NULL if there is none. */
static leat_chan *make(leat_chan *ch, leat_scope *scope, const leat_chan_spec *spec,
                       size_t capacity, const struct lt_keeper *keeper)
{
    if (!ch)
        return NULL;
    lt_biased_init(&ch->lock);
    ch->item_size = (uint32_t)spec->item_size;
    ch->special = keeper || spec->buffer != LEAT_FIXED;
    ch->kept = keeper;
    set_usual(ch);
    ch->buffer = spec->buffer;
    ch->capacity = capacity;
    if (keeper)
        ch->keeper = keeper;
    else
        ch->drop = spec->drop;
    ch->name = spec->name;
    ch->scope = scope;
    ch->number = lt_number();
    lt_list_init(&ch->receivers);
    lt_list_init(&ch->senders);
    lt_list_init(&ch->close_hooks);
    atomic_store_explicit(&ch->references, 1, memory_order_relaxed);
    announce(ch);
    return ch;
}

leat_chan *lt_chan_open_owned(leat_scope *scope, const leat_chan_spec *spec,
                              const struct lt_keeper *keeper)
{
    size_t capacity = spec->buffer == LEAT_PROMISE ? 1 : spec->capacity;
    return make(allocate(spec->item_size, capacity), scope, spec, capacity, keeper);
}

leat_chan *leat_chan_open(leat_scope *scope, const leat_chan_spec *spec)
{
    return spec && lt_chan_can_be(spec) ? lt_chan_open_owned(scope, spec, NULL) : NULL;
}

leat_chan *lt_chan_open_kept(const struct lt_keeper *keeper, leat_buffer buffer, const char *name,
                             size_t extra)
{
    leat_chan_spec spec = { .buffer = buffer, .name = name };
    return make(lt_alloc(sizeof(leat_chan) + extra), NULL, &spec, 0, keeper);
}

leat_chan *leat_chan_make(leat_scope *scope, size_t item_size, size_t capacity)
{
    return leat_chan_open(scope, &(leat_chan_spec){ .item_size = item_size, .capacity = capacity });
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
    /* Release: what this holder did. Acquire: the last holder sees what all the others did. */
    if (ch->kept && ch->keeper->unref
            ? ch->keeper->unref(ch)
            : atomic_fetch_sub_explicit(&ch->references, 1, memory_order_acq_rel) == 1) {
        adopt(ch);
        destroy(ch);
    }
    return 0;
}

/* ---- waiters ---- */

bool lt_chan_dequeue(leat_chan *ch, enum lt_side side, struct lt_waiter *waiter)
{
    if (!lt_listed(&waiter->node))
        return false;
    lt_chan_unqueue(ch, side, waiter);
    return true;
}

/* ---- sending and receiving, under the lock ---- */

/* No party waits on a closed channel. */
static int closed_now(leat_chan *ch, enum lt_side side, void *item)
{
    if (side == LT_SEND)
        return -EPIPE;
    if (lt_chan_count(ch) == 0)
        return lt_chan_last_word(ch);
    lt_chan_pop(ch, ch->item_size, item);
    return 0;
}

int lt_chan_now(leat_chan *ch, enum lt_side side, void *item, struct lt_party **woken)
{
    bool unusual = lt_chan_is_unusual(ch);
    *woken = NULL;
    if (LT_UNLIKELY(unusual) && ch->special)
        return lt_special_now(ch, side, item, woken);
    int status = LT_UNLIKELY(unusual) && lt_chan_is_closed(ch)
                     ? closed_now(ch, side, item)
                     : lt_chan_plain_now(ch, side, ch->item_size, item, woken);
    if (*woken)
        (*woken)->next = NULL;
    if (LT_UNLIKELY(unusual) && status == 0 && (lt_probing() & LT_PROBE_ITEMS))
        lt_observer->items(ch->number, side == LT_SEND, 1, *woken);
    return status;
}

/* Whether the channel is unusual only because its buffer is split. */
LT_COLD static bool is_only_split(const leat_chan *ch)
{
    return lt_chan_split_buffer(ch) && !lt_chan_is_closed(ch) && !(lt_probing() & LT_PROBE_ITEMS);
}

/* Moves several items, in at most two copies. No party waits, so only the buffer changes. */
static size_t move_many(leat_chan *ch, enum lt_side side, void *items, size_t n)
{
    size_t count = lt_chan_count(ch), size = ch->item_size;
    size_t from = side == LT_SEND ? count : 0,
           most = side == LT_SEND ? ch->capacity - count : count;
    if (n > most)
        n = most;
    for (size_t moved = 0; moved < n;) {
        unsigned char *slot = lt_chan_slot(ch, from + moved), *item = items;
        size_t run = (size_t)(ch->items + ch->capacity * size - slot) / (size ? size : 1);
        if (run > n - moved || !size)
            run = n - moved;
        if (items && side == LT_SEND)
            memcpy(slot, item + moved * size, run * size);
        else if (items)
            memcpy(item + moved * size, slot, run * size);
        moved += run;
    }
    if (side == LT_RECEIVE && n) {
        ch->first += n;
        ch->first -= ch->first < ch->capacity ? 0 : ch->capacity;
        ch->passed += (uint32_t)n;
    }
    lt_chan_set_count(ch, side == LT_SEND ? count + n : count - n);
    return n;
}

size_t lt_chan_many_now(leat_chan *ch, enum lt_side side, void *items, size_t n,
                        struct lt_party **woken, int *status)
{
    size_t moved = 0;
    *woken = NULL;
    *status = LT_NOT_NOW;
    while (moved < n) {
        void *item = items ? (unsigned char *)items + moved * ch->item_size : NULL;
        if ((!lt_chan_is_unusual(ch) || is_only_split(ch)) && lt_list_empty(&ch->receivers) &&
            lt_list_empty(&ch->senders) &&
            lt_chan_count(ch) != (side == LT_SEND ? ch->capacity : 0)) {
            moved += move_many(ch, side, item, n - moved);
            continue;
        }
        if (*woken && lt_special_will_drop(ch))
            break;
        struct lt_party *chain;
        *status = lt_chan_now(ch, side, item, &chain);
        while (chain) {
            struct lt_party *next = chain->next;
            chain->next = *woken;
            *woken = chain;
            chain = next;
        }
        if (*status)
            break;
        moved++;
    }
    return moved;
}

/* ---- closing ---- */

static struct lt_party *refuse_all(leat_chan *ch, enum lt_side side, struct lt_party *chain)
{
    int status = side == LT_RECEIVE ? lt_chan_last_word(ch) : -EPIPE;
    for (struct lt_waiter *waiter; (waiter = lt_chan_claim_first(ch, side));) {
        struct lt_party *party = lt_waiter_party(waiter);
        waiter->status = status;
        party->next = chain;
        chain = party;
    }
    return chain;
}

static struct lt_party *take_close_hooks(leat_chan *ch, struct lt_party *chain)
{
    for (struct lt_close_hook *hook;
         (hook = LT_FIRST(&ch->close_hooks, struct lt_close_hook, node));) {
        lt_list_remove(&hook->node);
        hook->job.party.next = chain;
        chain = &hook->job.party;
    }
    return chain;
}

struct lt_party *lt_chan_close_now(leat_chan *ch)
{
    atomic_store_explicit(&ch->closed, true, memory_order_relaxed);
    atomic_store_explicit(&ch->unusual, true, memory_order_relaxed);
    return take_close_hooks(ch, refuse_all(ch, LT_SEND, refuse_all(ch, LT_RECEIVE, NULL)));
}

void lt_chan_renew(leat_chan *ch)
{
    bool is_as_new = !lt_chan_is_closed(ch) && lt_chan_count(ch) == 0 && !lt_chan_split_buffer(ch);
    if (is_as_new)
        return;
    lt_chan_lock(ch);
    lt_chan_set_count(ch, 0);
    atomic_store_explicit(&ch->closed, false, memory_order_relaxed);
    ch->cut = false;
    set_usual(ch);
    lt_chan_unlock(ch);
}

bool lt_chan_add_close_hook(leat_chan *ch, struct lt_close_hook *hook,
                            void (*closed)(struct lt_job *job))
{
    hook->job = (struct lt_job){ .party.kind = LT_JOB, .run = closed };
    lt_chan_lock(ch);
    bool open = !lt_chan_is_closed(ch);
    if (open)
        lt_list_append(&ch->close_hooks, &hook->node);
    lt_chan_unlock(ch);
    return open;
}

bool lt_chan_remove_close_hook(leat_chan *ch, struct lt_close_hook *hook)
{
    lt_chan_lock(ch);
    bool hooked = lt_listed(&hook->node);
    if (hooked)
        lt_list_remove(&hook->node);
    lt_chan_unlock(ch);
    return hooked;
}

/* With the lock held. */
static void mark_cut(leat_chan *ch, bool cut)
{
    ch->cut |= cut && !lt_chan_is_closed(ch);
}

static int end(leat_chan *ch, bool cut)
{
    if (!ch)
        return -EINVAL;
    if (ch->kept && !ch->keeper->close)
        return -EPERM;
    lt_chan_lock(ch);
    mark_cut(ch, cut);
    if (ch->kept) {
        lt_chan_unlock(ch); /* the keeper's own lock comes first */
        return ch->keeper->close(ch);
    }
    struct lt_party *woken = lt_chan_close_now(ch);
    lt_chan_unlock(ch);
    lt_ready_all(woken);
    lt_point();
    return 0;
}

int leat_close(leat_chan *ch)
{
    return end(ch, false);
}

int leat_cut(leat_chan *ch)
{
    return end(ch, true);
}

int leat_chan_senders(leat_chan *ch, unsigned n)
{
    if (!ch || !n)
        return -EINVAL;
    if (ch->kept)
        return -EPERM;
    int error = 0;
    lt_chan_lock(ch);
    if (lt_chan_is_closed(ch))
        error = -EPIPE;
    else if (n > UINT32_MAX - ch->counted_senders)
        error = -EINVAL;
    else
        ch->counted_senders += n;
    lt_chan_unlock(ch);
    return error;
}

int lt_chan_end_one(leat_chan *ch, bool cut)
{
    if (!ch)
        return -EINVAL;
    if (ch->kept)
        return -EPERM;
    struct lt_party *woken = NULL;
    lt_chan_lock(ch);
    bool counted = ch->counted_senders > 0;
    mark_cut(ch, cut && counted);
    if (counted && --ch->counted_senders == 0)
        woken = lt_chan_close_now(ch);
    lt_chan_unlock(ch);
    lt_ready_all(woken);
    lt_point();
    return counted ? 0 : -EINVAL;
}

bool lt_chan_has_receiver(const leat_chan *ch)
{
    /* Acquire: sees what the receiver did before it began to wait. */
    return atomic_load_explicit(&ch->receivers_waiting, memory_order_acquire);
}

uint32_t lt_chan_number(const leat_chan *ch)
{
    return ch ? ch->number : 0;
}

bool lt_chan_is_kept(const leat_chan *ch)
{
    return ch->kept;
}

int leat_chan_done(leat_chan *ch)
{
    return lt_chan_end_one(ch, false);
}

/* ---- queries ---- */

size_t leat_chan_len(const leat_chan *ch)
{
    if (!ch)
        return 0;
    struct lt_split *split = lt_chan_split_buffer(ch);
    return split ? lt_split_length(split, ch->capacity) : lt_chan_count(ch);
}

size_t leat_chan_cap(const leat_chan *ch)
{
    return ch ? ch->capacity : 0;
}

size_t leat_chan_item_size(const leat_chan *ch)
{
    return ch ? ch->item_size : 0;
}

leat_drop_fn *leat_chan_drop_fn(const leat_chan *ch)
{
    return ch ? lt_chan_drop(ch) : NULL;
}

leat_drop_fn *lt_chan_drop_received(const leat_chan *ch)
{
    return ch && ch->buffer != LEAT_PROMISE ? lt_chan_drop(ch) : NULL;
}

int leat_chan_closed(const leat_chan *ch)
{
    return !ch || lt_chan_is_closed(ch);
}

const char *leat_chan_name(const leat_chan *ch)
{
    return ch ? ch->name : NULL;
}
