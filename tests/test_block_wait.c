/* test_block_wait.c: what blocks wait for: select, deadlines, sleep, a yield. */
#include "support.h"

#include <limits.h>

/* ---- wrong arguments ---- */

struct wrong {
    leat_block block, other;
    leat_alarm alarm;
    leat_scope *scope;
    leat_chan *ch, *later;
    leat_case cases[2];
    int x;
};

static int do_nothing(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_END(b);
}

#define SAYS(result, await) \
    await; \
    CHECK_IS(result, b->status)

static int ask_wrongly(leat_block *b)
{
    struct wrong *me = (struct wrong *)b;
    LEAT_BEGIN(b);
    SAYS(-EINVAL, LEAT_AWAIT_SEND(b, NULL, &me->x));
    SAYS(-EINVAL, LEAT_AWAIT_SEND(b, me->ch, NULL));
    SAYS(-EINVAL, LEAT_AWAIT_RECV(b, NULL, &me->x));
    SAYS(-EINVAL, LEAT_AWAIT_RECV_UNTIL(b, me->ch, &me->x, -1, &me->alarm));
    SAYS(-EINVAL, LEAT_AWAIT_SEND_UNTIL(b, me->ch, &me->x, INT64_MIN, &me->alarm));
    SAYS(-EINVAL, LEAT_AWAIT_RECV_UNTIL(b, me->ch, &me->x, leat_after(LEAT_S), NULL));
    SAYS(-EINVAL, LEAT_AWAIT_SEND_UNTIL(b, me->ch, &me->x, leat_after(LEAT_S), NULL));
    SAYS(-EAGAIN, LEAT_AWAIT_RECV_UNTIL(b, me->ch, &me->x, LEAT_NOW, NULL));
    SAYS(-EAGAIN, LEAT_AWAIT_SEND_UNTIL(b, me->ch, &me->x, LEAT_NOW, NULL));
    me->cases[0] = (leat_case)LEAT_RECV(me->ch, &me->x);
    me->cases[1] = (leat_case)LEAT_SEND(me->ch, &me->x);
    SAYS(-EINVAL, LEAT_AWAIT_SELECT(b, me->cases, 0, LEAT_NEVER, NULL));
    SAYS(-EINVAL, LEAT_AWAIT_SELECT(b, NULL, 1, LEAT_NEVER, NULL));
    SAYS(-EINVAL, LEAT_AWAIT_SELECT(b, me->cases, (size_t)INT_MAX + 1, LEAT_NEVER, NULL));
    SAYS(-EINVAL, LEAT_AWAIT_SELECT(b, me->cases, 2, -1, &me->alarm));
    SAYS(-EINVAL, LEAT_AWAIT_SELECT_ORDERED(b, me->cases, 2, leat_after(LEAT_S), NULL));
    SAYS(-EAGAIN, LEAT_AWAIT_SELECT_ORDERED(b, me->cases, 2, LEAT_NOW, NULL));
    me->cases[1].item = NULL;
    SAYS(-EINVAL, LEAT_AWAIT_SELECT(b, me->cases, 2, LEAT_NEVER, NULL));
    me->cases[1].item = &me->x;
    me->cases[1].op = 3;
    SAYS(-EINVAL, LEAT_AWAIT_SELECT(b, me->cases, 2, LEAT_NEVER, NULL));
    SAYS(-EINVAL, LEAT_AWAIT_SLEEP(b, LEAT_S, NULL));
    SAYS(-EINVAL, LEAT_AWAIT_SLEEP_UNTIL(b, -1, &me->alarm));
    SAYS(-EINVAL, LEAT_AWAIT_BLOCK(b, NULL));
    SAYS(-EINVAL, LEAT_AWAIT_CALL(b, NULL, do_nothing));
    SAYS(-EINVAL, LEAT_AWAIT_(b, leat_block_call(b, &me->other, NULL)));
    SAYS(0, LEAT_AWAIT_CALL(b, &me->other, do_nothing));
    CHECK_IS(-EINVAL, leat_go_block(NULL, &me->other, do_nothing));
    CHECK_IS(0, senders_of(me->ch));
    CHECK_IS(0, receivers_of(me->ch));
    LEAT_END(b);
}

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct wrong me = { .scope = s, .ch = leat_chan_of(s, int, 0) };
    CHECK_IS(-EINVAL, leat_go_block(NULL, &me.block, ask_wrongly));
    CHECK_IS(-EINVAL, leat_go_block(s, NULL, ask_wrongly));
    CHECK_IS(-EINVAL, leat_go_block_typed(s, &me.block, &(leat_block_type){ NULL, "nothing" }));
    CHECK_IS(-EINVAL, leat_go_block_typed(s, &me.block, NULL));
    CHECK_IS(-EINVAL, leat_block_join(NULL));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(0, leat_go_block(s, &me.block, ask_wrongly));
    return leat_scope_close(s);
}
ON_WORKERS(refuses_wrong_arguments);

/* ---- functions that wait return -EDEADLK in a step function ---- */

static int never_called(void *arg)
{
    (void)arg;
    CHECK(false);
    return 0;
}

static int wait_in_a_step(leat_block *b)
{
    struct wrong *me = (struct wrong *)b;
    LEAT_BEGIN(b);
    CHECK_IS(-EDEADLK, leat_recv(me->ch, &me->x));
    CHECK_IS(-EDEADLK, leat_send(me->ch, &me->x));
    CHECK_IS(-EDEADLK, leat_recv_until(me->ch, &me->x, leat_after(LEAT_S)));
    CHECK_IS(-EDEADLK, leat_send_until(me->ch, &me->x, LEAT_NEVER));
    CHECK_IS(-EDEADLK, leat_recv_many(me->ch, &me->x, 1, LEAT_NEVER));
    CHECK_IS(-EDEADLK, leat_send_many(me->ch, &me->x, 1, leat_after(LEAT_S)));
    me->cases[0] = (leat_case)LEAT_RECV(me->ch, &me->x);
    CHECK_IS(-EDEADLK, leat_select(me->cases, 1, LEAT_NEVER));
    CHECK_IS(-EDEADLK, leat_select_ordered(me->cases, 1, leat_after(LEAT_S)));
    CHECK_IS(-EDEADLK, leat_sleep(LEAT_S));
    CHECK_IS(-EDEADLK, leat_sleep_until(LEAT_NEVER));
    CHECK_IS(-EDEADLK, leat_block_join(&me->other));
    CHECK_IS(-EDEADLK, leat_block_join(b));
    CHECK_IS(-EDEADLK, leat_blocking(never_called, NULL));
    CHECK_IS(-EDEADLK, leat_main(never_called, NULL));
    CHECK_IS(-EDEADLK, leat_stop());
    CHECK(!leat_scope_open(LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_scope_close(me->scope));
    CHECK_IS(-EINVAL, leat_shield());
    CHECK_IS(-EINVAL, leat_unshield());
    CHECK_IS(0, leat_cancelled(NULL));
    /* The refused calls left no waiter in a queue. Operations that need not wait work. */
    CHECK_IS(0, senders_of(me->ch));
    CHECK_IS(0, receivers_of(me->ch));
    CHECK_IS(-EAGAIN, leat_try_send(me->ch, &me->x));
    CHECK_IS(-EAGAIN, leat_try_recv(me->ch, &me->x));
    CHECK_IS(-EAGAIN, leat_recv_until(me->ch, &me->x, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_select(me->cases, 1, LEAT_NOW));
    LEAT_AWAIT_RECV(b, me->later, &me->x);
    CHECK_IS(0, b->status);
    CHECK_IS(3, me->x);
    LEAT_END(b);
}

static int forbids_waiting_in_a_step(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct wrong me = { .scope = s,
                        .ch = leat_chan_of(s, int, 0),
                        .later = leat_chan_of(s, int, 0) };
    CHECK_IS(0, leat_go_block(s, &me.other, do_nothing));
    CHECK_IS(0, leat_go_block(s, &me.block, wait_in_a_step));
    CHECK_IS(0, leat_send(me.later, &(int){ 3 }));
    return leat_scope_close(s);
}
ON_WORKERS(forbids_waiting_in_a_step);

/* ---- deadlines ---- */

struct timed {
    leat_block block;
    leat_alarm alarm;
    leat_chan *empty, *full, *ready, *closed;
    leat_case cases[4];
    int64_t deadline, far;
    int x, i;
};

#define NEVER_EARLY() CHECK(leat_now() >= me->deadline)

static int keep_deadlines(leat_block *b)
{
    struct timed *me = (struct timed *)b;
    LEAT_BEGIN(b);
    for (me->i = 0; me->i < 20; me->i++) {
        me->x = 5;
        me->deadline = leat_after(me->i * 50 * LEAT_US);
        SAYS(-ETIMEDOUT, LEAT_AWAIT_RECV_UNTIL(b, me->empty, &me->x, me->deadline, &me->alarm));
        NEVER_EARLY();
        me->deadline = leat_after(me->i * 50 * LEAT_US);
        SAYS(-ETIMEDOUT, LEAT_AWAIT_SEND_UNTIL(b, me->full, &me->x, me->deadline, &me->alarm));
        NEVER_EARLY();
        me->cases[0] = (leat_case)LEAT_RECV(me->empty, &me->x);
        me->cases[1] = (leat_case)LEAT_SEND(me->full, &me->x);
        me->cases[2] = (leat_case)LEAT_RECV(me->empty, &me->x); /* the same case again */
        me->cases[3] = (leat_case)LEAT_RECV(NULL, &me->x);
        me->deadline = leat_after(me->i * 50 * LEAT_US);
        SAYS(-ETIMEDOUT, LEAT_AWAIT_SELECT(b, me->cases, 4, me->deadline, &me->alarm));
        NEVER_EARLY();
        me->deadline = leat_after(me->i * 50 * LEAT_US);
        SAYS(-ETIMEDOUT, LEAT_AWAIT_SELECT_ORDERED(b, me->cases + 3, 1, me->deadline, &me->alarm));
        NEVER_EARLY();
        me->deadline = leat_after(me->i * 50 * LEAT_US);
        SAYS(0, LEAT_AWAIT_SLEEP(b, me->i * 50 * LEAT_US, &me->alarm));
        NEVER_EARLY();
        me->deadline = leat_after(me->i * 50 * LEAT_US);
        SAYS(0, LEAT_AWAIT_SLEEP_UNTIL(b, me->deadline, &me->alarm));
        NEVER_EARLY();
        CHECK_IS(5, me->x);
        CHECK_IS(0, receivers_of(me->empty));
        CHECK_IS(0, senders_of(me->full));
        /* None of these waits: the deadline has passed, or the channel is ready or closed. */
        me->far = leat_after(600 * LEAT_S);
        SAYS(0, LEAT_AWAIT_SEND_UNTIL(b, me->ready, &me->i, 1, &me->alarm));
        SAYS(0, LEAT_AWAIT_RECV_UNTIL(b, me->ready, &me->x, me->far, &me->alarm));
        CHECK_IS(me->i, me->x);
        SAYS(-EPIPE, LEAT_AWAIT_RECV_UNTIL(b, me->closed, &me->x, me->far, &me->alarm));
        SAYS(-EPIPE, LEAT_AWAIT_SEND_UNTIL(b, me->closed, &me->x, 1, &me->alarm));
    }
    SAYS(0, LEAT_AWAIT_SLEEP(b, -LEAT_S, &me->alarm));
    LEAT_END(b);
}

static int keeps_deadlines(void *arg)
{
    (void)arg;
    enum { BLOCKS = 10 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct timed blocks[BLOCKS];
    memset(blocks, 0xff, sizeof blocks); /* an alarm needs no initialisation */
    for (int i = 0; i < BLOCKS; i++) {
        struct timed *me = &blocks[i];
        me->empty = leat_chan_of(s, int, 1), me->full = leat_chan_of(s, int, 0);
        me->ready = leat_chan_of(s, int, 1), me->closed = leat_chan_of(s, int, 1);
        CHECK_IS(0, leat_close(me->closed));
        CHECK_IS(0, leat_go_block(s, &me->block, keep_deadlines));
    }
    return leat_scope_close(s);
}
ON_WORKERS(keeps_deadlines);

/* A partner comes at about the deadline: the block gets the item or -ETIMEDOUT, never both. */
struct race {
    leat_block block;
    leat_alarm alarm;
    leat_chan *ch, *other;
    leat_case cases[2];
    int how, got, x, timeouts, turns;
};

static int race_the_clock(leat_block *b)
{
    struct race *me = (struct race *)b;
    LEAT_BEGIN(b);
    for (me->x = 0; me->x >= 0; me->turns++) {
        me->x = 0;
        if (me->how == 0) {
            LEAT_AWAIT_RECV_UNTIL(b, me->ch, &me->x, leat_after(20 * LEAT_US), &me->alarm);
        } else {
            me->cases[0] = (leat_case)LEAT_RECV(me->other, &me->x);
            me->cases[1] = (leat_case)LEAT_RECV(me->ch, &me->x);
            LEAT_AWAIT_SELECT(b, me->cases, 2, leat_after(20 * LEAT_US), &me->alarm);
            b->status = b->status == 1 ? me->cases[1].status : b->status;
        }
        if (b->status == 0) {
            CHECK(me->x);
            me->got++;
        } else {
            CHECK_IS(-ETIMEDOUT, b->status);
            CHECK_IS(0, me->x);
            me->timeouts++;
        }
    }
    LEAT_END(b);
}

static int loses_nothing_at_the_deadline(void *arg)
{
    (void)arg;
    enum { ITEMS = 3000 / SCALE };
    for (int how = 0; how <= 1; how++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct race me = { .how = how,
                           .ch = leat_chan_of(s, int, 0),
                           .other = leat_chan_of(s, int, 0) };
        CHECK_IS(0, leat_go_block(s, &me.block, race_the_clock));
        uint64_t chance = seed_of_test();
        for (int i = 1; i <= ITEMS; i++) {
            int item = i < ITEMS ? i : -1;
            CHECK_IS(0, leat_send(me.ch, &item));
            if (i % 3)
                CHECK_IS(0, leat_sleep(below(&chance, 40) * LEAT_US));
        }
        CHECK_IS(0, leat_block_join(&me.block));
        CHECK_IS(ITEMS, me.got);
        CHECK_IS(me.turns, me.got + me.timeouts);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(loses_nothing_at_the_deadline);

/* ---- select ---- */

struct chooser {
    leat_block block;
    leat_chan *a, *b, *go;
    leat_case cases[5];
    int x, y, i, counts[5];
};

static int choose(leat_block *b)
{
    struct chooser *me = (struct chooser *)b;
    LEAT_BEGIN(b);
    me->cases[0] = (leat_case)LEAT_RECV(NULL, &me->x);
    me->cases[1] = (leat_case)LEAT_RECV(me->a, &me->x);
    me->cases[2] = (leat_case)LEAT_SEND(me->b, &me->y);
    me->cases[3] = (leat_case)LEAT_RECV(me->a, &me->x);
    me->cases[4] = (leat_case)LEAT_SEND(NULL, &me->y);
    for (me->i = 0; me->i < 2000; me->i++) { /* three cases are ready; each is chosen at times */
        LEAT_AWAIT_SELECT(b, me->cases, 5, me->i % 2 ? LEAT_NEVER : LEAT_NOW, NULL);
        CHECK(b->status >= 1 && b->status <= 3);
        CHECK_IS(0, me->cases[b->status].status);
        me->counts[b->status]++;
        if (b->status == 2)
            CHECK_IS(0, leat_try_recv(me->b, NULL));
        else
            CHECK_IS(0, leat_try_send(me->a, &me->x));
    }
    for (me->i = 1; me->i <= 3; me->i++)
        CHECK(me->counts[me->i] > 2000 / 3 - 250 && me->counts[me->i] < 2000 / 3 + 250);
    for (me->i = 0; me->i < 100; me->i++) { /* in order: always the first */
        SAYS(1, LEAT_AWAIT_SELECT_ORDERED(b, me->cases, 5, LEAT_NEVER, NULL));
        CHECK_IS(0, leat_try_send(me->a, &me->x));
        SAYS(0, LEAT_AWAIT_SELECT_ORDERED(b, me->cases + 1, 2, LEAT_NOW, NULL));
        CHECK_IS(0, leat_try_send(me->a, &me->x));
        SAYS(0, LEAT_AWAIT_SELECT_ORDERED(b, me->cases + 2, 1, LEAT_NEVER, NULL));
        CHECK_IS(0, leat_try_recv(me->b, NULL));
    }
    LEAT_AWAIT_RECV(b, me->a, &me->x); /* now none is ready; each becomes ready in turn */
    LEAT_AWAIT_SEND(b, me->b, &me->y);
    LEAT_AWAIT_RECV(b, me->go, NULL);
    LEAT_AWAIT_SELECT(b, me->cases, 5, LEAT_NEVER, NULL);
    CHECK(b->status == 1 || b->status == 3);
    CHECK_IS(77, me->x);
    LEAT_AWAIT_RECV(b, me->go, NULL);
    SAYS(2, LEAT_AWAIT_SELECT(b, me->cases, 5, LEAT_NEVER, NULL));
    LEAT_AWAIT_RECV(b, me->go, NULL);
    LEAT_AWAIT_SELECT(b, me->cases, 5, LEAT_NEVER, NULL);
    CHECK(b->status == 1 || b->status == 3);
    CHECK_IS(-EPIPE, me->cases[b->status].status);
    CHECK_IS(77, me->x);
    LEAT_END(b);
}

static int selects(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct chooser me = { .a = leat_chan_of(s, int, 1),
                          .b = leat_chan_of(s, int, 1),
                          .go = leat_chan_of(s, int, 0),
                          .y = 88 };
    int x = 1;
    CHECK_IS(0, leat_send(me.a, &x));
    CHECK_IS(0, leat_go_block(s, &me.block, choose));
    CHECK_IS(0, leat_send(me.go, &x));
    WAIT_UNTIL(receivers_of(me.a) && senders_of(me.b));
    CHECK_IS(0, leat_send(me.a, &(int){ 77 }));
    CHECK_IS(0, leat_send(me.go, &x));
    WAIT_UNTIL(receivers_of(me.a) && senders_of(me.b));
    CHECK_IS(0, leat_recv(me.b, &x));
    CHECK_IS(88, x);
    CHECK_IS(0, leat_send(me.go, &x));
    WAIT_UNTIL(receivers_of(me.a) && senders_of(me.b));
    CHECK_IS(0, leat_close(me.a));
    CHECK_IS(0, leat_block_join(&me.block));
    CHECK_IS(0, receivers_of(me.a) + senders_of(me.b));
    CHECK_IS(1, leat_chan_len(me.b));
    return leat_scope_close(s);
}
ON_WORKERS(selects);

/* ---- yields ---- */

struct turner {
    leat_block block;
    _Atomic bool *stop;
    _Atomic int *turns;
    leat_chan *ch;
    int x, which;
};

static int take_turns(leat_block *b)
{
    struct turner *me = (struct turner *)b;
    LEAT_BEGIN(b);
    while (me->turns[me->which] < 200) {
        atomic_fetch_add(&me->turns[me->which], 1);
        for (int i = 0; i < 3; i++) /* none gets ahead while all are under way */
            CHECK(me->turns[i] == 0 || abs(me->turns[i] - me->turns[me->which]) <= 8);
        LEAT_AWAIT_YIELD(b);
    }
    LEAT_END(b);
}

static int yields_in_turn(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    _Atomic int turns[3] = { 0 };
    struct turner turners[3];
    for (int i = 0; i < 3; i++) {
        turners[i] = (struct turner){ .turns = turns, .which = i };
        CHECK_IS(0, leat_go_block(s, &turners[i].block, take_turns));
    }
    return leat_scope_close(s);
}

static void yields_to_one_another(void **state)
{
    (void)state;
    if (IN_SIM) /* the world keeps no order */
        return;
    run_on(1, yields_in_turn);
}

/* Its channel is always ready, and yet other blocks of the same worker run. */
static int never_wait(leat_block *b)
{
    struct turner *me = (struct turner *)b;
    LEAT_BEGIN(b);
    while (!atomic_load(me->stop)) {
        LEAT_AWAIT_SEND(b, me->ch, &me->x);
        LEAT_AWAIT_RECV(b, me->ch, &me->x);
        CHECK_IS(0, b->status);
    }
    LEAT_END(b);
}

static int stop_them(leat_block *b)
{
    struct turner *me = (struct turner *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->ch, &me->x);
    atomic_store(me->stop, true);
    LEAT_END(b);
}

static int lets_others_run(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    _Atomic bool stop = false;
    struct turner busy[5];
    for (int i = 0; i < 5; i++) {
        busy[i] = (struct turner){ .stop = &stop, .ch = leat_chan_of(s, int, i < 4) };
        if (i < 4)
            CHECK_IS(0, leat_go_block(s, &busy[i].block, never_wait));
        else
            CHECK_IS(0, leat_go_block(s, &busy[i].block, stop_them));
    }
    CHECK_IS(0, leat_sleep(LEAT_MS)); /* this task wakes up, and then the fifth block runs */
    CHECK_IS(0, leat_send(busy[4].ch, &(int){ 1 }));
    return leat_scope_close(s);
}
ON_WORKERS(lets_others_run);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(forbids_waiting_in_a_step),
        TESTS_ON_WORKERS(keeps_deadlines),
        TESTS_ON_WORKERS(loses_nothing_at_the_deadline),
        TESTS_ON_WORKERS(selects),
        cmocka_unit_test(yields_to_one_another),
        TESTS_ON_WORKERS(lets_others_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
