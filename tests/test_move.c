/* test_move.c: parties that are ready after a task that computes run elsewhere, and every kind
 * of wait works before and after a move. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

#include "sched/current.h"
#include "sched/runtime.h"
#include "sched/steal.h"

/* ---- tasks, blocks and callbacks after a task that computes ---- */

enum { MANY = 20 };
static _Atomic int begun, elsewhere;
static _Atomic pid_t computing; /* the thread where a task computes; 0: none yet */

static bool is_elsewhere(void)
{
    return atomic_load(&computing) && gettid() != atomic_load(&computing);
}

static int yield_until_elsewhere(void *arg)
{
    (void)arg;
    atomic_fetch_add(&begun, 1);
    while (!is_elsewhere())
        CHECK_IS(0, leat_yield());
    atomic_fetch_add(&elsewhere, 1);
    return 0;
}

static int yield_block_until_elsewhere(leat_block *b)
{
    LEAT_BEGIN(b);
    atomic_fetch_add(&begun, 1);
    while (!is_elsewhere())
        LEAT_AWAIT_YIELD(b);
    atomic_fetch_add(&elsewhere, 1);
    LEAT_END(b);
}

static void say_where(leat_op *op, int status)
{
    (void)op;
    CHECK_IS(-EPIPE, status);
    CHECK(is_elsewhere());
    atomic_fetch_add(&elsewhere, 1);
}

static void begin_anew(void)
{
    atomic_store(&begun, 0);
    atomic_store(&elsewhere, 0);
    atomic_store(&computing, 0);
}

static int compute_until_all_are_elsewhere(void *arg)
{
    int n = *(int *)arg;
    WAIT_UNTIL(atomic_load(&begun) == n);
    atomic_store(&computing, gettid());
    COMPUTE_UNTIL(atomic_load(&elsewhere) == n);
    return 0;
}

static int ready_tasks_go_on_elsewhere(void *arg)
{
    (void)arg;
    uint64_t moved = counts_now().moved;
    for (int round = 0; round < often(40) + 1; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        begin_anew();
        for (int i = 0; i < MANY; i++)
            CHECK_IS(0, leat_go(s, yield_until_elsewhere, NULL));
        CHECK_IS(0, leat_go(s, compute_until_all_are_elsewhere, &(int){ MANY }));
        CHECK_IS(0, leat_scope_close(s));
    }
    if (leat_workers() == 2) /* with more, all may have begun elsewhere in each round */
        WAIT_UNTIL(counts_now().moved > moved);
    return 0;
}
ON_MOVING_WORKERS(ready_tasks_go_on_elsewhere);

static int ready_blocks_go_on_elsewhere(void *arg)
{
    (void)arg;
    static leat_block blocks[MANY];
    for (int round = 0; round < often(40) + 1; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        begin_anew();
        for (int i = 0; i < MANY; i++)
            CHECK_IS(0, leat_go_block(s, &blocks[i], yield_block_until_elsewhere));
        CHECK_IS(0, leat_go(s, compute_until_all_are_elsewhere, &(int){ MANY }));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_MOVING_WORKERS(ready_blocks_go_on_elsewhere);

static int ready_callbacks_are_called_elsewhere(void *arg)
{
    (void)arg;
    static leat_op ops[MANY];
    for (int round = 0; round < often(40) + 1; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = leat_chan_make(s, 0, 0);
        begin_anew();
        for (int i = 0; i < MANY; i++) {
            ops[i] = (leat_op)LEAT_OP(s, LEAT_ON_WORKER);
            CHECK_IS(0, leat_recv_then(&ops[i], ch, NULL, say_where));
        }
        atomic_store(&computing, gettid());
        CHECK_IS(0, leat_close(ch)); /* makes the callbacks ready here */
        COMPUTE_UNTIL(atomic_load(&elsewhere) == MANY);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_MOVING_WORKERS(ready_callbacks_are_called_elsewhere);

static int a_task_that_moves_keeps_name_and_errno(void *arg)
{
    (void)arg;
    const char *name = leat_task_name();
    uint64_t moved = counts_now().moved;
    for (int i = 0; i < often(300); i++) {
        pid_t before = gettid();
        errno = i;
        move_on();
        CHECK(gettid() != before);
        CHECK_IS(i, errno);
        CHECK(leat_task_name() == name && strcmp(name, "body") == 0);
        CHECK_IS(0, leat_cancelled(NULL));
    }
    WAIT_UNTIL(counts_now().moved >= moved + (uint64_t)often(300));
    return 0;
}
ON_MOVING_WORKERS(a_task_that_moves_keeps_name_and_errno);

/* ---- every kind of wait, with a move between any two ---- */

struct trip {
    leat_chan *there, *back, *full, *empty;
    leat_mutex *mutex;
    leat_semaphore *permits;
    leat_batcher *batcher;
};

static int echo(void *arg)
{
    struct trip *trip = arg;
    for (int x; leat_recv(trip->there, &x) == 0;)
        CHECK_IS(0, leat_send(trip->back, &x));
    CHECK_IS(0, leat_close(trip->back));
    return 0;
}

static void exchange(struct trip *trip, int i)
{
    int x = 0;
    move_on();
    CHECK_IS(0, leat_send(trip->there, &i));
    move_on();
    CHECK_IS(0, leat_recv(trip->back, &x));
    CHECK_IS(i, x);
    move_on();
    leat_case cases[] = { LEAT_RECV(trip->back, &x), LEAT_SEND(trip->there, &i) };
    CHECK_IS(1, leat_select(cases, 2, LEAT_NEVER));
    CHECK_IS(0, cases[1].status);
    move_on();
    leat_case others[] = { LEAT_RECV(trip->back, &x), LEAT_RECV(trip->empty, &x),
                           LEAT_SEND(trip->full, &i) };
    CHECK_IS(0, leat_select(others, 3, leat_after(60 * LEAT_S)));
    CHECK_IS(i, x);
}

static int channels_work_over_moves(void *arg)
{
    (void)arg;
    for (size_t capacity = 0; capacity <= 2; capacity++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct trip trip = { .there = leat_chan_of(s, int, capacity),
                             .back = leat_chan_of(s, int, capacity),
                             .full = leat_chan_of(s, int, 0),
                             .empty = leat_chan_of(s, int, 1) };
        CHECK_IS(0, leat_go(s, echo, &trip));
        for (int i = 1; i < often(80); i++)
            exchange(&trip, i);
        move_on();
        CHECK_IS(0, leat_close(trip.there));
        move_on();
        CHECK_IS(-EPIPE, leat_recv(trip.back, NULL));
        move_on();
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_MOVING_WORKERS(channels_work_over_moves);

/* A deadline ends a wait, even if it was set before a move and passed meanwhile; never early. */
static void check_late(int result, int64_t deadline)
{
    CHECK_IS(-ETIMEDOUT, result);
    CHECK(leat_now() >= deadline);
}

static int deadlines_pass_after_moves(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *empty = leat_chan_of(s, int, 1), *full = leat_chan_of(s, int, 0);
    uint64_t chance = seed_of_test();
    for (int i = 0, x = 0; i < often(600); i++) {
        int64_t before = leat_after(below(&chance, 400) * LEAT_US); /* before or after the move */
        move_on();
        check_late(leat_recv_until(empty, &x, before), before);
        int64_t after = leat_after((1 + below(&chance, 200)) * LEAT_US);
        leat_case cases[] = { LEAT_RECV(empty, &x), LEAT_SEND(full, &x) };
        switch (i % 4) {
        case 0: check_late(leat_send_until(full, &x, after), after); break;
        case 1: check_late(leat_recv_until(empty, &x, after), after); break;
        case 2: check_late(leat_select(cases, 2, after), after); break;
        default: CHECK_IS(0, leat_sleep_until(after)); CHECK(leat_now() >= after);
        }
        move_on();
        int64_t asleep = leat_now() + below(&chance, 100) * LEAT_US;
        CHECK_IS(0, leat_sleep_until(asleep));
        CHECK(leat_now() >= asleep);
    }
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_MOVING_WORKERS(deadlines_pass_after_moves);

/* When a task moves, the deadline of a wait that is over stays on the old worker, and must not end
 * a later wait. So a partner sends, and computes while that deadline passes. The two may settle on
 * a worker each, where neither has to move; so the task is moved away now and then. */
struct late {
    leat_chan *ch, *ask;
};

static int send_and_compute(void *arg)
{
    struct late *late = arg;
    for (int x; leat_recv(late->ask, &x) == 0;) {
        CHECK_IS(0, leat_send(late->ch, &x));
        for (int64_t end = leat_after(150 * LEAT_US); leat_now() < end;)
            ;
    }
    return 0;
}

static int old_deadlines_do_nothing(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct late late = { leat_chan_of(s, int, 0), leat_chan_of(s, int, 1) };
    leat_chan *never = leat_chan_of(s, int, 0);
    uint64_t chance = seed_of_test();
    int gotten = 0, moves = 0;
    int64_t patience = leat_after(60 * LEAT_S); /* beside other programs few tasks move */
    CHECK_IS(0, leat_go(s, send_and_compute, &late));
    for (int i = 0; i < often(4000) || (!(gotten && moves) && leat_now() < patience); i++) {
        int x = -1;
        if (i % 64 == 63)
            try_to_move();
        pid_t before = gettid();
        CHECK_IS(0, leat_send(late.ask, &i));
        int result = leat_recv_until(late.ch, &x, leat_after(below(&chance, 300) * LEAT_US));
        CHECK(result == 0 || result == -ETIMEDOUT);
        gotten += result == 0;
        moves += gettid() != before;
        if (result == 0 && i % 4 == 0) { /* an old deadline passes during this wait */
            int64_t end = leat_after(400 * LEAT_US);
            check_late(leat_recv_until(never, &x, end), end);
        }
        if (result)
            CHECK_IS(0, leat_recv(late.ch, &x)); /* no deadline may end this wait */
        CHECK_IS(i, x);
    }
    CHECK(gotten > 0 && moves > 0);
    CHECK_IS(0, leat_close(late.ask));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_MOVING_WORKERS(old_deadlines_do_nothing);

/* ---- what is held over a move ---- */

static bool alone;

/* The only holder moves each time; of several each moves now and then. */
static void move_holder(void)
{
    if (alone)
        move_on();
    else
        try_to_move();
}

static int add_one(void *arg, leat_batch_view *batch)
{
    (void)arg;
    const int *items = batch->items;
    int *results = batch->results;
    move_holder(); /* moves the leader, which holds the execution lock */
    for (size_t i = 0; i < batch->n; i++)
        results[i] = items[i] + 1;
    move_holder();
    return leat_batch_all_done(batch);
}

static int say_seven(void *arg)
{
    CHECK(!leat_task_name());
    ++*(int *)arg;
    return 7;
}

static _Atomic int inside, taken;

static int hold_things(void *arg)
{
    struct trip *trip = arg;
    int calls = 0;
    for (int i = 0; i < often(60) + 1; i++) {
        CHECK_IS(0, leat_mutex_lock(trip->mutex));
        CHECK_IS(0, atomic_fetch_add(&inside, 1));
        move_holder();
        CHECK_IS(-EDEADLK, leat_mutex_lock(trip->mutex));
        CHECK_IS(1, atomic_fetch_sub(&inside, 1));
        CHECK_IS(0, leat_mutex_unlock(trip->mutex));
        move_holder();
        CHECK_IS(-EPERM, leat_mutex_unlock(trip->mutex));
        CHECK_IS(0, leat_acquire(trip->permits, 2));
        CHECK(atomic_fetch_add(&taken, 2) <= 1);
        move_holder();
        atomic_fetch_sub(&taken, 2);
        CHECK_IS(0, leat_release(trip->permits, 2));
        move_holder();
        int y = 0;
        CHECK_IS(0, leat_batch(trip->batcher, &i, &y));
        CHECK_IS(i + 1, y);
        move_holder();
        CHECK_IS(7, leat_blocking(say_seven, &calls));
        CHECK_IS(i + 1, calls);
    }
    return 0;
}

static int holders_may_move(void *arg)
{
    (void)arg;
    for (int tasks = 1; tasks <= 4; tasks += 3) {
        alone = tasks == 1;
        leat_scope *s = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
        struct trip trip = { .mutex = leat_mutex_open(s),
                             .permits = leat_semaphore_open(s, 3),
                             .batcher = leat_batcher_open(
                                 s, &(leat_batcher_spec){ .item_size = sizeof(int),
                                                          .result_size = sizeof(int),
                                                          .run = add_one }) };
        for (int i = 0; i < tasks; i++)
            CHECK_IS(0, leat_go(inner, hold_things, &trip));
        CHECK_IS(0, leat_scope_close(inner));
        CHECK_IS(3, leat_permits(trip.permits));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_MOVING_WORKERS(holders_may_move);

static leat_once once;

static int only_once(void *arg)
{
    try_to_move();
    atomic_fetch_add((_Atomic int *)arg, 1);
    try_to_move();
    return -EBUSY;
}

static int do_once(void *arg)
{
    try_to_move();
    CHECK_IS(-EBUSY, leat_once_do(&once, only_once, arg));
    return 0;
}

static int once_functions_may_move(void *arg)
{
    (void)arg;
    for (int round = 0; round < often(40) + 1; round++) {
        _Atomic int times = 0;
        memset(&once, 0, sizeof once);
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        for (int i = 0; i < 4; i++)
            CHECK_IS(0, leat_go(s, do_once, &times));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(1, times);
    }
    return 0;
}
ON_MOVING_WORKERS(once_functions_may_move);

/* ---- a thief that looks again after an hour ---- */

/* As if 2^31 tasks had started on the other worker since the last look. No worker runs that long
 * here, so the look is written by hand. */
static int takes_nothing_from_an_empty_queue(void *arg)
{
    (void)arg;
    CHECK_IS(0, leat_pin());
    struct lt_worker *here = lt_current_worker(), *other = lt_runtime.workers[!here->index];
    uint32_t head = atomic_load(&other->local_queue.head);
    struct lt_seen *seen = &here->stealing.seen[other->index];
    seen->head = seen->tail = head + INT32_MAX;
    here->stealing.looked = leat_now() - 3600 * LEAT_S;
    lt_worker_go_in(here);
    lt_steal(here, leat_now());
    lt_worker_go_out(here);
    CHECK_IS(0, lt_local_queue_length(&here->local_queue));
    CHECK_IS(head, atomic_load(&other->local_queue.head));
    return leat_unpin();
}

static void takes_nothing_from_an_empty_queue_on_2(void **state)
{
    (void)state;
    run_on(2, takes_nothing_from_an_empty_queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_MOVING_WORKERS(ready_tasks_go_on_elsewhere),
        TESTS_ON_MOVING_WORKERS(ready_blocks_go_on_elsewhere),
        TESTS_ON_MOVING_WORKERS(ready_callbacks_are_called_elsewhere),
        TESTS_ON_MOVING_WORKERS(a_task_that_moves_keeps_name_and_errno),
        TESTS_ON_MOVING_WORKERS(channels_work_over_moves),
        TESTS_ON_MOVING_WORKERS(deadlines_pass_after_moves),
        TESTS_ON_MOVING_WORKERS(old_deadlines_do_nothing),
        TESTS_ON_MOVING_WORKERS(holders_may_move),
        TESTS_ON_MOVING_WORKERS(once_functions_may_move),
        cmocka_unit_test(takes_nothing_from_an_empty_queue_on_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
