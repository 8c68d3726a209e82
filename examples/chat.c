/* chat: a chat server. The first line from a client is its name; all others go to everybody.
 *
 *     chat ADDRESS    serves until Ctrl-C, for example at 127.0.0.1:7000: talk by nc or telnet
 *     chat            talks to itself, and then sends itself the signal of Ctrl-C
 *
 *     a member's attend ──▶┐               ┌──▶ deliver of a member
 *     a member's attend ──▶┼──▶ said ──▶ mult ──▶ deliver of a member
 *
 * Each member has two tasks: one reads what the member says, one writes what it hears. A member
 * that does not read what it hears misses lines, and does not hold up the others. A member that is
 * silent for too long has to leave. The end begins at `said`: when that is closed, the mult closes
 * what the members hear, and each member's tasks end when they have delivered everything. */
#include "lines.h"

#include <leat/leat.h>

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { HEARS = 64, NAME_S = 30, WRITE_S = 10 };

struct line {
    char text[256];
};

struct room {
    leat_io *listener;
    leat_chan *said, *stop;
    leat_mult *everybody;
    int64_t silence; /* how long a member may be silent */
};

struct member {
    leat_io *connection;
    leat_chan *hears;
};

/* ---- the server ---- */

__attribute__((format(printf, 2, 3))) static void say(leat_chan *to, const char *format, ...)
{
    struct line line;
    va_list args;
    va_start(args, format);
    vsnprintf(line.text, sizeof line.text, format, args);
    va_end(args);
    leat_send(to, &line);
}

static int deliver(void *arg)
{
    struct member *me = arg;
    for (struct line line; leat_recv(me->hears, &line) == 0;) {
        int64_t n = (int64_t)strlen(line.text);
        if (leat_write_until(me->connection, line.text, (size_t)n, leat_after(WRITE_S * LEAT_S)) <
            n)
            break;
    }
    leat_shutdown(me->connection, SHUT_RDWR); /* this ends attend */
    return 0;
}

static int attend(leat_io *connection, void *arg)
{
    struct room *room = arg;
    struct lines in = { .io = connection };
    char name[16], text[200];
    int n = read_line(&in, name, sizeof name, leat_after(NAME_S * LEAT_S));
    if (n <= 0)
        return 0;
    /* The channel has no scope: the mult may still hold it for a moment after leat_untap. */
    struct member me = { connection, leat_chan_of(NULL, struct line, HEARS) };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    if (leat_tap(room->everybody, me.hears, LEAT_TAP_LOSSY, LEAT_ENDS_CLOSED) == 0 &&
        leat_go(s, deliver, &me) == 0) {
        say(room->said, "* %s joined\n", name);
        while ((n = read_line(&in, text, sizeof text, leat_after(room->silence))) >= 0)
            say(room->said, "%s: %s\n", name, text);
        leat_untap(room->everybody, me.hears);
        if (n == -ETIMEDOUT)
            say(me.hears, "* you were silent for too long\n");
        say(room->said, "* %s left\n", name);
    }
    leat_untap(room->everybody, me.hears);
    leat_close(me.hears); /* this ends deliver */
    leat_scope_close(s);
    leat_chan_unref(me.hears);
    return 0;
}

static int end_at_signal(void *arg)
{
    struct room *room = arg;
    if (leat_recv(room->stop, NULL) == 0) {
        leat_io_close(room->listener);
        say(room->said, "* the server ends\n");
        leat_close(room->said);
    }
    return 0;
}

static int serve(const char *address, int64_t silence, leat_fn *with)
{
    struct room room = { .silence = silence };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    room.said = leat_chan_of(s, struct line, HEARS);
    room.everybody = leat_mult_open(s, room.said, NULL);
    int error = leat_signals(s, (int[]){ SIGINT, SIGTERM }, 2, &room.stop);
    if (!error)
        error = leat_listen(s, address, 0, &room.listener);
    if (!error)
        error = leat_go(s, end_at_signal, &room);
    if (!error && with)
        error = leat_go(s, with, room.listener);
    if (!error)
        error = leat_serve(room.listener, attend, &room, NULL);
    if (error)
        leat_scope_cancel(s);
    int why = leat_scope_close(s);
    return error ? error : why;
}

/* ---- the clients of the test ---- */

/* When a client hears a line, it says another; an empty one means that it leaves. */
struct client {
    const char *name;
    struct {
        const char *hears, *says;
    } script[2];
    struct lines in;
    size_t heard;
    char log[1024]; /* what it hears */
};

static int take_part(void *arg)
{
    struct client *me = arg;
    char text[256];
    while (read_line(&me->in, text, sizeof text, LEAT_NEVER) >= 0) {
        me->heard +=
            (size_t)snprintf(me->log + me->heard, sizeof me->log - me->heard, "  %s\n", text);
        for (int i = 0; i < 2; i++) {
            const char *says = me->script[i].says;
            if (!says || strcmp(text, me->script[i].hears) != 0)
                continue;
            if (*says)
                leat_write(me->in.io, says, strlen(says));
            else
                leat_shutdown(me->in.io, SHUT_WR);
        }
    }
    return 0;
}

/* Connects, and waits until the server has let it in. */
static int join(leat_scope *scope, leat_io *listener, struct client *client)
{
    char address[LEAT_ADDRESS_TEXT], line[64];
    int error = address_of(listener, address);
    if (!error)
        error = leat_connect(scope, address, &client->in.io, LEAT_NEVER);
    if (error)
        return error;
    snprintf(line, sizeof line, "%s\n", client->name);
    leat_write(client->in.io, line, strlen(line));
    error = read_line(&client->in, line, sizeof line, LEAT_NEVER);
    return error < 0 ? error : 0;
}

static int talk_to_itself(void *arg)
{
    struct client clients[] = {
        { .name = "Ann", .script = { { "* Cid joined", "Hello!\n" } } },
        { .name = "Ben", .script = { { "Ann: Hello!", "Hi, Ann.\n" }, { "* Cid left", "" } } },
        { .name = "Cid", .script = { { "Ben: Hi, Ann.", "Bye.\n" }, { "Cid: Bye.", "" } } },
    };
    leat_scope *all = leat_scope_open(LEAT_NEVER), *leavers = leat_scope_open(LEAT_NEVER);
    int error = 0;
    for (int i = 0; i < 3 && !error; i++) {
        error = join(all, arg, &clients[i]);
        if (!error)
            error = leat_go(i == 0 ? all : leavers, take_part, &clients[i]);
    }
    if (error)
        leat_scope_cancel(all);
    leat_scope_close(leavers);
    kill(getpid(), SIGINT); /* Ann is still there */
    leat_scope_close(all);
    for (int i = 0; i < 3 && !error; i++)
        printf("%s hears:\n%s", clients[i].name, clients[i].log);
    return error;
}

static int be_silent(void *arg)
{
    struct client dee = { .name = "Dee" };
    char line[64] = "";
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = join(s, arg, &dee);
    while (!error && read_line(&dee.in, line, sizeof line, LEAT_NEVER) >= 0) {
    }
    leat_scope_close(s);
    printf("Dee hears at last:\n  %s\n", line);
    kill(getpid(), SIGINT);
    return error;
}

static int run(void *arg)
{
    if (arg)
        return serve(arg, 600 * LEAT_S, NULL);
    int error = serve("127.0.0.1:0", 600 * LEAT_S, talk_to_itself);
    return error ? error : serve("127.0.0.1:0", 100 * LEAT_MS, be_silent);
}

int main(int argc, char **argv)
{
    int error = leat_main(run, argc > 1 ? argv[1] : NULL);
    if (error < 0)
        fprintf(stderr, "chat: %s\n", strerror(-error));
    return error < 0;
}
