/* leat.c: a task for each connection; with the argument `block` a block, with `serve` a task of
 * leat_serve, with `callback` an operation that calls a function, which reads into the worker's
 * buffer. A second argument is LEAT_IO. CORES is how many workers. */
#define _GNU_SOURCE
#include "server.h"

#include <leat/leat.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef void serve_fn(leat_scope *scope, leat_io *io);

static bool sink;

static int talk(leat_io *io, void *arg)
{
    (void)arg;
    size_t size = sink ? SINK_BYTES : ECHO_BYTES;
    char small[ECHO_BYTES], *buffer = sink ? malloc(size) : small;
    int64_t n;
    while ((n = leat_read(io, buffer, size)) > 0)
        if (!sink && leat_write(io, buffer, (size_t)n) != n)
            break;
    if (buffer != small)
        free(buffer);
    return 0;
}

static int serve_as_task(void *io)
{
    talk(io, NULL);
    leat_io_unref(io);
    return 0;
}

struct connection {
    leat_block block;
    leat_io *io;
    size_t done;
    int n;
    char buffer[ECHO_BYTES];
};

/* Of pointers to the structs of blocks that end: the next connections use these structs. */
static leat_chan *ended;

static int serve_as_block(leat_block *b)
{
    struct connection *me = (struct connection *)b;
    LEAT_BEGIN(b);
    for (;;) {
        LEAT_AWAIT_READ(b, me->io, me->buffer, sizeof me->buffer);
        me->n = b->status;
        if (me->n <= 0)
            break;
        LEAT_AWAIT_WRITE(b, me->io, me->buffer, (size_t)me->n, me->done);
        if (b->status != 0)
            break;
    }
    leat_io_unref(me->io);
    memcpy(me->buffer, &me, sizeof me);
    LEAT_AWAIT_SEND(b, ended, me->buffer);
    LEAT_END(b);
}

/* A callback never waits, so no other needs the worker's buffer meanwhile. */
static _Thread_local char shared[ECHO_BYTES];

struct operation {
    leat_op op;
    leat_io *io;
    leat_chan *readable;
};

static void answer(leat_op *op, int status)
{
    struct operation *me = (struct operation *)op;
    int64_t n = status;
    if (n == 0)
        n = leat_read_until(me->io, shared, sizeof shared, LEAT_NOW);
    if (n == -EAGAIN || (n > 0 && leat_write_until(me->io, shared, (size_t)n, LEAT_NOW) == n)) {
        leat_recv_then(op, me->readable, NULL, answer);
        return;
    }
    leat_io_unref(me->io);
    free(me);
}

static void start_task(leat_scope *scope, leat_io *io)
{
    leat_go(scope, serve_as_task, io);
}

static void start_block(leat_scope *scope, leat_io *io)
{
    struct connection *connection;
    if (leat_try_recv(ended, &connection) == 0)
        leat_block_join(&connection->block);
    else
        connection = malloc(sizeof *connection);
    connection->io = io;
    leat_go_block(scope, &connection->block, serve_as_block);
}

static void start_operation(leat_scope *scope, leat_io *io)
{
    struct operation *operation = malloc(sizeof *operation);
    *operation = (struct operation){ LEAT_OP(scope, 0), io, leat_io_readable(io) };
    leat_recv_then(&operation->op, operation->readable, NULL, answer);
}

static leat_io *listen_here(leat_scope *scope)
{
    char address[32];
    leat_io *listener;
    snprintf(address, sizeof address, "127.0.0.1:%s", getenv("PORT"));
    int error = leat_listen(scope, address, 4096, &listener);
    if (error) {
        fprintf(stderr, "leat: cannot listen on %s: %s\n", address, strerror(-error));
        exit(1);
    }
    return listener;
}

static int run(void *start)
{
    leat_io *connection;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *listener = listen_here(scope);
    ended = leat_chan_of(scope, struct connection *, 64);
    while (leat_accept(listener, NULL, &connection, LEAT_NEVER) == 0)
        (*(serve_fn **)start)(scope, connection);
    return leat_scope_close(scope);
}

static int run_leat_serve(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = leat_serve(listen_here(scope), talk, NULL, NULL);
    leat_scope_close(scope);
    return error;
}

int main(int argc, char **argv)
{
    const char *cores = getenv("CORES");
    sink = is_sink();
    if (argc > 2)
        setenv("LEAT_IO", argv[2], 1);
    leat_options options = { .workers = cores ? (unsigned)atoi(cores) : 1 };
    if (argc > 1 && strcmp(argv[1], "serve") == 0)
        return leat_main_with(run_leat_serve, NULL, &options);
    serve_fn *start = start_task;
    if (argc > 1 && strcmp(argv[1], "block") == 0)
        start = start_block;
    else if (argc > 1 && strcmp(argv[1], "callback") == 0)
        start = start_operation;
    return leat_main_with(run, &start, &options);
}
