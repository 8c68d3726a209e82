/* test_core_async.c: core.async's tests of buffers, put!, take!, alts!, offer!, poll!, promises. */
#include "support.h"

/* ---- buffers ---- */

static int fills_and_empties_buffers(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    static const int left[][2] = { [LEAT_FIXED] = { 1, 2 },
                                   [LEAT_DROPPING] = { 1, 2 },
                                   [LEAT_SLIDING] = { 2, 3 },
                                   [LEAT_PROMISE] = { 1, 1 } };
    for (leat_buffer buffer = LEAT_FIXED; buffer <= LEAT_PROMISE; buffer++) {
        bool promise = buffer == LEAT_PROMISE;
        leat_chan_spec spec = { .item_size = sizeof(int), .capacity = 2, .buffer = buffer };
        leat_chan *ch = leat_chan_open(s, &spec);
        for (int i = 1; i <= 3; i++) {
            CHECK_IS(buffer == LEAT_FIXED && i == 3 ? -EAGAIN : 0, leat_try_send(ch, &i));
            CHECK_IS(promise ? 1 : i < 2 ? i : 2, leat_chan_len(ch));
        }
        for (int i = 0, x; i < 2; i++) {
            CHECK_IS(0, leat_try_recv(ch, &x));
            CHECK_IS(left[buffer][i], x);
        }
        CHECK_IS(promise, leat_chan_len(ch));
        CHECK_IS(promise ? 0 : -EAGAIN, leat_try_recv(ch, NULL));
        CHECK_IS(0, leat_close(ch));
        CHECK_IS(promise ? 0 : -EPIPE, leat_try_recv(ch, NULL));
    }
    return leat_scope_close(s);
}
ON_WORKERS(fills_and_empties_buffers);

/* ---- threads and tasks that wait ---- */

struct taker {
    leat_chan *ch;
    int result, x;
};

static int take(void *arg)
{
    struct taker *t = arg;
    t->result = leat_recv(t->ch, &t->x);
    return 0;
}

static int blocks_without_a_partner(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = leat_chan_of(crew.scope, int, 1);
    int x = 42;
    CHECK_IS(0, leat_send(ch, &x));
    CHECK_IS(-ETIMEDOUT, leat_send_until(ch, &x, leat_after(5 * LEAT_MS)));
    CHECK_IS(0, leat_recv(ch, &x));
    /* Two receivers and one item: one gets it, the other waits. */
    struct taker takers[2] = { { ch, 1, 0 }, { ch, 1, 0 } };
    crew_go(&crew, BLOCKING, take, &takers[0]);
    crew_go(&crew, FOREIGN, take, &takers[1]);
    WAIT_UNTIL(receivers_of(ch) == 2);
    CHECK_IS(0, leat_send(ch, &x));
    CHECK_IS(1, receivers_of(ch));
    CHECK_IS(0, leat_close(ch));
    crew_close(&crew);
    int served = takers[1].result == 0;
    CHECK_IS(0, takers[served].result);
    CHECK_IS(42, takers[served].x);
    CHECK_IS(-EPIPE, takers[!served].result);
    return 0;
}
ON_WORKERS(blocks_without_a_partner);

/* ---- put! and take! ---- */

struct call {
    leat_op op;
    int item;
    _Atomic int calls, status;
    pthread_t where;
    struct call *next;
    leat_chan *ch;
};

static void called(leat_op *op, int status)
{
    struct call *c = (struct call *)op;
    c->where = pthread_self();
    atomic_store(&c->status, status);
    atomic_fetch_add(&c->calls, 1);
}

static void put(struct call *c, leat_scope *s, unsigned flags, leat_chan *ch, int item)
{
    memset(c, 0, sizeof *c);
    c->op = (leat_op)LEAT_OP(s, flags);
    c->item = item;
    CHECK_IS(0, leat_send_then(&c->op, ch, &c->item, called));
}

static void take_then(struct call *c, leat_scope *s, unsigned flags, leat_chan *ch)
{
    memset(c, 0, sizeof *c);
    c->op = (leat_op)LEAT_OP(s, flags);
    c->item = -1;
    CHECK_IS(0, leat_recv_then(&c->op, ch, &c->item, called));
}

static void expect(struct call *c, int status, int item)
{
    WAIT_UNTIL(atomic_load(&c->calls) > 0);
    CHECK_IS(1, c->calls);
    CHECK_IS(status, c->status);
    CHECK_IS(item, c->item);
}

static int calls_back_when_done(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0), *one = leat_chan_of(s, int, 1);
    struct call c, full;
    int x = 0;
    put(&c, s, 0, ch, 7);
    CHECK_IS(0, c.calls);
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(7, x);
    expect(&c, 0, 7);

    take_then(&c, s, 0, ch);
    CHECK_IS(0, c.calls);
    CHECK_IS(0, leat_send(ch, &(int){ 8 }));
    expect(&c, 0, 8);

    /* A put waits while the buffer is full, and completes when there is room. */
    put(&c, s, 0, one, 1);
    expect(&c, 0, 1);
    put(&full, s, 0, one, 2);
    CHECK_IS(0, full.calls);
    CHECK_IS(0, leat_recv(one, &x));
    expect(&full, 0, 2);
    CHECK_IS(0, leat_recv(one, &x));
    CHECK_IS(2, x);
    return leat_scope_close(s);
}
ON_WORKERS(calls_back_when_done);

static void calls_back_where_asked(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0);
    pthread_t here = pthread_self();
    for (unsigned flags = 0; flags <= LEAT_ON_WORKER; flags++) {
        struct call first, second;
        for (int takes = 0; takes <= 1; takes++) {
            /* An operation that finds a partner calls its function in the calling thread, or on a
             * worker if asked for. One that had to wait calls it on a worker. */
            if (takes) {
                put(&first, s, 0, ch, 5);
                take_then(&second, s, flags, ch);
            } else {
                take_then(&first, s, 0, ch);
                put(&second, s, flags, ch, 5);
            }
            if (flags == 0)
                CHECK_IS(1, second.calls);
            expect(&first, 0, 5);
            expect(&second, 0, 5);
            CHECK(!pthread_equal(here, first.where));
            CHECK(!pthread_equal(here, second.where) == (flags == LEAT_ON_WORKER));
        }
    }
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

/* core.async allows 1,024 pending operations on a channel. In leat the caller has their memory. */
enum { PENDING = IN_SIM ? 1100 : 5000 };

static int allows_any_number_pending(void *arg)
{
    (void)arg;
    struct call *calls = calloc(PENDING, sizeof *calls);
    CHECK(calls);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0);
    for (int i = 0; i < PENDING; i++)
        put(&calls[i], s, 0, ch, i);
    for (int i = 0, x; i < PENDING; i++) {
        CHECK_IS(0, leat_recv(ch, &x));
        CHECK_IS(i, x);
    }
    for (int i = 0; i < PENDING; i++)
        expect(&calls[i], 0, i);
    for (int i = 0; i < PENDING; i++)
        take_then(&calls[i], s, 0, ch);
    for (int i = 0; i < PENDING; i++)
        CHECK_IS(0, leat_send(ch, &i));
    for (int i = 0; i < PENDING; i++)
        expect(&calls[i], 0, i);
    CHECK_IS(0, leat_scope_close(s));
    free(calls);
    return 0;
}
ON_WORKERS(allows_any_number_pending);

static int closing_ends_pending_operations(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *full = leat_chan_of(s, int, 1), *empty = leat_chan_of(s, int, 1);
    struct call puts[4], takes[4], late;
    for (int i = 0; i < 4; i++) {
        put(&puts[i], s, 0, full, i);
        take_then(&takes[i], s, 0, empty);
    }
    expect(&puts[0], 0, 0);
    CHECK_IS(0, leat_close(full));
    CHECK_IS(0, leat_close(empty));
    for (int i = 1; i < 4; i++)
        expect(&puts[i], -EPIPE, i); /* the sender keeps the item */
    for (int i = 0; i < 4; i++)
        expect(&takes[i], -EPIPE, -1);
    put(&late, s, 0, full, 9);
    expect(&late, -EPIPE, 9);
    take_then(&late, s, 0, full);
    expect(&late, 0, 0);
    take_then(&late, s, 0, full);
    expect(&late, -EPIPE, -1);
    return leat_scope_close(s);
}
ON_WORKERS(closing_ends_pending_operations);

/* No function runs under a lock: it uses its channel, and starts the next operation. */
static _Atomic int rounds_left;

static void go_round(leat_op *op, int status)
{
    struct call *c = (struct call *)op;
    CHECK_IS(0, status);
    CHECK_IS(0, leat_chan_len(c->ch));
    CHECK_IS(0, leat_chan_closed(c->ch));
    CHECK_IS(-EAGAIN, leat_try_recv(c->ch, NULL));
    int left = atomic_fetch_sub(&rounds_left, 1);
    if (left <= 1) {
        if (left == 1)
            CHECK_IS(0, leat_close(c->ch));
        return;
    }
    CHECK_IS(0, leat_recv_then(&c->op, c->ch, &c->item, go_round));
    CHECK_IS(0, leat_try_send(c->ch, &left));
}

static int callbacks_hold_no_lock(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct call c = { .op = LEAT_OP(s, 0), .ch = leat_chan_of(s, int, 0) };
    rounds_left = 20000 / SCALE;
    CHECK_IS(0, leat_recv_then(&c.op, c.ch, &c.item, go_round));
    CHECK_IS(0, leat_send(c.ch, &c.item));
    WAIT_UNTIL(leat_chan_closed(c.ch));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, rounds_left);
    return 0;
}
ON_WORKERS(callbacks_hold_no_lock);

/* Each operation is done at once and starts the next: many of them, on one small stack. */
static void put_again(leat_op *op, int status)
{
    struct call *c = (struct call *)op;
    CHECK_IS(0, status);
    if (atomic_fetch_add(&c->calls, 1) < 100000 / SCALE)
        CHECK_IS(0, leat_send_then(op, c->ch, &c->item, put_again));
    else
        CHECK_IS(0, leat_close(c->ch));
}

static int bounds_the_depth(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan_spec spec = { .item_size = sizeof(int), .capacity = 1, .buffer = LEAT_SLIDING };
    struct call c = { .op = LEAT_OP(s, 0), .ch = leat_chan_open(s, &spec) };
    CHECK_IS(0, leat_send_then(&c.op, c.ch, &c.item, put_again));
    WAIT_UNTIL(leat_chan_closed(c.ch));
    return leat_scope_close(s);
}
ON_WORKERS(bounds_the_depth);

/* ---- alts! ---- */

struct choice {
    struct call call;
    leat_case cases[3];
};

static int chooses_one(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *a = leat_chan_of(s, int, 1), *b = leat_chan_of(s, int, 1);
    int x = 1, from_a = 0, from_b = 0, counts[2] = { 0, 0 };
    leat_case cases[] = { LEAT_RECV(a, &from_a), LEAT_RECV(b, &from_b) };
    CHECK_IS(-EAGAIN, leat_select(cases, 2, LEAT_NOW)); /* like :default */
    CHECK_IS(0, leat_send(a, &x));
    CHECK_IS(0, leat_send(b, &x));
    for (int i = 0; i < 200; i++) { /* random, or ordered like :priority */
        int chosen = leat_select(cases, 2, LEAT_NOW);
        CHECK(chosen == 0 || chosen == 1);
        counts[chosen]++;
        CHECK_IS(0, leat_send(cases[chosen].ch, &x));
        CHECK_IS(0, leat_select_ordered(cases, 2, LEAT_NOW));
        CHECK_IS(0, leat_send(a, &x));
    }
    CHECK(counts[0] > 20 && counts[1] > 20);

    /* The first partner completes a pending select. Then the select has left all queues. */
    leat_chan *c = leat_chan_of(s, int, 0), *d = leat_chan_of(s, int, 0);
    struct choice pending[2] = { { .cases = { LEAT_RECV(c, &from_a), LEAT_RECV(d, &from_b) } },
                                 { .cases = { LEAT_RECV(d, &from_b), LEAT_RECV(c, &from_a) } } };
    for (int i = 0; i < 2; i++) {
        pending[i].call.op = (leat_op)LEAT_OP(s, 0);
        CHECK_IS(0, leat_select_then(&pending[i].call.op, pending[i].cases, 2, called));
    }
    CHECK_IS(0, pending[0].call.calls + pending[1].call.calls);
    x = 77;
    CHECK_IS(0, leat_send(d, &x));
    WAIT_UNTIL(pending[0].call.calls == 1);
    CHECK_IS(1, pending[0].call.status);
    CHECK_IS(0, pending[1].call.calls);
    CHECK_IS(77, from_b);
    CHECK_IS(0, leat_close(c));
    WAIT_UNTIL(pending[1].call.calls == 1);
    CHECK_IS(1, pending[1].call.status);
    CHECK_IS(-EPIPE, pending[1].cases[1].status);
    CHECK_IS(-EAGAIN, leat_try_send(d, &x));
    return leat_scope_close(s);
}
ON_WORKERS(chooses_one);

/* ---- offer!, poll!, promise-chan ---- */

static int offers_and_polls(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *two = leat_chan_of(s, int, 2), *direct = leat_chan_of(s, int, 0);
    struct call c;
    int x = 1, y = 0;
    CHECK_IS(0, leat_try_send(two, &x));
    CHECK_IS(0, leat_try_send(two, &x));
    CHECK_IS(-EAGAIN, leat_try_send(two, &x));
    CHECK_IS(0, leat_try_recv(two, &y));
    CHECK_IS(0, leat_try_recv(two, &y));
    CHECK_IS(-EAGAIN, leat_try_recv(two, &y));
    CHECK_IS(-EAGAIN, leat_try_send(direct, &x));
    CHECK_IS(-EAGAIN, leat_try_recv(direct, &y));
    take_then(&c, s, 0, direct);
    CHECK_IS(0, leat_try_send(direct, &(int){ 5 }));
    CHECK_IS(-EAGAIN, leat_try_send(direct, &x));
    expect(&c, 0, 5);
    put(&c, s, 0, direct, 6);
    CHECK_IS(0, leat_try_recv(direct, &y));
    CHECK_IS(6, y);
    CHECK_IS(-EAGAIN, leat_try_recv(direct, &y));
    expect(&c, 0, 6);
    CHECK_IS(0, leat_close(direct));
    CHECK_IS(-EPIPE, leat_try_send(direct, &x));
    CHECK_IS(-EPIPE, leat_try_recv(direct, &y));
    return leat_scope_close(s);
}
ON_WORKERS(offers_and_polls);

static int promises_to_all(void *arg)
{
    (void)arg;
    for (int delivered = 0; delivered <= 1; delivered++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan_spec spec = { .item_size = sizeof(int), .buffer = LEAT_PROMISE };
        leat_chan *ch = leat_chan_open(s, &spec);
        struct call early[5], late[5], puts[3];
        for (int i = 0; i < 5; i++)
            take_then(&early[i], s, 0, ch);
        for (int i = 0; i < 3 * delivered; i++) {
            put(&puts[i], s, 0, ch, 10 + i);
            expect(&puts[i], 0, 10 + i); /* no put waits */
        }
        if (!delivered)
            CHECK_IS(0, leat_close(ch));
        for (int i = 0; i < 5; i++)
            expect(&early[i], delivered ? 0 : -EPIPE, delivered ? 10 : -1);
        CHECK_IS(0, leat_close(ch));
        for (int i = 0; i < 5; i++) {
            take_then(&late[i], s, 0, ch);
            expect(&late[i], delivered ? 0 : -EPIPE, delivered ? 10 : -1);
        }
        put(&puts[0], s, 0, ch, 20);
        expect(&puts[0], -EPIPE, 20);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(promises_to_all);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(fills_and_empties_buffers),
        TESTS_ON_WORKERS(blocks_without_a_partner),
        TESTS_ON_WORKERS(calls_back_when_done),
        cmocka_unit_test(calls_back_where_asked),
        TESTS_ON_WORKERS(allows_any_number_pending),
        TESTS_ON_WORKERS(closing_ends_pending_operations),
        TESTS_ON_WORKERS(callbacks_hold_no_lock),
        TESTS_ON_WORKERS(bounds_the_depth),
        TESTS_ON_WORKERS(chooses_one),
        TESTS_ON_WORKERS(offers_and_polls),
        TESTS_ON_WORKERS(promises_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
