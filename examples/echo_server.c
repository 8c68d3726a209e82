/* echo_server: a server that sends back what it reads, and ends a connection that is silent for
 * too long. Its clients are tasks of the same program: three talk, and one says nothing. When they
 * have left, the program closes the listener, and the server ends when its last connection has. */
#include <leat/leat.h>

#include <stdio.h>
#include <string.h>

#define PATIENCE LEAT_S

enum { CLIENTS = 3, ROUNDS = 100 };

struct program {
    leat_io *listener;
    char address[LEAT_ADDRESS_TEXT];
    leat_chan *bytes; /* of int64_t: how many a connection has echoed */
};

static int echo(leat_io *connection, void *arg)
{
    struct program *program = arg;
    char buffer[4096];
    int64_t n, echoed = 0;
    while ((n = leat_read_until(connection, buffer, sizeof buffer, leat_after(PATIENCE))) > 0 &&
           leat_write_until(connection, buffer, (size_t)n, leat_after(PATIENCE)) == n)
        echoed += n;
    leat_send(program->bytes, &echoed);
    return 0;
}

static int serve(void *arg)
{
    struct program *program = arg;
    return leat_serve(program->listener, echo, program, NULL);
}

static int talk(void *arg)
{
    struct program *program = arg;
    leat_io *connection;
    char sent[64], got[64];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = leat_connect(scope, program->address, &connection, leat_after(10 * LEAT_S));
    for (int i = 0; !error && i < ROUNDS; i++) {
        memset(sent, i, sizeof sent);
        if (leat_write(connection, sent, sizeof sent) != sizeof sent ||
            leat_read_full(connection, got, sizeof got, LEAT_NEVER) != sizeof got ||
            memcmp(sent, got, sizeof got) != 0)
            error = -EIO;
    }
    leat_scope_close(scope);
    return error;
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
    return error;
}

static int run_clients(struct program *program)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_go(scope, say_nothing, program);
    for (int i = 0; i < CLIENTS; i++)
        leat_go(scope, talk, program);
    return leat_scope_close(scope);
}

static void report(struct program *program)
{
    int64_t bytes, all = 0;
    int connections = 0;
    while (leat_try_recv(program->bytes, &bytes) == 0) {
        all += bytes;
        connections++;
    }
    printf("%d connections, %lld bytes\n", connections, (long long)all);
}

static int run(void *arg)
{
    struct program *program = arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    program->bytes = leat_chan_make(scope, sizeof(int64_t), CLIENTS + 1);
    int error = leat_listen(scope, "127.0.0.1:0", 0, &program->listener);
    if (!error) {
        leat_io_local_text(program->listener, program->address, sizeof program->address);
        leat_scope *server = leat_scope_open(LEAT_NEVER);
        leat_go(server, serve, program);
        error = run_clients(program);
        leat_io_close(program->listener);
        int ended = leat_scope_close(server);
        error = error ? error : ended;
        report(program);
    }
    leat_scope_close(scope);
    return error;
}

int main(void)
{
    struct program program = { 0 };
    int error = leat_main(run, &program);
    if (error)
        fprintf(stderr, "echo_server: %s\n", strerror(-error));
    return error != 0;
}
