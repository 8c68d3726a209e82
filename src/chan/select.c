/* select.c: one of several operations.
 *
 * A select first looks without locks, and tries a case that looks ready. If that fails, it locks
 * all channels, in the order of their addresses: now it is certain whether any case can be done. If
 * none can, the select queues a waiter for each case before it unlocks, so no later change escapes
 * it. All waiters share one claim. A partner wins it under its channel's lock, or the party's home
 * wins it, and that ends the wait. The party then takes the other waiters out. Once it has held
 * each channel's lock, no other party touches them any more. */
#include "chan/select.h"

#include "base/rng.h"
#include "chan/now.h"

#include <limits.h>

/* The contents of a case's private words. */
struct slot {
    struct lt_far_waiter far;
    leat_chan *sorted; /* of the k-th of many cases: the channel whose lock is taken as the k-th */
    uint32_t n;        /* in the first case: the number of cases */
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

static leat_chan **sorted_at(struct lt_selection *s, uint32_t k)
{
    return (leat_chan **)(void *)(s->sorted + (size_t)k * s->stride);
}

static void swap(leat_chan **a, leat_chan **b)
{
    leat_chan *swapped = *a;
    *a = *b;
    *b = swapped;
}

static bool before(const leat_chan *a, const leat_chan *b)
{
    return (uintptr_t)a < (uintptr_t)b;
}

static void sift(struct lt_selection *s, uint32_t root, uint32_t end)
{
    for (uint32_t child; (child = 2 * root + 1) < end; root = child) {
        if (child + 1 < end && before(*sorted_at(s, child), *sorted_at(s, child + 1)))
            child++;
        if (!before(*sorted_at(s, root), *sorted_at(s, child)))
            return;
        swap(sorted_at(s, root), sorted_at(s, child));
    }
}

/* Heapsort: in place, and n log n in the worst case. */
static void sort_many(struct lt_selection *s)
{
    for (uint32_t i = s->n / 2; i-- > 0;)
        sift(s, i, s->n);
    for (uint32_t end = s->n; end-- > 1;) {
        swap(sorted_at(s, 0), sorted_at(s, end));
        sift(s, 0, end);
    }
}

static void sort_few(struct lt_selection *s)
{
    leat_chan **few = s->few;
    const leat_case *c = s->cases;
    for (uint32_t i = 0, n = s->n; i < n; i++, c++) {
        leat_chan **at = few + i;
        for (; at > few && before(c->ch, at[-1]); at--)
            at[0] = at[-1];
        at[0] = c->ch;
    }
}

static void order_locks(struct lt_selection *s)
{
    if (s->n <= LT_SELECT_FEW) {
        s->sorted = (char *)s->few;
        s->stride = sizeof s->few[0];
        sort_few(s);
        return;
    }
    s->sorted = (char *)&slot_of(s->cases)->sorted;
    s->stride = sizeof(leat_case);
    for (uint32_t i = 0; i < s->n; i++)
        *sorted_at(s, i) = s->cases[i].ch;
    sort_many(s);
}

/* In this order cases on one channel are neighbours, and those without a channel come first. */
static void lock_all(const struct lt_selection *s)
{
    leat_chan *held = NULL;
    struct lt_worker *here = lt_current_worker();
    const char *at = s->sorted;
    for (uint32_t left = s->n; left > 0; left--, at += s->stride) {
        leat_chan *ch = *(leat_chan *const *)(const void *)at;
        if (ch != held)
            lt_chan_lock_from(held = ch, here);
    }
}

/* After the last unlock the cases may be gone: by then a block may be claimed, and even ended. */
static void unlock_all(const struct lt_selection *s)
{
    leat_chan *held = NULL;
    const char *at = s->sorted;
    for (uint32_t left = s->n; left > 0; left--, at += s->stride) {
        leat_chan *ch = *(leat_chan *const *)(const void *)at;
        if (held && ch != held)
            lt_chan_unlock(held);
        held = ch;
    }
    if (held)
        lt_chan_unlock(held);
}

/* ---- choosing ---- */

/* The index of a case that looks ready, or n. In an ordered select it is the first such case,
 * otherwise any of them, with equal chance. */
static uint32_t choose(struct lt_selection *s)
{
    uint32_t n = s->n, chosen = n, ready = 0;
    leat_case *c = s->cases;
    for (uint32_t i = 0; i < n; i++, c++) {
        leat_chan *ch = c->ch;
        if (!ch || LT_LIKELY(!lt_chan_looks_ready(ch, side_of(c))))
            continue;
        if (s->ordered)
            return i;
        if (++ready == 1 || lt_rng_below(lt_chance(), ready) == 0)
            chosen = i;
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

/* Takes only the lock of the case's channel. */
static bool do_case_alone(struct lt_selection *s, uint32_t i, struct lt_party **woken)
{
    leat_case *c = &s->cases[i];
    *woken = NULL;
    if (lt_chan_done_split(c->ch, side_of(c), c->item))
        return true;
    lt_chan_lock(c->ch);
    bool done = do_case(s, i, woken);
    lt_chan_unlock(c->ch);
    return done;
}

uint32_t lt_select_try(struct lt_selection *s, struct lt_party **woken)
{
    uint32_t i = s->ready ? choose(s) : s->n;
    return i < s->n && do_case_alone(s, i, woken) ? i : s->n;
}

/* No user's function runs under a lock. */
static bool may_drop(const struct lt_selection *s, uint32_t i)
{
    const leat_case *c = &s->cases[i];
    return side_of(c) == LT_SEND && c->ch->special && lt_chan_drop(c->ch);
}

/* Under all locks. A queue that holds only remains of claimed selects looks as if a party waited in
 * it. Trying the case removes the remains, and the choice is made again. A case that may drop an
 * item is only chosen here. */
static uint32_t try_certain(struct lt_selection *s, struct lt_party **woken)
{
    uint32_t i;
    do
        i = choose(s);
    while (i < s->n && !may_drop(s, i) && !do_case(s, i, woken));
    return i;
}

/* ---- waiting ---- */

static void enqueue_all(struct lt_selection *s, struct lt_party *self)
{
    if (s->beginning)
        s->beginning->begin(s->beginning);
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

uint32_t lt_select_recall(leat_case *cases)
{
    return slot_of(cases)->n;
}

uint32_t lt_select_take_out(leat_case *cases, uint32_t n)
{
    uint32_t winner = n;
    for (uint32_t i = 0; i < n; i++) {
        leat_case *c = &cases[i];
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

int lt_select_failed(leat_case *cases, uint32_t i, const struct lt_party *self)
{
    int status = cases[i].status;
    if ((status != -EPIPE && status != -ECANCELED) || lt_wait_closed(self) == -EPIPE)
        return (int)i;
    cases[i].status = 0;
    return -ECANCELED;
}

static bool is_wrong(const leat_case *c)
{
    if (LT_UNLIKELY(c->op != LEAT_CASE_RECV && c->op != LEAT_CASE_SEND))
        return true;
    return c->ch && lt_chan_check(c->ch, side_of(c), c->item) != 0;
}

int lt_select_check(struct lt_selection *s, size_t n, int64_t deadline)
{
    if ((!s->cases && n) || n > INT_MAX || deadline < 0)
        return -EINVAL;
    s->n = (uint32_t)n;
    s->ended = false;
    bool any = false, ready = false;
    for (leat_case *c = s->cases, *end = c + n; c < end; c++) {
        c->status = 0;
        if (is_wrong(c))
            return -EINVAL;
        if (!c->ch)
            continue;
        any = true;
        ready |= lt_chan_looks_ready(c->ch, side_of(c));
    }
    s->any = any;
    s->ready = ready;
    return 0;
}

/* Whether it is certain, without any lock, that at one moment no case could be done: none looked
 * ready, and this worker owns the locks of all channels. */
static bool none_is_ready(const struct lt_selection *s)
{
    if (s->ready)
        return false;
    for (const leat_case *c = s->cases, *end = c + s->n; c < end; c++)
        if (c->ch && !lt_biased_is_mine(&c->ch->lock, lt_current_worker()))
            return false;
    return true;
}

uint32_t lt_select_enter(struct lt_selection *s, struct lt_party *waits, struct lt_party **woken)
{
    uint32_t n = s->n;
    struct lt_worker *inside =
        waits && s->beginning && s->beginning->inside ? lt_current_worker() : NULL;
    order_locks(s);
    for (;;) {
        if (inside)
            lt_worker_go_in(inside);
        lock_all(s);
        uint32_t i = try_certain(s, woken);
        bool alone = i < n && may_drop(s, i);
        if (i == n && waits)
            enqueue_all(s, waits);
        unlock_all(s);
        if (inside)
            lt_worker_go_out(inside);
        if (!alone || do_case_alone(s, i, woken))
            return i;
    }
}

/* ---- the call, for tasks and threads ---- */

struct selecting {
    struct lt_wait wait;
    const struct lt_selection *selection;
};

static bool withdraw(struct lt_wait *wait)
{
    return lt_claim(wait->party);
}

static void describe(const struct lt_wait *wait, struct lt_listener *listener)
{
    const struct lt_selection *s = LT_CONTAINER(wait, struct selecting, wait)->selection;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->cases[i].ch)
            listener->hear(listener, s->cases[i].op == LEAT_CASE_RECV ? LT_TO_RECEIVE : LT_TO_SEND,
                           s->cases[i].ch);
}

static const struct lt_wait_kind selects = { .withdraw = withdraw, .describe = describe };

static int finish(struct lt_party *woken, int result, int64_t deadline)
{
    lt_ready_all(woken);
    lt_task_spend(lt_current_worker(), deadline);
    return result;
}

static int select_any(leat_case *cases, size_t n, int64_t deadline, bool ordered)
{
    struct lt_selection s;
    lt_select_begin(&s, cases, ordered);
    int error = lt_select_check(&s, n, deadline);
    if (error)
        return error;
    struct lt_party *self = lt_current_party(), *woken = NULL;
    if (!s.any && deadline == LEAT_NEVER && !self->scope)
        return -EDEADLK;
    error = lt_wait_allowed(self);
    if (error)
        return error;
    uint32_t i = lt_select_try(&s, &woken);
    if (i < s.n)
        return finish(woken, lt_select_outcome(cases, i, self), deadline);
    struct selecting selecting;
    bool waits = deadline != LEAT_NOW;
    if (!waits && none_is_ready(&s))
        return finish(NULL, -EAGAIN, deadline);
    if (waits) {
        error = lt_wait_prepare(self);
        if (error)
            return error;
        selecting.selection = &s;
        lt_wait_begin(&selecting.wait, self, &selects);
    }
    i = lt_select_enter(&s, waits ? self : NULL, &woken);
    if (i < s.n)
        return finish(woken, lt_select_outcome(cases, i, self), deadline);
    if (!waits)
        return finish(NULL, -EAGAIN, deadline);
    error = lt_wait_park(&selecting.wait, deadline);
    i = lt_select_take_out(cases, s.n);
    return error ? error : lt_select_outcome(cases, i, self);
}

int leat_select(leat_case *cases, size_t n, int64_t deadline)
{
    return select_any(cases, n, deadline, false);
}

int leat_select_ordered(leat_case *cases, size_t n, int64_t deadline)
{
    return select_any(cases, n, deadline, true);
}
