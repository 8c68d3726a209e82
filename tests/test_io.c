/* test_io.c: descriptors: transfers, waits and how they end. Tasks, threads, blocks and callbacks
 * do each. */
#define _GNU_SOURCE
#include "descriptors.h"

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    char byte;
    leat_io *io = NULL;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-EINVAL, leat_io_adopt(scope, -1, &io));
    CHECK_IS(-EINVAL, leat_io_adopt(scope, 0, NULL));
    CHECK_IS(IN_SIM ? -ENOTSUP : -EBADF, leat_io_adopt(scope, 9999, &io));
    CHECK(!io);
    struct pair pair = open_pair(scope);
    CHECK_IS(-EINVAL, leat_read(NULL, &byte, 1));
    CHECK_IS(-EINVAL, leat_read(pair.a, NULL, 1));
    CHECK_IS(-EINVAL, leat_read(pair.a, &byte, 0));
    CHECK_IS(-EINVAL, leat_read_until(pair.a, &byte, 1, -1));
    CHECK_IS(-EINVAL, leat_write(pair.a, &byte, 0));
    CHECK_IS(-EINVAL, leat_ready(pair.a, 0, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_ready(pair.a, 8, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_io_unref(pair.a));
    CHECK(!leat_io_readable(NULL));
    CHECK_IS(0, leat_io_close(pair.a));
    CHECK_IS(-EBADF, leat_io_close(pair.a));
    CHECK_IS(-EBADF, leat_read(pair.a, &byte, 1));
    CHECK_IS(-EBADF, leat_write(pair.a, &byte, 1));
    CHECK_IS(-EBADF, leat_ready(pair.a, LEAT_IN, LEAT_NOW));
    return leat_scope_close(scope);
}
ON_WORKERS(refuses_wrong_arguments);

/* ---- an echo by each party ---- */

static int echo_as_task(void *arg)
{
    char bytes[100];
    int64_t n;
    while ((n = leat_read(arg, bytes, sizeof bytes)) > 0)
        CHECK_IS(n, leat_write(arg, bytes, (size_t)n));
    CHECK_IS(0, n);
    return leat_shutdown(arg, SHUT_WR);
}

struct echo {
    leat_block block;
    leat_io *io;
    size_t done;
    int n;
    char bytes[100];
};

static int echo_as_block(leat_block *b)
{
    struct echo *me = (struct echo *)b;
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_READ(b, me->io, me->bytes, sizeof me->bytes);
        me->n = b->status;
        if (me->n <= 0)
            break;
        LEAT_AWAIT_WRITE(b, me->io, me->bytes, (size_t)me->n, me->done);
        CHECK_IS(0, b->status);
    }
    CHECK_IS(0, me->n);
    CHECK_IS(0, leat_shutdown(me->io, SHUT_WR));
    LEAT_END(b);
}

struct echo_op {
    leat_op op;
    leat_io *io;
};

/* The bytes that it reads fit into the socket. */
static void echo_as_callback(leat_op *op, int status)
{
    struct echo_op *me = (struct echo_op *)op;
    char bytes[100];
    int64_t n;
    CHECK_IS(0, status);
    while ((n = leat_read_until(me->io, bytes, sizeof bytes, LEAT_NOW)) > 0)
        CHECK_IS(n, leat_write_until(me->io, bytes, (size_t)n, LEAT_NOW));
    if (n == -EAGAIN)
        CHECK_IS(0, leat_ready_then(op, me->io, LEAT_IN, echo_as_callback));
    else
        CHECK_IS(0, leat_shutdown(me->io, SHUT_WR));
}

enum { ROUNDS = 300 };

static int talk(void *arg)
{
    char sent[100], got[100];
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = 1 + (size_t)i % sizeof sent;
        memset(sent, i, n);
        CHECK_IS(n, leat_write(arg, sent, n));
        CHECK_IS(n, leat_read_full(arg, got, n, LEAT_NEVER));
        CHECK(memcmp(sent, got, n) == 0);
    }
    CHECK_IS(0, leat_shutdown(arg, SHUT_WR));
    CHECK_IS(0, leat_read(arg, got, 1));
    return 0;
}

static int is_echoed(void *arg)
{
    (void)arg;
    struct pair pairs[4];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 4; i++)
        pairs[i] = open_pair(scope);
    struct echo echo = { .io = pairs[1].a };
    struct echo_op op = { LEAT_OP(scope, 0), pairs[2].a };
    CHECK_IS(0, leat_go(scope, echo_as_task, pairs[0].a));
    CHECK_IS(0, leat_go_block(scope, &echo.block, echo_as_block));
    CHECK_IS(0, leat_ready_then(&op.op, op.io, LEAT_IN, echo_as_callback));
    CHECK_IS(0, leat_go_blocking(scope, echo_as_task, pairs[3].a));
    for (int i = 0; i < 4; i++)
        CHECK_IS(0, i % 2 ? leat_go(scope, talk, pairs[i].b)
                          : leat_go_blocking(scope, talk, pairs[i].b));
    return leat_scope_close(scope);
}
ON_WORKERS(is_echoed);

/* ---- how waits end ---- */

static int closing_wakes_readers(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    struct user readers[3];
    for (int i = 0; i < 3; i++)
        readers[i] = (struct user){ pair.a, 0, LEAT_NEVER };
    CHECK_IS(0, leat_go(scope, read_one, &readers[0]));
    CHECK_IS(0, leat_go(scope, read_one, &readers[1]));
    CHECK_IS(0, leat_go_blocking(scope, read_one, &readers[2]));
    WAIT_UNTIL(readers_of(pair.a) == 3);
    int fd = leat_io_fd(pair.a);
    CHECK_IS(IN_SIM ? -ENOTSUP : -EBUSY, leat_io_release(pair.a));
    CHECK_IS(0, leat_io_close(pair.a));
    CHECK_IS(0, leat_scope_close(scope));
    for (int i = 0; i < 3; i++)
        CHECK_IS(-EBADF, readers[i].result);
    CHECK(IN_SIM || fcntl(fd, F_GETFD) == -1);
    return 0;
}
ON_WORKERS(closing_wakes_readers);

static int deadline_and_cancel_end_a_read(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    char byte;
    CHECK_IS(-EAGAIN, leat_read_until(pair.a, &byte, 1, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_read_until(pair.a, &byte, 1, leat_after(LEAT_MS)));
    CHECK_IS(-ETIMEDOUT, leat_ready(pair.a, LEAT_IN, leat_after(LEAT_MS)));
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    struct user readers[2] = { { pair.a, 0, LEAT_NEVER }, { pair.b, 0, LEAT_NEVER } };
    CHECK_IS(0, leat_go(inner, read_one, &readers[0]));
    CHECK_IS(0, leat_go_blocking(inner, read_one, &readers[1]));
    WAIT_UNTIL(readers_of(pair.a) == 1 && readers_of(pair.b) == 1);
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(-ECANCELED, readers[0].result);
    CHECK_IS(-ECANCELED, readers[1].result);
    CHECK_IS(1, leat_write(pair.b, "x", 1));
    CHECK_IS(1, leat_read(pair.a, &byte, 1));
    return leat_scope_close(scope);
}
ON_WORKERS(deadline_and_cancel_end_a_read);

/* The only worker never waits, so its reactor looks late. */
static int polls_without_waiting(void *arg)
{
    (void)arg;
    char byte;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    CHECK_IS(-EAGAIN, leat_read_until(pair.a, &byte, 1, LEAT_NOW));
    CHECK_IS(1, leat_write(pair.b, "x", 1));
    if (IN_SIM) /* it may come late */
        CHECK_IS(0, leat_sleep(LEAT_S));
    CHECK_IS(1, leat_read_until(pair.a, &byte, 1, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_read_until(pair.a, &byte, 1, LEAT_NOW));
    return leat_scope_close(scope);
}
ON_WORKERS(polls_without_waiting);

static int selects_descriptors_and_channels(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    leat_chan *ch = leat_chan_of(scope, int, 1);
    int item = 7;
    char byte;
    leat_case cases[] = { LEAT_RECV(ch, &item), LEAT_READABLE(pair.a) };
    CHECK_IS(-EAGAIN, leat_select(cases, 2, LEAT_NOW));
    CHECK_IS(1, leat_write(pair.b, "x", 1));
    CHECK_IS(1, leat_select(cases, 2, LEAT_NEVER));
    CHECK_IS(1, leat_read_until(pair.a, &byte, 1, LEAT_NOW));
    CHECK_IS(0, leat_send(ch, &item));
    leat_case again[] = { LEAT_RECV(ch, &item), LEAT_READABLE(pair.a), LEAT_WRITABLE(pair.a) };
    CHECK_IS(0, leat_select_ordered(again, 2, LEAT_NEVER));
    CHECK_IS(2, leat_select(again, 3, LEAT_NEVER));
    CHECK_IS(LEAT_OUT, leat_ready(pair.a, LEAT_IN | LEAT_OUT, LEAT_NEVER));
    CHECK_IS(0, leat_io_close(pair.b));
    CHECK(leat_ready(pair.a, LEAT_IN, LEAT_NEVER) & LEAT_IN);
    CHECK_IS(0, leat_read(pair.a, &byte, 1));
    CHECK_IS(-EPIPE, leat_write(pair.a, "x", 1));
    return leat_scope_close(scope);
}
ON_WORKERS(selects_descriptors_and_channels);

/* ---- kinds of descriptors ---- */

enum { MUCH = IN_SIM ? 1 << 17 : 1 << 20 };

static int write_much(void *arg)
{
    static const char data[MUCH];
    CHECK_IS(sizeof data, leat_write(arg, data, sizeof data));
    return leat_io_close(arg);
}

static int much_goes_through(void *arg)
{
    (void)arg;
    char *bytes = malloc(MUCH);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *ends[2];
    if (IN_SIM)
        CHECK_IS(0, leat_io_pipe(scope, ends));
    else
        adopt_pipe(scope, 0, &ends[0], &ends[1]);
    CHECK_IS(0, leat_go(scope, write_much, ends[1]));
    CHECK_IS(MUCH, leat_read_full(ends[0], bytes, MUCH, LEAT_NEVER));
    CHECK_IS(0, leat_read(ends[0], bytes, 1));
    CHECK(IN_SIM || !(fcntl(leat_io_fd(ends[0]), F_GETFL) & O_NONBLOCK));
    struct pair pair = open_pair(scope);
    CHECK_IS(0, leat_go(scope, write_much, pair.a));
    CHECK_IS(MUCH, leat_read_full(pair.b, bytes, MUCH, LEAT_NEVER));
    CHECK_IS(0, leat_read(pair.b, bytes, 1));
    free(bytes);
    return leat_scope_close(scope);
}
ON_WORKERS(much_goes_through);

static int reads_files(void *arg)
{
    (void)arg;
    char bytes[100];
    if (IN_SIM)
        return 0;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    FILE *file = tmpfile();
    CHECK(file != NULL);
    leat_io *io = adopt(scope, dup(fileno(file)));
    CHECK_IS(5, leat_write(io, "hello", 5));
    CHECK_IS(0, lseek(leat_io_fd(io), 0, SEEK_SET));
    CHECK_IS(LEAT_IN, leat_ready(io, LEAT_IN, LEAT_NEVER));
    CHECK_IS(5, leat_read_full(io, bytes, sizeof bytes, LEAT_NEVER));
    CHECK(memcmp(bytes, "hello", 5) == 0);
    CHECK_IS(0, leat_read(io, bytes, 1));
    fclose(file);
    leat_io *null = adopt(scope, open("/dev/null", O_RDWR | O_CLOEXEC));
    CHECK_IS(0, leat_read(null, bytes, 1));
    CHECK_IS(1, leat_write(null, bytes, 1));
    return leat_scope_close(scope);
}
ON_WORKERS(reads_files);

static int waits_for_foreign_numbers(void *arg)
{
    (void)arg;
    int fds[2];
    if (IN_SIM)
        return 0;
    CHECK_IS(0, pipe2(fds, O_CLOEXEC));
    CHECK_IS(-EAGAIN, leat_poll(fds[0], LEAT_IN, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_poll(fds[0], LEAT_IN, leat_after(LEAT_MS)));
    CHECK_IS(LEAT_OUT, leat_poll(fds[1], LEAT_OUT, LEAT_NEVER));
    CHECK_IS(1, write(fds[1], "x", 1));
    CHECK_IS(LEAT_IN, leat_poll(fds[0], LEAT_IN, LEAT_NEVER));
    close(fds[0]);
    close(fds[1]);
    CHECK_IS(-EBADF, leat_poll(fds[0], LEAT_IN, LEAT_NOW));
    return 0;
}
ON_WORKERS(waits_for_foreign_numbers);

/* A task that computes does not delay the descriptors of other tasks. */
static int read_beside_a_hog(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    struct hog hog = { false, false };
    struct user reader = { NULL, 0, LEAT_NEVER };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    reader.io = pair.a;
    CHECK_IS(0, leat_go(scope, read_one, &reader));
    WAIT_UNTIL(readers_of(pair.a) == 1);
    start_hog(scope, &hog);
    CHECK_IS(1, write(leat_io_fd(pair.b), "x", 1));
    WAIT_UNTIL(reader.result == 1);
    atomic_store(&hog.stop, true);
    return leat_scope_close(scope);
}

static void is_read_beside_a_hog(void **state)
{
    (void)state;
    run_on(2, read_beside_a_hog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(is_echoed),
        TESTS_ON_WORKERS(closing_wakes_readers),
        TESTS_ON_WORKERS(deadline_and_cancel_end_a_read),
        TESTS_ON_WORKERS(polls_without_waiting),
        TESTS_ON_WORKERS(selects_descriptors_and_channels),
        TESTS_ON_WORKERS(much_goes_through),
        TESTS_ON_WORKERS(reads_files),
        TESTS_ON_WORKERS(waits_for_foreign_numbers),
        cmocka_unit_test(is_read_beside_a_hog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
