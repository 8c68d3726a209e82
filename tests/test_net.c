/* test_net.c: addresses, listening, accepting and connecting. */
#define _GNU_SOURCE
#include "sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- addresses ---- */

static int address_is_read(void *arg)
{
    (void)arg;
    static const char *const wrong[] = { "",        ":",          "127.0.0.1", "127.0.0.1:",
                                         "::1:80",  "[]:80",      "[::1]80",   "1.2.3.4:65536",
                                         "unix:",   "udp:",       "udp:80",    "name.invalid:80",
                                         "[::1:80", "1.2.3.4:-1", "[::1]",     "1.2.3.4:http" };
    char many[400];
    leat_io *io = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_IS(-EINVAL, leat_listen(NULL, wrong[i], 0, &io));
    CHECK_IS(-EINVAL, leat_listen(NULL, "[::1%no interface]:80", 0, &io));
    memset(many, 'x', sizeof many);
    memcpy(many, "unix:", 5);
    many[5 + 108] = 0;
    CHECK_IS(-ENAMETOOLONG, leat_listen(NULL, many, 0, &io));
    memcpy(many, "xxxxx", 5);
    many[5 + 108] = 'x';
    strcpy(many + 300, ":80");
    CHECK_IS(-ENAMETOOLONG, leat_connect(NULL, many, &io, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_listen(NULL, NULL, 0, &io));
    CHECK_IS(-EINVAL, leat_listen(NULL, ":0", -1, &io));
    CHECK_IS(-EINVAL, leat_listen(NULL, ":0", 0, NULL));
    CHECK_IS(-EINVAL, leat_connect(NULL, NULL, &io, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_connect(NULL, ":1", &io, -1));
    CHECK_IS(-EINVAL, leat_connect(NULL, ":1", NULL, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_accept(NULL, NULL, &io, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_io_local(NULL, NULL));
    CHECK_IS(-EINVAL, leat_io_local_text(NULL, many, sizeof many));
    CHECK(!io);
    return 0;
}
ON_WORKERS(address_is_read);

static int address_is_written(void *arg)
{
    (void)arg;
    static const char *const pairs[][3] = { { "127.0.0.1", "80", "127.0.0.1:80" },
                                            { "::1", "0", "[::1]:0" },
                                            { "2001:DB8::", "65535", "[2001:db8::]:65535" },
                                            { "fe80::1%1", "7", "[fe80::1%1]:7" },
                                            { "fe80::1%lo", "7", "[fe80::1%1]:7" },
                                            { "fe80::1%65536", "7", "[fe80::1%65536]:7" },
                                            { "fe80::1%4294967295", "7",
                                              "[fe80::1%4294967295]:7" } };
    char text[LEAT_ADDRESS_TEXT];
    leat_address address;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        CHECK_IS(1, leat_resolve(pairs[i][0], pairs[i][1], &address, 1, LEAT_NOW));
        CHECK_IS(strlen(pairs[i][2]), leat_address_text(&address, text, sizeof text));
        CHECK(strcmp(text, pairs[i][2]) == 0);
        CHECK_IS(-ENOSPC, leat_address_text(&address, text, strlen(pairs[i][2])));
    }
    CHECK_IS(-EINVAL, leat_resolve("127.0.0.1", "65536", &address, 1, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_address_text(NULL, text, sizeof text));
    address.at.ss_family = AF_UNSPEC;
    CHECK_IS(-EAFNOSUPPORT, leat_address_text(&address, text, sizeof text));
    address.size = 0;
    CHECK_IS(-EINVAL, leat_address_text(&address, text, sizeof text));
    return 0;
}
ON_WORKERS(address_is_written);

/* ---- each family ---- */

static int flag(int fd, int level, int name)
{
    int value = 0;
    socklen_t size = sizeof value;
    CHECK_IS(0, getsockopt(fd, level, name, &value, &size));
    return value;
}

static void is_as_made(leat_io *io, bool tcp)
{
    CHECK(fcntl(leat_io_fd(io), F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(leat_io_fd(io), F_GETFD) & FD_CLOEXEC);
    if (tcp)
        CHECK(flag(leat_io_fd(io), IPPROTO_TCP, TCP_NODELAY));
}

/* Connects to the listener at `to`, or else where it says that it is; then talks. */
static void meet(const char *at, const char *to)
{
    char text[LEAT_ADDRESS_TEXT], here[LEAT_ADDRESS_TEXT], bytes[5];
    leat_io *listener, *client, *server;
    leat_address peer;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_listen(scope, at, 0, &listener));
    format_address(listener, text);
    bool tcp = strncmp(at, "unix:", 5) != 0;
    if (to) {
        snprintf(here, sizeof here, "%s%s", to, strrchr(text, ':'));
        strcpy(text, here);
    }
    CHECK_IS(-EAGAIN, leat_accept(listener, scope, &server, LEAT_NOW));
    CHECK_IS(0, leat_connect(scope, text, &client, leat_after(60 * LEAT_S)));
    CHECK_IS(0, leat_accept(listener, NULL, &server, LEAT_NEVER));
    is_as_made(client, tcp);
    is_as_made(server, tcp);
    CHECK_IS(5, leat_write(client, "hello", 5));
    CHECK_IS(5, leat_read_full(server, bytes, 5, LEAT_NEVER));
    CHECK_IS(0, memcmp(bytes, "hello", 5));
    CHECK_IS(-ENOSPC, leat_io_local_text(listener, here, 1));
    CHECK_IS(-EINVAL, leat_io_local_text(listener, NULL, sizeof here));
    CHECK_IS(0, leat_io_peer(client, &peer));
    CHECK_IS(-ENOTCONN, leat_io_peer(listener, &peer));
    CHECK_IS(0, leat_io_unref(server));
    CHECK_IS(0, leat_read(client, bytes, 1));
    CHECK_IS(-EINVAL, leat_io_unref(client));
    CHECK_IS(0, leat_io_close(listener));
    CHECK_IS(-EBADF, leat_accept(listener, scope, &server, LEAT_NEVER));
    CHECK_IS(-EBADF, leat_io_local(listener, &peer));
    CHECK_IS(-EBADF, leat_io_local_text(listener, text, sizeof text));
    CHECK_IS(0, leat_scope_close(scope));
}

static bool has_ipv6(void)
{
    leat_io *io;
    int error = leat_listen(NULL, "[::1]:0", 0, &io);
    if (!error)
        leat_io_unref(io);
    return !error;
}

static int each_family_meets(void *arg)
{
    (void)arg;
    char path[64];
    meet("127.0.0.1:0", NULL);
    meet("127.0.0.1:0", "");
    meet("127.0.0.1:0", "localhost");
    meet(":0", "127.0.0.1");
    meet(":0", "");
    if (has_ipv6()) {
        meet("[::1]:0", NULL);
        meet(":0", "[::1]");
        meet("[::1]:0", "");
    }
    meet("unix:@", NULL);
    /* Other runs of this test may be under way. */
    snprintf(path, sizeof path, "unix:@leat test_net %d", getpid());
    meet(path, NULL);
    snprintf(path, sizeof path, "unix:/tmp/leat-test-net-%d", getpid());
    meet(path, NULL);
    leat_io *io;
    CHECK_IS(-EADDRINUSE, leat_listen(NULL, path, 0, &io));
    CHECK_IS(-ECONNREFUSED, leat_connect(NULL, path, &io, LEAT_NEVER));
    CHECK_IS(0, unlink(path + 5));
    CHECK_IS(-ENOENT, leat_connect(NULL, path, &io, LEAT_NEVER));
    return 0;
}
ON_WORKERS(each_family_meets);

static int datagrams_meet(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT], to[LEAT_ADDRESS_TEXT + 4], bytes[8];
    leat_io *server, *client, *none;
    leat_address from = { .size = sizeof from.at };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_listen(scope, "udp:127.0.0.1:0", 0, &server));
    format_address(server, text);
    snprintf(to, sizeof to, "udp:%s", text);
    CHECK_IS(0, leat_connect(scope, to, &client, LEAT_NOW));
    CHECK_IS(3, leat_sendto(client, "abc", 3, NULL, 0, LEAT_NEVER));
    CHECK_IS(3, leat_recvfrom(server, bytes, sizeof bytes, (struct sockaddr *)&from.at, &from.size,
                              LEAT_NEVER));
    CHECK_IS(2, leat_sendto(server, "de", 2, (struct sockaddr *)&from.at, from.size, LEAT_NEVER));
    CHECK_IS(2, leat_recvfrom(client, bytes, sizeof bytes, NULL, NULL, LEAT_NEVER));
    format_address(client, to);
    CHECK(leat_address_text(&from, text, sizeof text) > 0 && strcmp(to, text) == 0);
    CHECK_IS(-EOPNOTSUPP, leat_accept(server, NULL, &none, LEAT_NEVER));
    CHECK_IS(-ETIMEDOUT, leat_read_until(client, bytes, sizeof bytes, leat_after(LEAT_US)));
    CHECK_IS(-EOPNOTSUPP, leat_accept(client, NULL, &none, LEAT_NEVER)); /* does not wait */
    return leat_scope_close(scope);
}
ON_WORKERS(datagrams_meet);

/* ---- accepting ---- */

struct caller {
    leat_io *listener, *got;
    int64_t deadline;
    int result;
};

static int accept_one(void *arg)
{
    struct caller *caller = arg;
    caller->result = leat_accept(caller->listener, NULL, &caller->got, caller->deadline);
    return 0;
}

/* A connection arrives at the moment at which the accept is cancelled: it is accepted now or
 * later. */
static int cancelled_accept_loses_nothing(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT];
    leat_io *listener, *client;
    CHECK_IS(0, leat_listen(NULL, "127.0.0.1:0", 0, &listener));
    format_address(listener, text);
    CHECK_IS(-ETIMEDOUT, leat_accept(listener, NULL, &client, leat_after(LEAT_MS)));
    int before = sockets();
    for (int i = 0; i < 400 / SCALE; i++) {
        struct caller caller = { .listener = listener, .deadline = LEAT_NEVER };
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, i % 2 ? leat_go(scope, accept_one, &caller)
                          : leat_go_blocking(scope, accept_one, &caller));
        leat_sleep(i % 7 * 20 * LEAT_US);
        CHECK_IS(0, leat_connect(NULL, text, &client, LEAT_NEVER));
        CHECK_IS(0, leat_scope_cancel(scope));
        CHECK_IS(0, leat_scope_close(scope));
        if (caller.result) {
            CHECK_IS(-ECANCELED, caller.result);
            CHECK_IS(0, leat_accept(listener, NULL, &caller.got, LEAT_NEVER));
        }
        CHECK_IS(1, leat_write(client, "x", 1));
        CHECK_IS(1, leat_read(caller.got, text + 64, 1));
        CHECK_IS(0, leat_io_unref(client));
        CHECK_IS(0, leat_io_unref(caller.got));
    }
    CHECK_IS(before, sockets());
    return leat_io_unref(listener);
}
ON_WORKERS(cancelled_accept_loses_nothing);

static int accept_ends_with_the_listener(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct caller callers[4];
    leat_io *listener;
    CHECK_IS(0, leat_listen(scope, "127.0.0.1:0", 1, &listener));
    for (int i = 0; i < 4; i++) {
        callers[i] = (struct caller){ .listener = listener, .deadline = LEAT_NEVER };
        CHECK_IS(0, i % 2 ? leat_go(scope, accept_one, &callers[i])
                          : leat_go_blocking(scope, accept_one, &callers[i]));
    }
    WAIT_UNTIL(receivers_of(leat_io_readable(listener)) == 4);
    CHECK_IS(0, leat_io_close(listener));
    CHECK_IS(0, leat_scope_close(scope));
    for (int i = 0; i < 4; i++)
        CHECK_IS(-EBADF, callers[i].result);
    return 0;
}
ON_WORKERS(accept_ends_with_the_listener);

/* The program's own listener without O_NONBLOCK: several parties accept, and stay cancellable. */
static int adopted_listener_does_not_block(void *arg)
{
    (void)arg;
    leat_io *listener, *clients[6];
    char text[LEAT_ADDRESS_TEXT];
    struct caller callers[8];
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int fd = socket(AF_INET, SOCK_STREAM, 0), accepted = 0;
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 16) == 0);
    CHECK_IS(0, leat_io_adopt(scope, fd, &listener));
    format_address(listener, text);
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 8; i++) {
        callers[i] = (struct caller){ .listener = listener, .deadline = LEAT_NEVER };
        CHECK_IS(0, leat_go(inner, accept_one, &callers[i]));
    }
    for (int i = 0; i < 6; i++)
        CHECK_IS(0, leat_connect(scope, text, &clients[i], LEAT_NEVER));
    WAIT_UNTIL(receivers_of(leat_io_readable(listener)) == 2); /* six have accepted */
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    for (int i = 0; i < 8; i++) {
        if (callers[i].result) {
            CHECK_IS(-ECANCELED, callers[i].result);
            continue;
        }
        accepted++;
        is_as_made(callers[i].got, true);
        CHECK_IS(0, leat_io_unref(callers[i].got));
    }
    for (leat_io *more; leat_accept(listener, NULL, &more, LEAT_NOW) == 0; accepted++)
        CHECK_IS(0, leat_io_unref(more));
    CHECK_IS(6, accepted);
    CHECK_IS(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
    return leat_scope_close(scope);
}
ON_WORKERS(adopted_listener_does_not_block);

struct acceptor {
    leat_block block;
    leat_alarm alarm;
    leat_io *listener, *got;
    leat_scope *scope;
    int wrong;
};

static int accept_as_block(leat_block *b)
{
    struct acceptor *me = (struct acceptor *)b;
    LEAT_BEGIN(b);
    me->wrong = leat_accept(me->listener, NULL, &me->got, LEAT_NEVER);
    LEAT_AWAIT_ACCEPT(b, me->listener, me->scope, &me->got, leat_after(60 * LEAT_S), &me->alarm);
    CHECK_IS(0, b->status);
    CHECK_IS(-EDEADLK, me->wrong);
    LEAT_END(b);
}

static int block_accepts(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT];
    leat_io *client;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct acceptor acceptor = { .scope = scope };
    CHECK_IS(0, leat_listen(scope, "127.0.0.1:0", 0, &acceptor.listener));
    format_address(acceptor.listener, text);
    CHECK_IS(0, leat_go_block(scope, &acceptor.block, accept_as_block));
    WAIT_UNTIL(receivers_of(leat_io_readable(acceptor.listener)) == 1);
    CHECK_IS(0, leat_connect(scope, text, &client, LEAT_NEVER));
    CHECK_IS(0, leat_block_join(&acceptor.block));
    return leat_scope_close(scope);
}
ON_WORKERS(block_accepts);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(address_is_read),
        TESTS_ON_WORKERS(address_is_written),
        TESTS_ON_WORKERS(each_family_meets),
        TESTS_ON_WORKERS(datagrams_meet),
        TESTS_ON_WORKERS(cancelled_accept_loses_nothing),
        TESTS_ON_WORKERS(accept_ends_with_the_listener),
        TESTS_ON_WORKERS(adopted_listener_does_not_block),
        TESTS_ON_WORKERS(block_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
