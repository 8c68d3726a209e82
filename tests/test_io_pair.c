/* test_io_pair.c: pipes and pairs that leat makes: how they end, and how waits for them end. In the
 * seeded world they are simulated, and have to behave as outside. */
#define _GNU_SOURCE
#include "descriptors.h"
#include "traffic.h"

ON_WORKERS(all_arrives);

/* ---- ends ---- */

static int half_closes(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char bytes[10];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    CHECK_IS(5, leat_write(ends[0], "hello", 5));
    CHECK_IS(0, leat_shutdown(ends[0], SHUT_WR));
    CHECK_IS(-EPIPE, leat_write(ends[0], "x", 1));
    CHECK_IS(5, leat_read_full(ends[1], bytes, sizeof bytes, LEAT_NEVER));
    CHECK_IS(0, leat_read(ends[1], bytes, sizeof bytes));
    CHECK_IS(3, leat_write(ends[1], "bye", 3));
    CHECK_IS(3, leat_read_full(ends[0], bytes, 3, LEAT_NEVER));
    CHECK_IS(0, leat_shutdown(ends[0], SHUT_RD));
    CHECK_IS(0, leat_read(ends[0], bytes, 1));
    CHECK_IS(-EPIPE, leat_write(ends[1], "x", 1));
    CHECK_IS(-EINVAL, leat_shutdown(ends[0], 99));
    CHECK_IS(0, leat_io_close(ends[0]));
    CHECK_IS(-EBADF, leat_shutdown(ends[0], SHUT_WR));
    return leat_scope_close(s);
}
ON_WORKERS(half_closes);

static int pipes_have_two_sides(void *arg)
{
    (void)arg;
    leat_io *ends[2], *none[2];
    char byte;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, ends);
    CHECK_IS(-EBADF, leat_read(ends[1], &byte, 1));
    CHECK_IS(-EBADF, leat_write(ends[0], &byte, 1));
    CHECK_IS(-ENOTSOCK, leat_shutdown(ends[1], SHUT_WR));
    CHECK_IS(LEAT_OUT, leat_ready(ends[1], LEAT_IN | LEAT_OUT, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_ready(ends[0], LEAT_IN | LEAT_OUT, LEAT_NOW));
    CHECK_IS(1, leat_write(ends[1], "x", 1));
    CHECK_IS(LEAT_IN, leat_ready(ends[0], LEAT_IN, LEAT_NEVER));
    CHECK_IS(0, leat_io_close(ends[0]));
    CHECK_IS(-EPIPE, leat_write(ends[1], "x", 1));
    CHECK(leat_ready(ends[1], LEAT_OUT, LEAT_NOW) & LEAT_HUP);
    CHECK_IS(-EINVAL, leat_io_pipe(s, NULL));
    CHECK_IS(-EINVAL, leat_io_pair(s, NULL));
    open_two(NULL, true, none);
    CHECK_IS(0, leat_io_ref(none[0]));
    CHECK_IS(0, leat_io_unref(none[0]));
    CHECK_IS(0, leat_io_unref(none[0]));
    CHECK_IS(0, leat_read(none[1], &byte, 1));
    CHECK_IS(0, leat_io_unref(none[1]));
    return leat_scope_close(s);
}
ON_WORKERS(pipes_have_two_sides);

/* Bytes that were written before arrive before the error. */
static int closing_with_unread_bytes_is_a_reset(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char bytes[10];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    CHECK_IS(4, leat_write(ends[0], "lost", 4));
    CHECK_IS(5, leat_write(ends[1], "hello", 5));
    CHECK_IS(0, leat_io_close(ends[1]));
    CHECK_IS(5, leat_read_full(ends[0], bytes, 5, LEAT_NEVER));
    CHECK(memcmp(bytes, "hello", 5) == 0);
    CHECK_IS(-ECONNRESET, leat_read(ends[0], bytes, 1));
    CHECK_IS(0, leat_read(ends[0], bytes, 1));
    CHECK_IS(-EPIPE, leat_write(ends[0], bytes, 1));
    return leat_scope_close(s);
}
ON_WORKERS(closing_with_unread_bytes_is_a_reset);

/* ---- waits ---- */

static int blocked_write(void *arg)
{
    static const char bytes[200000];
    struct user *me = arg;
    me->result = leat_write(me->io, bytes, sizeof bytes);
    CHECK(me->result > 0 && me->result < (int64_t)sizeof bytes);
    me->result = leat_write(me->io, bytes, sizeof bytes);
    return 0;
}

static int reader_leaves_a_blocked_writer(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, ends);
    struct user writer = { ends[1], 0, LEAT_NEVER };
    CHECK_IS(0, leat_go(s, blocked_write, &writer));
    WAIT_UNTIL(receivers_of(leat_io_writable(ends[1])));
    CHECK_IS(0, leat_io_close(ends[0]));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-EPIPE, writer.result);
    return 0;
}
ON_WORKERS(reader_leaves_a_blocked_writer);

struct timed_block {
    leat_block block;
    leat_alarm alarm;
    leat_io *io;
    int64_t deadline;
    int status;
    char byte;
};

static int read_until_as_block(leat_block *b)
{
    struct timed_block *me = (struct timed_block *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_READ_UNTIL(b, me->io, &me->byte, 1, me->deadline, &me->alarm);
    me->status = b->status;
    LEAT_END(b);
}

struct counted_op {
    leat_op op;
    int status, calls;
};

static void ended(leat_op *op, int status)
{
    struct counted_op *me = (struct counted_op *)op;
    me->status = status;
    me->calls++;
}

static int deadline_and_cancel_end_waits(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char byte;
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    open_two(outer, true, ends);
    int64_t deadline = leat_after(5 * LEAT_MS);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct timed_block block = { .io = ends[0], .deadline = deadline };
    CHECK_IS(0, leat_go_block(s, &block.block, read_until_as_block));
    CHECK_IS(-ETIMEDOUT, leat_read_until(ends[0], &byte, 1, deadline));
    CHECK(leat_sim_running() ? leat_now() - deadline < LEAT_MS : leat_now() >= deadline);
    CHECK_IS(-ETIMEDOUT, leat_ready(ends[0], LEAT_IN, leat_after(LEAT_MS)));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-ETIMEDOUT, block.status);

    s = leat_scope_open(LEAT_NEVER);
    struct user readers[2] = { { ends[0], 0, LEAT_NEVER }, { ends[0], 0, LEAT_NEVER } };
    struct timed_block waits = { .io = ends[0], .deadline = LEAT_NEVER };
    struct counted_op cancelled = { .op = LEAT_OP(s, 0) }, withdrawn = { .op = LEAT_OP(s, 0) };
    CHECK_IS(0, leat_go(s, read_one, &readers[0]));
    CHECK_IS(0, leat_go_blocking(s, read_one, &readers[1]));
    CHECK_IS(0, leat_go_block(s, &waits.block, read_until_as_block));
    CHECK_IS(0, leat_ready_then(&cancelled.op, ends[0], LEAT_IN, ended));
    CHECK_IS(0, leat_ready_then(&withdrawn.op, ends[0], LEAT_IN, ended));
    WAIT_UNTIL(readers_of(ends[0]) == 5);
    CHECK_IS(0, leat_withdraw(&withdrawn.op));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-ECANCELED, readers[0].result);
    CHECK_IS(-ECANCELED, readers[1].result);
    CHECK_IS(-ECANCELED, cancelled.status);
    CHECK_IS(1, cancelled.calls);
    CHECK_IS(0, withdrawn.calls);
    CHECK_IS(1, leat_write(ends[1], "x", 1)); /* nothing is lost */
    CHECK_IS(1, leat_read(ends[0], &byte, 1));
    return leat_scope_close(outer);
}
ON_WORKERS(deadline_and_cancel_end_waits);

static int close_when_cancelled(void *arg)
{
    CHECK_IS(-ECANCELED, leat_sleep_until(LEAT_NEVER));
    return leat_io_close(arg);
}

struct reading {
    leat_io_op op;
    char byte;
    int status;
};

static void has_read(leat_io_op *op, int status)
{
    ((struct reading *)op)->status = status;
}

/* A party of the scope closes the other end because of the cancel, perhaps before the cancel has
 * reached the readers. */
static int a_cancel_is_no_end(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    for (int i = 0; i < often(1000); i++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER);
        open_two(outer, true, ends);
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct user readers[2] = { { ends[0], 0, LEAT_NEVER }, { ends[0], 0, LEAT_NEVER } };
        struct timed_block block = { .io = ends[0], .deadline = LEAT_NEVER };
        struct reading reading = { .op = LEAT_IO_OP(s, 0) };
        CHECK_IS(0, leat_go(s, close_when_cancelled, ends[1]));
        CHECK_IS(0, leat_go(s, read_one, &readers[0]));
        CHECK_IS(0, leat_go_blocking(s, read_one, &readers[1]));
        CHECK_IS(0, leat_go_block(s, &block.block, read_until_as_block));
        CHECK_IS(0, leat_read_then(&reading.op, ends[0], &reading.byte, 1, has_read));
        WAIT_UNTIL(readers_of(ends[0]) == 4);
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(-ECANCELED, readers[0].result);
        CHECK_IS(-ECANCELED, readers[1].result);
        CHECK_IS(-ECANCELED, block.status);
        CHECK_IS(-ECANCELED, reading.status);
        CHECK_IS(0, leat_read(ends[0], &reading.byte, 1)); /* in a scope that is not cancelled */
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(a_cancel_is_no_end);

static int send_one(void *arg)
{
    return leat_send(arg, &(int){ 7 });
}

static int write_one(void *arg)
{
    CHECK_IS(1, leat_write(arg, "x", 1));
    return 0;
}

/* Both cases come, in either order. */
static int selects_a_channel_and_a_pair(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char byte;
    int item = 0, bytes = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    leat_chan *ch = leat_chan_of(s, int, 0);
    CHECK_IS(0, leat_go(s, send_one, ch));
    CHECK_IS(0, leat_go(s, write_one, ends[1]));
    for (int i = 0; i < 2; i++) {
        leat_case cases[] = { LEAT_RECV(ch, &item), LEAT_READABLE(ends[0]) };
        int which = leat_select(cases, 2, LEAT_NEVER);
        CHECK_IS(0, cases[which].status);
        if (which == 1)
            CHECK_IS(1, bytes += (int)leat_read_until(ends[0], &byte, 1, LEAT_NOW));
    }
    CHECK_IS(7, item);
    CHECK_IS(1, bytes);
    return leat_scope_close(s);
}
ON_WORKERS(selects_a_channel_and_a_pair);

/* ---- lines ---- */

static int echo_lines(void *arg)
{
    leat_chan *lines;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_lines(s, arg, NULL, &lines));
    CHECK_IS(0, leat_write_lines(s, lines, arg));
    CHECK_IS(0, leat_scope_close(s));
    return leat_shutdown(arg, SHUT_WR);
}

static int write_text(void *arg)
{
    for (int i = 0; i < 50; i++) {
        char text[20];
        int n = snprintf(text, sizeof text, "line %d\n", i);
        CHECK_IS(n, leat_write(arg, text, (size_t)n));
    }
    return leat_shutdown(arg, SHUT_WR);
}

static int lines_go_there_and_back(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    leat_chan *lines;
    leat_line line;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    CHECK_IS(0, leat_go(s, echo_lines, ends[1]));
    CHECK_IS(0, leat_go(s, write_text, ends[0]));
    CHECK_IS(0, leat_lines(s, ends[0], NULL, &lines));
    for (int i = 0; i < 50; i++) {
        char text[20];
        snprintf(text, sizeof text, "line %d", i);
        CHECK_IS(0, leat_recv(lines, &line));
        CHECK_IS(0, strcmp(text, line.text));
        leat_line_free(&line);
    }
    CHECK_IS(-EPIPE, leat_recv(lines, &line));
    return leat_scope_close(s);
}
ON_WORKERS(lines_go_there_and_back);

/* ---- making ---- */

/* Those of the system do not block, and no program inherits them. */
static int makes_descriptors(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    leat_io *ends[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int pair = 0; pair < 2; pair++) {
        open_two(s, pair, ends);
        for (int i = 0; i < 2; i++) {
            CHECK(fcntl(leat_io_fd(ends[i]), F_GETFL) & O_NONBLOCK);
            CHECK(fcntl(leat_io_fd(ends[i]), F_GETFD) & FD_CLOEXEC);
        }
        CHECK_IS(0, leat_io_close(ends[0]));
        CHECK_IS(-1, fcntl(leat_io_fd(ends[0]), F_GETFD));
        int fd = leat_io_release(ends[1]);
        CHECK(fd >= 0);
        CHECK_IS(0, close(fd));
    }
    return leat_scope_close(s);
}
ON_WORKERS(makes_descriptors);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(all_arrives),
        TESTS_ON_WORKERS(half_closes),
        TESTS_ON_WORKERS(pipes_have_two_sides),
        TESTS_ON_WORKERS(closing_with_unread_bytes_is_a_reset),
        TESTS_ON_WORKERS(reader_leaves_a_blocked_writer),
        TESTS_ON_WORKERS(deadline_and_cancel_end_waits),
        TESTS_ON_WORKERS(a_cancel_is_no_end),
        TESTS_ON_WORKERS(selects_a_channel_and_a_pair),
        TESTS_ON_WORKERS(lines_go_there_and_back),
        TESTS_ON_WORKERS(makes_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
