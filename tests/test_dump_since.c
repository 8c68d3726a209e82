/* test_dump_since.c: since when each party waits, in the seeded world and on the real clock. */
#include "dumps.h"

#include "sched/probe.h"
#include "watch/since.h"

enum { SEEDS = 1000 / SCALE };

/* ---- reading a dump ---- */

/* Removes each `from`, and with `to` also what follows it up to one of the characters of `to`. */
static void take_out(char *text, const char *from, const char *to)
{
    for (char *at = text; (at = strstr(at, from));) {
        char *end = at + strlen(from);
        end += to ? strcspn(end, to) : 0;
        memmove(at, end, strlen(end) + 1);
    }
}

/* The dump has these lines in any order, since blocks are in no order. Stack sizes, places in the
 * source, names of callbacks' functions, and workers are left out. */
static void check_dump(const char *expected)
{
    char *text = dump_with(leat_dump), *lines = strdup(expected), *rest = lines;
    CHECK(lines);
    take_out(text, "\nworker ", "\n");
    take_out(text, ", on worker ", ",\n");
    take_out(text, "; stack ", "\n");
    take_out(text, " at line ", " ,\n");
    take_out(text, " (", ")");
    take_out(text, ")", NULL);
    take_out(text, " test_dump_since+", ": ");
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        char *at = strstr(text, line);
        if (!at || (at > text && at[-1] != '\n') || at[strlen(line)] != '\n')
            check_failed(__FILE__, __LINE__, "the dump is\n%s\nwithout %s\n", text, line);
    }
    free(lines);
    free(text);
}

/* ---- parties that wait ---- */

/* If the scope is cancelled before it runs again, it gets -ECANCELED. */
static int receives(void *ch)
{
    int status = leat_recv(ch, NULL);
    CHECK(status == -EPIPE || status == -ECANCELED);
    return 0;
}

static int sleeps(void *unused)
{
    (void)unused;
    CHECK_IS(-ECANCELED, leat_sleep(LEAT_NEVER));
    return 0;
}

/* A blocking task, which waits for the end of its scope. */
static int opens(void *ch)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_named(s, receives, ch, "inside", 0));
    return leat_scope_close(s);
}

static int joins(void *block)
{
    CHECK(leat_block_join(block) <= 0);
    return 0;
}

struct waiter {
    leat_block block;
    leat_alarm alarm;
    leat_case cases[2];
    leat_chan *ch;
    struct waiter *inner;
};

static int receive_step(leat_block *b)
{
    struct waiter *me = (struct waiter *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->ch, NULL);
    LEAT_END(b);
}

static int nap_step(leat_block *b)
{
    LEAT_BEGIN(b);
    LEAT_AWAIT_SLEEP(b, 500 * LEAT_S, &((struct waiter *)(void *)b)->alarm);
    LEAT_END(b);
}

static int select_step(leat_block *b)
{
    struct waiter *me = (struct waiter *)(void *)b;
    LEAT_BEGIN(b);
    me->cases[0] = (leat_case)LEAT_RECV(me->ch, NULL);
    me->cases[1] = (leat_case)LEAT_RECV(NULL, NULL);
    LEAT_AWAIT_SELECT(b, me->cases, 2, leat_after(100 * LEAT_S), &me->alarm);
    LEAT_END(b);
}

static int call_step(leat_block *b)
{
    struct waiter *me = (struct waiter *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_CALL(b, &me->inner->block, receive_step);
    LEAT_END(b);
}

static int twice_step(leat_block *b)
{
    struct waiter *me = (struct waiter *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->ch, NULL);
    LEAT_AWAIT_RECV(b, me->ch, NULL);
    LEAT_END(b);
}

static void was_called(leat_op *op, int status)
{
    (void)op;
    CHECK(status == -EPIPE || status == -ECANCELED);
}

static leat_chan *named(leat_scope *s, const char *name)
{
    leat_chan *ch = leat_chan_open(s, &(leat_chan_spec){ .name = name });
    CHECK(ch);
    return ch;
}

/* ---- in the seeded world ---- */

static void over_seeds(leat_fn *body)
{
    CHECK_IS(0, leat_sim_each(0, SEEDS, body, NULL));
}

static void go_block(leat_scope *s, struct waiter *block, leat_block_type *type)
{
    CHECK_IS(0, leat_go_block_typed(s, &block->block, type));
    CHECK_IS(0, leat_sleep(LEAT_S));
}

/* Each party begins to wait a second after the one before. */
static int everybody(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = named(s, "ch"), *other = named(s, "other");
    struct waiter receiver = { .ch = ch }, napper, selecter = { .ch = ch }, inner = { .ch = other },
                  caller = { .inner = &inner };
    leat_op op = LEAT_OP(s, 0);
    CHECK_IS(0, leat_go_named(s, receives, ch, "receives", 0));
    CHECK_IS(0, leat_sleep(LEAT_S));
    go_block(s, &receiver, &(leat_block_type){ receive_step, "receiver" });
    CHECK_IS(0, leat_go_blocking_named(s, receives, ch, "teller"));
    CHECK_IS(0, leat_sleep(LEAT_S));
    CHECK_IS(0, leat_recv_then(&op, ch, NULL, was_called));
    CHECK_IS(0, leat_sleep(LEAT_S));
    go_block(s, &selecter, &(leat_block_type){ select_step, "selecter" });
    go_block(s, &napper, &(leat_block_type){ nap_step, "napper" });
    go_block(s, &caller, &(leat_block_type){ call_step, "caller" });
    CHECK_IS(0, leat_go_blocking_named(s, joins, &receiver.block, "joiner"));
    CHECK_IS(0, leat_sleep(LEAT_S));
    CHECK_IS(0, leat_go_blocking_named(s, sleeps, NULL, "sleeper"));
    CHECK_IS(0, leat_sleep(LEAT_S));
    CHECK_IS(0, leat_go_blocking_named(s, opens, other, "opener"));
    CHECK_IS(0, leat_sleep(1234 * LEAT_MS));
    check_dump("leat: 3 tasks, 4 threads, 5 blocks, 1 callback, 0 timers, 2 channels, 3 scopes\n"
               "scope 2, opened by a thread, which waits for its end, since 10.234 s\n"
               "  task 3 main: runs\n"
               "  scope 4, opened by task 3 main\n"
               "    task 7 receives: waits to receive from channel 5 ch, since 10.234 s\n"
               "    thread teller: waits to receive from channel 5 ch, since 8.234 s\n"
               "    thread joiner: waits for the end of block receiver, since 3.234 s\n"
               "    thread sleeper: waits, since 2.234 s\n"
               "    thread opener: waits, since 1.234 s\n"
               "    block receiver: waits to receive from channel 5 ch, since 9.234 s\n"
               "    block selecter: waits to receive from channel 5 ch, 93.766 s more at most, "
               "since 6.234 s\n"
               "    block napper: sleeps, 494.766 s more, since 5.234 s\n"
               "    block receive_step: waits to receive from channel 6 other, since 4.234 s\n"
               "    block caller: waits for the end of block receive_step, since 4.234 s\n"
               "    callback: waits to receive from channel 5 ch, since 7.234 s\n"
               "    channel 5 ch: 0 of 0 items\n"
               "      task 7 receives waits to receive\n"
               "      block receiver waits to receive\n"
               "      thread teller waits to receive\n"
               "      callback waits to receive\n"
               "      block selecter waits to receive\n"
               "    channel 6 other: 0 of 0 items\n"
               "      block receive_step waits to receive\n"
               "      task 13 inside waits to receive\n"
               "    scope 12, opened by thread opener, which waits for its end, since 1.234 s\n"
               "      task 13 inside: waits to receive from channel 6 other, since 1.234 s\n");
    CHECK_IS(6, lt_since_count());
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_close(other));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, lt_since_count());
    return 0;
}

static void test_everybody(void **state)
{
    (void)state;
    over_seeds(everybody);
}

static int graph(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = named(s, "ch");
    struct waiter receiver = { .ch = ch };
    go_block(s, &receiver, &(leat_block_type){ receive_step, "receiver" });
    CHECK_IS(0, leat_go_named(s, receives, ch, "receives", 0));
    CHECK_IS(0, leat_sleep(250 * LEAT_MS));
    char *text = dump_with(leat_dump_graph);
    take_out(text, "line ", "\\");
    CHECK(strstr(text, "label=\"block\\nreceiver\\n\\nsince 1.250 s\"];"));
    CHECK(strstr(text, "receives\\nsince 0.250 s\"];"));
    free(text);
    CHECK_IS(0, leat_close(ch));
    return leat_scope_close(s);
}

static void test_graph(void **state)
{
    (void)state;
    over_seeds(graph);
}

static void note(unsigned flags)
{
    atomic_store(&lt_probe_flags, flags);
}

/* A party that began to wait while the probe was off has no time until its next wait. */
static int asked_late(void *unused)
{
    (void)unused;
    note(0);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = named(s, "ch"), *gate = named(s, "gate");
    struct waiter twice = { .ch = ch }, receiver = { .ch = gate };
    leat_op op = LEAT_OP(s, 0);
    CHECK_IS(0, leat_go_named(s, receives, gate, "receives", 0));
    CHECK_IS(0, leat_sleep(LEAT_S));
    go_block(s, &twice, &(leat_block_type){ twice_step, "twice" });
    CHECK_IS(0, leat_go_blocking_named(s, receives, gate, "teller"));
    CHECK_IS(0, leat_sleep(LEAT_S));
    CHECK_IS(0, leat_recv_then(&op, gate, NULL, was_called));
    CHECK_IS(0, leat_sleep(LEAT_S));
    note(LT_PROBE_WAITS);
    check_dump("  scope 4, opened by task 3 main\n"
               "    task 7 receives: waits to receive from channel 6 gate\n"
               "    thread teller: waits to receive from channel 6 gate\n"
               "    block twice: waits to receive from channel 5 ch\n"
               "    callback: waits to receive from channel 6 gate\n"
               "    channel 5 ch: 0 of 0 items\n"
               "      block twice waits to receive\n"
               "    channel 6 gate: 0 of 0 items\n"
               "      task 7 receives waits to receive\n"
               "      thread teller waits to receive\n"
               "      callback waits to receive\n");
    CHECK_IS(0, leat_send(ch, NULL));
    go_block(s, &receiver, &(leat_block_type){ receive_step, "receiver" });
    check_dump("  scope 4, opened by task 3 main\n"
               "    task 7 receives: waits to receive from channel 6 gate\n"
               "    thread teller: waits to receive from channel 6 gate\n"
               "    block twice: waits to receive from channel 5 ch, since 1.000 s\n"
               "    block receiver: waits to receive from channel 6 gate, since 1.000 s\n"
               "    callback: waits to receive from channel 6 gate\n"
               "    channel 5 ch: 0 of 0 items\n"
               "      block twice waits to receive\n"
               "    channel 6 gate: 0 of 0 items\n"
               "      task 7 receives waits to receive\n"
               "      thread teller waits to receive\n"
               "      callback waits to receive\n"
               "      block receiver waits to receive\n");
    CHECK_IS(0, leat_close(gate));
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, lt_since_count());
    return 0;
}

static void test_asked_late(void **state)
{
    (void)state;
    over_seeds(asked_late);
}

/* A thread that does not wait, and lets others run. */
static int goes_on(void *chans)
{
    leat_chan **ch = chans;
    CHECK_IS(0, leat_recv(ch[0], NULL));
    while (leat_try_recv(ch[1], NULL) == -EAGAIN)
        leat_sim_point();
    return 0;
}

static int gone_on(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch[] = { named(s, "ch"), named(s, "gate") };
    CHECK_IS(0, leat_go_blocking_named(s, goes_on, ch, "busy"));
    CHECK_IS(0, leat_sleep(LEAT_S));
    check_dump("    thread busy: waits to receive from channel 5 ch, since 1.000 s\n"
               "    channel 5 ch: 0 of 0 items\n"
               "      thread busy waits to receive\n"
               "    channel 6 gate: 0 of 0 items\n");
    CHECK_IS(0, leat_send(ch[0], NULL));
    CHECK_IS(0, leat_sleep(LEAT_MS));
    check_dump("    thread busy: runs, or waits elsewhere\n"
               "    channel 5 ch: 0 of 0 items\n"
               "    channel 6 gate: 0 of 0 items\n");
    CHECK_IS(0, leat_close(ch[1]));
    return leat_scope_close(s);
}

static void test_gone_on(void **state)
{
    (void)state;
    over_seeds(gone_on);
}

/* A wait leaves no record, however it ends. */
static int comes_and_goes(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 0);
    struct waiter blocks[8] = { 0 };
    struct waiter inner[8] = { 0 };
    leat_op op = LEAT_OP(s, 0), loose = LEAT_OP(NULL, 0);
    static int (*const steps[])(leat_block * b) = { receive_step, nap_step, select_step,
                                                    call_step };
    static leat_block_type types[4];
    for (int i = 0; i < 8; i++) {
        types[i % 4].step = steps[i % 4];
        blocks[i].ch = inner[i].ch = ch;
        blocks[i].inner = &inner[i];
        CHECK_IS(0, leat_go_block_typed(s, &blocks[i].block, &types[i % 4]));
    }
    CHECK_IS(0, leat_recv_then(&op, ch, NULL, was_called));
    CHECK_IS(0, leat_recv_then(&loose, ch, NULL, was_called));
    uint64_t chance = seed_of_test();
    for (unsigned n = below(&chance, 20); n > 0; n--)
        leat_sim_point();
    CHECK_IS(0, leat_withdraw(&loose));
    if (below(&chance, 2))
        CHECK_IS(0, leat_sleep((int64_t)below(&chance, 600) * LEAT_S));
    if (below(&chance, 2))
        CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_scope_cancel(s));
    leat_scope_close(s);
    CHECK_IS(0, lt_since_count());
    return 0;
}

static void test_comes_and_goes(void **state)
{
    (void)state;
    over_seeds(comes_and_goes);
}

/* ---- on the real clock ---- */

/* The seconds that the dump has for this party, or -1. */
static double seconds_in_dump(const char *who)
{
    char *text = dump_with(leat_dump), *at = strstr(text, who), *end = at ? strchr(at, '\n') : NULL;
    char *since = at ? strstr(at, ", since ") : NULL;
    double seconds = since && since < end ? strtod(since + 8, NULL) : -1;
    free(text);
    return seconds;
}

static int on_request(void *asked)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = named(s, "ch");
    struct waiter receiver = { .ch = ch };
    CHECK_IS(
        0, leat_go_block_typed(s, &receiver.block, &(leat_block_type){ receive_step, "receiver" }));
    CHECK_IS(0, leat_go_blocking_named(s, receives, ch, "teller"));
    WAIT_UNTIL(receivers_of(ch) == 2);
    /* Each is a receiver before it notes the time. */
    if (*(bool *)asked)
        WAIT_UNTIL(seconds_in_dump("block receiver") >= 0 && seconds_in_dump("thread teller") >= 0);
    CHECK_IS(0, leat_sleep(20 * LEAT_MS));
    CHECK(*(bool *)asked ? seconds_in_dump("block receiver") >= 0.019
                         : seconds_in_dump("block receiver") < 0);
    CHECK(*(bool *)asked ? seconds_in_dump("thread teller") >= 0.009
                         : seconds_in_dump("thread teller") < 0);
    CHECK_IS(0, leat_close(ch));
    return leat_scope_close(s);
}

static void test_on_request(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool asked = i % 2;
        CHECK_IS(0, leat_main_with(
                        on_request, &asked,
                        &(leat_options){ .workers = 2, .watch = asked ? LEAT_WATCH_WAITS : 0 }));
        CHECK_IS(0, lt_since_count());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody),      cmocka_unit_test(test_graph),
        cmocka_unit_test(test_asked_late),     cmocka_unit_test(test_gone_on),
        cmocka_unit_test(test_comes_and_goes), cmocka_unit_test(test_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
