/* test_look_things.c: dumps show descriptors, batchers and stages, and the parties that wait
 * there. */
#include "dumps.h"

#include "chan/more.h"
#include "watch/look.h"

#include <unistd.h>

/* A dump's name for a descriptor. */
static const char *name_of(const leat_io *io)
{
    static char names[4][40];
    static unsigned next;
    char *name = names[next++ % 4];
    if (leat_sim_running())
        snprintf(name, sizeof names[0], "simulated descriptor");
    else
        snprintf(name, sizeof names[0], "descriptor %d", leat_io_fd(io));
    return name;
}

__attribute__((format(printf, 2, 3))) static bool has_line(const char *text, const char *format,
                                                           ...)
{
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return strstr(text, line);
}

/* Until a dump shows that: a waiting party cannot report it itself. */
static void wait_until_dumped(const char *format, const leat_io *io)
{
    char line[200];
    bool dumped = false;
    snprintf(line, sizeof line, format, name_of(io));
    while (!dumped) {
        char *text = dump_with(leat_dump);
        dumped = strstr(text, line);
        free(text);
        leat_yield();
    }
}

/* ---- descriptors ---- */

static int reads(void *io)
{
    char byte;
    return leat_read(io, &byte, 1) == 0 ? 0 : -EPROTO;
}

enum { LARGE = 1 << 20 };

static int writes(void *io)
{
    char *bytes = calloc(1, LARGE);
    int64_t n = leat_write(io, bytes, LARGE);
    free(bytes);
    return n == -EPIPE || n == -EBADF || (n > 0 && n < LARGE) ? 0 : -EPROTO;
}

struct waiter {
    leat_block block;
    leat_io *io;
    char byte;
};

static int wait_step(leat_block *b)
{
    struct waiter *me = (struct waiter *)(void *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_READ(b, me->io, &me->byte, 1);
    LEAT_END(b);
}

static void check_records(const leat_io *full)
{
    struct lt_look look;
    unsigned descriptors = 0, channels = 0;
    CHECK_IS(0, lt_look_begin(&look, NULL, LT_LOOK_USUAL));
    for (size_t i = 0; i < look.record_count; i++) {
        const struct lt_record *record = look.records[i];
        descriptors += record->thing == LT_A_DESCRIPTOR;
        channels += record->thing == LT_A_CHANNEL;
        if (record->self == full)
            CHECK(record->thing == LT_A_DESCRIPTOR && record->senders == 1 && !record->receivers);
    }
    CHECK_IS(4, descriptors);
    CHECK_IS(0, channels);
    lt_look_end(&look);
}

static int descriptors(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_io *empty[2], *full[2];
    struct waiter waiter;
    CHECK_IS(0, leat_io_pipe(s, empty));
    CHECK_IS(0, leat_io_pipe(s, full));
    CHECK_IS(0, leat_go_named(s, reads, empty[0], "reads", 0));
    CHECK_IS(0, leat_go_named(s, writes, full[1], "writes", 0));
    waiter.io = empty[0];
    CHECK_IS(0, leat_go_block(s, &waiter.block, wait_step));
    wait_until_dumped("reads: waits to read from %s", empty[0]);
    wait_until_dumped("writes: waits to write to %s", full[1]);
    wait_until_dumped("%s: 2 wait to read\n", empty[0]);
    check_records(full[1]);
    char *text = dump_with(leat_dump);
    CHECK(strstr(text, " 0 channels, 4 descriptors, "));
    CHECK(has_line(text, "    %s: 2 wait to read\n", name_of(empty[0])));
    CHECK(has_line(text, "    %s: 1 waits to write\n", name_of(full[1])));
    CHECK(has_line(text, "    %s: open\n", name_of(full[0])));
    CHECK(strstr(text, "reads waits to read\n") && strstr(text, "writes waits to write\n"));
    CHECK(has_line(strstr(text, "block wait_step"), " to read from %s", name_of(empty[0])));
    CHECK(!strstr(text, "readable") && !strstr(text, "writable") && !strstr(text, "in no scope"));
    free(text);
    text = dump_with(leat_dump_graph);
    CHECK(has_line(text, "[shape=house label=\"%s\"];", name_of(empty[1])));
    CHECK(strstr(text, "[label=\"read\"];") && strstr(text, "[label=\"write\"];"));
    free(text);
    CHECK_IS(0, leat_io_close(empty[1]));
    CHECK_IS(0, leat_io_close(full[0]));
    wait_until_dumped("%s: closed\n", empty[1]);
    return leat_scope_close(s);
}

static void test_descriptors(void **state)
{
    (void)state;
    run_on(1, descriptors);
    run_on(2, descriptors);
    run_on(4, descriptors);
}

/* One without a scope stands in no scope. */
static int adopted(void *unused)
{
    (void)unused;
    int fds[2];
    leat_io *io;
    if (leat_sim_running())
        return 0;
    CHECK_IS(0, pipe(fds));
    CHECK_IS(0, leat_io_adopt(NULL, fds[0], &io));
    char *text = dump_with(leat_dump);
    CHECK(has_line(text, "in no scope\n  descriptor %d: open\n", fds[0]));
    free(text);
    CHECK_IS(0, leat_io_unref(io));
    close(fds[1]);
    CHECK_IS(0, (int)times_in_dump("descriptor"));
    return 0;
}

static void test_adopted(void **state)
{
    (void)state;
    run_on(1, adopted);
}

/* ---- batchers ---- */

static int runs(void *arg, leat_batch_view *batch)
{
    (void)arg;
    char *text = dump_with(leat_dump);
    CHECK(strstr(text, "batcher log: 0 forming, 1 running, 2 items in 1 batch so far\n"));
    free(text);
    return leat_batch_all_done(batch);
}

static int batchers(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_batcher *b = leat_batcher_open(
        s, &(leat_batcher_spec){ .item_size = sizeof(int), .run = runs, .name = "log" });
    CHECK(leat_batcher_open(s, &(leat_batcher_spec){ .run = runs }));
    leat_ticket ticket;
    int items[2] = { 1, 2 };
    CHECK_IS(0, leat_batch_put(b, items, 2, &ticket));
    char *text = dump_with(leat_dump);
    CHECK(strstr(text, " 2 batchers, "));
    CHECK(strstr(text, "batcher log: 1 forming, 0 running, 0 items in 0 batches so far\n"));
    CHECK(strstr(text, "batcher: 0 forming, 0 running, 0 items in 0 batches so far\n"));
    free(text);
    CHECK_IS(0, leat_batch_get(&ticket, NULL, NULL, LEAT_NEVER));
    CHECK_IS(0, leat_batcher_close(b));
    CHECK_IS(1, (int)times_in_dump(
                    "batcher log: 0 forming, 0 running, 2 items in 1 batch so far, closed\n"));
    return leat_scope_close(s);
}

static void test_batchers(void **state)
{
    (void)state;
    run_on(1, batchers);
    run_on(2, batchers);
}

/* ---- stages ---- */

static leat_chan *gate;

static int passes(void *unused, const void *in, void *out)
{
    (void)unused;
    memcpy(out, in, sizeof(int));
    return leat_recv(gate, NULL) == -EPIPE ? 0 : -ECANCELED;
}

static int is_odd(void *unused, const void *item)
{
    (void)unused;
    return *(const int *)item & 1;
}

static uint64_t topic_of(void *unused, const void *item)
{
    (void)unused;
    return (uint64_t) * (const int *)item;
}

/* Until a dump has the line. */
__attribute__((format(printf, 1, 2))) static void wait_for_line(const char *format, ...)
{
    char line[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    while (!times_in_dump(line))
        leat_yield();
}

static leat_chan *named_chan(leat_scope *s, const char *name)
{
    leat_chan_spec spec = { .item_size = sizeof(int), .capacity = 4, .name = name };
    return leat_chan_open(s, &spec);
}

static int pipelines(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = named_chan(s, "urls");
    gate = leat_chan_make(s, 0, 0);
    leat_chan *out = leat_pipeline(s, in,
                                   &(leat_pipeline_spec){ .n = 3,
                                                          .window = 5,
                                                          .run = passes,
                                                          .out_size = sizeof(int),
                                                          .capacity = 8,
                                                          .name = "fetch" });
    CHECK(out);
    unsigned from = lt_chan_number(in), to = lt_chan_number(out);
    wait_for_line("  pipeline stage fetch: from channel %u to channel %u, 0 of 3 run, 0 of 5 items "
                  "in flight, 0 so far\n",
                  from, to);
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_send(in, &i));
    wait_for_line("2 of 3 run, 2 of 5 items in flight, 2 so far\n");
    for (int i = 0; i < 4; i++)
        CHECK_IS(0, leat_send(in, &i));
    wait_for_line("3 of 3 run, 3 of 5 items in flight, 3 so far\n");
    char *text = dump_with(leat_dump_graph), edge[40];
    CHECK(strstr(text, "label=\"pipeline\\nfetch\\n3 of 3 run\\n3 of 5 in flight\""));
    snprintf(edge, sizeof edge, "  c%u -> p_", from);
    CHECK(strstr(text, edge));
    snprintf(edge, sizeof edge, " -> c%u [color=gray", to);
    CHECK(strstr(text, edge));
    free(text);
    CHECK_IS(0, leat_close(gate));
    wait_for_line("0 of 3 run, 0 of 5 items in flight, 6 so far\n");
    CHECK_IS(0, leat_close(in));
    while (times_in_dump(" stage fetch:")) /* one that has ended is not shown */
        leat_yield();
    return leat_scope_close(s);
}

enum { WAYS = 10 };

static int operators(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ins[3], *ways[WAYS], *yes, *no;
    leat_chan *piped = named_chan(s, "piped"), *mixed = named_chan(s, "mixed"),
              *topic = named_chan(s, "subscriber");
    for (int i = 0; i < 3; i++)
        ins[i] = named_chan(s, i ? "other" : "first");
    for (int i = 0; i < WAYS; i++)
        ways[i] = leat_chan_of(s, int, 1);
    unsigned first = lt_chan_number(ins[0]), second = lt_chan_number(ins[1]),
             third = lt_chan_number(ins[2]);
    CHECK(leat_pipe(s, ins[0], piped, LEAT_ENDS_CLOSED));
    wait_for_line("  pipe stage: from channel %u to channel %u\n", first, lt_chan_number(piped));
    leat_chan *merged = leat_merge(s, ins, 2, 0);
    wait_for_line("  merge stage: from channel %u to channel %u\n", first, lt_chan_number(merged));
    CHECK_IS(2, (int)times_in_dump("  merge stage: "));
    CHECK(leat_combine(s, ins, 3, NULL, NULL, &(leat_chan_spec){ .capacity = 1 }));
    wait_for_line("  combine stage: from channel %u, channel %u, channel %u to channel", first,
                  second, third);
    CHECK_IS(0, leat_split(s, ins[0], is_odd, NULL, &yes, &no, 1));
    wait_for_line("  split stage: from channel %u to channel ", first);
    CHECK_IS(0, leat_balance(s, ins[0], ways, WAYS, LEAT_ENDS_OPEN));
    wait_for_line(", channel %u and 2 more\n", lt_chan_number(ways[7]));
    CHECK(leat_through(s, ins[0], leat_take(sizeof(int), 3), 1, NULL));
    CHECK(leat_debounce(s, ins[0], LEAT_S, 1));
    wait_for_line("  through stage: from channel %u to ", first);
    wait_for_line("  debounce stage: from channel %u to ", first);
    leat_mix *mix = leat_mix_open(s, mixed, LEAT_MIX_MUTE);
    wait_for_line("  mix stage: to channel %u\n", lt_chan_number(mixed));
    CHECK_IS(0, leat_admix(mix, ins[0], 0));
    CHECK_IS(0, leat_admix(mix, ins[1], 0));
    wait_for_line("  mix stage: from channel %u, channel %u to ", first, second);
    CHECK_IS(0, leat_unmix(mix, ins[0]));
    wait_for_line("  mix stage: from channel %u to ", second);
    leat_mult *mult = leat_mult_open(s, ins[0], NULL);
    CHECK_IS(0, leat_tap(mult, ways[0], 0, LEAT_ENDS_OPEN));
    wait_for_line("  mult stage: from channel %u to channel %u\n", first, lt_chan_number(ways[0]));
    leat_pub *pub = leat_pub_open(s, ins[0], &(leat_pub_spec){ .topic = topic_of, .capacity = 1 });
    CHECK_IS(0, leat_sub(pub, 7, topic, 0, LEAT_ENDS_OPEN));
    wait_for_line("  pub stage: from channel %u to channel ", first);
    CHECK_IS(0, leat_close(ins[0]));
    while (times_in_dump(" pipe stage:") || times_in_dump(" pub stage:") ||
           times_in_dump(" split stage:"))
        leat_yield();
    leat_scope_cancel(s);
    int result = leat_scope_close(s);
    return result == -ECANCELED ? 0 : result;
}

static void test_stages(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 2; workers++) {
        run_on(workers, pipelines);
        run_on(workers, operators);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_descriptors),
                                        cmocka_unit_test(test_adopted),
                                        cmocka_unit_test(test_batchers),
                                        cmocka_unit_test(test_stages) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
