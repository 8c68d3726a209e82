/* chat: a chat server. The first line from a client is its name; all others go to everybody.
 *
 *     chat ADDRESS    serves until Ctrl-C, for example at 127.0.0.1:7000: talk by nc or telnet
 *     chat            talks to itself, and then sends itself the signal of Ctrl-C
 *
 *     a member's attend ──▶┐               ┌──▶ deliver of a member
 *     a member's attend ──▶┼──▶ said ──▶ mult ──▶ deliver of a member
 *
 * Each member has three tasks: one reads lines, one has them said, one writes what it hears. A
 * member that does not read what it hears misses lines, and does not hold up the others. A member
 * that is silent for too long has to leave. The end begins at `said`: when that is closed, the mult
 * closes what the members hear, and each member's tasks end when they have delivered everything. */
#include <leat/leat.h>

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEARS = 64, LONGEST = 200, NAME_S = 30, WRITE_S = 10 };

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
    leat_shutdown(me->connection, SHUT_RDWR); /* this ends the lines */
    return 0;
}

/* Says what the member says, until it leaves or is silent for too long. */
static int listen_to(struct room *room, const char *name, leat_chan *lines)
{
    int why;
    for (leat_line line; (why = leat_recv_until(lines, &line, leat_after(room->silence))) == 0;
         leat_line_free(&line))
        say(room->said, "%.15s: %s\n", name, line.text);
    return why;
}

static int attend(leat_io *connection, void *arg)
{
    struct room *room = arg;
    leat_chan *lines;
    leat_line name = { 0 };
    /* The channel has no scope: the mult may still hold it for a moment after leat_untap. */
    struct member me = { connection, leat_chan_of(NULL, struct line, HEARS) };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_lines_options options = { .most = LONGEST, .crlf = 1 };
    int error = leat_lines(s, connection, &options, &lines);
    if (!error)
        error = leat_recv_until(lines, &name, leat_after(NAME_S * LEAT_S));
    if (!error)
        error = leat_tap(room->everybody, me.hears, LEAT_TAP_LOSSY, LEAT_ENDS_CLOSED);
    if (!error)
        error = leat_go(s, deliver, &me);
    if (!error) {
        say(room->said, "* %.15s joined\n", name.text);
        error = listen_to(room, name.text, lines);
        leat_untap(room->everybody, me.hears);
        if (error == -ETIMEDOUT)
            say(me.hears, "* you were silent for too long\n");
        leat_shield(); /* a connection that fails cancels the scope of this task */
        say(room->said, "* %.15s left\n", name.text);
        leat_unshield();
    } else {
        leat_untap(room->everybody, me.hears);
        leat_scope_cancel(s);
    }
    leat_close(me.hears); /* this ends deliver, and deliver ends the lines */
    leat_scope_close(s);
    leat_line_free(&name);
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
    leat_io *connection;
    leat_chan *lines;
    size_t heard;
    char log[1024]; /* what it hears */
};

static void answer(struct client *me, const char *heard)
{
    for (int i = 0; i < 2; i++) {
        const char *says = me->script[i].says;
        if (!says || strcmp(heard, me->script[i].hears) != 0)
            continue;
        if (*says)
            leat_write(me->connection, says, strlen(says));
        else
            leat_shutdown(me->connection, SHUT_WR);
    }
}

static int take_part(void *arg)
{
    struct client *me = arg;
    for (leat_line line; leat_recv(me->lines, &line) == 0; leat_line_free(&line)) {
        me->heard +=
            (size_t)snprintf(me->log + me->heard, sizeof me->log - me->heard, "  %s\n", line.text);
        answer(me, line.text);
    }
    return 0;
}

/* Connects, and waits until the server has let it in. */
static int join(leat_scope *scope, leat_io *listener, struct client *client)
{
    char address[LEAT_ADDRESS_TEXT], name[64];
    leat_line line;
    leat_io_local_text(listener, address, sizeof address);
    int error = leat_connect(scope, address, &client->connection, LEAT_NEVER);
    if (!error)
        error = leat_lines(scope, client->connection, NULL, &client->lines);
    if (error)
        return error;
    int n = snprintf(name, sizeof name, "%s\n", client->name);
    leat_write(client->connection, name, (size_t)n);
    error = leat_recv(client->lines, &line);
    if (!error)
        leat_line_free(&line);
    return error;
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
    char last[64] = "";
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = join(s, arg, &dee);
    for (leat_line line; !error && leat_recv(dee.lines, &line) == 0; leat_line_free(&line))
        snprintf(last, sizeof last, "%s", line.text);
    leat_scope_close(s);
    printf("Dee hears at last:\n  %s\n", last);
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
