/* test_fair.c: no party waits for ever beside tasks that yield, talk or start others. */
#include "base/config.h"
#include "enough.h"

static int yields_return_zero(void *arg)
{
    (void)arg;
    CHECK_IS(0, leat_yield());
    leat_scope *s = leat_scope_open(LEAT_NOW);
    CHECK_IS(0, leat_yield());
    CHECK_IS(-ETIMEDOUT, leat_scope_close(s));
    return 0;
}
ON_WORKERS(yields_return_zero);

/* On one worker, each yield lets every other task run once. */
enum { RUNNERS = 5, TURNS = 30 };
static int turns[RUNNERS * TURNS], turn_count, ready_count;

static int take_turns(void *arg)
{
    ready_count++;
    while (ready_count < RUNNERS)
        leat_yield();
    for (int i = 0; i < TURNS; i++) {
        turns[turn_count++] = *(int *)arg;
        leat_yield();
    }
    return 0;
}

static int yields_in_turn(void *arg)
{
    (void)arg;
    int numbers[RUNNERS];
    turn_count = ready_count = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < RUNNERS; i++) {
        numbers[i] = i;
        CHECK_IS(0, leat_go(s, take_turns, &numbers[i]));
    }
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(RUNNERS * TURNS, turn_count);
    /* Once all take turns, each of the others runs before a task runs again. */
    for (int i = RUNNERS; i < turn_count; i++)
        for (int j = i - RUNNERS + 1; j < i; j++)
            CHECK(turns[i] != turns[j]);
    return 0;
}

static void yields_to_all(void **state)
{
    (void)state;
    run_on(1, yields_in_turn);
}

/* Tasks that yield to each other let a later task start. */
static int yielding_tasks_let_others_start(void *arg)
{
    (void)arg;
    for (int pairs = 1; pairs <= 3; pairs++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        atomic_store(&enough, false);
        for (int i = 0; i < 2 * pairs; i++)
            CHECK_IS(0, leat_go(s, yield_on, NULL));
        for (int i = 0; i < 20; i++)
            leat_yield();
        CHECK_IS(0, leat_go(s, say_enough, NULL));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(yielding_tasks_let_others_start);

/* They also let a party run that a thread wakes. */
enum { MOST_YIELDING = 5 };
static leat_block yielding[MOST_YIELDING];

static int yield_on_block(leat_block *b)
{
    LEAT_BEGIN(b);
    while (!atomic_load(&enough))
        LEAT_AWAIT_YIELD(b);
    LEAT_END(b);
}

static int wait_and_say_enough(void *ch)
{
    CHECK_IS(0, leat_recv(ch, NULL));
    return say_enough(NULL);
}

static void *send_from_outside(void *ch)
{
    CHECK_IS(0, leat_send(ch, NULL));
    return NULL;
}

static int yielding_tasks_let_a_woken_one_run(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2 * MOST_YIELDING; i++) {
        pthread_t thread;
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = leat_chan_make(outer, 0, 0);
        atomic_store(&enough, false);
        CHECK_IS(0, leat_go(s, wait_and_say_enough, ch));
        for (int n = 0; n <= i / 2; n++)
            CHECK_IS(0, i % 2 ? leat_go_block(s, &yielding[n], yield_on_block)
                              : leat_go(s, yield_on, NULL));
        for (int n = 0; n < 20; n++)
            leat_yield();
        CHECK_IS(0, pthread_create(&thread, NULL, send_from_outside, ch));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(0, pthread_join(thread, NULL));
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(yielding_tasks_let_a_woken_one_run);

/* In a family of tasks each starts the next. A task that has started before still runs. */
struct family {
    leat_scope *scope;
    int64_t since;
};

static int start_the_next(void *arg)
{
    struct family *family = arg;
    if (go_on(family->since))
        CHECK_IS(0, leat_go(family->scope, start_the_next, family));
    return 0;
}

static int starting_tasks_let_others_go_on(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct family family = { s, leat_now() };
    atomic_store(&enough, false);
    for (int i = 0; i < 4; i++)
        CHECK_IS(0, leat_go(s, start_the_next, &family));
    for (int i = 0; i < 200; i++)
        leat_yield();
    atomic_store(&enough, true);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(starting_tasks_let_others_go_on);

/* Families keep the local queue of the only worker full. A task that a thread starts still has its
 * turn, and long before each family has had many. */
enum { FAMILIES = 2 * LT_LOCAL_QUEUE_SIZE + 8 };
static _Atomic int births, births_before_stranger;

static int bear_the_next(void *arg)
{
    struct family *family = arg;
    atomic_fetch_add(&births, 1);
    if (go_on(family->since))
        CHECK_IS(0, leat_go(family->scope, bear_the_next, family));
    return 0;
}

static int note_births(void *arg)
{
    atomic_store(&births_before_stranger, atomic_load(&births));
    return say_enough(arg);
}

/* Reads the count when the task is already queued, so that a pause of this thread does no harm. */
static void *start_a_stranger(void *scope)
{
    static int already;
    CHECK_IS(0, leat_go(scope, note_births, NULL));
    already = atomic_load(&births);
    return &already;
}

static int families_let_a_stranger_start(void *arg)
{
    enum { MANY = 50 };
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct family family = { s, leat_now() };
    pthread_t thread;
    void *already;
    atomic_store(&enough, false);
    for (int i = 0; i < FAMILIES; i++)
        CHECK_IS(0, leat_go(s, bear_the_next, &family));
    CHECK_IS(0, pthread_create(&thread, NULL, start_a_stranger, s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, pthread_join(thread, &already));
    CHECK(atomic_load(&births_before_stranger) - *(int *)already < MANY * FAMILIES);
    return 0;
}

static void strangers_start(void **state)
{
    (void)state;
    run_on(1, families_let_a_stranger_start);
}

/* On one worker, a crowd of blocks that start lets a task run that is ready, or that sleeps for a
 * moment. A task that yields runs after the parties in the worker's local queue. */
enum { CROWD = 20000 };
static leat_block crowd[CROWD];
static int crowd_started, started_since;

static int start_one(leat_block *b)
{
    LEAT_BEGIN(b);
    crowd_started++;
    CHECK(++started_since < CROWD / 2);
    LEAT_END(b);
}

static int starting_blocks_let_others_go_on(void *arg)
{
    (void)arg;
    for (int sleeps = 0; sleeps <= 1; sleeps++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        crowd_started = started_since = 0;
        for (int i = 0; i < CROWD; i++)
            CHECK_IS(0, leat_go_block(s, &crowd[i], start_one));
        while (crowd_started < CROWD) {
            CHECK_IS(0, sleeps ? leat_sleep(1) : leat_yield());
            CHECK(sleeps || started_since <= LT_LOCAL_QUEUE_SIZE + 2 * LT_DIRECT_SWITCHES);
            started_since = 0;
        }
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

static void blocks_let_others_go_on(void **state)
{
    (void)state;
    run_on(1, starting_blocks_let_others_go_on);
}

/* On one worker, blocks and tasks start in the order in which they were started. */
static int next_to_start;

static void is_next(int i)
{
    CHECK_IS(next_to_start, i);
    next_to_start++;
}

static int start_block_in_turn(leat_block *b)
{
    LEAT_BEGIN(b);
    is_next((int)(b - crowd));
    LEAT_END(b);
}

static int start_task_in_turn(void *arg)
{
    is_next((int)(intptr_t)arg);
    return 0;
}

static int blocks_and_tasks_start_in_turn(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    next_to_start = 0;
    for (int i = 0; i < CROWD; i++)
        if (below(&chance, 3) > 0)
            CHECK_IS(0, leat_go_block(s, &crowd[i], start_block_in_turn));
        else
            CHECK_IS(0, leat_go(s, start_task_in_turn, (void *)(intptr_t)i));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(CROWD, next_to_start);
    return 0;
}

static void start_in_turn(void **state)
{
    (void)state;
    run_on(1, blocks_and_tasks_start_in_turn);
}

/* Operations that never have to wait still give their worker away. */
enum talk { BUFFER, SELECT, PAIR, TALKS };

static int talk_to_itself(void *arg)
{
    int x = 0;
    for (int64_t since = leat_now(); go_on(since);) {
        CHECK_IS(0, leat_send(arg, &x));
        CHECK_IS(0, leat_recv(arg, &x));
    }
    return 0;
}

static int select_with_itself(void *arg)
{
    int x = 0;
    leat_case cases[] = { LEAT_SEND(arg, &x), LEAT_RECV(arg, &x) };
    for (int64_t since = leat_now(); go_on(since);)
        CHECK(leat_select(cases, 2, LEAT_NEVER) >= 0);
    return 0;
}

static int send_on(void *arg)
{
    int x = 0;
    for (int64_t since = leat_now(); go_on(since);)
        if (leat_send(arg, &x))
            break;
    leat_close(arg);
    return 0;
}

static int receive_on(void *arg)
{
    for (int64_t since = leat_now(); go_on(since);)
        if (leat_recv(arg, NULL))
            break;
    leat_close(arg);
    return 0;
}

static int talking_tasks_let_others_run(void *arg)
{
    (void)arg;
    for (enum talk talk = BUFFER; talk < TALKS; talk++) {
        for (int started = 0; started <= 1; started++) {
            leat_scope *s = leat_scope_open(LEAT_NEVER);
            atomic_store(&enough, false);
            for (int i = 0; i < 4; i++) {
                leat_chan *ch = leat_chan_of(s, int, talk == PAIR ? 0 : 1);
                if (talk == PAIR) {
                    CHECK_IS(0, leat_go(s, send_on, ch));
                    CHECK_IS(0, leat_go(s, receive_on, ch));
                } else {
                    CHECK_IS(0,
                             leat_go(s, talk == BUFFER ? talk_to_itself : select_with_itself, ch));
                }
            }
            for (int i = 0; i < 10; i++)
                leat_yield();
            if (started) /* this task wants to run */
                atomic_store(&enough, true);
            else
                CHECK_IS(0, leat_go(s, say_enough, NULL));
            CHECK_IS(0, leat_scope_close(s));
        }
    }
    return 0;
}
ON_WORKERS(talking_tasks_let_others_run);

static int pass_on(void *unused, const void *in, void *out)
{
    (void)unused;
    memcpy(out, in, sizeof(int));
    return 0;
}

static size_t passed_on;
static int count_passed_on(void *out)
{
    passed_on = leat_chan_len(out);
    return 0;
}

/* The stage's task finds an input and room for its output each time. */
static int stages_let_others_start(void *arg)
{
    enum { ITEMS = 10 * LT_OP_BUDGET };
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, ITEMS);
    int i = 0;
    while (leat_try_send(in, &i) == 0)
        i++;
    CHECK_IS(0, leat_close(in));
    leat_pipeline_spec spec = { .n = 1, .run = pass_on, .out_size = sizeof i, .capacity = ITEMS };
    leat_chan *out = leat_pipeline(s, in, &spec);
    CHECK_IS(0, leat_go(s, count_passed_on, out));
    CHECK_IS(0, leat_scope_close(s));
    CHECK(passed_on < ITEMS);
    return 0;
}

static void stages_let_others_start_on_1(void **state)
{
    (void)state;
    run_on(1, stages_let_others_start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(yields_return_zero),
        cmocka_unit_test(yields_to_all),
        TESTS_ON_WORKERS(yielding_tasks_let_others_start),
        TESTS_ON_WORKERS(yielding_tasks_let_a_woken_one_run),
        TESTS_ON_WORKERS(starting_tasks_let_others_go_on),
        TESTS_ON_WORKERS(talking_tasks_let_others_run),
        cmocka_unit_test(strangers_start),
        cmocka_unit_test(blocks_let_others_go_on),
        cmocka_unit_test(stages_let_others_start_on_1),
        cmocka_unit_test(start_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
