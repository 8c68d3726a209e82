/* test_block.c: how a step function continues, what an await returns, how a block ends. */
#include "support.h"

/* ---- continuing at once, or at the same line ---- */

struct hopper {
    leat_block block;
    leat_alarm alarm;
    leat_chan *in, *out;
    int entries, x;
    _Atomic unsigned expected_line;
};

static int hop(leat_block *b)
{
    struct hopper *me = (struct hopper *)b;
    me->entries++;
    LEAT_BEGIN(b);
    me->expected_line = __LINE__ + 1;
    LEAT_AWAIT_RECV(b, me->in, &me->x);
    CHECK_IS(0, b->status);
    CHECK_IS(7, me->x);
    me->x++;
    me->expected_line = __LINE__ + 1;
    LEAT_AWAIT_SEND(b, me->out, &me->x);
    CHECK_IS(0, b->status);
    LEAT_END(b);
}

static int continues_at_once(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct hopper hopper = { .in = leat_chan_of(s, int, 1), .out = leat_chan_of(s, int, 1) };
    CHECK_IS(0, leat_send(hopper.in, &(int){ 7 }));
    CHECK_IS(0, leat_go_block(s, &hopper.block, hop));
    CHECK_IS(0, leat_block_join(&hopper.block));
    /* A block that has used up its budget may have had to yield. */
#if defined(LEAT_HARSH) || defined(TESTS_IN_SIM)
    CHECK(hopper.entries >= 1 && hopper.entries <= 3);
#else
    CHECK(hopper.entries >= 1 && hopper.entries <= 2);
#endif
    CHECK_IS(8, (leat_recv(hopper.out, &hopper.x), hopper.x));
    return leat_scope_close(s);
}
ON_WORKERS(continues_at_once);

/* Takes the lock under which the block began to wait, perhaps on another worker. */
static unsigned line_of(struct hopper *hopper, leat_chan *ch)
{
    lt_chan_lock(ch);
    unsigned line = hopper->block.line;
    lt_chan_unlock(ch);
    return line;
}

static int resumes_at_the_same_line(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct hopper hopper = { .in = leat_chan_of(s, int, 0), .out = leat_chan_of(s, int, 0) };
    CHECK_IS(0, leat_go_block(s, &hopper.block, hop));
    WAIT_UNTIL(receivers_of(hopper.in) == 1);
    CHECK_IS(hopper.expected_line, line_of(&hopper, hopper.in));
    WAIT_UNTIL(leat_scope_tasks(s) == 1);
    CHECK_IS(0, leat_send(hopper.in, &(int){ 7 }));
    WAIT_UNTIL(senders_of(hopper.out) == 1);
    CHECK_IS(hopper.expected_line, line_of(&hopper, hopper.out));
    int x = 0;
    CHECK_IS(0, leat_recv(hopper.out, &x));
    CHECK_IS(8, x);
    CHECK_IS(0, leat_block_join(&hopper.block));
#ifndef LEAT_HARSH
    CHECK(hopper.entries >= 3 && hopper.entries <= 5);
#endif
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    return leat_scope_close(s);
}
ON_WORKERS(resumes_at_the_same_line);

/* ---- loops, branches, switches ---- */

#define PASS_ON(b, me) \
    do { \
        LEAT_AWAIT_RECV(b, me->in, &me->x); \
        LEAT_AWAIT_SEND(b, me->out, &me->x); \
    } while (0)

struct maze {
    leat_block block;
    leat_chan *in, *out;
    int x, i, j, turns;
};

enum { DOORS = 5, END_OF_MAZE = -1 };

/* Receives numbers. The numbers that it sends show its path through the code. */
static int walk(leat_block *b)
{
    struct maze *me = (struct maze *)b;
    LEAT_BEGIN(b);
    do {
        LEAT_AWAIT_RECV(b, me->in, &me->x);
        if (b->status == -EPIPE)
            break;
        me->turns++;
        switch (me->x % DOORS) {
        case 0: LEAT_AWAIT_SEND(b, me->out, &me->x); break;
        case 1:
            for (me->i = 0; me->i < 3; me->i++) {
                if (me->i == 1)
                    continue;
                for (me->j = me->i; me->j >= 0; me->j--)
                    LEAT_AWAIT_SEND(b, me->out, &me->i);
            }
            break;
        case 2:
            switch (me->turns % 3) {
            case 0: LEAT_AWAIT_SEND(b, me->out, &me->turns); __attribute__((fallthrough));
            case 1: LEAT_AWAIT_SEND(b, me->out, &me->x); break;
            default:
                if (me->x > 10)
                    LEAT_AWAIT_SEND(b, me->out, &me->x);
                else
                    LEAT_AWAIT_SEND(b, me->out, &me->turns);
            }
            LEAT_AWAIT_SEND(b, me->out, &me->x);
            break;
        case 3:
            me->i = 2;
            while (me->i-- > 0) {
                LEAT_AWAIT_YIELD(b);
                CHECK_IS(0, b->status);
                LEAT_AWAIT_SEND(b, me->out, &me->i);
                LEAT_AWAIT_SEND(b, me->out, &me->x);
            }
            break;
        default: {
            PASS_ON(b, me);
            PASS_ON(b, me); /* each expands to two awaits on one line */
        }
        }
    } while (b->status == 0);
    me->x = END_OF_MAZE;
    LEAT_AWAIT_SEND(b, me->out, &me->x);
    LEAT_RETURN(b, 0);
    LEAT_END(b);
}

static int awaits_in_loops_and_switches(void *arg)
{
    (void)arg;
    enum { NUMBERS = 12, STEPS = 25 };
    static const int numbers[NUMBERS] = { 5, 6, 7, 12, 2, 3, 4, 90, 91, 10, 17, 22 };
    static const int expected[STEPS] = { 5,                     /* the first number */
                                         0,          2,  2,  2, /* 6 */
                                         3,          7,  7,     /* the third */
                                         12,         12,        /* 12 */
                                         5,          2,         /* the fifth */
                                         1,          3,  0,  3, /* 3 */
                                         90,         91,        /* 4 lets two through */
                                         10,                    /* 10 */
                                         9,          17, 17,    /* the ninth */
                                         22,         22,        /* 22 */
                                         END_OF_MAZE };
    for (size_t capacity = 0; capacity <= 64; capacity += 32) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct maze maze = { .in = leat_chan_of(s, int, capacity),
                             .out = leat_chan_of(s, int, capacity) };
        CHECK_IS(0, leat_go_block(s, &maze.block, walk));
        for (int sent = 0, got = 0, x = 0; got < STEPS;) {
            leat_case cases[] = { LEAT_RECV(maze.out, &x),
                                  LEAT_SEND(sent < NUMBERS ? maze.in : NULL,
                                            &numbers[sent % NUMBERS]) };
            if (leat_select(cases, 2, LEAT_NEVER) == 0)
                CHECK_IS(expected[got++], x);
            else if (++sent == NUMBERS)
                CHECK_IS(0, leat_close(maze.in));
        }
        CHECK_IS(0, leat_block_join(&maze.block));
        CHECK_IS(10, maze.turns);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(awaits_in_loops_and_switches);

/* ---- arguments ---- */

struct counting {
    leat_block block, other;
    leat_alarm alarm;
    leat_chan *full, *empty, *in, *out;
    leat_case cases[1];
    int x, counts;
};

static int return_nine(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_AWAIT_YIELD(b);
    LEAT_RETURN(b, 9);
}

static void count(struct counting *me)
{
    me->counts++;
}

/* COUNTED checks that an await evaluates each of its arguments once, whether it waits or not. */
#define ONCE(argument) (count(me), (argument))
#define COUNTED(times, await) \
    me->counts = 0; \
    await; \
    CHECK_IS(times, me->counts)

static int count_arguments(leat_block *b)
{
    struct counting *me = (struct counting *)b;
    LEAT_BEGIN(b);
    COUNTED(2, LEAT_AWAIT_SEND(b, ONCE(me->out), ONCE(&me->x)));
    COUNTED(2, LEAT_AWAIT_RECV(b, ONCE(me->in), ONCE(&me->x)));
    COUNTED(4, LEAT_AWAIT_SEND_UNTIL(b, ONCE(me->out), ONCE(&me->x), ONCE(leat_after(60 * LEAT_S)),
                                     ONCE(&me->alarm)));
    COUNTED(4, LEAT_AWAIT_RECV_UNTIL(b, ONCE(me->in), ONCE(&me->x), ONCE(leat_after(60 * LEAT_S)),
                                     ONCE(&me->alarm)));
    COUNTED(4, LEAT_AWAIT_SEND_UNTIL(b, ONCE(me->full), ONCE(&me->x), ONCE(leat_after(LEAT_US)),
                                     ONCE(&me->alarm)));
    CHECK_IS(-ETIMEDOUT, b->status);
    COUNTED(4, LEAT_AWAIT_RECV_UNTIL(b, ONCE(me->empty), ONCE(&me->x), ONCE(LEAT_NOW), ONCE(NULL)));
    CHECK_IS(-EAGAIN, b->status);
    me->cases[0] = (leat_case)LEAT_RECV(me->in, &me->x);
    COUNTED(4,
            LEAT_AWAIT_SELECT(b, ONCE(me->cases), (size_t)ONCE(1), ONCE(LEAT_NEVER), ONCE(NULL)));
    CHECK_IS(0, b->status);
    me->cases[0] = (leat_case)LEAT_RECV(me->empty, &me->x);
    COUNTED(4, LEAT_AWAIT_SELECT_ORDERED(b, ONCE(me->cases), (size_t)ONCE(1),
                                         ONCE(leat_after(LEAT_US)), ONCE(&me->alarm)));
    CHECK_IS(-ETIMEDOUT, b->status);
    COUNTED(2, LEAT_AWAIT_SLEEP(b, ONCE(LEAT_MS), ONCE(&me->alarm)));
    COUNTED(2, LEAT_AWAIT_SLEEP(b, ONCE(0), ONCE(&me->alarm)));
    COUNTED(2, LEAT_AWAIT_SLEEP_UNTIL(b, ONCE(leat_after(LEAT_MS)), ONCE(&me->alarm)));
    COUNTED(1, LEAT_AWAIT_CALL(b, ONCE(&me->other), return_nine));
    CHECK_IS(9, b->status);
    COUNTED(1, LEAT_AWAIT_BLOCK(b, ONCE(&me->other)));
    CHECK_IS(9, b->status);
    LEAT_END(b);
}

static int evaluates_arguments_once(void *arg)
{
    (void)arg;
    for (size_t capacity = 0; capacity <= 4; capacity += 4) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct counting me = { .full = leat_chan_of(s, int, 0),
                               .empty = leat_chan_of(s, int, 0),
                               .in = leat_chan_of(s, int, capacity),
                               .out = leat_chan_of(s, int, capacity) };
        int x = 0;
        for (size_t i = 0; i < 3 && capacity; i++)
            CHECK_IS(0, leat_send(me.in, &x));
        CHECK_IS(0, leat_go_block(s, &me.block, count_arguments));
        for (int i = 0; i < 2 && !capacity; i++) {
            CHECK_IS(0, leat_recv(me.out, &x));
            CHECK_IS(0, leat_send(me.in, &x));
        }
        if (!capacity)
            CHECK_IS(0, leat_send(me.in, &x));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(evaluates_arguments_once);

/* ---- how a block ends ---- */

struct ender {
    leat_block block;
    leat_chan *ch;
    int verdict, seen;
};

static int end_with(leat_block *b)
{
    struct ender *me = (struct ender *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->ch, NULL);
    me->seen = b->status;
    LEAT_RETURN(b, me->verdict);
}

static int a_verdict_cancels_the_scope(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *first = leat_chan_of(s, int, 1), *never = leat_chan_of(s, int, 0);
    struct ender fine = { .ch = first }, bad = { .ch = first, .verdict = -EIO },
                 other = { .ch = never, .verdict = -ECANCELED };
    CHECK_IS(0, leat_go_block(s, &other.block, end_with));
    WAIT_UNTIL(receivers_of(never) == 1);
    CHECK_IS(0, leat_send(first, &(int){ 1 }));
    CHECK_IS(0, leat_go_block(s, &fine.block, end_with));
    CHECK_IS(0, leat_block_join(&fine.block));
    CHECK_IS(0, fine.seen);
    CHECK_IS(0, leat_cancelled(s));
    CHECK_IS(0, leat_send(first, &(int){ 1 }));
    CHECK_IS(0, leat_go_block(s, &bad.block, end_with));
    CHECK_IS(-EIO, leat_block_join(&bad.block));
    WAIT_UNTIL(leat_cancelled(s));
    CHECK_IS(-ECANCELED, leat_block_join(&other.block));
    CHECK_IS(-ECANCELED, other.seen);
    CHECK_IS(-EIO, leat_scope_close(s));
    return 0;
}
ON_WORKERS(a_verdict_cancels_the_scope);

struct answerer {
    leat_block block;
    leat_chan *out;
    int answer;
};

static int answer(leat_block *b)
{
    struct answerer *me = (struct answerer *)b;
    LEAT_BEGIN(b);
    me->answer = 42;
    LEAT_RETURN_ON(b, me->out, &me->answer);
}

static int returns_on_a_channel(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (size_t capacity = 0; capacity <= 1; capacity++) {
        for (int late = 0; late <= 1; late++) {
            struct answerer me = { .out = leat_chan_of(s, int, capacity) };
            int x = 0;
            CHECK_IS(0, leat_go_block(s, &me.block, answer));
            if (late)
                WAIT_UNTIL(senders_of(me.out) == 1 || leat_chan_len(me.out) == 1);
            CHECK_IS(0, leat_recv(me.out, &x));
            CHECK_IS(42, x);
            CHECK_IS(-EPIPE, leat_recv(me.out, &x));
            CHECK_IS(0, leat_block_join(&me.block));
            CHECK_IS(42, x);
        }
    }
    /* In a cancelled scope the value arrives if the channel has room; else the channel is cut. */
    for (size_t capacity = 0; capacity <= 1; capacity++) {
        struct answerer me = { .out = leat_chan_of(s, int, capacity) };
        leat_scope *in = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_scope_cancel(in));
        CHECK_IS(0, leat_go_block(in, &me.block, answer));
        CHECK_IS(0, leat_scope_close(in));
        int x = 0;
        CHECK_IS(capacity ? 0 : -ECANCELED, leat_recv(me.out, &x));
        CHECK_IS(capacity ? 42 : 0, x);
        CHECK_IS(capacity ? -EPIPE : -ECANCELED, leat_recv(me.out, &x));
    }
    struct answerer me = { .out = leat_chan_of(s, int, 0) };
    CHECK_IS(0, leat_close(me.out));
    CHECK_IS(0, leat_go_block(s, &me.block, answer));
    CHECK_IS(0, leat_block_join(&me.block));
    return leat_scope_close(s);
}
ON_WORKERS(returns_on_a_channel);

static _Atomic int dropped;

static void drop_answer(void *item)
{
    CHECK_IS(42, *(int *)item);
    atomic_fetch_add(&dropped, 1);
}

/* The block has ended, so no other party could drop the value. */
static int drops_what_it_cannot_return(void *arg)
{
    (void)arg;
    dropped = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    const leat_chan_spec spec = { .item_size = sizeof(int), .drop = drop_answer };
    for (int cancelled = 0; cancelled <= 1; cancelled++) {
        struct answerer me = { .out = leat_chan_open(s, &spec) };
        leat_scope *in = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go_block(in, &me.block, answer));
        WAIT_UNTIL(senders_of(me.out) == 1);
        CHECK_IS(0, cancelled ? leat_scope_cancel(in) : leat_close(me.out));
        CHECK_IS(0, leat_scope_close(in));
        CHECK_IS(1 + cancelled, dropped);
    }
    return leat_scope_close(s);
}
ON_WORKERS(drops_what_it_cannot_return);

/* ---- where a block may start ---- */

struct parent {
    leat_block block;
    leat_scope *scope;
    struct answerer child;
    int got;
};

static int start_a_child(leat_block *b)
{
    struct parent *me = (struct parent *)b;
    LEAT_BEGIN(b);
    CHECK_IS(0, leat_go_block(me->scope, &me->child.block, answer));
    LEAT_AWAIT_RECV(b, me->child.out, &me->got);
    CHECK_IS(0, b->status);
    CHECK_IS(42, me->got);
    LEAT_AWAIT_BLOCK(b, &me->child.block);
    LEAT_RETURN(b, b->status);
}

static int start_some(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        CHECK(s);
        struct parent parent = { .scope = s, .child = { .out = leat_chan_of(s, int, 0) } };
        struct answerer me = { .out = leat_chan_of(s, int, 0) };
        int x = 0;
        CHECK_IS(0, leat_go_block(s, &parent.block, start_a_child));
        CHECK_IS(0, leat_go_block(s, &me.block, answer));
        CHECK_IS(0, leat_recv(me.out, &x));
        CHECK_IS(42, x);
        if (i % 2)
            CHECK_IS(0, leat_block_join(&me.block));
        if (i % 3)
            CHECK_IS(0, leat_block_join(&parent.block));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}

static int starts_anywhere(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    for (enum kind kind = TASK; kind < KINDS; kind++)
        for (int i = 0; i < 3; i++)
            crew_go(&crew, kind, start_some, NULL);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(starts_anywhere);

static void starts_from_a_thread_with_a_loop_of_its_own(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    start_some(NULL);
    CHECK_IS(0, leat_stop());
}

int main(void)
{
    CHECK(sizeof(leat_block) <= 96);
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(continues_at_once),
        TESTS_ON_WORKERS(resumes_at_the_same_line),
        TESTS_ON_WORKERS(awaits_in_loops_and_switches),
        TESTS_ON_WORKERS(evaluates_arguments_once),
        TESTS_ON_WORKERS(a_verdict_cancels_the_scope),
        TESTS_ON_WORKERS(returns_on_a_channel),
        TESTS_ON_WORKERS(drops_what_it_cannot_return),
        TESTS_ON_WORKERS(starts_anywhere),
        cmocka_unit_test(starts_from_a_thread_with_a_loop_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
