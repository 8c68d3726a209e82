/* test_dump.c: what a dump contains; a dump works at any time, even while a worker is stuck. */
#include "dumps.h"

#include "base/fault.h"

#include <ctype.h>

/* ---- reading a dump ---- */

/* Copies a number, or the rank of a thing's number: 1 for the first in the text. */
static const char *rank_number(const char *from, char **to, unsigned long *numbers, unsigned *known)
{
    char *end;
    unsigned long number = strtoul(from, &end, 10);
    unsigned rank = 0;
    while (rank < *known && numbers[rank] != number)
        rank++;
    if (rank == *known)
        numbers[(*known)++] = number;
    CHECK(*known < 64);
    *to += sprintf(*to, "%u", rank + 1);
    return end;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Takes out of a dump what differs from run to run: names of things become ranks, and places in the
 * source, times, stack sizes and functions' addresses go. Frees `text`. */
static char *plain(char *text)
{
    static char result[1 << 16];
    unsigned long numbers[64];
    unsigned known = 0;
    char *to = result;
    for (const char *at = text; *at; at++) {
        CHECK(to < result + sizeof result - 100);
        bool word = at == text || !isalnum((unsigned char)at[-1]);
        if (*at == '(') {
            at = strchr(at, ')');
            to--; /* removes the space before it */
        } else if (starts(at, "; stack ")) {
            to += sprintf(to, "; stack");
            at = strchr(at, '\n') - 1;
        } else if (word &&
                   (starts(at, "task ") || starts(at, "scope ") || starts(at, "channel ")) &&
                   isdigit((unsigned char)strchr(at, ' ')[1])) {
            const char *number = strchr(at, ' ') + 1;
            memcpy(to, at, (size_t)(number - at));
            to += number - at;
            at = rank_number(number, &to, numbers, &known) - 1;
        } else if (word && isdigit((unsigned char)*at) && strspn(at, "0123456789.") > 3 &&
                   starts(at + strspn(at, "0123456789."), " s")) {
            *to++ = 'T';
            at += strspn(at, "0123456789.") - 1;
        } else if (starts(at, "at line ")) {
            to += sprintf(to, "at line N");
            at += strlen("at line ") + strspn(at + strlen("at line "), "0123456789") - 1;
        } else if (starts(at, "call of ")) {
            to += sprintf(to, "call of a function");
            at += strcspn(at, ";\n") - 1;
        } else if (starts(at, "callback ") && strchr("t0123456789", at[9]) &&
                   !starts(at, "callback waits")) {
            to += sprintf(to, "callback");
            at += strcspn(at, ":\n ") + 1;
            at += strcspn(at, ":\n ") - 1;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    free(text);
    return result;
}

static void check_text(const char *expected, const char *text)
{
    if (strcmp(expected, text) != 0)
        check_failed(__FILE__, __LINE__, "the dump is\n%s\nand not\n%s", text, expected);
}

/* True when the thread that opened the scope waits in leat_scope_close. */
static bool opener_waits(void)
{
    char *text = dump_with(leat_dump);
    bool waits = strstr(text, "opened by a thread, which waits for its end") != NULL;
    free(text);
    return waits;
}

/* Braces match, and every edge joins two nodes. */
static void check_graph(char *text)
{
    int depth = 0, edges = 0;
    CHECK(starts(text, "digraph leat {\n"));
    for (char *line = strtok(strdup(text), "\n"); line; line = strtok(NULL, "\n")) {
        char from[32], to[32], node[40];
        depth += strchr(line, '{') ? 1 : 0;
        depth -= strchr(line, '}') ? 1 : 0;
        CHECK(depth >= 0);
        if (sscanf(line, " %31s -> %31s", from, to) != 2)
            continue;
        edges++;
        snprintf(node, sizeof node, " %s [shape", from);
        CHECK(strstr(text, node));
        snprintf(node, sizeof node, " %s [shape", to);
        CHECK(strstr(text, node));
    }
    CHECK_IS(0, depth);
    CHECK_IS(11, edges);
    free(text);
}

static int returns(void *unused)
{
    (void)unused;
    return 0;
}

static int receives(void *ch)
{
    return leat_recv(ch, NULL) == -EPIPE ? 0 : -EPROTO;
}

static int sends(void *ch)
{
    int one = 1;
    return leat_send(ch, &one) == -EPIPE ? 0 : -EPROTO;
}

static int selects(void *chans)
{
    leat_chan **ch = chans;
    int one = 1, got;
    leat_case cases[] = { LEAT_RECV(ch[0], &got), LEAT_RECV(NULL, NULL), LEAT_SEND(ch[1], &one) };
    return leat_select(cases, 3, leat_after(1000 * LEAT_S)) >= 0 ? 0 : -EPROTO;
}

/* Tasks that are about to wait. With one worker they wait as soon as another task can see this. */
static _Atomic int waiting;

static int sleeps(void *unused)
{
    (void)unused;
    atomic_fetch_add(&waiting, 1);
    leat_sleep(1000 * LEAT_S);
    return 0;
}

static int opens(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(leat_after(2000 * LEAT_S));
    CHECK_IS(0, leat_go(s, sleeps, NULL));
    leat_scope_close(s);
    return 0;
}

static _Atomic bool go_on;

static int blocks_in_the_system(void *unused)
{
    (void)unused;
    while (!atomic_load(&go_on))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return 0;
}

static int calls(void *unused)
{
    (void)unused;
    return leat_blocking(blocks_in_the_system, NULL);
}

struct receiver {
    leat_block block;
    leat_alarm alarm;
    leat_chan *ch;
};

static int receive_step(leat_block *b)
{
    struct receiver *me = (struct receiver *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_RECV(b, me->ch, NULL);
    LEAT_END(b);
}

static int nap_step(leat_block *b)
{
    struct receiver *me = (struct receiver *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_SLEEP(b, 500 * LEAT_S, &me->alarm);
    LEAT_END(b);
}

struct outer {
    leat_block block;
    struct receiver inner;
};

static int call_step(leat_block *b)
{
    struct outer *me = (struct outer *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_CALL(b, &me->inner.block, receive_step);
    LEAT_END(b);
}

static int joins_block(void *block)
{
    atomic_fetch_add(&waiting, 1);
    CHECK(leat_block_join(block) <= 0);
    return 0;
}

static _Atomic int calls_back;

static void got(leat_op *op, int status)
{
    (void)op;
    CHECK(status == -EPIPE || status == -ECANCELED);
    atomic_fetch_add(&calls_back, 1);
}

static int known(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *quotes = leat_chan_open(s, &(leat_chan_spec){ .name = "quotes" });
    leat_chan *log = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 1, .name = "log" });
    leat_chan *both[] = { quotes, log }, *orphan = leat_chan_of(NULL, int, 3);
    struct receiver receiver = { .ch = quotes }, napper;
    struct outer outer = { .inner.ch = quotes };
    leat_op op = LEAT_OP(s, 0), loose = LEAT_OP(NULL, 0);
    int one = 1;
    CHECK_IS(0, leat_send(log, &one));
    atomic_store(&go_on, false);
    atomic_store(&waiting, 0);
    CHECK_IS(0, leat_go(s, receives, quotes));
    CHECK_IS(0, leat_go(s, sends, log));
    CHECK_IS(0, leat_go(s, selects, both));
    CHECK_IS(0, leat_go(s, sleeps, NULL));
    CHECK_IS(0, leat_go(s, opens, NULL));
    CHECK_IS(0, leat_go(s, calls, NULL));
    CHECK_IS(0, leat_go_block(s, &receiver.block, receive_step));
    CHECK_IS(0, leat_go_block(s, &napper.block, nap_step));
    CHECK_IS(0, leat_go_block(s, &outer.block, call_step));
    CHECK_IS(0, leat_recv_then(&op, quotes, NULL, got));
    CHECK_IS(0, leat_recv_then(&loose, orphan, &one, got));
    CHECK_IS(0, leat_go_named(s, joins_block, &receiver.block, NULL, 0));
    WAIT_UNTIL(receivers_of(quotes) == 5 && senders_of(log) == 2 && atomic_load(&waiting) == 3);
    WAIT_UNTIL(opener_waits());
    CHECK_IS(0, leat_go(s, returns, NULL));
    check_text("leat: 10 tasks, 0 threads, 4 blocks, 2 callbacks, 0 timers, 3 channels, 3 scopes\n"
               "worker 0: runs task 1 main, 1 to start, 5 timers\n"
               "scope 2, opened by a thread, which waits for its end\n"
               "  task 1 main: runs; stack\n"
               "  scope 3, opened by task 1 main\n"
               "    task 4 receives: waits to receive from channel 5 quotes; stack\n"
               "    task 6 sends: waits to send to channel 7 log; stack\n"
               "    task 8 selects: waits in a select, T s more at most; stack\n"
               "      to receive from channel 5 quotes\n"
               "      to send to channel 7 log\n"
               "    task 9 sleeps: sleeps, T s more; stack\n"
               "    task 10 opens: waits for the tasks of scope 11; stack\n"
               "    task 12 calls: waits for a call of a function; stack\n"
               "    task 13: waits for the end of block receive_step; stack\n"
               "    task 14 returns: has not started\n"
               "    block receive_step: waits at line N to receive from channel 5 quotes\n"
               "    block nap_step: sleeps at line N, T s more\n"
               "    block receive_step: waits at line N to receive from channel 5 quotes\n"
               "    block call_step: waits at line N for the end of block receive_step\n"
               "    callback: waits to receive from channel 5 quotes\n"
               "    channel 5 quotes: 0 of 0 items\n"
               "      callback waits to receive\n"
               "      task 4 receives waits to receive\n"
               "      task 8 selects waits to receive\n"
               "      block receive_step waits to receive\n"
               "      block receive_step waits to receive\n"
               "    channel 7 log: 1 of 1 items\n"
               "      task 6 sends waits to send\n"
               "      task 8 selects waits to send\n"
               "    scope 11, opened by task 10 opens, which waits for its end, cancelled in T s\n"
               "      task 15 sleeps: sleeps, T s more; stack\n"
               "in no scope\n"
               "  callback: waits to receive from channel 16\n"
               "  channel 16: 0 of 3 items\n"
               "    callback waits to receive\n",
               plain(dump_with(leat_dump)));
    check_graph(dump_with(leat_dump_graph));
    atomic_store(&go_on, true);
    CHECK_IS(0, leat_close(quotes));
    CHECK_IS(0, leat_close(log));
    CHECK_IS(0, leat_close(orphan));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    WAIT_UNTIL(atomic_load(&calls_back) == 2);
    CHECK_IS(0, leat_chan_unref(orphan));
    check_text("leat: 1 task, 0 threads, 0 blocks, 0 callbacks, 0 timers, 0 channels, 1 scope\n"
               "worker 0: runs task 1 main\n"
               "scope 2, opened by a thread, which waits for its end\n"
               "  task 1 main: runs; stack\n",
               plain(dump_with(leat_dump)));
    return 0;
}

static void test_known(void **state)
{
    (void)state;
    skip_under_emulation();
    run_on(1, known);
}

static int names(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    atomic_store(&waiting, 0);
    CHECK_IS(0, leat_go(s, sleeps, NULL));
    WAIT_UNTIL(atomic_load(&waiting) == 1);
    char *text = dump_with(leat_dump), *at = strstr(text, " sleeps (");
    CHECK(at && strstr(at, "test_dump.c:") && strstr(at, "test_dump.c:") < strchr(at, '\n'));
    unsigned touched, size;
    CHECK_IS(2, sscanf(strstr(at, "; stack"), "; stack %u of %u KiB", &touched, &size));
    CHECK(touched >= 4 && touched <= 64 && size == 64);
    CHECK(!strstr(text, ", since "));
    free(text);
    CHECK_IS(0, leat_scope_cancel(s));
    return leat_scope_close(s);
}

static void test_names_and_stacks(void **state)
{
    (void)state;
    run_on(1, names);
}

/* ---- dumps by other threads ---- */

static void test_errors(void **state)
{
    (void)state;
    CHECK_IS(-EINVAL, leat_dump(NULL));
    CHECK_IS(-EINVAL, leat_dump_graph(NULL));
    CHECK_IS(-EINVAL, leat_dump(stdout)); /* no runtime */
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    FILE *full = fopen("/dev/full", "w");
    CHECK(full);
    CHECK_IS(-EIO, leat_dump(full));
    fclose(full);
    CHECK_IS(0, leat_stop());
    CHECK_IS(-EINVAL, leat_dump(stdout));
}

/* On a loaded machine a worker may not run for long. */
static char *dump_of_all_workers(void)
{
    char *text;
    while (strstr(text = dump_with(leat_dump), " did not answer "))
        free(text);
    return text;
}

static void test_nothing(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    check_text("leat: 0 tasks, 0 threads, 0 blocks, 0 callbacks, 0 timers, 0 channels, 0 scopes\n"
               "worker 0: runs nothing\n"
               "worker 1: runs nothing\n",
               plain(dump_of_all_workers()));
    CHECK_IS(0, leat_stop());
}

static _Atomic bool spinning, let_go;

static int spins(void *unused)
{
    (void)unused;
    atomic_store(&spinning, true);
    while (!atomic_load(&let_go)) {
    }
    return 0;
}

/* With one worker, so that the other parties are at home on the stuck one. */
static void test_stuck_worker(void **state)
{
    (void)state;
    skip_under_emulation();
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 1 }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_open(s, &(leat_chan_spec){ .name = "never" });
    CHECK_IS(0, leat_go(s, receives, ch));
    CHECK_IS(0, leat_go(s, sleeps, NULL));
    WAIT_UNTIL(receivers_of(ch) == 1);
    atomic_store(&spinning, false);
    atomic_store(&let_go, false);
    CHECK_IS(0, leat_go(s, spins, NULL));
    WAIT_UNTIL(atomic_load(&spinning));
    CHECK_IS(0, leat_go(s, returns, NULL));
    int64_t before = leat_now();
    char *text = plain(dump_with(leat_dump));
    CHECK(leat_now() - before < 30 * LEAT_S);
    check_text("leat: 4 tasks, 0 threads, 0 blocks, 0 callbacks, 0 timers, 1 channel, 1 scope\n"
               "worker 0 did not answer within 100 ms: it has been running task 1 spins\n"
               "scope 2, opened by a thread\n"
               "  task 3 receives: waits to receive from channel 4 never; stack\n"
               "  task 5 sleeps: has started; stack\n"
               "  task 1 spins: runs; stack\n"
               "  task 6 returns: has not started\n"
               "  channel 4 never: 0 of 0 items\n"
               "    task 3 receives waits to receive\n",
               text);
    atomic_store(&let_go, true);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

static int since(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    atomic_store(&waiting, 0);
    CHECK_IS(0, leat_go(s, sleeps, NULL));
    WAIT_UNTIL(atomic_load(&waiting) == 1);
    leat_sleep(20 * LEAT_MS);
    /* The line of the task: the thread that opened the scope may have begun to wait later. */
    char *text = dump_with(leat_dump), *at = strstr(text, " more, since ");
    CHECK(at && strtod(at + 13, NULL) >= 0.019);
    free(text);
    CHECK_IS(0, leat_scope_cancel(s));
    return leat_scope_close(s);
}

static void test_since(void **state)
{
    (void)state;
    CHECK_IS(
        0, leat_main_with(since, NULL, &(leat_options){ .workers = 1, .watch = LEAT_WATCH_WAITS }));
    setenv("LEAT_WATCH", "waits", 1);
    CHECK_IS(0, leat_main_with(since, NULL, &(leat_options){ .workers = 1 }));
    setenv("LEAT_WATCH", "wait", 1);
    CHECK_IS(-EINVAL, leat_main_with(since, NULL, &(leat_options){ .workers = 1 }));
    unsetenv("LEAT_WATCH");
}

/* In the harsh build: each allocation of a dump fails once. */
static int starved(void *unused)
{
    (void)unused;
#ifdef LEAT_HARSH
    FILE *nowhere = fopen("/dev/null", "w");
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_make(s, 0, 0);
    CHECK_IS(0, leat_go(s, receives, ch));
    WAIT_UNTIL(receivers_of(ch) == 1);
    for (long n = 1;; n++) {
        lt_fault_arm(n);
        int error = leat_dump(nowhere);
        bool struck = lt_fault_struck();
        lt_fault_arm(0);
        CHECK_IS(struck ? -ENOMEM : 0, error);
        if (!struck)
            break;
    }
    fclose(nowhere);
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_scope_close(s));
#endif
    return 0;
}

static void test_starved(void **state)
{
    (void)state;
    run_on(1, starved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),        cmocka_unit_test(test_names_and_stacks),
        cmocka_unit_test(test_errors),       cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_stuck_worker), cmocka_unit_test(test_since),
        cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
