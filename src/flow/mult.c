/* mult.c: sends every item to every tap.
 *
 * A block receives an item and starts a send for each tap, as a callback. The sends run side by
 * side: two taps that one party receives from in any order do not block each other. The last send
 * to end also ends the round, and the block receives the next item.
 *
 * Holds. A tap is held by the list, by its send, and by each function that works on it without the
 * lock. When the last hold ends, the tap is freed. Removing a tap takes its send back, which is
 * possible only when the call that began the send has returned: until then begin_send takes it
 * back.
 *
 * Locking. `lock` guards the list, the taps' fields and the counts of the round. No channel's
 * operation and no user's function is called under it. The item is constant during a round. */
#include "flow/flow.h"

#include "base/alloc.h"
#include "base/index.h"
#include "base/lock.h"

#include <leat/callback.h>

struct tap {
    leat_op op; /* must be first: `send_over` finds the tap by it */
    struct lt_node node;
    struct lt_indexed indexed; /* while it is listed: indexed by its channel */
    struct tap *next;          /* in the round */
    leat_mult *mult;
    leat_chan *ch;
    unsigned flags, holds;
    leat_ending ending;
    bool counted; /* the tap has a reference to `ch`; otherwise a scope owns it */
    bool busy, begun;
    _Atomic bool removed; /* written under the lock */
    int64_t missed;
};

struct leat_mult {
    struct lt_flow flow;
    leat_chan *done;
    leat_share_fn *share;
    struct lt_lock lock;
    struct lt_node taps;
    struct lt_index index;
    int over; /* not 0: why it has ended, for lt_flow_end */
    bool delivered;
    size_t pending; /* sends of this round, plus 1 while the round begins them */
};

/* ---- taps ---- */

/* Relaxed: certain under the lock; without it a hint. */
static bool is_removed(const struct tap *tap)
{
    return atomic_load_explicit(&tap->removed, memory_order_relaxed);
}

static void free_tap(struct tap *tap)
{
    if (tap->counted) /* otherwise its scope may have freed the channel */
        leat_chan_unref(tap->ch);
    lt_free(tap);
}

static void release_tap(struct tap *tap)
{
    lt_lock(&tap->mult->lock);
    bool last = --tap->holds == 0;
    lt_unlock(&tap->mult->lock);
    if (last)
        free_tap(tap);
}

/* With the lock held: takes the tap off the list. The list's hold becomes the caller's. False: the
 * tap was not listed. */
static bool unlist(struct tap *tap)
{
    if (is_removed(tap))
        return false;
    atomic_store_explicit(&tap->removed, true, memory_order_relaxed);
    lt_list_remove(&tap->node);
    lt_index_remove(&tap->mult->index, &tap->indexed);
    return true;
}

/* With the lock held. */
static struct tap *find(leat_mult *m, const leat_chan *ch)
{
    struct lt_indexed *found = lt_index_find(&m->index, (uintptr_t)ch);
    return found ? LT_CONTAINER(found, struct tap, indexed) : NULL;
}

/* ---- a round ---- */

static void leave_round(leat_mult *m, bool delivered)
{
    lt_lock(&m->lock);
    m->delivered |= delivered;
    bool last = --m->pending == 0;
    delivered = m->delivered;
    lt_unlock(&m->lock);
    if (!last)
        return;
    /* With `share` each copy has its own reference. Otherwise there is only one, which belongs to
     * the receivers if any tap got the item. */
    if (m->share || !delivered)
        lt_flow_drop_item(&m->flow);
    leat_try_send(m->done, NULL);
}

/* Called when a send is over. The tap may be gone afterwards. */
static void end_send(struct tap *tap, int status)
{
    leat_mult *m = tap->mult;
    if (status && m->share)
        lt_flow_drop_item(&m->flow);
    lt_lock(&m->lock);
    tap->busy = false;
    tap->missed += status == -EAGAIN;
    bool unlisted = status == -EPIPE && unlist(tap);
    lt_unlock(&m->lock);
    if (unlisted)
        release_tap(tap);
    release_tap(tap);
    leave_round(m, !status);
}

static void send_over(leat_op *op, int status)
{
    end_send((struct tap *)op, status);
}

/* Takes the send of a removed tap back if possible. The caller has a hold. */
static void withdraw(struct tap *tap)
{
    if (leat_withdraw(&tap->op) == 0)
        end_send(tap, -ECANCELED);
}

static void begin_send(struct tap *tap)
{
    leat_mult *m = tap->mult;
    if (m->share)
        m->share(m->flow.item);
    /* A tap that has been removed since the round began may have lost its channel. */
    bool gone = is_removed(tap);
    if (gone || tap->flags & LEAT_TAP_LOSSY) {
        end_send(tap, gone ? -ECANCELED : leat_try_send(tap->ch, m->flow.item));
        release_tap(tap);
        return;
    }
    leat_send_then(&tap->op, tap->ch, m->flow.item, send_over);
    lt_lock(&m->lock);
    tap->begun = true;
    bool takes_back = is_removed(tap) && tap->busy;
    lt_unlock(&m->lock);
    if (takes_back)
        withdraw(tap);
    release_tap(tap);
}

static void begin_round(leat_mult *m)
{
    struct tap *round = NULL;
    lt_lock(&m->lock);
    m->pending = 1;
    m->delivered = false;
    for (struct lt_node *node = m->taps.next; node != &m->taps; node = node->next) {
        struct tap *tap = LT_CONTAINER(node, struct tap, node);
        tap->busy = true;
        tap->begun = false;
        tap->holds += 2; /* one for the send, one for `begin_send` */
        tap->next = round;
        round = tap;
        m->pending++;
    }
    lt_unlock(&m->lock);
    while (round) {
        struct tap *tap = round;
        round = tap->next;
        begin_send(tap);
    }
    leave_round(m, false);
}

/* ---- its life ---- */

static void end_taps(leat_mult *m, int status)
{
    lt_lock(&m->lock);
    m->over = status;
    for (struct tap *tap; (tap = LT_FIRST(&m->taps, struct tap, node));) {
        unlist(tap);
        lt_unlock(&m->lock);
        lt_flow_end(tap->ch, tap->ending, status);
        release_tap(tap);
        lt_lock(&m->lock);
    }
    lt_unlock(&m->lock);
}

static int distribute(leat_block *b)
{
    leat_mult *m = LT_CONTAINER(b, leat_mult, flow.block);
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_RECV(b, m->flow.in, m->flow.item);
        if (b->status)
            break;
        begin_round(m);
        LEAT_AWAIT_RECV(b, m->done, NULL);
        if (b->status) /* cancelled: the last send to end drops the item */
            break;
    }
    end_taps(m, b->status);
    LEAT_END(b);
}

static void see_mult(struct lt_owned *owned, struct lt_sight *sight)
{
    leat_mult *m = LT_CONTAINER(owned, leat_mult, flow.owned);
    lt_flow_see(owned, sight);
    if (!sight->self)
        return;
    lt_lock(&m->lock);
    for (struct lt_node *node = m->taps.next; node != &m->taps && sight->steps;
         node = node->next, sight->steps--)
        lt_sight_end(sight->out, &sight->outs,
                     lt_chan_number(LT_CONTAINER(node, struct tap, node)->ch));
    lt_unlock(&m->lock);
}

static const struct lt_owned_kind owned_kind = { .free = lt_flow_free, .see = see_mult };

leat_mult *leat_mult_open(leat_scope *scope, leat_chan *in, leat_share_fn *share)
{
    leat_mult *m = in ? lt_flow_make(scope, in, NULL, sizeof *m, &owned_kind) : NULL;
    if (!m)
        return NULL;
    m->done = leat_chan_make(scope, 0, 1);
    if (!m->done)
        return NULL;
    m->share = share;
    lt_list_init(&m->taps);
    lt_flow_go(&m->flow, "mult", LEAT_BLOCK_TYPE_(distribute));
    return m;
}

/* Removes the tap of a channel, or with NULL the oldest tap. With `if_closed`, a tap whose channel
 * is open stays, and counts as the newest from then on. False: there is none to remove. */
static bool remove_tap(leat_mult *m, const leat_chan *ch, bool if_closed)
{
    lt_lock(&m->lock);
    struct tap *tap = ch ? find(m, ch) : LT_FIRST(&m->taps, struct tap, node);
    if (tap && if_closed && !leat_chan_closed(tap->ch)) {
        lt_list_remove(&tap->node);
        lt_list_append(&m->taps, &tap->node);
        tap = NULL;
    }
    bool takes_back = tap && unlist(tap) && tap->busy && tap->begun;
    lt_unlock(&m->lock);
    if (takes_back)
        withdraw(tap);
    if (tap)
        release_tap(tap);
    return tap;
}

/* A tap whose channel is closed leaves when it gets an item. If no item comes, it leaves here,
 * where each new tap looks at others until two are open: so closed taps do not add up. */
static void untap_closed(leat_mult *m)
{
    for (unsigned open = 0; open < 2;)
        open += !remove_tap(m, NULL, true);
}

int leat_tap(leat_mult *m, leat_chan *ch, unsigned flags, leat_ending ending)
{
    if (!m || !lt_flow_fits(m->flow.in, ch) || flags > LEAT_TAP_LOSSY || ending > LEAT_ENDS_OPEN)
        return -EINVAL;
    untap_closed(m);
    struct tap *tap = lt_alloc(sizeof *tap);
    if (!tap)
        return -ENOMEM;
    tap->op = (leat_op)LEAT_OP(m->flow.scope, 0);
    tap->mult = m;
    tap->ch = ch;
    tap->counted = leat_chan_ref(ch) == 0;
    tap->flags = flags;
    tap->holds = 1;
    tap->ending = ending;
    lt_lock(&m->lock);
    int over = m->over;
    bool is_tap = find(m, ch), adds = !over && !is_tap;
    if (adds) {
        lt_list_append(&m->taps, &tap->node);
        lt_index_add(&m->index, &tap->indexed, (uintptr_t)ch);
    }
    lt_unlock(&m->lock);
    if (over && !is_tap)
        lt_flow_end(ch, ending, over);
    if (!adds)
        free_tap(tap);
    return 0;
}

int leat_untap(leat_mult *m, leat_chan *ch)
{
    if (!m || !ch)
        return -EINVAL;
    return remove_tap(m, ch, false) ? 0 : -ENOENT;
}

int leat_untap_all(leat_mult *m)
{
    if (!m)
        return -EINVAL;
    while (remove_tap(m, NULL, false))
        continue;
    return 0;
}

bool lt_mult_is_tapped(leat_mult *m)
{
    bool tapped = false;
    lt_lock(&m->lock);
    for (struct lt_node *node = m->taps.next; node != &m->taps && !tapped; node = node->next)
        tapped = !leat_chan_closed(LT_CONTAINER(node, struct tap, node)->ch);
    lt_unlock(&m->lock);
    return tapped;
}

int64_t leat_tap_missed(leat_mult *m, leat_chan *ch)
{
    if (!m || !ch)
        return -EINVAL;
    lt_lock(&m->lock);
    struct tap *tap = find(m, ch);
    int64_t missed = tap ? tap->missed : -ENOENT;
    lt_unlock(&m->lock);
    return missed;
}
