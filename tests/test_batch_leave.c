/* test_batch_leave.c: callers that leave: the next leader, freed memory; leaders that linger; calls
 * after closing. */
#include "batchers.h"

/* ---- before the batch begins ---- */

struct passing {
    leat_scope *s, *inner;
    struct adder adder;
    struct caller first, leader, others[3];
};

/* Up to four items form a batch while another batch runs. Their leader is in the inner scope. */
static void form_after_a_slow_one(struct passing *p, int64_t deadline_of_leader)
{
    adder_begin(&p->adder, p->s, &p->first);
    p->inner = leat_scope_open(LEAT_NEVER);
    p->leader = caller_of(&p->adder, 1, deadline_of_leader);
    callers_go(p->inner, &p->leader, 1);
    WAIT_UNTIL(receivers_of(p->adder.batcher->spec.lock->turn) == 1 ||
               atomic_load(&p->leader.status) != 1);
    for (int i = 0; i < 3; i++)
        p->others[i] = caller_of(&p->adder, i + 2, LEAT_NEVER);
}

static void check_that_the_next_leads(struct passing *p)
{
    CHECK_IS(3, forming(p->adder.batcher));
    adder_let_go(&p->adder);
    adder_wait_for_entry(&p->adder);
    CHECK_IS(3, p->adder.n);
    CHECK_IS(2, p->adder.items[0]);
    adder_let_go(&p->adder);
    WAIT_UNTIL(leat_scope_tasks(p->s) == 0);
    for (int i = 0; i < 3; i++)
        caller_was_served(&p->others[i]);
    CHECK_IS(1, counts_of(p->adder.batcher).left);
    CHECK_IS(2, counts_of(p->adder.batcher).batches);
    CHECK_IS(-7, p->leader.result);
    CHECK_IS(0, batches_held(p->adder.batcher));
}

static int a_cancelled_leader_hands_over(void *arg)
{
    (void)arg;
    struct passing p = { .s = leat_scope_open(LEAT_NEVER) };
    form_after_a_slow_one(&p, LEAT_NEVER);
    callers_go(p.s, p.others, 3);
    CHECK_IS(0, leat_scope_cancel(p.inner));
    CHECK_IS(0, leat_scope_close(p.inner));
    CHECK_IS(-ECANCELED, p.leader.status);
    check_that_the_next_leads(&p);
    CHECK_IS(0, leat_scope_close(p.s));
    return 0;
}
ON_WORKERS(a_cancelled_leader_hands_over);

static int a_late_leader_hands_over(void *arg)
{
    (void)arg;
    struct passing p = { .s = leat_scope_open(LEAT_NEVER) };
    form_after_a_slow_one(&p, leat_after(20 * LEAT_MS));
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_go(p.s, call, &p.others[i]));
    CHECK_IS(0, leat_scope_close(p.inner));
    CHECK_IS(-ETIMEDOUT, p.leader.status);
    WAIT_UNTIL(forming(p.adder.batcher) == 3);
    adder_let_go(&p.adder);
    adder_wait_for_entry(&p.adder);
    CHECK_IS(3, p.adder.n);
    adder_let_go(&p.adder);
    WAIT_UNTIL(leat_scope_tasks(p.s) == 0);
    for (int i = 0; i < 3; i++)
        caller_was_served(&p.others[i]);
    CHECK_IS(1, counts_of(p.adder.batcher).left);
    CHECK_IS(0, leat_scope_close(p.s));
    return 0;
}
ON_WORKERS(a_late_leader_hands_over);

/* A follower leaves: its items go, and the others keep their order. */
static int a_follower_leaves_a_gap(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    int items[5] = { 1, 2, 3, 4, 5 }, y[2];
    leat_ticket tickets[3];
    CHECK_IS(0, leat_batch_put(a.batcher, items, 2, &tickets[0]));
    CHECK_IS(0, leat_batch_put(a.batcher, items + 2, 1, &tickets[1]));
    CHECK_IS(0, leat_batch_put(a.batcher, items + 3, 2, &tickets[2]));
    CHECK_IS(0, leat_batch_forget(&tickets[0]));
    CHECK_IS(0, leat_batch_get(&tickets[1], y, NULL, LEAT_NEVER));
    CHECK_IS(4, y[0]);
    CHECK_IS(3, a.n);
    CHECK_IS(0, leat_batch_get(&tickets[2], y, NULL, LEAT_NEVER));
    CHECK_IS(5, y[0]);
    CHECK_IS(6, y[1]);
    CHECK_IS(2, counts_of(a.batcher).left);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(a_follower_leaves_a_gap);

static int nothing_runs_when_all_have_left(void *arg)
{
    (void)arg;
    struct passing p = { .s = leat_scope_open(LEAT_NEVER) };
    form_after_a_slow_one(&p, LEAT_NEVER);
    callers_go(p.inner, p.others, 3);
    CHECK_IS(0, leat_scope_cancel(p.inner));
    CHECK_IS(0, leat_scope_close(p.inner));
    CHECK_IS(0, forming(p.adder.batcher));
    CHECK_IS(1, batches_held(p.adder.batcher)); /* the one that runs */
    adder_let_go(&p.adder);
    WAIT_UNTIL(leat_scope_tasks(p.s) == 0);
    CHECK_IS(1, counts_of(p.adder.batcher).batches);
    CHECK_IS(4, counts_of(p.adder.batcher).left);
    CHECK_IS(0, leat_mutex_try_lock(p.adder.batcher->spec.lock)); /* it is free */
    CHECK_IS(0, leat_mutex_unlock(p.adder.batcher->spec.lock));
    CHECK_IS(0, leat_scope_close(p.s));
    return 0;
}
ON_WORKERS(nothing_runs_when_all_have_left);

/* ---- while the batch runs ---- */

struct leaver {
    struct adder *adder;
    int64_t deadline;
    _Atomic int status;
};

/* Frees item and result as soon as the call returns. */
static int call_and_free(void *arg)
{
    struct leaver *l = arg;
    int *item = malloc(sizeof *item), *result = malloc(sizeof *result);
    CHECK(item && result);
    *item = 10;
    int status = leat_batch_until(l->adder->batcher, item, result, l->deadline);
    memset(item, 0xee, sizeof *item);
    memset(result, 0xee, sizeof *result);
    free(item);
    free(result);
    atomic_store(&l->status, status);
    return 0;
}

static int leaving_callers_may_free_their_items(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a;
    struct caller first;
    adder_begin(&a, s, &first);
    struct caller leader = caller_of(&a, 2, LEAT_NEVER);
    callers_go(s, &leader, 1);
    WAIT_UNTIL(receivers_of(a.batcher->spec.lock->turn) == 1);
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    struct leaver cancelled = { &a, LEAT_NEVER, 1 };
    CHECK_IS(0, leat_go(inner, call_and_free, &cancelled));
    WAIT_UNTIL(forming(a.batcher) == 2);
    adder_let_go(&a);
    adder_wait_for_entry(&a); /* their batch has begun */
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(-ECANCELED, cancelled.status);
    CHECK_IS(2, a.n);
    adder_let_go(&a);
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    caller_was_served(&leader);
    CHECK_IS(0, counts_of(a.batcher).left);
    CHECK_IS(0, batches_held(a.batcher));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(leaving_callers_may_free_their_items);

/* The leader is cancelled while its function waits on channels: these waits go on. */
static int a_leader_that_has_begun_stays(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    adder_slow_down(&a);
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    struct caller leader = caller_of(&a, 1, LEAT_NEVER);
    CHECK_IS(0, leat_go(inner, call, &leader));
    CHECK_IS(0, leat_shield());
    adder_wait_for_entry(&a);
    CHECK_IS(0, leat_scope_cancel(inner));
    for (int i = 0; i < 10; i++)
        leat_yield();
    adder_let_go(&a);
    CHECK_IS(0, leat_unshield());
    CHECK_IS(0, leat_scope_close(inner));
    caller_was_served(&leader);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(a_leader_that_has_begun_stays);

static int puts_nothing_in_a_cancelled_scope(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    int x = 1;
    leat_ticket before, ticket;
    CHECK_IS(0, leat_batch_put(a.batcher, &x, 1, &before));
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(-ECANCELED, leat_batch(a.batcher, &x, NULL));
    CHECK_IS(-ECANCELED, leat_batch_until(a.batcher, &x, NULL, LEAT_NOW));
    CHECK_IS(-ECANCELED, leat_batch_put(a.batcher, &x, 1, &ticket));
    CHECK_IS(-ECANCELED, leat_batch_get(&before, NULL, NULL, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_batch_get(&before, NULL, NULL, LEAT_NEVER)); /* the ticket is spent */
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(0, counts_of(a.batcher).batches);
    CHECK_IS(1, counts_of(a.batcher).left);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(puts_nothing_in_a_cancelled_scope);

/* The scope frees unspent tickets. */
static int forgotten_tickets_do_not_leak(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    leat_batcher_spec spec = adds(&a);
    spec.most = 2;
    adder_open_with(&a, s, spec);
    leat_ticket tickets[7];
    int x = 1;
    for (int i = 0; i < 7; i++)
        CHECK_IS(0, leat_batch_put(a.batcher, &x, 1, &tickets[i]));
    /* Leaves its neighbour in the batch. */
    CHECK_IS(0, leat_batch_get(&tickets[2], NULL, NULL, LEAT_NEVER));
    CHECK_IS(0, leat_batch_forget(&tickets[0]));
    CHECK_IS(0, leat_batch_forget(&tickets[1]));
    CHECK_IS(3, batches_held(a.batcher));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(forgotten_tickets_do_not_leak);

/* Callers that come and leave while one stays do not add up, and the others keep their order. */
static int callers_that_leave_take_no_room(void *arg)
{
    (void)arg;
    enum { STAY = 8, ALL = 1000, EACH = 3 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    leat_ticket first, tickets[STAY];
    CHECK_IS(0, leat_batch_put(a.batcher, &(int){ 0 }, 1, &first));
    for (int i = 0; i < ALL; i++) {
        leat_ticket *ticket = &tickets[i % STAY];
        if (i >= STAY)
            CHECK_IS(0, leat_batch_forget(ticket));
        CHECK_IS(0,
                 leat_batch_put(a.batcher, (int[EACH]){ i, i, i }, (size_t)(1 + i % EACH), ticket));
    }
    CHECK(lt_ticket(&first)->batch->store->room <= 4 * (1 + STAY * EACH));
    int results[EACH];
    for (int i = ALL - STAY; i < ALL; i++) {
        CHECK_IS(0, leat_batch_get(&tickets[i % STAY], results, NULL, LEAT_NEVER));
        for (int j = 0; j <= i % EACH; j++)
            CHECK_IS(i + 1, results[j]);
    }
    CHECK_IS(0, leat_batch_get(&first, results, NULL, LEAT_NEVER));
    CHECK_IS(1, results[0]);
    for (size_t i = 1; i < a.n; i++)
        CHECK(a.items[i] >= a.items[i - 1]);
    return leat_scope_close(s);
}
ON_WORKERS(callers_that_leave_take_no_room);

/* ---- lingering ---- */

static void open_lingering(struct adder *a, leat_scope *s, int64_t ns, size_t least, size_t most)
{
    leat_batcher_spec spec = adds(a);
    spec.linger = ns;
    spec.least = least;
    spec.most = most;
    adder_open_with(a, s, spec);
}

static int lingers_for_its_time(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    open_lingering(&a, s, 5 * LEAT_MS, 0, 0);
    struct caller callers[3];
    for (int i = 0; i < 3; i++)
        callers[i] = caller_of(&a, i, LEAT_NEVER);
    int64_t begin = leat_now();
    callers_go(s, callers, 3);
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK(leat_now() - begin >= 5 * LEAT_MS);
    CHECK(counts_of(a.batcher).waited >= 5 * LEAT_MS);
    for (int i = 0; i < 3; i++)
        caller_was_served(&callers[i]);
    /* The linger begins with the first item, not with the first wait. */
    leat_ticket ticket;
    int x = 1;
    CHECK_IS(0, leat_batch_put(a.batcher, &x, 1, &ticket));
    CHECK_IS(-EAGAIN, leat_batch_get(&ticket, NULL, NULL, LEAT_NOW));
    CHECK_IS(0, leat_sleep(5 * LEAT_MS));
    CHECK_IS(0, leat_batch_get(&ticket, NULL, NULL, LEAT_NOW));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(lingers_for_its_time);

/* In each of these cases the leader stops to linger before its hour is over. */
static int stops_lingering_early(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    struct caller callers[3];
    for (int way = 0; way < 4; way++) {
        open_lingering(&a, s, 3600 * LEAT_S, way == 0 ? 3 : 0, way == 1 ? 3 : way == 2 ? 4 : 0);
        for (int i = 0; i < 3; i++)
            callers[i] = caller_of(&a, i, LEAT_NEVER);
        callers_go(s, callers, 2);
        WAIT_UNTIL(lingers(a.batcher));
        int64_t begin = leat_now();
        int x[3] = { 0 };
        if (way < 2) /* there are enough items, or the batch is full */
            CHECK_IS(0, leat_go(s, call, &callers[2]));
        else if (way == 2) /* an item that does not fit begins another batch */
            CHECK_IS(-EAGAIN, leat_batch_many(a.batcher, x, 3, NULL, NULL, LEAT_NOW));
        else /* no more items can come */
            CHECK_IS(0, leat_batcher_close(a.batcher));
        WAIT_UNTIL(leat_scope_tasks(s) == 0);
        CHECK(leat_now() - begin < 60 * LEAT_S);
        for (int i = 0; i < (way < 2 ? 3 : 2); i++)
            caller_was_served(&callers[i]);
        CHECK_IS(way < 2 ? 3 : 2, a.n);
        CHECK_IS(1, counts_of(a.batcher).batches);
    }
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(stops_lingering_early);

static int a_lingering_leader_can_leave(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    open_lingering(&a, s, 3600 * LEAT_S, 2, 0);
    int x = 1;
    CHECK_IS(-EAGAIN, leat_batch_until(a.batcher, &x, NULL, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_batch_until(a.batcher, &x, NULL, leat_after(LEAT_MS)));
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    struct caller leader = caller_of(&a, 1, LEAT_NEVER);
    CHECK_IS(0, leat_go(inner, call, &leader));
    WAIT_UNTIL(lingers(a.batcher));
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(-ECANCELED, leader.status);
    CHECK_IS(0, batches_held(a.batcher));
    CHECK_IS(3, counts_of(a.batcher).left);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(a_lingering_leader_can_leave);

/* ---- after closing ---- */

/* The call has nothing to wait for, although the function runs. */
static int refuses_at_once_when_it_is_closed(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a;
    struct caller first;
    adder_begin(&a, s, &first);
    CHECK_IS(0, leat_batcher_close(a.batcher));
    CHECK_IS(-EPIPE, leat_batch_until(a.batcher, &(int){ 1 }, NULL, LEAT_NOW));
    adder_let_go(&a);
    CHECK_IS(0, leat_scope_close(s));
    caller_was_served(&first);
    return 0;
}
ON_WORKERS(refuses_at_once_when_it_is_closed);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(a_cancelled_leader_hands_over),
        TESTS_ON_WORKERS(a_late_leader_hands_over),
        TESTS_ON_WORKERS(a_follower_leaves_a_gap),
        TESTS_ON_WORKERS(nothing_runs_when_all_have_left),
        TESTS_ON_WORKERS(leaving_callers_may_free_their_items),
        TESTS_ON_WORKERS(a_leader_that_has_begun_stays),
        TESTS_ON_WORKERS(puts_nothing_in_a_cancelled_scope),
        TESTS_ON_WORKERS(forgotten_tickets_do_not_leak),
        TESTS_ON_WORKERS(callers_that_leave_take_no_room),
        TESTS_ON_WORKERS(lingers_for_its_time),
        TESTS_ON_WORKERS(stops_lingering_early),
        TESTS_ON_WORKERS(a_lingering_leader_can_leave),
        TESTS_ON_WORKERS(refuses_at_once_when_it_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
