/* proxy: passes connections on to another address.
 *
 *     proxy ADDRESS TARGET    until Ctrl-C
 *     proxy                   between a client and a server of its own
 *
 *     client ──▶ leat_copy ──▶ target
 *     client ◀── leat_copy ◀── target
 *
 * The two directions end independently: when one side has sent everything, the other side learns
 * that (SHUT_WR) and may still answer. An error in one direction ends both. */
#include <leat/leat.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_S = 30 };

/* ---- the proxy ---- */

struct way {
    leat_io *to, *from;
};

/* Copies one direction to its end. An error is the verdict: it cancels the scope of both. */
static int copy(void *arg)
{
    struct way *way = arg;
    int64_t n = leat_copy(way->to, way->from, INT64_MAX, LEAT_NEVER);
    return n < 0 ? (int)n : leat_shutdown(way->to, SHUT_WR);
}

static int pass_on(leat_io *client, void *arg)
{
    const char *target_address = arg;
    leat_io *target;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct way there = { .from = client }, back = { .to = client };
    int error = leat_connect(s, target_address, &target, leat_after(CONNECT_S * LEAT_S));
    if (!error) {
        there.to = back.from = target;
        error = leat_go(s, copy, &there);
    }
    if (!error)
        error = leat_go(s, copy, &back);
    if (error)
        leat_scope_cancel(s);
    leat_scope_close(s);
    return error;
}

struct ending {
    leat_chan *stop;
    leat_io *listener;
};

static int end_at_signal(void *arg)
{
    struct ending *ending = arg;
    if (leat_recv(ending->stop, NULL) == 0)
        leat_io_close(ending->listener);
    return 0;
}

static int proxy(leat_io *listener, char *target)
{
    struct ending ending = { .listener = listener };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = leat_signals(s, (int[]){ SIGINT, SIGTERM }, 2, &ending.stop);
    if (!error)
        error = leat_go(s, end_at_signal, &ending);
    if (!error)
        error = leat_serve(listener, pass_on, target, &(leat_serve_options){ .grace = LEAT_S });
    leat_scope_cancel(s);
    leat_scope_close(s);
    return error;
}

static int proxy_until_signal(char **argv)
{
    leat_io *listener;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = leat_listen(s, argv[1], 0, &listener);
    if (!error)
        error = proxy(listener, argv[2]);
    leat_scope_close(s);
    return error;
}

/* ---- the test: a client, and a server that answers when the client has sent everything ---- */

enum { MOST = 1000000 };

/* Reads to the end, and only then sends everything back, the last byte first. */
static int reverse(leat_io *connection, void *arg)
{
    (void)arg;
    char *bytes = malloc(MOST);
    int64_t n = bytes ? leat_read_full(connection, bytes, MOST, LEAT_NEVER) : 0;
    for (int64_t i = 0; i < n / 2; i++) {
        char byte = bytes[i];
        bytes[i] = bytes[n - 1 - i];
        bytes[n - 1 - i] = byte;
    }
    if (n > 0)
        leat_write(connection, bytes, (size_t)n);
    free(bytes);
    return 0;
}

struct server {
    leat_io *listener;
    char address[LEAT_ADDRESS_TEXT], *target; /* NULL: the server itself answers */
};

static int serve(void *arg)
{
    struct server *server = arg;
    return server->target ? proxy(server->listener, server->target)
                          : leat_serve(server->listener, reverse, NULL, NULL);
}

static int start(leat_scope *scope, struct server *server)
{
    int error = leat_listen(scope, "127.0.0.1:0", 0, &server->listener);
    if (error)
        return error;
    leat_io_local_text(server->listener, server->address, sizeof server->address);
    return leat_go(scope, serve, server);
}

/* Sends `n` bytes, ends its own direction, and reads the answer: `n` bytes, or fewer at the end. */
static int64_t ask(const char *address, const char *question, char *answer, size_t n)
{
    leat_io *io;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int64_t got = leat_connect(s, address, &io, LEAT_NEVER);
    if (got == 0 && n > 0)
        got = leat_write(io, question, n);
    if (got >= 0)
        got = leat_shutdown(io, SHUT_WR);
    if (got == 0)
        got = leat_read_full(io, answer, n ? n : 1, LEAT_NEVER);
    leat_scope_close(s);
    return got;
}

static void ask_small_and_large(const char *address)
{
    char answer[6] = "", *large = malloc(MOST), *back = malloc(MOST);
    int64_t n = ask(address, "drawer", answer, 6);
    printf("drawer: %lld bytes: %.6s\n", (long long)n, answer);
    printf("nothing: %lld bytes\n", (long long)ask(address, "", answer, 0));
    int same = 0;
    if (large && back) {
        for (int i = 0; i < MOST; i++)
            large[i] = (char)(i % 251);
        n = ask(address, large, back, MOST);
        while (same < n && back[same] == large[MOST - 1 - same])
            same++;
        printf("large: %lld bytes, %d right\n", (long long)n, same);
    }
    free(large);
    free(back);
}

static int proxy_itself(void)
{
    struct server target = { 0 }, middle = { .target = target.address };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = start(s, &target);
    if (!error)
        error = start(s, &middle);
    if (!error) {
        ask_small_and_large(middle.address);
        leat_io_close(target.listener); /* now the proxy cannot connect, and hangs up */
        char answer[1];
        printf("no target: %lld bytes\n", (long long)ask(middle.address, "", answer, 0));
        kill(getpid(), SIGINT);
    } else
        leat_scope_cancel(s);
    int why = leat_scope_close(s);
    return error ? error : why;
}

static int run(void *arg)
{
    char **argv = arg;
    return argv[1] ? proxy_until_signal(argv) : proxy_itself();
}

int main(int argc, char **argv)
{
    if (argc != 1 && argc != 3) {
        fprintf(stderr, "usage: proxy [ADDRESS TARGET]\n");
        return 2;
    }
    int error = leat_main(run, argv);
    if (error < 0)
        fprintf(stderr, "proxy: %s\n", strerror(-error));
    return error < 0;
}
