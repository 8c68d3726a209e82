/* echo_server: a server that sends back what it reads, and ends a connection that is silent for
 * too long.
 *
 *     echo_server ADDRESS    serves until Ctrl-C, for example at 127.0.0.1:7000
 *     echo_server            talks to itself, and sends itself the signal of Ctrl-C
 *
 * At the signal the server stops to accept, and its connections go on until they end by themselves,
 * for 10 s at most (the grace of leat_serve). The clients of the test are tasks of the same
 * program. First three talk: the last of them sends the signal half way, and gets all its answers.
 * Then one says nothing, to a server that has little patience. */
#include <leat/leat.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE LEAT_S

enum { CLIENTS = 3, ROUNDS = 100 };

struct program {
    leat_io *listener;
    char address[LEAT_ADDRESS_TEXT];
    int64_t patience;
    leat_chan *stop;   /* of signals */
    leat_chan *ending; /* closed when the server accepts no more */
    leat_chan *bytes;  /* of int64_t: how many a connection has echoed; sliding */
};

/* ---- the server ---- */

static int echo(leat_io *connection, void *arg)
{
    struct program *program = arg;
    char buffer[4096];
    int64_t n, echoed = 0, patience = program->patience;
    while ((n = leat_read_until(connection, buffer, sizeof buffer, leat_after(patience))) > 0 &&
           leat_write_until(connection, buffer, (size_t)n, leat_after(patience)) == n)
        echoed += n;
    leat_send(program->bytes, &echoed);
    return 0;
}

static int end_at_signal(void *arg)
{
    struct program *program = arg;
    if (leat_recv(program->stop, NULL) == 0) {
        leat_io_close(program->listener);
        leat_close(program->ending);
    }
    return 0;
}

static void report(struct program *program)
{
    int64_t bytes, all = 0;
    int connections = 0;
    while (leat_try_recv(program->bytes, &bytes) == 0) {
        all += bytes;
        connections++;
    }
    printf("%d connection%s, %lld bytes\n", connections, connections == 1 ? "" : "s",
           (long long)all);
}

static int serve(const char *address, int64_t patience, leat_fn *with)
{
    struct program program = { .patience = patience };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    program.ending = leat_chan_make(scope, 0, 0);
    program.bytes = leat_chan_open(scope, &(leat_chan_spec){ .item_size = sizeof(int64_t),
                                                             .capacity = 1000,
                                                             .buffer = LEAT_SLIDING });
    int error = leat_signals(scope, (int[]){ SIGINT, SIGTERM }, 2, &program.stop);
    if (!error)
        error = leat_listen(scope, address, 0, &program.listener);
    if (!error)
        error = leat_go(scope, end_at_signal, &program);
    if (!error && with) {
        leat_io_local_text(program.listener, program.address, sizeof program.address);
        error = leat_go(scope, with, &program);
    }
    if (!error)
        error = leat_serve(program.listener, echo, &program, NULL);
    if (!error)
        report(&program);
    else
        leat_scope_cancel(scope);
    int why = leat_scope_close(scope);
    return error ? error : why;
}

/* ---- the clients of the test ---- */

static int talk_and_signal(struct program *program, bool signals)
{
    leat_io *connection;
    char sent[64], got[64];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = leat_connect(scope, program->address, &connection, leat_after(10 * LEAT_S));
    for (int i = 0; !error && i < ROUNDS; i++) {
        if (signals && i == ROUNDS / 2) {
            kill(getpid(), SIGINT);
            leat_recv(program->ending, NULL);
        }
        memset(sent, i, sizeof sent);
        if (leat_write(connection, sent, sizeof sent) != sizeof sent ||
            leat_read_full(connection, got, sizeof got, LEAT_NEVER) != sizeof got ||
            memcmp(sent, got, sizeof got) != 0)
            error = -EIO;
    }
    if (signals && !error)
        puts("the last client got all its answers");
    leat_scope_close(scope);
    return error;
}

static int talk(void *arg)
{
    return talk_and_signal(arg, false);
}

static int say_nothing(void *arg)
{
    struct program *program = arg;
    leat_io *connection;
    char byte;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = leat_connect(scope, program->address, &connection, leat_after(10 * LEAT_S));
    if (!error && leat_read(connection, &byte, 1) == 0)
        puts("the silent client was sent away");
    leat_scope_close(scope);
    kill(getpid(), SIGINT);
    return error;
}

static int talk_all(void *arg)
{
    struct program *program = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 1; i < CLIENTS; i++)
        leat_go(scope, talk, program);
    int error = leat_scope_close(scope);
    int last = talk_and_signal(program, true);
    if (last)
        kill(getpid(), SIGINT); /* perhaps it did not come so far */
    return error ? error : last;
}

static int run(void *address)
{
    if (address)
        return serve(address, PATIENCE, NULL);
    int error = serve("127.0.0.1:0", 60 * LEAT_S, talk_all);
    return error ? error : serve("127.0.0.1:0", 100 * LEAT_MS, say_nothing);
}

int main(int argc, char **argv)
{
    int error = leat_main(run, argc > 1 ? argv[1] : NULL);
    if (error < 0)
        fprintf(stderr, "echo_server: %s\n", strerror(-error));
    return error < 0;
}
