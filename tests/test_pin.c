/* test_pin.c: tasks that stay in their thread, for good or for a while. */
#define _GNU_SOURCE /* gettid */
#include "moves.h"

#include <fcntl.h>

/* ---- leat_pin and leat_unpin ---- */

static _Thread_local int threads_own;

static __attribute__((noinline)) int *own(void)
{
    return &threads_own;
}

/* Yields after a task that computes, and still stays in its thread. */
static void stay(int times)
{
    pid_t tid = gettid();
    int *before = own();
    for (int i = 0; i < times; i++) {
        CHECK(!shove_once());
        CHECK_IS(0, leat_sleep(LEAT_US));
        CHECK_IS(tid, gettid());
        CHECK(own() == before);
    }
}

static int pins_nest(void *arg)
{
    (void)arg;
    int rounds = 40 / SCALE + 1;
    CHECK_IS(-EINVAL, leat_unpin());
    for (int i = 0; i < rounds; i++) {
        CHECK_IS(0, leat_pin());
        stay(2);
        CHECK_IS(0, leat_pin());
        CHECK_IS(0, leat_pin());
        stay(2);
        CHECK_IS(0, leat_unpin());
        CHECK_IS(0, leat_unpin());
        stay(2); /* one pin is left */
        CHECK_IS(0, leat_unpin());
        CHECK_IS(-EINVAL, leat_unpin());
        move_on();
    }
    return 0;
}
ON_MOVING_WORKERS(pins_nest);

enum { MOST_PINS = 65534 };

static int limits_the_depth_of_pins(void *arg)
{
    (void)arg;
    for (int i = 0; i < MOST_PINS; i++)
        CHECK_IS(0, leat_pin());
    CHECK_IS(-EINVAL, leat_pin());
    stay(1);
    for (int i = 0; i < MOST_PINS; i++)
        CHECK_IS(0, leat_unpin());
    CHECK_IS(-EINVAL, leat_unpin());
    move_on();
    return 0;
}
ON_MOVING_WORKERS(limits_the_depth_of_pins);

/* A pin belongs to a task, not to its thread: where a pinned task has ended, others may move. */
static int end_pinned(void *arg)
{
    (void)arg;
    CHECK_IS(0, leat_pin());
    return 0;
}

static int move_once(void *arg)
{
    (void)arg;
    CHECK_IS(-EINVAL, leat_unpin());
    move_on();
    return 0;
}

static int pins_end_with_their_task(void *arg)
{
    (void)arg;
    for (int i = 0; i < 40 / SCALE + 1; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        for (int n = 0; n < 8; n++)
            CHECK_IS(0, n % 2 ? leat_go_pinned(s, end_pinned, NULL) : leat_go(s, end_pinned, NULL));
        CHECK_IS(0, leat_scope_close(s));
        s = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(s, move_once, NULL));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_MOVING_WORKERS(pins_end_with_their_task);

/* In a thread pins do nothing. Blocks and callbacks have no thread to stay in. */
static int pin_in_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_pin());
    for (int i = 0; i < 4; i++)
        CHECK_IS(0, leat_unpin());
    return 0;
}

static int pin_in_block(leat_block *b)
{
    LEAT_BEGIN(b);
    CHECK_IS(-EINVAL, leat_pin());
    CHECK_IS(-EINVAL, leat_unpin());
    LEAT_AWAIT_YIELD(b);
    CHECK_IS(-EINVAL, leat_pin());
    CHECK_IS(-EINVAL, leat_unpin());
    LEAT_END(b);
}

static _Atomic int called;

static void pin_in_callback(leat_op *op, int status)
{
    (void)op, (void)status;
    CHECK_IS(-EINVAL, leat_pin());
    CHECK_IS(-EINVAL, leat_unpin());
    atomic_fetch_add(&called, 1);
}

static void pin_in_timer(leat_timer *timer, int status)
{
    (void)timer;
    pin_in_callback(NULL, status);
}

static int pins_where_there_is_a_thread(void *arg)
{
    (void)arg;
    leat_block block;
    leat_timer timer;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_make(s, 0, 0);
    leat_op op = LEAT_OP(s, LEAT_ON_WORKER);
    struct foreign foreign;
    atomic_store(&called, 0);
    foreign_start(&foreign, pin_in_thread, NULL);
    CHECK_IS(0, foreign_join(&foreign));
    CHECK_IS(0, leat_go_blocking(s, pin_in_thread, NULL));
    CHECK_IS(0, leat_go_block(s, &block, pin_in_block));
    CHECK_IS(0, leat_recv_then(&op, ch, NULL, pin_in_callback));
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_timer_init(&timer, s));
    CHECK_IS(0, leat_after_func(&timer, 0, pin_in_timer));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(2, called);
    return 0;
}
ON_WORKERS(pins_where_there_is_a_thread);

static void pins_without_a_runtime(void **state)
{
    (void)state;
    pin_in_thread(NULL);
}

/* ---- leat_go_pinned ---- */

struct captive {
    leat_chan *ch;
    _Atomic int free, held;
    _Atomic pid_t where;
    _Atomic bool over;
};

/* A pinned task waits for a task that computes before it; tasks that are not pinned do not. */
static int wait_after_it(void *arg)
{
    struct captive *c = arg;
    pid_t tid = gettid();
    atomic_store(&c->where, tid);
    while (!atomic_load(&c->over)) {
        CHECK_IS(0, leat_yield());
        CHECK_IS(tid, gettid());
    }
    for (int i = 0, x; i < 20; i++) {
        CHECK_IS(0, leat_send(c->ch, &i));
        CHECK_IS(tid, gettid());
        CHECK_IS(0, leat_recv(c->ch, &x));
        CHECK_IS(tid, gettid());
        CHECK_IS(-ETIMEDOUT, leat_recv_until(c->ch, &x, leat_after(LEAT_US)));
        CHECK_IS(tid, gettid());
    }
    atomic_fetch_add(&c->held, 1);
    return 0;
}

static int compute_beside(void *arg)
{
    struct captive *c = arg;
    pid_t tid = gettid();
    bool together = atomic_load(&c->where) == tid;
    for (int64_t end = leat_after(LEAT_MS); leat_now() < end;)
        CHECK(!together || atomic_load(&c->held) == 0);
    return 0;
}

static int pinned_tasks_wait(void *arg)
{
    (void)arg;
    for (int i = 0; i < 40 / SCALE + 1; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
        struct captive c = { .ch = leat_chan_of(s, int, 1) };
        CHECK_IS(0, i % 2 ? leat_go_pinned(s, wait_after_it, &c)
                          : leat_go_pinned_named(s, wait_after_it, &c, "captive", 128 * 1024));
        WAIT_UNTIL(atomic_load(&c.where));
        for (int n = 0; n < 4; n++)
            CHECK_IS(0, leat_go(inner, compute_beside, &c));
        CHECK_IS(0, leat_scope_close(inner));
        atomic_store(&c.over, true);
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(1, c.held);
    }
    return 0;
}
ON_MOVING_WORKERS(pinned_tasks_wait);

static int count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
    return 0;
}

static int look_at_name(void *arg)
{
    CHECK(leat_task_name() && strcmp(leat_task_name(), arg) == 0);
    return 0;
}

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    _Atomic int calls = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-EINVAL, leat_go_pinned(NULL, count_up, &calls));
    CHECK_IS(-EINVAL, leat_go_pinned(s, NULL, &calls));
    CHECK_IS(-EINVAL, leat_go_pinned_named(s, count_up, &calls, "x", 1));
    CHECK_IS(-EINVAL, leat_go_pinned_named(s, count_up, &calls, "x", ((size_t)1 << 30) + 1));
    CHECK_IS(-EINVAL, leat_go_spread(NULL, count_up, &calls));
    CHECK_IS(-EINVAL, leat_go_spread(s, NULL, &calls));
    CHECK_IS(-EINVAL, leat_go_spread_named(s, count_up, &calls, "x", 16 * 1024 - 1));
    CHECK_IS(-EINVAL, leat_go_spread_named(s, count_up, &calls, "x", SIZE_MAX));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(0, leat_go_pinned(s, count_up, &calls));
    CHECK_IS(0, leat_go_spread(s, count_up, &calls));
    CHECK_IS(0, leat_go_pinned_named(s, look_at_name, "pinned", "pinned", 200 * 1000));
    CHECK_IS(0, leat_go_spread_named(s, look_at_name, "spread", "spread", 200 * 1000));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(2, calls);
    return 0;
}
ON_WORKERS(refuses_wrong_arguments);

/* ---- a program whose tasks are all pinned ---- */

enum { YIELDERS = 8 };
static leat_block blocks[YIELDERS];
static _Atomic int elsewhere, begun;
static _Atomic pid_t computing;
static _Atomic bool over;

static int stay_and_yield(void *arg)
{
    (void)arg;
    pid_t tid = gettid();
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&over)) {
        leat_yield();
        CHECK_IS(tid, gettid());
    }
    return 0;
}

static int yield_until_elsewhere(leat_block *b)
{
    LEAT_BEGIN(b);
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&computing) || gettid() == atomic_load(&computing))
        LEAT_AWAIT_YIELD(b);
    atomic_fetch_add(&elsewhere, 1);
    LEAT_END(b);
}

static int only_blocks_move(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    atomic_store(&elsewhere, 0);
    atomic_store(&begun, 0);
    atomic_store(&computing, 0);
    atomic_store(&over, false);
    for (int i = 0; i < YIELDERS; i++) {
        CHECK_IS(0, leat_go(s, stay_and_yield, NULL));
        CHECK_IS(0, leat_go_block(s, &blocks[i], yield_until_elsewhere));
    }
    WAIT_UNTIL(atomic_load(&begun) == 2 * YIELDERS);
    pid_t tid = gettid();
    atomic_store(&computing, tid);
    COMPUTE_UNTIL(atomic_load(&elsewhere) == YIELDERS);
    atomic_store(&over, true);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(tid, gettid());
    return 0;
}

static int all_stay(void *arg)
{
    (void)arg;
    shovers = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 20 / SCALE + 1; i++) {
        only_blocks_move(NULL);
        stay(2);
    }
    return leat_scope_close(shovers);
}

static void an_option_pins_all_tasks(void **state)
{
    (void)state;
    for (unsigned workers = 2; workers <= 4; workers += 2)
        CHECK_IS(
            0, leat_main_with(all_stay, NULL, &(leat_options){ .workers = workers, .pinned = 1 }));
}

static int does_move(void *arg)
{
    (void)arg;
    shovers = leat_scope_open(LEAT_NEVER);
    move_on();
    return leat_scope_close(shovers);
}

static void the_environment_pins_all_tasks(void **state)
{
    (void)state;
    leat_options two = { .workers = 2 }, pinned = { .workers = 2, .pinned = 2 };
    setenv("LEAT_PINNED", "1", 1);
    CHECK_IS(0, leat_main_with(all_stay, NULL, &two));
    setenv("LEAT_PINNED", "0", 1);
    CHECK_IS(0, leat_main_with(does_move, NULL, &two));
    CHECK_IS(0, leat_main_with(all_stay, NULL, &pinned)); /* the option overrides the environment */
    unsetenv("LEAT_PINNED");
    CHECK_IS(0, leat_main_with(does_move, NULL, &two));
}

static void any_option_but_0_pins_all_tasks(void **state)
{
    (void)state;
    static const int options[] = { 1, 2, INT32_MAX, -1, INT32_MIN };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        CHECK_IS(0, leat_main_with(all_stay, NULL,
                                   &(leat_options){ .workers = 2, .pinned = options[i] }));
}

/* Starts the runtime, and returns what it printed on standard error. */
static const char *said_at_start(int expected)
{
    static char text[512];
    int ends[2], former = dup(STDERR_FILENO);
    fflush(stderr);
    CHECK_IS(0, pipe(ends));
    CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
    int result = leat_start(&(leat_options){ .workers = 2 });
    CHECK(dup2(former, STDERR_FILENO) >= 0);
    close(former);
    close(ends[1]);
    ssize_t n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    CHECK(n >= 0);
    text[n] = 0;
    CHECK_IS(expected, result);
    if (result == 0)
        CHECK_IS(0, leat_stop());
    return text;
}

static void refuses_what_it_does_not_know(void **state)
{
    (void)state;
    static const char *const bad[] = { "2", "-1", "yes", "true", " 1", "1 ", "01", "1.0", "x" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("LEAT_PINNED", bad[i], 1);
        const char *said = said_at_start(-EINVAL);
        CHECK(strstr(said, "LEAT_PINNED") && strchr(said, '\n') == said + strlen(said) - 1);
        CHECK_IS(0, leat_workers());
    }
    static const char *const good[] = { "0", "1" };
    for (size_t i = 0; i < 2; i++) {
        setenv("LEAT_PINNED", good[i], 1);
        CHECK(!*said_at_start(0));
    }
    unsetenv("LEAT_PINNED");
    CHECK(!*said_at_start(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_MOVING_WORKERS(pins_nest),
        TESTS_ON_MOVING_WORKERS(limits_the_depth_of_pins),
        TESTS_ON_MOVING_WORKERS(pins_end_with_their_task),
        TESTS_ON_WORKERS(pins_where_there_is_a_thread),
        cmocka_unit_test(pins_without_a_runtime),
        TESTS_ON_MOVING_WORKERS(pinned_tasks_wait),
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        cmocka_unit_test(an_option_pins_all_tasks),
        cmocka_unit_test(the_environment_pins_all_tasks),
        cmocka_unit_test(refuses_what_it_does_not_know),
        cmocka_unit_test(any_option_but_0_pins_all_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
