/* batch_callers.h: the callers in test_batch_model.c and test_batch_threads.c: each kind of party
 * acts at random until it has made all its runs. */
#pragma once

#include "batch_function.h"

static int64_t some_deadline(struct caller *c)
{
    if (c->round->patient)
        return LEAT_NEVER;
    switch (below(&c->chance, 6)) {
    case 0: return LEAT_NOW;
    case 1: return 1; /* long ago */
    case 2:
    case 3: return leat_after((int64_t)below(&c->chance, 60) * LEAT_US);
    default: return LEAT_NEVER;
    }
}

static void leave(struct caller *c)
{
    if (c->fickle)
        atomic_fetch_sub(&c->round->fickle, 1);
    CHECK_IS(0, leat_chan_done(c->round->left));
}

static void nap_a_little(struct caller *c)
{
    if (below(&c->chance, 2))
        leat_sleep((int64_t)below(&c->chance, 100) * LEAT_US);
    else
        leat_yield();
}

/* ---- tasks and threads ---- */

static void call_for_one(struct caller *c, bool until)
{
    struct run *run = new_run(c, some_batcher(c->round, &c->chance), 1);
    if (!run)
        return;
    unsigned char item[LARGEST_ITEM], result[LARGEST_RESULT];
    memset(result, UNTOUCHED, sizeof result);
    pack(run, item);
    bool wanted = below(&c->chance, 8);
    int64_t deadline = until ? some_deadline(c) : LEAT_NEVER;
    leat_batcher *b = run->batcher->batcher;
    run->single = true;
    run->doomed = is_cancelled(c);
    note_call(run, true);
    note_deadline(run, deadline);
    int status = until ? leat_batch_until(b, item, wanted ? result : NULL, deadline)
                       : leat_batch(b, item, wanted ? result : NULL);
    memset(item, 0, sizeof item);
    check_returned(c, run, status, NULL, wanted ? result : NULL, deadline);
}

static void call_for_many(struct caller *c)
{
    struct run *run =
        new_run(c, some_batcher(c->round, &c->chance), 1 + below(&c->chance, LONGEST));
    if (!run)
        return;
    unsigned char items[LONGEST * LARGEST_ITEM], results[LONGEST * LARGEST_RESULT];
    int statuses[LONGEST];
    memset(results, UNTOUCHED, sizeof results);
    memset(statuses, UNTOUCHED, sizeof statuses);
    pack(run, items);
    int *each_status = below(&c->chance, 4) ? statuses : NULL;
    int64_t deadline = some_deadline(c);
    run->doomed = is_cancelled(c);
    note_call(run, true);
    note_deadline(run, deadline);
    int status =
        leat_batch_many(run->batcher->batcher, items, run->n, results, each_status, deadline);
    memset(items, 0, sizeof items);
    check_returned(c, run, status, each_status, results, deadline);
}

/* Puts a run. False: the call has failed, and its error was checked. */
static bool put(struct caller *c, struct run *run, leat_ticket *ticket)
{
    unsigned char items[LONGEST * LARGEST_ITEM];
    pack(run, items);
    run->doomed = is_cancelled(c);
    note_call(run, false);
    int error = leat_batch_put(run->batcher->batcher, items, run->n, ticket);
    memset(items, 0, sizeof items);
    if (error == -ECANCELED) { /* the call never waits, so nothing was put */
        CHECK(is_cancelled(c));
        refuse(run);
    } else if (error) {
        CHECK_IS(-EPIPE, error);
        check_returned(c, run, error, NULL, NULL, LEAT_NEVER);
    } else {
        CHECK(!run->closed_before && !run->doomed);
        run->surely_put = true;
        run->fate = PUT;
    }
    return !error;
}

static void put_one(struct caller *c)
{
    for (unsigned i = 0; i < HELD; i++) {
        struct held *held = &c->held[i];
        if (held->run)
            continue;
        struct run *run =
            new_run(c, some_batcher(c->round, &c->chance), 1 + below(&c->chance, LONGEST));
        if (run && put(c, run, &held->ticket))
            held->run = run;
        return;
    }
}

static void check_spent(leat_ticket *ticket)
{
    CHECK_IS(-EINVAL, leat_batch_get(ticket, NULL, NULL, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_batch_forget(ticket));
}

/* True: the ticket is spent. */
static bool get(struct caller *c, struct run *run, leat_ticket *ticket, int64_t deadline)
{
    unsigned char results[LONGEST * LARGEST_RESULT];
    int statuses[LONGEST];
    memset(results, UNTOUCHED, sizeof results);
    memset(statuses, UNTOUCHED, sizeof statuses);
    int *each_status = below(&c->chance, 4) ? statuses : NULL;
    atomic_store_explicit(&run->awaited_since, leat_now(), memory_order_relaxed);
    run->doomed = c->kind < A_BLOCK && is_cancelled(c); /* a block gets what exists even then */
    note_deadline(run, deadline);
    int status = leat_batch_get(ticket, results, each_status, deadline);
    check_returned(c, run, status, each_status, results, deadline);
    if (status != -EAGAIN)
        check_spent(ticket);
    return status != -EAGAIN;
}

static void forget(struct run *run, leat_ticket *ticket)
{
    CHECK_IS(0, leat_batch_forget(ticket));
    leave_run(run);
    check_spent(ticket);
}

static void get_one(struct caller *c, int64_t deadline)
{
    struct held *held = &c->held[below(&c->chance, HELD)];
    if (held->run && get(c, held->run, &held->ticket, deadline))
        held->run = NULL;
}

static void settle(struct caller *c)
{
    for (unsigned i = 0; i < HELD; i++) {
        struct held *held = &c->held[i];
        if (!held->run)
            continue;
        if (c->round->patient || below(&c->chance, 2))
            CHECK(get(c, held->run, &held->ticket, LEAT_NEVER));
        else
            forget(held->run, &held->ticket);
        held->run = NULL;
    }
}

/* Holds the lock that the batcher shares with others. */
static void hold_lock(struct caller *c)
{
    struct batcher *b = some_batcher(c->round, &c->chance);
    struct group *group = b->group;
    if (!b->spec.lock)
        return;
    int64_t deadline = some_deadline(c);
    int error = leat_mutex_lock_until(group->lock, deadline);
    if (error) {
        CHECK((error == -EAGAIN && deadline == LEAT_NOW) ||
              (error == -ETIMEDOUT && leat_now() >= deadline) ||
              (error == -ECANCELED && is_cancelled(c)));
        return;
    }
    CHECK(!group->inside);
    group->inside = true;
    nap_a_little(c);
    call_from_within(b, &c->chance);
    CHECK(group->inside);
    group->inside = false;
    group->left_at = leat_now();
    CHECK_IS(0, leat_mutex_unlock(group->lock));
}

/* Calls with wrong arguments. */
static void call_wrongly(struct caller *c)
{
    struct batcher *b = some_batcher(c->round, &c->chance);
    unsigned char items[2 * LONGEST * LARGEST_ITEM];
    leat_ticket ticket;
    struct run *one = new_run(c, b, 1), *other = new_run(c, b, 1);
    if (!one || !other)
        return;
    pack(one, items);
    pack(other, items + b->spec.item_size);
    note_call(one, false);
    note_call(other, false);
    unsigned n = b->spec.most == 1 || one->key != other->key ? 2 : 0;
    bool puts = below(&c->chance, 2);
    int error = puts ? leat_batch_put(b->batcher, items, n, &ticket)
                     : leat_batch_many(b->batcher, items, n, NULL, NULL, LEAT_NEVER);
    refused(b, is_cancelled(c), puts || n ? -EINVAL : 0, error);
    error = puts ? leat_batch_until(b->batcher, items, NULL, -1)
                 : leat_batch_many(b->batcher, NULL, 1, NULL, NULL, LEAT_NEVER);
    refused(b, is_cancelled(c), -EINVAL, error);
    refuse(one);
    refuse(other);
}

static void step(struct caller *c);

static int cancel_it(void *arg)
{
    return leat_scope_cancel(arg);
}

/* Calls within a scope that may end at any moment. */
static void open_inside(struct caller *c)
{
    if (c->round->patient || c->depth == 2)
        return;
    leat_scope *s = leat_scope_open(
        below(&c->chance, 2) ? leat_after((int64_t)below(&c->chance, 60) * LEAT_US) : LEAT_NEVER);
    CHECK(s);
    c->depth++;
    if (below(&c->chance, 2))
        CHECK_IS(0, leat_go(s, cancel_it, s));
    for (unsigned i = below(&c->chance, 4); i > 0; i--)
        step(c);
    if (below(&c->chance, 4) == 0)
        CHECK_IS(0, leat_scope_cancel(s));
    step(c);
    c->depth--;
    int why = leat_scope_close(s);
    CHECK(why == 0 || why == -ETIMEDOUT || why == -ECANCELED);
}

static void step(struct caller *c)
{
    switch (below(&c->chance, 16)) {
    case 0:
    case 1:
    case 2: call_for_one(c, false); break;
    case 3:
    case 4:
    case 5: call_for_one(c, true); break;
    case 6:
    case 7: call_for_many(c); break;
    case 8:
    case 9: put_one(c); break;
    case 10: get_one(c, LEAT_NEVER); break;
    case 11: get_one(c, some_deadline(c)); break;
    case 12: nap_a_little(c); break;
    case 13: open_inside(c); break;
    case 14: hold_lock(c); break;
    default:
        if (below(&c->chance, 4) == 0)
            call_wrongly(c);
    }
}

static int straight(void *arg)
{
    struct caller *c = arg;
    while (c->made < c->limit)
        step(c);
    settle(c);
    leave(c);
    return 0;
}

/* A thread that leat did not start, with or without its own scope. */
static int stranger(void *arg)
{
    struct caller *c = arg;
    struct round *round = c->round;
    if (below(&c->chance, 2))
        return straight(c);
    leat_scope *own = leat_scope_open(round->deadline);
    CHECK(own);
    while (pthread_mutex_trylock(&round->lock) != 0)
        nap();
    c->own = own;
    if (atomic_load(&round->thrown))
        CHECK_IS(0, leat_scope_cancel(own));
    pthread_mutex_unlock(&round->lock);
    straight(c);
    while (pthread_mutex_trylock(&round->lock) != 0)
        nap();
    c->own = NULL;
    pthread_mutex_unlock(&round->lock);
    int why = leat_scope_close(own);
    CHECK(why == 0 || (why == -ETIMEDOUT && round->event == DEADLINE));
    return 0;
}

/* ---- blocks ---- */

static void prepare(struct caller *c)
{
    memset(c->result, UNTOUCHED, sizeof c->result);
    pack(c->run, c->item);
    c->run->single = true;
}

/* A block may also use the calls that never wait. */
static void put_and_look(struct caller *c)
{
    if (c->round->patient)
        return;
    struct run *run = new_run(c, some_batcher(c->round, &c->chance), 2);
    leat_ticket ticket;
    if (!put(c, run, &ticket) || get(c, run, &ticket, LEAT_NOW))
        return;
    /* -EAGAIN did not spend the ticket, and another caller may have served it since. */
    if (below(&c->chance, 2) == 0 && get(c, run, &ticket, LEAT_NOW))
        return;
    forget(run, &ticket);
}

/* A block can neither lead nor wait in these calls. */
static void call_as_a_task_does(struct caller *c)
{
    struct run *run = new_run(c, some_batcher(c->round, &c->chance), 1);
    c->run = run;
    prepare(c);
    note_call(run, false);
    refused(run->batcher, is_cancelled(c), -EDEADLK,
            leat_batch(run->batcher->batcher, c->item, c->result));
    refuse(run);
}

static int block_step(leat_block *b)
{
    struct caller *c = (struct caller *)((char *)b - offsetof(struct caller, block));
    LEAT_BEGIN(b);
    while (c->made < c->limit) {
        switch (below(&c->chance, 10)) {
        case 0: LEAT_AWAIT_SLEEP(b, (int64_t)below(&c->chance, 100) * LEAT_US, &c->alarm); break;
        case 1: LEAT_AWAIT_YIELD(b); break;
        case 2: put_and_look(c); break;
        case 3: call_as_a_task_does(c); break;
        default:
            c->run = new_run(c, some_batcher(c->round, &c->chance), 1);
            prepare(c);
            c->run->doomed = is_cancelled(c);
            note_call(c->run, true);
            LEAT_AWAIT_BATCH(b, &c->ticket, c->run->batcher->batcher, c->item, c->result);
            check_returned(c, c->run, b->status, NULL, c->result, LEAT_NEVER);
        }
    }
    leave(c);
    LEAT_END(b);
}

/* ---- callbacks ---- */

/* c->turn is 4 times the operation's number, plus its state: */
enum { STARTING, UNDER_WAY, BEING_WITHDRAWN, CALLED };

static void drive(struct caller *c);

static void go_on(struct caller *c)
{
    check_returned(c, c->run, c->status, NULL, c->result, LEAT_NEVER);
    drive(c);
}

/* If a withdrawal is under way, the withdrawing party continues. */
static void called(leat_batch_op *op, int status)
{
    struct caller *c = (struct caller *)((char *)op - offsetof(struct caller, op));
    c->status = status;
    uint64_t before = atomic_fetch_or(&c->turn, CALLED);
    CHECK(before % 4 != CALLED);
    if (before % 4 != BEING_WITHDRAWN)
        go_on(c);
}

static void drive(struct caller *c)
{
    while (c->made < c->limit) {
        struct run *run = c->run = new_run(c, some_batcher(c->round, &c->chance), 1);
        prepare(c);
        c->op = (leat_batch_op)LEAT_BATCH_OP(c->round->callers_scope,
                                             below(&c->chance, 3) ? 0 : LEAT_ON_WORKER);
        uint64_t turn = (atomic_load(&c->turn) / 4 + 1) * 4;
        atomic_store(&c->turn, turn);
        note_call(run, true);
        int error = leat_batch_then(&c->op, run->batcher->batcher, c->item, c->result, called);
        if (!error) {
            atomic_compare_exchange_strong(&c->turn, &turn, turn + UNDER_WAY);
            return;
        }
        CHECK(error == -EPIPE || error == -ECANCELED);
        check_returned(c, run, error, NULL, c->result, LEAT_NEVER);
    }
    leave(c);
}

static void withdraw(struct caller *c)
{
    uint64_t turn = atomic_load(&c->turn);
    if (turn % 4 != UNDER_WAY ||
        !atomic_compare_exchange_strong(&c->turn, &turn, turn - UNDER_WAY + BEING_WITHDRAWN))
        return;
    turn += BEING_WITHDRAWN - UNDER_WAY;
    int error = leat_withdraw(&c->op.op);
    CHECK(error == 0 || error == -EALREADY);
    if (error == 0) {
        happened(WITHDRAWN);
        CHECK(atomic_load(&c->turn) == turn);
        leave_run(c->run);
        check_untouched(c->result, sizeof c->result);
        drive(c);
    } else if (!atomic_compare_exchange_strong(&c->turn, &turn,
                                               turn - BEING_WITHDRAWN + UNDER_WAY)) {
        go_on(c);
    }
}

static int withdraw_some(void *arg)
{
    struct round *round = arg;
    while (atomic_load(&round->fickle)) {
        for (unsigned i = 0; i < round->callers_used; i++)
            if (round->callers[i].fickle)
                withdraw(&round->callers[i]);
        if (leat_sleep(20 * LEAT_US))
            leat_yield();
    }
    return 0;
}
