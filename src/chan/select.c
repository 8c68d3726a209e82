/* select.c: one of several operations.
 *
 * First a look without locks, and a try at a case that looks ready. If that fails, all channels are
 * locked, by rising address: now it is certain whether any case can happen. If none can, a waiter for
 * each is queued before the locks are given back, so nothing that happens later is missed. All waiters
 * share one claim. Whoever wins it, a partner under its channel's lock or the party's own home, ends
 * the wait; the party then takes the other waiters out, and nobody touches them once it has held each
 * channel's lock. */
#include "chan/select.h"

#include "base/rng.h"
#include "chan/now.h"
#include "chan/special.h"

#include <limits.h>

/* What a case's private words hold. */
struct slot {
    struct lt_far_waiter far;
    uint32_t turn; /* in the k-th case: the index of the case whose lock is the k-th to be taken */
    uint32_t n;    /* in the first case: how many there are */
};

_Static_assert(sizeof(struct slot) <= sizeof((leat_case *)0)->leat_private,
               "fits the public struct");

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
static leat_chan *lock_of_turn(struct lt_selection *s, uint32_t turn)
{
    return s->cases[slot_of(&s->cases[turn])->turn].ch;
}

static bool before(struct lt_selection *s, uint32_t a, uint32_t b)
{
    return (uintptr_t)s->cases[a].ch < (uintptr_t)s->cases[b].ch;
}

static void sift(struct lt_selection *s, uint32_t root, uint32_t end)
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
static void order_locks(struct lt_selection *s)
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

static void lock_all(struct lt_selection *s)
{
    leat_chan *held = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        leat_chan *ch = lock_of_turn(s, i);
        if (ch != held)
            lt_chan_lock(held = ch);
    }
}

/* With the last lock the cases may be gone: a block's can be claimed, resumed and done with by then. */
static void unlock_all(struct lt_selection *s)
{
    leat_chan *next = s->n ? lock_of_turn(s, 0) : NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        leat_chan *ch = next;
        next = i + 1 < s->n ? lock_of_turn(s, i + 1) : NULL;
        if (ch && ch != next)
            lt_chan_unlock(ch);
    }
}

/* ---- choosing ---- */

/* The index of a case that looks ready, or n: the first, or each as likely as the others. With the locks
 * held, special channels are asked; without, they are worth a try. */
static uint32_t choose(struct lt_selection *s, bool locked)
{
    uint32_t chosen = s->n, ready = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        leat_case *c = &s->cases[i];
        if (!c->ch || !(locked && c->ch->special ? lt_special_ready(c->ch, side_of(c))
                                                 : lt_chan_looks_ready(c->ch, side_of(c))))
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
static bool do_case(struct lt_selection *s, uint32_t i, struct lt_party **woken)
{
    leat_case *c = &s->cases[i];
    int status = lt_chan_now(c->ch, side_of(c), c->item, woken);
    if (status == LT_NOT_NOW)
        return false;
    c->status = status;
    return true;
}

/* Takes the one lock. */
static bool do_case_alone(struct lt_selection *s, uint32_t i, struct lt_party **woken)
{
    leat_chan *ch = s->cases[i].ch;
    lt_chan_lock(ch);
    bool done = do_case(s, i, woken);
    lt_chan_unlock(ch);
    return done;
}

uint32_t lt_select_try(struct lt_selection *s, struct lt_party **woken)
{
    uint32_t i = choose(s, false);
    return i < s->n && do_case_alone(s, i, woken) ? i : s->n;
}

/* Under all locks. A queue may hold nothing but remains of claimed selects and so only look as if
 * somebody waited; trying clears them away, and the case is looked at again. A case on a special channel
 * is only chosen: it may run a user's function, and so cannot be done here. */
static uint32_t try_certain(struct lt_selection *s, struct lt_party **woken)
{
    uint32_t i;
    do
        i = choose(s, true);
    while (i < s->n && !s->cases[i].ch->special && !do_case(s, i, woken));
    return i;
}

/* ---- waiting ---- */

static void enqueue_all(struct lt_selection *s, struct lt_party *self)
{
    lt_claim_open(self);
    s->ended = lt_claim_recheck(self, s->scope);
    for (uint32_t i = 0; i < s->n; i++) {
        leat_case *c = &s->cases[i];
        struct lt_waiter *waiter = &slot_of(c)->far.waiter;
        slot_of(c)->far.party = self;
        waiter->node.next = NULL;
        waiter->item = c->item;
        waiter->status = LT_UNDECIDED;
        waiter->shared = true;
        waiter->embedded = false;
        if (c->ch && !s->ended)
            lt_chan_enqueue(c->ch, side_of(c), waiter);
    }
}

void lt_select_remember(const struct lt_selection *s)
{
    slot_of(&s->cases[0])->n = s->n;
}

struct lt_selection lt_select_recall(leat_case *cases)
{
    return (struct lt_selection){ .cases = cases, .n = slot_of(cases)->n };
}

uint32_t lt_select_take_out(struct lt_selection *s)
{
    uint32_t winner = s->n;
    for (uint32_t i = 0; i < s->n; i++) {
        leat_case *c = &s->cases[i];
        if (!c->ch)
            continue;
        struct lt_waiter *waiter = &slot_of(c)->far.waiter;
        lt_chan_lock(c->ch);
        lt_chan_dequeue(c->ch, side_of(c), waiter);
        lt_chan_unlock(c->ch);
        if (waiter->status == LT_UNDECIDED)
            continue;
        c->status = waiter->status;
        winner = i;
    }
    return winner;
}

int lt_select_check(struct lt_selection *s, size_t n, int64_t deadline)
{
    if ((!s->cases && n) || n > INT_MAX || deadline < 0)
        return -EINVAL;
    s->n = (uint32_t)n;
    s->any = s->ended = false;
    for (size_t i = 0; i < n; i++) {
        leat_case *c = &s->cases[i];
        c->status = 0;
        if (c->op != LEAT_CASE_RECV && c->op != LEAT_CASE_SEND)
            return -EINVAL;
        if (c->ch && lt_chan_check(c->ch, side_of(c), c->item) != 0)
            return -EINVAL;
        s->any |= c->ch != NULL;
    }
    return 0;
}

uint32_t lt_select_enter(struct lt_selection *s, struct lt_party *waits, struct lt_party **woken)
{
    uint32_t n = s->n;
    order_locks(s);
    for (;;) {
        lock_all(s);
        uint32_t i = try_certain(s, woken);
        bool special = i < n && s->cases[i].ch->special;
        if (i == n && waits)
            enqueue_all(s, waits);
        unlock_all(s);
        if (!special || do_case_alone(s, i, woken))
            return i;
    }
}

/* ---- the call, for tasks and threads ---- */

static bool withdraw(struct lt_wait *wait)
{
    return lt_claim(wait->party);
}

static int finish(struct lt_party *self, struct lt_party *woken, int result)
{
    lt_ready_all(woken);
    lt_task_spend(lt_here.worker, self);
    return result;
}

static int select_any(leat_case *cases, size_t n, int64_t deadline, bool ordered)
{
    struct lt_selection s = { .cases = cases, .ordered = ordered };
    int error = lt_select_check(&s, n, deadline);
    if (error)
        return error;
    struct lt_party *self = lt_self(), *woken = NULL;
    if (!s.any && deadline == LEAT_NEVER && !self->scope)
        return -EDEADLK;
    error = lt_wait_allowed(self);
    if (error)
        return error;
    uint32_t i = lt_select_try(&s, &woken);
    if (i < s.n)
        return finish(self, woken, (int)i);
    struct lt_wait wait;
    bool waits = deadline != LEAT_NOW;
    if (waits) {
        error = lt_wait_prepare(self);
        if (error)
            return error;
        lt_wait_begin(&wait, self, withdraw);
    }
    i = lt_select_enter(&s, waits ? self : NULL, &woken);
    if (i < s.n)
        return finish(self, woken, (int)i);
    if (!waits)
        return finish(self, NULL, -EAGAIN);
    error = lt_wait_park(&wait, deadline);
    i = lt_select_take_out(&s);
    return error ? error : (int)i;
}

int leat_select(leat_case *cases, size_t n, int64_t deadline)
{
    return select_any(cases, n, deadline, false);
}

int leat_select_ordered(leat_case *cases, size_t n, int64_t deadline)
{
    return select_any(cases, n, deadline, true);
}
