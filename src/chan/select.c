/* select.c: one of several operations.
 *
 * First a look without locks, and a try at a case that looks ready. If that fails, all channels are
 * locked, by rising address: now it is certain whether any case can happen. If none can, a waiter for
 * each is queued before the locks are given back, so nothing that happens later is missed. All waiters
 * share one claim. Whoever wins it, a partner under its channel's lock or the party's own home, ends
 * the wait; the party then takes the other waiters out, and nobody touches them once it has held each
 * channel's lock. */
#include "chan/chan.h"

#include "base/rng.h"

#include <leat/select.h>

#include <limits.h>

/* What a case's private words hold. */
struct slot {
    struct lt_waiter waiter;
    uint32_t turn; /* in the k-th case: the index of the case whose lock is the k-th to be taken */
};

_Static_assert(sizeof(struct slot) <= sizeof((leat_case *)0)->leat_private, "fits the public struct");

struct selection {
    struct lt_wait wait;
    struct lt_claim claim;
    leat_case *cases;
    uint32_t n;
    bool ordered;
};

static struct slot *slot_of(leat_case *c)
{
    return (struct slot *)(void *)c->leat_private;
}

static enum lt_side side_of(const leat_case *c)
{
    return c->op == LEAT_CASE_RECV ? LT_RECEIVE : LT_SEND;
}

/* ---- all locks ---- */

/* Cases on one channel are neighbours in the order; the first of them stands for the lock. */
static leat_chan *lock_of_turn(struct selection *s, uint32_t turn)
{
    return s->cases[slot_of(&s->cases[turn])->turn].ch;
}

static bool before(struct selection *s, uint32_t a, uint32_t b)
{
    return (uintptr_t)s->cases[a].ch < (uintptr_t)s->cases[b].ch;
}

static void sift(struct selection *s, uint32_t root, uint32_t end)
{
    for (uint32_t child; (child = 2 * root + 1) < end; root = child) {
        uint32_t *parent = &slot_of(&s->cases[root])->turn;
        uint32_t *larger = &slot_of(&s->cases[child])->turn;
        if (child + 1 < end) {
            uint32_t *right = &slot_of(&s->cases[child + 1])->turn;
            if (before(s, *larger, *right))
                larger = right, child++;
        }
        if (!before(s, *parent, *larger))
            return;
        uint32_t swapped = *parent;
        *parent = *larger;
        *larger = swapped;
    }
}

/* Heapsort: in place, and n log n whatever comes. */
static void order_locks(struct selection *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        slot_of(&s->cases[i])->turn = i;
    for (uint32_t i = s->n / 2; i-- > 0;)
        sift(s, i, s->n);
    for (uint32_t end = s->n; end-- > 1;) {
        uint32_t *first = &slot_of(&s->cases[0])->turn, *last = &slot_of(&s->cases[end])->turn;
        uint32_t swapped = *first;
        *first = *last;
        *last = swapped;
        sift(s, 0, end);
    }
}

static void lock_all(struct selection *s)
{
    leat_chan *held = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        leat_chan *ch = lock_of_turn(s, i);
        if (ch != held)
            lt_lock(&(held = ch)->lock);
    }
}

static void unlock_all(struct selection *s)
{
    leat_chan *released = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        leat_chan *ch = lock_of_turn(s, i);
        if (ch != released)
            lt_unlock(&(released = ch)->lock);
    }
}

/* ---- choosing ---- */

/* The index of a case that looks ready, or n: the first, or each as likely as the others. */
static uint32_t choose(struct selection *s)
{
    uint32_t chosen = s->n, ready = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        leat_case *c = &s->cases[i];
        if (!c->ch || !lt_chan_looks_ready(c->ch, side_of(c)))
            continue;
        ready++;
        if (ready == 1 || (!s->ordered && lt_rng_below(lt_chance(), ready) == 0))
            chosen = i;
        if (s->ordered)
            break;
    }
    return chosen;
}

/* Under the lock of the case's channel. */
static bool do_case(struct selection *s, uint32_t i, struct lt_party **woken)
{
    leat_case *c = &s->cases[i];
    int status = lt_chan_now(c->ch, side_of(c), c->item, woken);
    if (status == -EAGAIN)
        return false;
    c->status = status;
    return true;
}

/* A try without all the locks: enough, mostly, when something is ready. */
static uint32_t try_likely(struct selection *s, struct lt_party **woken)
{
    uint32_t i = choose(s);
    if (i == s->n)
        return i;
    leat_chan *ch = s->cases[i].ch;
    lt_lock(&ch->lock);
    bool done = do_case(s, i, woken);
    lt_unlock(&ch->lock);
    return done ? i : s->n;
}

/* Under all locks. A queue may hold nothing but remains of claimed selects and so only look as if
 * somebody waited; trying clears them away, and the case is looked at again. */
static uint32_t try_certain(struct selection *s, struct lt_party **woken)
{
    uint32_t i;
    while ((i = choose(s)) < s->n && !do_case(s, i, woken))
        ;
    return i;
}

/* ---- waiting ---- */

static bool win(struct lt_claim *claim)
{
    bool taken = false;
    return atomic_compare_exchange_strong_explicit(&claim->taken, &taken, true,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

static bool withdraw(struct lt_wait *wait)
{
    return win(&LT_CONTAINER(wait, struct selection, wait)->claim);
}

static void enqueue_all(struct selection *s, struct lt_party *self)
{
    s->claim.winner = NULL;
    atomic_store_explicit(&s->claim.taken, false, memory_order_relaxed);
    lt_wait_begin(&s->wait, self, withdraw);
    for (uint32_t i = 0; i < s->n; i++) {
        leat_case *c = &s->cases[i];
        struct lt_waiter *waiter = &slot_of(c)->waiter;
        waiter->node.next = NULL;
        waiter->party = self;
        waiter->item = c->item;
        waiter->claim = &s->claim;
        if (c->ch)
            lt_chan_enqueue(c->ch, side_of(c), waiter);
    }
}

static void dequeue_all(struct selection *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        leat_case *c = &s->cases[i];
        if (!c->ch)
            continue;
        lt_lock(&c->ch->lock);
        lt_chan_dequeue(c->ch, side_of(c), &slot_of(c)->waiter);
        lt_unlock(&c->ch->lock);
    }
}

static int wait_for_any(struct selection *s, int64_t deadline)
{
    int error = lt_wait_park(&s->wait, deadline);
    dequeue_all(s);
    if (error)
        return error;
    struct slot *winner = LT_CONTAINER(s->claim.winner, struct slot, waiter);
    leat_case *c = (leat_case *)(void *)((char *)winner - offsetof(leat_case, leat_private));
    c->status = winner->waiter.status;
    return (int)(c - s->cases);
}

/* ---- the call ---- */

static int check(leat_case *cases, size_t n, int64_t deadline, bool *any)
{
    if ((!cases && n) || n > INT_MAX || deadline < 0)
        return -EINVAL;
    for (size_t i = 0; i < n; i++) {
        leat_case *c = &cases[i];
        c->status = 0;
        if (c->op != LEAT_CASE_RECV && c->op != LEAT_CASE_SEND)
            return -EINVAL;
        if (c->ch && lt_chan_check(c->ch, side_of(c), c->item) != 0)
            return -EINVAL;
        *any |= c->ch != NULL;
    }
    return 0;
}

static int finish(struct lt_party *self, struct lt_party *woken, int result)
{
    if (woken)
        lt_ready(woken);
    lt_task_spend(self);
    return result;
}

static int select_any(leat_case *cases, size_t n, int64_t deadline, bool ordered)
{
    bool any = false;
    int error = check(cases, n, deadline, &any);
    if (error)
        return error;
    struct lt_party *self = lt_self(), *woken = NULL;
    if (!any && deadline == LEAT_NEVER && !self->scope)
        return -EDEADLK;
    struct selection s = {.cases = cases, .n = (uint32_t)n, .ordered = ordered};
    do {
        error = lt_wait_allowed(self);
        if (error)
            return error;
        uint32_t i = try_likely(&s, &woken);
        if (i < s.n)
            return finish(self, woken, (int)i);
    } while (deadline != LEAT_NOW && lt_wait_enlist(self));
    order_locks(&s);
    lock_all(&s);
    uint32_t i = try_certain(&s, &woken);
    bool wait = i == s.n && deadline != LEAT_NOW;
    if (wait)
        enqueue_all(&s, self);
    unlock_all(&s);
    if (wait)
        return wait_for_any(&s, deadline);
    return finish(self, woken, i < s.n ? (int)i : -EAGAIN);
}

int leat_select(leat_case *cases, size_t n, int64_t deadline)
{
    return select_any(cases, n, deadline, false);
}

int leat_select_ordered(leat_case *cases, size_t n, int64_t deadline)
{
    return select_any(cases, n, deadline, true);
}
