/* leat.c: a task for each connection; with the argument `block` a block, with `serve` a task of
 * leat_serve. A second argument is LEAT_IO. CORES is how many workers. */
#define _GNU_SOURCE
#include "server.h"

#include <leat/leat.h>

#include <string.h>
#include <unistd.h>

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
    LEAT_END(b);
}

static void serve(leat_scope *scope, int fd, bool as_block)
{
    leat_io *io;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (leat_io_adopt(NULL, fd, &io) != 0) {
        close(fd);
    } else if (as_block) {
        struct connection *connection = malloc(sizeof *connection);
        connection->io = io;
        leat_go_block(scope, &connection->block, serve_as_block);
    } else {
        leat_go_spread(scope, serve_as_task, io);
    }
}

static int run(void *as_block)
{
    int fd, listener = open_listener();
    leat_io *io;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io_adopt(scope, listener, &io);
    do
        while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
            serve(scope, fd, as_block != NULL);
    while (leat_ready(io, LEAT_IN, LEAT_NEVER) > 0);
    return leat_scope_close(scope);
}

static int run_leat_serve(void *arg)
{
    (void)arg;
    char address[32];
    leat_io *listener;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    snprintf(address, sizeof address, "127.0.0.1:%s", getenv("PORT"));
    int error = leat_listen(scope, address, 4096, &listener);
    if (!error)
        error = leat_serve(listener, talk, NULL, NULL);
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
    bool as_block = argc > 1 && strcmp(argv[1], "block") == 0;
    return leat_main_with(run, as_block ? &options : NULL, &options);
}
