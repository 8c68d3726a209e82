/* test_io_harsh.c: each request for memory or a thread fails once, in turn, while descriptors,
 * connections and servers are used. The call that needed it returns -ENOMEM or NULL and has moved
 * nothing: made again, it succeeds. No byte, no connection and no descriptor is lost. This needs
 * the harsh build. */
#define _GNU_SOURCE
#include "descriptors.h"
#include "faults.h"

#include "net/net.h"
#include "processes.h"

#include <poll.h>

/* Only one request fails: the second try succeeds. */
#define TRY(expected, call) \
    do { \
        int64_t result_ = (call); \
        if (result_ == -ENOMEM) { \
            atomic_fetch_add(&failures, 1); \
            result_ = (call); \
        } \
        CHECK_IS(expected, result_); \
    } while (0)

static leat_chan *try_channel(leat_chan *(*find)(leat_io *io), leat_io *io)
{
    leat_chan *ch = find(io);
    return made(ch) ? ch : find(io);
}

static leat_scope *try_scope(void)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    return made(scope) ? scope : leat_scope_open(LEAT_NEVER);
}

/* ---- descriptors ---- */

static int write_one(void *arg)
{
    TRY(1, leat_write(arg, "x", 1));
    return 0;
}

/* Waits in both directions, by a call and by a select. */
static void use_pair(leat_scope *scope)
{
    leat_io *ends[2];
    char byte;
    TRY(0, leat_io_pair(scope, ends));
    TRY(0, leat_go(scope, write_one, ends[1]));
    TRY(1, leat_read(ends[0], &byte, 1));
    TRY(-ETIMEDOUT, leat_read_until(ends[0], &byte, 1, leat_after(LEAT_US)));
    leat_chan *readable = try_channel(leat_io_readable, ends[0]),
              *writable = try_channel(leat_io_writable, ends[0]);
    CHECK(readable && writable);
    leat_case cases[] = { LEAT_RECV(readable, NULL), LEAT_RECV(writable, NULL) };
    CHECK_IS(1, leat_select(cases, 2, LEAT_NEVER));
    TRY(LEAT_OUT, leat_ready(ends[1], LEAT_IN | LEAT_OUT, LEAT_NEVER));
    TRY(0, leat_go(scope, write_one, ends[0]));
    TRY(LEAT_IN, leat_ready(ends[1], LEAT_IN, LEAT_NEVER));
    TRY(1, leat_read(ends[1], &byte, 1));
}

static int read_to_end(void *arg)
{
    static _Thread_local char bytes[4096];
    int64_t n, all = 0;
    do {
        n = leat_read(arg, bytes, sizeof bytes);
        atomic_fetch_add(&failures, n == -ENOMEM);
        all += n > 0 ? n : 0;
    } while (n > 0 || n == -ENOMEM);
    CHECK_IS(0, n);
    CHECK_IS(1 << 20, all);
    return 0;
}

/* More than a pipe holds: a write that is cut short returns how far it came. */
static void use_pipe(void)
{
    static const char many[1 << 20];
    leat_io *ends[2];
    leat_scope *scope = try_scope();
    TRY(0, leat_io_pipe(scope, ends));
    TRY(0, leat_go(scope, read_to_end, ends[0]));
    for (size_t done = 0; done < sizeof many;) {
        int64_t n = leat_write(ends[1], many + done, sizeof many - done);
        CHECK(n > 0 || n == -ENOMEM);
        atomic_fetch_add(&failures, n < 0);
        done += n > 0 ? (size_t)n : 0;
    }
    CHECK_IS(0, leat_io_close(ends[1]));
    CHECK_IS(0, leat_scope_close(scope));
}

/* Files go through the pool: a thread may fail to start. */
static void use_file(leat_scope *scope)
{
    leat_io *file, *ends[2];
    char bytes[8] = "";
    FILE *stream = tmpfile();
    CHECK(stream);
    int fd = dup(fileno(stream));
    CHECK_IS(0, fclose(stream));
    TRY(0, leat_io_adopt(scope, fd, &file));
    TRY(5, leat_write(file, "hello", 5));
    CHECK_IS(0, lseek(fd, 0, SEEK_SET));
    TRY(5, leat_read_full(file, bytes, sizeof bytes, LEAT_NEVER));
    CHECK_IS(0, lseek(fd, 0, SEEK_SET));
    TRY(0, leat_io_pair(scope, ends));
    /* Bytes that a copy has read before a failure are lost, as leat/io.h says; here it reads
     * none. */
    int64_t n = leat_copy(ends[0], file, 5, LEAT_NEVER);
    CHECK(n == 5 || n == -ENOMEM);
    atomic_fetch_add(&failures, n < 0);
    TRY(LEAT_OUT, leat_poll(leat_io_fd(ends[0]), LEAT_OUT, LEAT_NEVER));
    CHECK_IS(0, leat_io_close(file));
}

/* ---- blocks and callbacks ---- */

struct stackless {
    leat_block block;
    leat_op op;
    leat_alarm alarm;
    leat_io *io;
    char byte;
    _Atomic int status;
};

static int read_as_block(leat_block *b)
{
    struct stackless *me = LT_CONTAINER(b, struct stackless, block);
    LEAT_BEGIN(b);
    do {
        LEAT_AWAIT_READ_UNTIL(b, me->io, &me->byte, 1, leat_after(600 * LEAT_S), &me->alarm);
        atomic_fetch_add(&failures, b->status == -ENOMEM);
    } while (b->status == -ENOMEM);
    atomic_store(&me->status, b->status);
    LEAT_END(b);
}

static void note_status(leat_op *op, int status)
{
    atomic_store(&LT_CONTAINER(op, struct stackless, op)->status, status);
}

static void use_stackless(void)
{
    leat_io *ends[2];
    char byte;
    leat_scope *outer = try_scope(), *scope = try_scope();
    TRY(0, leat_io_pair(outer, ends));
    struct stackless block = { .io = ends[0], .status = -1 },
                     callback = { .op = LEAT_OP(scope, 0), .status = -1 };
    CHECK_IS(0, leat_go_block(scope, &block.block, read_as_block));
    TRY(0, leat_ready_then(&callback.op, ends[1], LEAT_IN, note_status));
    TRY(1, leat_write(ends[1], "x", 1));
    TRY(1, leat_write(ends[0], "x", 1));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(1, atomic_load(&block.status));
    CHECK_IS(0, atomic_load(&callback.status));
    TRY(1, leat_read(ends[1], &byte, 1));
    CHECK_IS(0, leat_scope_close(outer));
}

/* ---- connections ---- */

struct server {
    leat_io *listener;
    _Atomic int served, reports;
    bool threads;
};

static int serve_one(leat_io *connection, void *arg)
{
    struct server *server = arg;
    char byte;
    int64_t n = leat_read(connection, &byte, 1);
    if (n == -ENOMEM) {
        atomic_fetch_add(&failures, 1);
        n = leat_read(connection, &byte, 1);
    }
    if (n == 0) /* of a caller that had no memory when it was connected */
        return 0;
    CHECK_IS(1, n);
    TRY(1, leat_write(connection, &byte, 1));
    atomic_fetch_add(&server->served, 1);
    return 0;
}

/* The server rests when it has no memory for a connection, and serves it afterwards. */
static void count_error(void *arg, int error)
{
    struct server *server = arg;
    CHECK_IS(-ENOMEM, error);
    atomic_fetch_add(&server->reports, 1);
    atomic_fetch_add(&failures, 1);
}

static int run_server(void *arg)
{
    struct server *server = arg;
    leat_serve_options options = { .error = count_error, .threads = server->threads };
    TRY(0, leat_serve(server->listener, serve_one, server, &options));
    return 0;
}

static void call(const char *address)
{
    leat_io *io;
    char byte;
    TRY(0, leat_connect(NULL, address, &io, LEAT_NEVER));
    TRY(1, leat_write(io, "x", 1));
    TRY(1, leat_read(io, &byte, 1));
    CHECK_IS(0, leat_io_unref(io));
}

static void use_server(const char *at, bool threads)
{
    enum { CALLS = 3 };
    char text[LEAT_ADDRESS_TEXT];
    struct server server = { .threads = threads };
    leat_scope *outer = try_scope(), *scope = try_scope();
    TRY(0, leat_listen(outer, at, 0, &server.listener));
    CHECK(leat_io_local_text(server.listener, text, sizeof text) > 0);
    TRY(0, leat_go(scope, run_server, &server));
    for (int i = 0; i < CALLS; i++)
        call(text);
    CHECK_IS(0, leat_io_close(server.listener));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(CALLS, atomic_load(&server.served));
    CHECK(atomic_load(&server.reports) <= 1);
    CHECK_IS(0, leat_scope_close(outer));
}

/* A connection that leat_accept could not take is there for the next call. */
static void use_accept(leat_scope *scope)
{
    leat_io *listener, *client, *server = NULL;
    char text[LEAT_ADDRESS_TEXT];
    TRY(0, leat_listen(scope, "unix:@", 0, &listener));
    CHECK(leat_io_local_text(listener, text, sizeof text) > 0);
    TRY(0, leat_connect(scope, text, &client, LEAT_NEVER));
    TRY(0, leat_accept(listener, scope, &server, LEAT_NEVER));
    TRY(-ETIMEDOUT, leat_accept(listener, scope, &client, leat_after(LEAT_US)));
    CHECK_IS(0, leat_io_close(server));
}

static int both(const char *host, const char *service, leat_address *addresses)
{
    (void)host;
    return lt_net_number("127.0.0.2", service, &addresses[0]) +
           lt_net_number("127.0.0.1", service, &addresses[1]);
}

/* A name with two addresses, of which the first is refused. */
static void use_names(leat_scope *scope)
{
    leat_io *listener, *client;
    leat_address addresses[4];
    char text[LEAT_ADDRESS_TEXT], name[LEAT_ADDRESS_TEXT];
    lt_net_asks *system = atomic_load(&lt_net_ask);
    atomic_store(&lt_net_ask, both);
    TRY(2, leat_resolve("somewhere", "80", addresses, 4, LEAT_NEVER));
    TRY(0, leat_listen(scope, "127.0.0.1:0", 0, &listener));
    CHECK(leat_io_local_text(listener, text, sizeof text) > 0);
    snprintf(name, sizeof name, "somewhere%s", strrchr(text, ':'));
    /* Of several failed attempts the first gives the error: without memory for the second, too. */
    int error = leat_connect(scope, name, &client, LEAT_NEVER);
    CHECK(!error || error == -ENOMEM || error == -ECONNREFUSED);
    atomic_fetch_add(&failures, error != 0);
    CHECK_IS(0, error ? leat_connect(scope, name, &client, LEAT_NEVER) : 0);
    atomic_store(&lt_net_ask, system);
}

/* ---- lines and frames ---- */

/* Through a pipe, as lines or as frames. All arrives, or the channel is cut short and the scope
 * says why. */
static void use_lines(bool frames)
{
    enum { LINES = 30 };
    leat_io *ends[2];
    leat_chan *in = NULL, *out;
    int got = 0;
    leat_scope *outer = try_scope(), *scope = try_scope();
    TRY(0, leat_io_pipe(outer, ends));
    leat_chan_spec spec = { .item_size = frames ? 4 : sizeof(leat_line),
                            .capacity = LINES,
                            .drop = frames ? NULL : leat_line_free };
    out = leat_chan_open(outer, &spec);
    out = made(out) ? out : leat_chan_open(outer, &spec);
    CHECK(out);
    for (int i = 0; i < LINES; i++) {
        char frame[5] = "abcd";
        leat_line line = { .text = frames ? NULL : strdup("abcdefgh"), .size = 8 };
        CHECK_IS(0, leat_send(out, frames ? (void *)frame : (void *)&line));
    }
    CHECK_IS(0, leat_close(out));
    TRY(0, frames ? leat_frames(scope, ends[0], 4, 1, &in)
                  : leat_lines(scope, ends[0], &(leat_lines_options){ .most = 5 }, &in));
    TRY(0, frames ? leat_write_frames(scope, out, ends[1]) : leat_write_lines(scope, out, ends[1]));
    char frame[4];
    leat_line line;
    int pieces = LINES * (frames ? 1 : 2);
    while (got < pieces && leat_recv(in, frames ? (void *)frame : (void *)&line) == 0) {
        got++;
        if (!frames)
            leat_line_free(&line);
    }
    CHECK_IS(0, leat_io_close(ends[1]));
    int why = leat_scope_close(scope);
    CHECK(got == pieces || why == -ENOMEM);
    CHECK(why == 0 || why == -ENOMEM || why == -EBADF);
    atomic_fetch_add(&failures, why == -ENOMEM);
    CHECK_IS(0, leat_scope_close(outer));
}

/* ---- all of it ---- */

static int use_all(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    if (!scope)
        return -ENOMEM;
    use_pair(scope);
    use_pipe();
    use_file(scope);
    use_stackless();
    use_accept(scope);
    use_server("127.0.0.1:0", false);
    use_server("unix:@", true);
    use_names(scope);
    use_lines(false);
    use_lines(true);
    CHECK_IS(0, leat_scope_close(scope));
    return 0;
}

static int use_from_thread(void *arg)
{
    return leat_blocking(use_all, arg);
}

static void survives(leat_fn *body)
{
    int before = open_descriptors();
    fail_each_request(body, 60);
    /* The bells of two workers stay. */
    CHECK(open_descriptors() <= before + 2);
}

static void survives_each_failure(void **state)
{
    (void)state;
    survives(use_all);
}

static void survives_each_failure_in_a_thread(void **state)
{
    (void)state;
    survives(use_from_thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_each_failure),
        cmocka_unit_test(survives_each_failure_in_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
