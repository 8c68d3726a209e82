/* test_look_things.c: dumps show descriptors and batchers, and what parties wait for there. */
#include "dumps.h"

#include "watch/look.h"

#include <unistd.h>

/* What a dump calls a descriptor. */
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

__attribute__((format(printf, 2, 3))) static bool tells(const char *text, const char *format, ...)
{
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return strstr(text, line);
}

/* Until a dump tells that: a party that waits cannot say so itself. */
static void wait_until_told(const char *format, const leat_io *io)
{
    char line[200];
    bool told = false;
    snprintf(line, sizeof line, format, name_of(io));
    while (!told) {
        char *text = dump_with(leat_dump);
        told = strstr(text, line);
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
    const struct lt_look_bound bound = { LT_LOOK_PARTIES, LT_LOOK_CHANNELS, LT_LOOK_SCOPES };
    unsigned descriptors = 0, channels = 0;
    CHECK_IS(0, lt_look_begin(&look, NULL, &bound));
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
    wait_until_told("reads: waits to read from %s", empty[0]);
    wait_until_told("writes: waits to write to %s", full[1]);
    wait_until_told("%s: 2 wait to read\n", empty[0]);
    check_records(full[1]);
    char *text = dump_with(leat_dump);
    CHECK(strstr(text, " 0 channels, 4 descriptors, "));
    CHECK(tells(text, "    %s: 2 wait to read\n", name_of(empty[0])));
    CHECK(tells(text, "    %s: 1 waits to write\n", name_of(full[1])));
    CHECK(tells(text, "    %s: open\n", name_of(full[0])));
    CHECK(strstr(text, "reads waits to read\n") && strstr(text, "writes waits to write\n"));
    CHECK(tells(strstr(text, "block wait_step"), " to read from %s", name_of(empty[0])));
    CHECK(!strstr(text, "readable") && !strstr(text, "writable") && !strstr(text, "in no scope"));
    free(text);
    text = dump_with(leat_dump_graph);
    CHECK(tells(text, "[shape=house label=\"%s\"];", name_of(empty[1])));
    CHECK(strstr(text, "[label=\"read\"];") && strstr(text, "[label=\"write\"];"));
    free(text);
    CHECK_IS(0, leat_io_close(empty[1]));
    CHECK_IS(0, leat_io_close(full[0]));
    wait_until_told("%s: closed\n", empty[1]);
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
    CHECK(tells(text, "in no scope\n  descriptor %d: open\n", fds[0]));
    free(text);
    CHECK_IS(0, leat_io_unref(io));
    close(fds[1]);
    CHECK_IS(0, (int)times_told("descriptor"));
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
    CHECK_IS(1, (int)times_told(
                    "batcher log: 0 forming, 0 running, 2 items in 1 batch so far, closed\n"));
    return leat_scope_close(s);
}

static void test_batchers(void **state)
{
    (void)state;
    run_on(1, batchers);
    run_on(2, batchers);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_descriptors),
                                        cmocka_unit_test(test_adopted),
                                        cmocka_unit_test(test_batchers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
