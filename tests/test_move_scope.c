/* test_move_scope.c: scopes, deadlines, shields and cancelling when openers or tasks move. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

static int wait_for_ever(void *ch)
{
    CHECK_IS(-ECANCELED, leat_recv(ch, NULL));
    return 0;
}

/* ---- deadlines of scopes ---- */

/* The deadline is set before the move and ends a wait of the opener after it. */
static int deadlines_pass_elsewhere(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    leat_scope *around = leat_scope_open(LEAT_NEVER);
    leat_chan *never = leat_chan_make(around, 0, 0);
    for (int i = 0; i < often(800); i++) {
        int64_t deadline = leat_after(below(&chance, 600) * LEAT_US);
        leat_scope *s = leat_scope_open(deadline);
        CHECK(s);
        move_on();
        if (i % 3 == 0)
            CHECK_IS(0, leat_go(s, wait_for_ever, never));
        switch (i % 4) {
        case 0: CHECK_IS(-ECANCELED, leat_recv(never, NULL)); break;
        case 1: CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER)); break;
        case 2: WAIT_UNTIL(leat_cancelled(NULL)); break;
        default: COMPUTE_UNTIL(leat_cancelled(NULL));
        }
        CHECK(leat_now() >= deadline);
        CHECK_IS(1, leat_cancelled(s));
        if (i % 2)
            move_on();
        CHECK_IS(-ECANCELED, leat_recv(never, NULL));
        CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
        CHECK_IS(0, leat_cancelled(NULL));
    }
    CHECK_IS(0, leat_scope_close(around));
    return 0;
}
ON_MOVING_WORKERS(deadlines_pass_elsewhere);

/* A scope is closed after a move, before its deadline or at about the same time. The deadline must
 * not cancel the next scope, which may lie in the same memory. (Beside programs that compute, a
 * move takes many milliseconds. So the rounds also end after some seconds.) */
static int scopes_close_elsewhere(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    int in_time = 0, late = 0;
    int64_t end = leat_after(20 * LEAT_S);
    for (int i = 0; (i < often(6000) && leat_now() < end) || !in_time || !late; i++) {
        bool near = below(&chance, 4) == 0;
        leat_scope *s =
            leat_scope_open(leat_after(near ? below(&chance, 400) * LEAT_US : 60 * LEAT_S));
        CHECK(s);
        if (below(&chance, 8))
            move_on();
        int result = leat_scope_close(s);
        CHECK(result == 0 || (near && result == -ETIMEDOUT));
        in_time += result == 0;
        late += result != 0;
        if (i % 16 == 0) { /* near deadlines pass now */
            leat_scope *other = leat_scope_open(leat_after(60 * LEAT_S));
            CHECK_IS(0, leat_sleep(400 * LEAT_US));
            CHECK_IS(0, leat_cancelled(other));
            CHECK_IS(0, leat_scope_close(other));
        }
    }
    return 0;
}
ON_MOVING_WORKERS(scopes_close_elsewhere);

/* Many tasks do so at once: other workers look at a worker's timers while it closes scopes. */
static _Atomic int shut;

static int open_and_close(void *arg)
{
    uint64_t chance = (uint64_t)(intptr_t)arg * 7919 + 1;
    for (int i = 0; i < often(1500); i++) {
        int64_t ns = (1 + below(&chance, 300)) * LEAT_US;
        leat_scope *s = leat_scope_open(below(&chance, 2) ? leat_after(ns) : leat_after(LEAT_S));
        CHECK(s);
        switch (below(&chance, 8)) {
        case 0: try_to_move(); break;
        case 1: leat_sleep(below(&chance, 100) * LEAT_US); break;
        default: leat_yield();
        }
        int result = leat_scope_close(s);
        CHECK(result == 0 || result == -ETIMEDOUT);
    }
    atomic_fetch_add(&shut, 1);
    return 0;
}

static int compute_now_and_then(void *arg)
{
    int n = *(int *)arg;
    while (atomic_load(&shut) < n) {
        for (int64_t end = leat_after(100 * LEAT_US); leat_now() < end;)
            ;
        leat_sleep(50 * LEAT_US);
    }
    return 0;
}

static int many_open_and_close(void *arg)
{
    (void)arg;
    int n = 8;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    atomic_store(&shut, 0);
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_go(s, open_and_close, (void *)(intptr_t)i));
    CHECK_IS(0, leat_go(s, compute_now_and_then, &n));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_MOVING_WORKERS(many_open_and_close);

/* Nested scopes have deadlines. One passes first: an inner, a middle or the outermost one. */
enum { DEPTH = 6 };

static int nested_scopes_move(void *arg)
{
    (void)arg;
    for (int i = 0; i < often(200); i++) {
        leat_scope *nest[DEPTH];
        int passes = i % (DEPTH + 1); /* which deadline passes; DEPTH: none */
        for (int n = 0; n < DEPTH; n++) {
            nest[n] = leat_scope_open(n == passes ? leat_after(300 * LEAT_US)
                                                  : leat_after((60 + n) * LEAT_S));
            CHECK(nest[n]);
            move_on();
        }
        if (passes < DEPTH)
            CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER));
        for (int n = DEPTH; n-- > 0;) {
            bool inside = n > passes;
            CHECK_IS(n >= passes, leat_cancelled(nest[n]));
            move_on();
            CHECK_IS(inside ? -ECANCELED : n == passes ? -ETIMEDOUT : 0, leat_scope_close(nest[n]));
        }
    }
    return 0;
}
ON_MOVING_WORKERS(nested_scopes_move);

/* Tasks of a scope move. Then its deadline, or its opener, cancels them. */
static _Atomic int gone_on;

static int move_and_wait(void *ch)
{
    try_to_move();
    atomic_fetch_add(&gone_on, 1);
    CHECK_IS(-ECANCELED, leat_recv(ch, NULL));
    try_to_move();
    CHECK_IS(-ECANCELED, leat_sleep(LEAT_S));
    CHECK_IS(1, leat_cancelled(NULL));
    return 0;
}

static int tasks_that_moved_are_cancelled(void *arg)
{
    (void)arg;
    for (int i = 0; i < often(200); i++) {
        leat_scope *around = leat_scope_open(LEAT_NEVER);
        leat_chan *never = leat_chan_make(around, 0, 0);
        leat_scope *s = leat_scope_open(i % 3 == 0 ? leat_after(2 * LEAT_MS) : LEAT_NEVER);
        atomic_store(&gone_on, 0);
        for (int n = 0; n < 3; n++)
            CHECK_IS(0, leat_go(s, move_and_wait, never));
        if (i % 3 == 1)
            WAIT_UNTIL(atomic_load(&gone_on) == 3);
        if (i % 3) {
            try_to_move();
            CHECK_IS(0, leat_scope_cancel(s));
        }
        int result = leat_scope_close(s);
        CHECK_IS(i % 3 ? 0 : -ETIMEDOUT, result);
        CHECK_IS(0, leat_scope_close(around));
    }
    return 0;
}
ON_MOVING_WORKERS(tasks_that_moved_are_cancelled);

/* ---- shields ---- */

static int send_some(void *arg)
{
    for (int x = 0;; x++)
        if (leat_send(arg, &x))
            return 0;
}

static int shields_move_along(void *arg)
{
    (void)arg;
    for (int i = 0; i < often(200); i++) {
        leat_scope *around = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = leat_chan_of(around, int, 0);
        CHECK_IS(0, leat_go(around, send_some, ch));
        leat_scope *s = leat_scope_open(i % 2 ? LEAT_NOW : LEAT_NEVER);
        CHECK_IS(0, leat_shield());
        move_on();
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_recv(ch, &(int){ 0 }));
        move_on();
        leat_scope *inside = leat_scope_open(leat_after(200 * LEAT_US));
        move_on();
        CHECK_IS(-EINVAL, leat_unshield()); /* that shield belongs to another scope */
        CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER));
        CHECK_IS(-ETIMEDOUT, leat_scope_close(inside));
        move_on();
        CHECK_IS(0, leat_sleep(LEAT_US));
        CHECK_IS(0, leat_recv_until(ch, &(int){ 0 }, leat_after(60 * LEAT_S)));
        CHECK_IS(0, leat_unshield());
        CHECK_IS(-EINVAL, leat_unshield());
        CHECK_IS(-ECANCELED, leat_recv(ch, &(int){ 0 }));
        move_on();
        CHECK_IS(-ECANCELED, leat_sleep(LEAT_US));
        CHECK_IS(i % 2 ? -ETIMEDOUT : 0, leat_scope_close(s));
        CHECK_IS(0, leat_close(ch));
        CHECK_IS(0, leat_scope_close(around));
    }
    return 0;
}
ON_MOVING_WORKERS(shields_move_along);

/* ---- a storm ---- */

/* Tasks and blocks wait, yield and move all the time in their own scopes, while a thread cancels
 * the scopes around them. If a cancel missed one of them, closing would never end. */
struct storm {
    leat_chan *ch;
    _Atomic(leat_scope *) target;
    _Atomic bool over;
    _Atomic int holds;
};

struct breeze {
    leat_block block;
    leat_alarm alarm;
    struct storm *storm;
    int item;
};

static int blow_block(leat_block *b)
{
    struct breeze *me = (struct breeze *)b;
    LEAT_BEGIN(b);
    do {
        LEAT_AWAIT_YIELD(b);
        LEAT_AWAIT_SLEEP(b, 20 * LEAT_US, &me->alarm);
        if (b->status == 0)
            LEAT_AWAIT_SEND_UNTIL(b, me->storm->ch, &me->item, leat_after(50 * LEAT_US),
                                  &me->alarm);
    } while (b->status != -ECANCELED);
    LEAT_END(b);
}

static int wait_once(void *ch)
{
    int result = leat_recv(ch, NULL);
    CHECK(result == 0 || result == -ECANCELED);
    return 0;
}

static int blow(void *arg)
{
    struct storm *storm = arg;
    while (!leat_cancelled(NULL)) {
        leat_scope *s = leat_scope_open(leat_after(100 * LEAT_US));
        CHECK(s);
        CHECK_IS(0, leat_go(s, wait_once, storm->ch));
        leat_yield();
        leat_recv_until(storm->ch, &(int){ 0 }, leat_after(30 * LEAT_US));
        leat_yield();
        leat_scope_cancel(s);
        int result = leat_scope_close(s);
        CHECK(result == 0 || result == -ETIMEDOUT || result == -ECANCELED);
    }
    return 0;
}

static int yield_until_cancelled(void *arg)
{
    (void)arg;
    while (!leat_cancelled(NULL)) {
        leat_yield();
        if (!leat_cancelled(NULL))
            try_to_move();
    }
    return 0;
}

static int cancel_targets(void *arg)
{
    struct storm *storm = arg;
    while (!atomic_load(&storm->over)) {
        atomic_fetch_add(&storm->holds, 1);
        leat_scope *target = atomic_load(&storm->target);
        if (target)
            CHECK_IS(0, leat_scope_cancel(target));
        atomic_fetch_sub(&storm->holds, 1);
        if (!target)
            nap();
    }
    return 0;
}

static int is_cancelled_while_moving(void *arg)
{
    (void)arg;
    static struct breeze breezes[4];
    uint64_t chance = seed_of_test();
    leat_scope *around = leat_scope_open(LEAT_NEVER);
    struct storm storm = { .ch = leat_chan_of(around, int, 0) };
    struct foreign foreign;
    foreign_start(&foreign, cancel_targets, &storm);
    for (int round = 0; round < often(300); round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        for (int i = 0; i < 3; i++)
            CHECK_IS(0, leat_go(s, blow, &storm));
        for (int i = 0; i < 4; i++) {
            breezes[i].storm = &storm;
            CHECK_IS(0, leat_go_block(s, &breezes[i].block, blow_block));
        }
        CHECK_IS(0, leat_go(s, yield_until_cancelled, NULL));
        CHECK_IS(0, leat_sleep(below(&chance, 1000) * LEAT_US));
        atomic_store(&storm.target, s);
        WAIT_UNTIL(leat_cancelled(s));
        atomic_store(&storm.target, NULL);
        WAIT_UNTIL(atomic_load(&storm.holds) == 0);
        CHECK_IS(0, leat_scope_close(s));
    }
    atomic_store(&storm.over, true);
    CHECK_IS(0, foreign_join(&foreign));
    CHECK_IS(0, leat_scope_close(around));
    return 0;
}
ON_MOVING_WORKERS(is_cancelled_while_moving);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_MOVING_WORKERS(deadlines_pass_elsewhere),
        TESTS_ON_MOVING_WORKERS(scopes_close_elsewhere),
        TESTS_ON_MOVING_WORKERS(many_open_and_close),
        TESTS_ON_MOVING_WORKERS(nested_scopes_move),
        TESTS_ON_MOVING_WORKERS(tasks_that_moved_are_cancelled),
        TESTS_ON_MOVING_WORKERS(shields_move_along),
        TESTS_ON_MOVING_WORKERS(is_cancelled_while_moving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
