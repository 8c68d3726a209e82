/* test_order.c: a try that changes nothing is ordered after what was done before it; and a party
 * that does not belong to a scope does not keep it open. Both need two processors that really run
 * at the same time, so the seeded world cannot test them. */
#include "support.h"

#include <sched.h>

enum { ROUNDS = 40000 };

/* Two threads meet without any function of leat. */
static _Atomic int arrived[2];

static void meet(int me, int round)
{
    atomic_store(&arrived[me], round);
    for (int looks = 0; atomic_load_explicit(&arrived[1 - me], memory_order_acquire) < round;
         looks++)
        if (looks > 1000)
            sched_yield();
}

/* Beside programs that compute, a meeting takes some milliseconds. So the rounds also end after
 * some seconds: the first thread decides, before the last meeting of a round. */
static int rounds;
static int64_t end; /* a time of leat_now */
static _Atomic bool enough;

static void decide(int round)
{
    atomic_store(&enough, round >= rounds || leat_now() > end);
}

static int run_both(leat_fn *side)
{
    static int me[2] = { 0, 1 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    rounds = often(ROUNDS);
    end = leat_after(10 * LEAT_S);
    atomic_store(&enough, false);
    atomic_store(&arrived[0], 0);
    atomic_store(&arrived[1], 0);
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_go_blocking(s, side, &me[i]));
    return leat_scope_close(s);
}

/* ---- each sends to its own channel and tries the other's: not both can find nothing ---- */

static leat_chan *own[2];
static int found[2];

static int send_and_try(void *arg)
{
    int me = *(int *)arg, item = 0;
    for (int i = 1; !atomic_load(&enough); i++) {
        meet(me, 3 * i);
        CHECK_IS(0, leat_send(own[me], &item));
        found[me] = leat_try_recv(own[1 - me], &item);
        meet(me, 3 * i + 1);
        if (me == 0) {
            CHECK(found[0] == 0 || found[1] == 0);
            leat_try_recv(own[0], NULL);
            leat_try_recv(own[1], NULL);
            decide(i);
        }
        meet(me, 3 * i + 2);
    }
    return 0;
}

static int one_of_two_finds_something(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 2; i++)
        own[i] = leat_chan_of(s, int, 1);
    CHECK_IS(0, run_both(send_and_try));
    return leat_scope_close(s);
}
ON_WORKERS(one_of_two_finds_something);

/* ---- a receiver sees what the sender did before, even if the send found the buffer full ---- */

static leat_chan *signals;
static _Atomic int news, seen;

static int signal_or_wait(void *arg)
{
    int me = *(int *)arg, sent = 0;
    for (int i = 1; !atomic_load(&enough); i++) {
        if (me == 0)
            leat_send_until(signals, NULL, LEAT_NOW); /* fills the buffer */
        meet(me, 2 * i);
        if (me == 0) {
            atomic_store_explicit(&news, i, memory_order_release);
            sent = leat_try_send(signals, NULL);
            decide(i);
        } else {
            CHECK_IS(0, leat_recv(signals, NULL));
            atomic_store(&seen, atomic_load_explicit(&news, memory_order_acquire));
        }
        meet(me, 2 * i + 1);
        if (me == 0) {
            CHECK(sent == 0 || atomic_load(&seen) == i);
            leat_recv_until(signals, NULL, LEAT_NOW);
        }
    }
    return 0;
}

static int no_signal_is_lost(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    signals = leat_chan_make(s, 0, 1);
    CHECK_IS(0, run_both(signal_or_wait));
    return leat_scope_close(s);
}
ON_WORKERS(no_signal_is_lost);

/* ---- a callback starts tasks in another scope than its caller's ---- */

static leat_chan *there;
static leat_scope *other;
static _Atomic int ran;
static _Atomic bool begin, closed;

static int run(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran, 1);
    return 0;
}

static void start(leat_op *op, int status)
{
    CHECK_IS(0, status);
    CHECK_IS(0, leat_go(op->scope, run, NULL));
}

/* Keeps its worker busy until other workers have run the tasks that it started. It starts two: at
 * the second, a worker would count in advance. */
static int start_from_outside(void *arg)
{
    (void)arg;
    while (!atomic_load(&begin))
        leat_yield();
    leat_op ops[] = { LEAT_OP(other, 0), LEAT_OP(other, 0) };
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_recv_then(&ops[i], there, NULL, start));
    while (atomic_load(&ran) < 2) {
    }
    while (!atomic_load(&closed))
        leat_yield();
    return 0;
}

static void parties_outside_a_scope_let_it_close(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    leat_scope *own_scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(own_scope, start_from_outside, NULL));
    other = leat_scope_open(LEAT_NEVER);
    there = leat_chan_make(other, 0, 2);
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_send(there, NULL));
    atomic_store(&begin, true);
    while (atomic_load(&ran) < 2)
        sched_yield();
    CHECK_IS(0, leat_scope_close(other));
    atomic_store(&closed, true);
    CHECK_IS(0, leat_scope_close(own_scope));
    CHECK_IS(0, leat_stop());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(one_of_two_finds_something),
        TESTS_ON_WORKERS(no_signal_is_lost),
        cmocka_unit_test(parties_outside_a_scope_let_it_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
