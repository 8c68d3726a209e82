/* test_accept.c: servers whose system refuses: accept4 fails as it does for connections that have
 * gone, or where no descriptor is left; no descriptor can be watched; and on which worker
 * connections come to live. */
#define _GNU_SOURCE
#include "blind.h"
#include "sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/syscall.h>

/* ---- accept4, as a test wants it to fail ---- */

/* The errno value, and in the lower half how many more calls get it: a call sees both at once. */
static _Atomic uint64_t refusals;

/* Another process takes the connection of this listener just before one call. -1: of none. */
static _Atomic int robbed = -1;

/* In place of the C library's accept4. */
int accept_or_refuse(int fd, struct sockaddr *address, socklen_t *size,
                     int flags) __asm__("accept4");

int accept_or_refuse(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    uint64_t now = atomic_load(&refusals);
    while ((uint32_t)now && !atomic_compare_exchange_weak(&refusals, &now, now - 1))
        continue;
    if ((uint32_t)now) {
        errno = (int)(now >> 32);
        return -1;
    }
    int expected = fd;
    if (atomic_compare_exchange_strong(&robbed, &expected, -1))
        CHECK_IS(0, close((int)syscall(SYS_accept4, fd, NULL, NULL, 0)));
    return (int)syscall(SYS_accept4, fd, address, size, flags);
}

static void refuse(int error, int times)
{
    atomic_store(&refusals, (uint64_t)error << 32 | (uint32_t)times);
}

static uint32_t refusals_left(void)
{
    return (uint32_t)atomic_load(&refusals);
}

/* Of one connection, which has gone; of a network, which comes back; or of a lack. */
static const int passing[] = { ECONNABORTED, EPROTO,       ENETDOWN, ENETUNREACH,
                               EHOSTDOWN,    EHOSTUNREACH, ENONET,   EINTR };
static const int lacks[] = { ENFILE, EMFILE, ENOBUFS, ENOMEM };

enum { PASSING = sizeof passing / sizeof *passing, LACKS = sizeof lacks / sizeof *lacks };

static leat_io *call(const char *text)
{
    leat_io *io;
    CHECK_IS(0, leat_connect(NULL, text, &io, leat_after(60 * LEAT_S)));
    return io;
}

static void hang_up(leat_io *one, leat_io *other)
{
    CHECK_IS(0, leat_io_unref(one));
    CHECK_IS(0, leat_io_unref(other));
}

/* ---- leat_accept ---- */

static int passes_over_what_has_gone(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT];
    leat_io *listener = listen_at("127.0.0.1:0", 0, text), *client, *server;
    int before = sockets();
    for (int i = 0; i < PASSING; i++) {
        refuse(passing[i], 5);
        client = call(text);
        CHECK_IS(0, leat_accept(listener, NULL, &server, leat_after(60 * LEAT_S)));
        CHECK_IS(0, refusals_left());
        hang_up(client, server);
        /* If no other connection comes, the deadline holds. */
        refuse(passing[i], 5);
        CHECK_IS(-ETIMEDOUT, leat_accept(listener, NULL, &server, leat_after(LEAT_MS)));
        CHECK_IS(0, refusals_left());
    }
    CHECK_IS(before, sockets());
    return leat_io_unref(listener);
}
ON_WORKERS(passes_over_what_has_gone);

/* The caller gets the error, and the connection still waits. */
static int reports_a_shortage(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT];
    leat_io *listener = listen_at("127.0.0.1:0", 0, text), *client, *server = NULL;
    for (int i = 0; i < LACKS; i++) {
        refuse(lacks[i], 2);
        client = call(text);
        for (int k = 0; k < 2; k++)
            CHECK_IS(-lacks[i], leat_accept(listener, NULL, &server, leat_after(60 * LEAT_S)));
        CHECK(!server);
        CHECK_IS(0, leat_accept(listener, NULL, &server, leat_after(60 * LEAT_S)));
        hang_up(client, server);
        server = NULL;
    }
    return leat_io_unref(listener);
}
ON_WORKERS(reports_a_shortage);

/* ---- listeners of the program's that block, and share the lower bits of their numbers ---- */

static leat_io *listener_of_program(int from, char *text)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    leat_io *io;
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = fcntl(made, F_DUPFD_CLOEXEC, from);
    CHECK_IS(0, close(made));
    CHECK_IS(0, bind(fd, (struct sockaddr *)&at, sizeof at));
    CHECK_IS(0, listen(fd, 8));
    CHECK_IS(0, leat_io_adopt(NULL, fd, &io));
    format_address(io, text);
    return io;
}

struct acceptor {
    leat_io *listener;
    _Atomic bool done;
};

static int accept_one(void *arg)
{
    struct acceptor *a = arg;
    leat_io *connection;
    CHECK_IS(0, leat_accept(a->listener, NULL, &connection, leat_after(60 * LEAT_S)));
    CHECK_IS(0, leat_io_unref(connection));
    atomic_store(&a->done, true);
    return 0;
}

/* The call for the first one waits in the system. */
static int no_listener_waits_for_another(void *arg)
{
    (void)arg;
    char texts[2][LEAT_ADDRESS_TEXT];
    leat_io *calls[3];
    struct acceptor robbed_one = { .listener = listener_of_program(64, texts[0]) },
                    other = { .listener = listener_of_program(leat_io_fd(robbed_one.listener) + 64,
                                                              texts[1]) };
    CHECK_IS(0, (leat_io_fd(other.listener) - leat_io_fd(robbed_one.listener)) % 64);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    atomic_store(&robbed, leat_io_fd(robbed_one.listener));
    CHECK_IS(0, leat_go(scope, accept_one, &robbed_one));
    calls[0] = call(texts[0]);
    WAIT_UNTIL(atomic_load(&robbed) < 0);
    CHECK_IS(0, leat_go(scope, accept_one, &other));
    calls[1] = call(texts[1]);
    WAIT_UNTIL(atomic_load(&other.done));
    CHECK(!atomic_load(&robbed_one.done));
    calls[2] = call(texts[0]);
    CHECK_IS(0, leat_scope_close(scope));
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_io_unref(calls[i]));
    CHECK_IS(0, leat_io_unref(other.listener));
    return leat_io_unref(robbed_one.listener);
}
ON_WORKERS(no_listener_waits_for_another);

/* ---- leat_serve ---- */

enum { GUESTS = 400, FEW = 20 };

struct server {
    leat_io *listener;
    char text[LEAT_ADDRESS_TEXT];
    int expected; /* the error that `error` must get */
    _Atomic int reports, served;
    int64_t reported_at[32];
    _Atomic unsigned on[4]; /* connections of each worker */
};

/* Tells a byte where its connection lives. */
static int serve_bytes(leat_io *connection, void *arg)
{
    struct server *server = arg;
    char byte;
    while (leat_read(connection, &byte, 1) == 1) {
        byte = (char)lt_current_worker()->index;
        CHECK_IS(1, leat_write(connection, &byte, 1));
    }
    atomic_fetch_add(&server->served, 1);
    return 0;
}

static void count_error(void *arg, int error)
{
    struct server *server = arg;
    CHECK_IS(-server->expected, error);
    int n = atomic_fetch_add(&server->reports, 1);
    if (n < 32)
        server->reported_at[n] = leat_now();
}

static int run_server(void *arg)
{
    struct server *server = arg;
    return leat_serve(server->listener, serve_bytes, server,
                      &(leat_serve_options){ .error = count_error });
}

static unsigned ask(leat_io *io)
{
    char byte = 0;
    CHECK_IS(1, leat_write(io, &byte, 1));
    CHECK_IS(1, leat_read_until(io, &byte, 1, leat_after(60 * LEAT_S)));
    CHECK((unsigned char)byte < 4);
    return (unsigned)byte;
}

static void open_server(struct server *server, leat_scope *scope)
{
    *server = (struct server){ 0 };
    server->listener = listen_at("127.0.0.1:0", 0, server->text);
    CHECK_IS(0, leat_go(scope, run_server, server));
}

static void close_server(struct server *server, leat_scope *scope)
{
    CHECK_IS(0, leat_io_close(server->listener));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, leat_io_unref(server->listener));
}

/* Connections that have gone pause nothing: the server calls again at once. */
static int goes_on_after_what_has_gone(void *arg)
{
    (void)arg;
    struct server server;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    open_server(&server, scope);
    for (int i = 0; i < PASSING; i++) {
        /* Now no call of the server's is under way, which would still be let through. */
        WAIT_UNTIL(receivers_of(leat_io_readable(server.listener)) == 1);
        refuse(passing[i], 1000);
        leat_io *io = call(server.text);
        ask(io);
        CHECK_IS(0, leat_io_unref(io));
        CHECK_IS(0, refusals_left());
    }
    CHECK_IS(0, atomic_load(&server.reports));
    close_server(&server, scope);
    CHECK_IS(PASSING, atomic_load(&server.served));
    return 0;
}
ON_WORKERS(goes_on_after_what_has_gone);

/* A server begins to wait, and the system can watch no more descriptors. */
static int rests_while_nothing_can_be_watched(void *arg)
{
    (void)arg;
    struct server server;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    atomic_store(&blind, true);
    open_server(&server, scope);
    server.expected = ENOSPC;
    WAIT_UNTIL(atomic_load(&server.reports) > 0);
    atomic_store(&blind, false);
    leat_io *io = call(server.text);
    ask(io);
    CHECK_IS(0, leat_io_unref(io));
    close_server(&server, scope);
    return 0;
}
ON_WORKERS(rests_while_nothing_can_be_watched);

/* For 0.6 s that begin with the shortest pauses. Whether it costs less than 1 % of a processor. */
static bool rests_during(int lack)
{
    struct server server;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    open_server(&server, scope);
    server.expected = lack;
    refuse(lack, INT32_MAX);
    int64_t called = leat_now();
    leat_io *io = call(server.text);
    WAIT_UNTIL(atomic_load(&server.reports) > 0);
    int64_t begun = processor_time(), since = leat_now();
    CHECK_IS(0, leat_sleep(600 * LEAT_MS));
    int reports = atomic_load(&server.reports);
    int64_t used = processor_time() - begun, passed = leat_now() - since;
    /* 5, 10, 20 … ms: eight in the first second. */
    CHECK(reports <= 9 + (leat_now() - called) / LEAT_S);
    refuse(0, 0);
    ask(io);
    CHECK_IS(0, leat_io_unref(io));
    for (int k = 2; k < atomic_load(&server.reports) && k < 9; k++)
        CHECK(server.reported_at[k] - server.reported_at[k - 1] >= (5 << (k - 1)) * LEAT_MS);
    close_server(&server, scope);
    return used < passed / (SCALE == 1 ? 100 : 10); /* the sanitizers have their own threads */
}

/* Each wake-up costs more while other programs use the caches and processors: one success is
 * enough. */
static int rests_while_there_is_a_lack(void *arg)
{
    enum { TRIES = 10 };
    (void)arg;
    for (int i = 0; i < 2; i++) {
        bool rests = false;
        for (int k = 0; k < TRIES && !rests; k++)
            rests = rests_during(lacks[i]);
        CHECK(rests);
    }
    return 0;
}
ON_WORKERS(rests_while_there_is_a_lack);

/* ---- where connections live ---- */

static unsigned most_on_one(leat_io **guests, int n)
{
    unsigned on[4] = { 0 }, most = 0;
    for (int i = 0; i < n; i++)
        on[ask(guests[i])]++;
    for (unsigned i = 0; i < leat_workers(); i++)
        most = on[i] > most ? on[i] : most;
    return most;
}

/* Before the server has accepted any. */
static void call_at_once(const struct server *server, leat_io **guests, int n)
{
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    int fds[GUESTS];
    CHECK_IS(0, getsockname(leat_io_fd(server->listener), (struct sockaddr *)&at, &size));
    for (int i = 0; i < n; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_IS(0, connect(fds[i], (struct sockaddr *)&at, size));
    }
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_io_adopt(NULL, fds[i], &guests[i]));
}

static void call_in_turn(const struct server *server, leat_io **guests, int n, bool calm)
{
    for (int i = 0; i < n; i++) {
        guests[i] = call(server->text);
        if (calm)
            CHECK_IS(0, leat_sleep(LEAT_MS));
    }
}

enum call_kind { CALMLY, QUICKLY, AT_ONCE, CALL_KINDS };

/* How many connections the worker with the most has. */
static unsigned spread_once(enum call_kind kind, int n)
{
    struct server server;
    leat_io *guests[GUESTS];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    open_server(&server, scope);
    if (kind == AT_ONCE)
        call_at_once(&server, guests, n);
    else
        call_in_turn(&server, guests, n, kind == CALMLY);
    unsigned most = most_on_one(guests, n), again = most_on_one(guests, n);
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_io_unref(guests[i]));
    close_server(&server, scope);
    CHECK_IS(n, atomic_load(&server.served));
    return most > again ? most : again;
}

/* Of two workers none has more than three of five connections, whether these come one by one, with
 * pauses in which the workers sleep, or all at once. While other programs keep a worker from
 * running, the other one steals its connections: one success in ROUNDS is enough. */
static void spreads_connections(void **state)
{
    (void)state;
    enum { ROUNDS = 50 };
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    for (enum call_kind kind = 0; kind < CALL_KINDS; kind++) {
        unsigned most = GUESTS;
        for (int i = 0; i < ROUNDS && most > GUESTS * 6 / 10; i++) {
            most = spread_once(kind, GUESTS);
            snprintf(check_note, sizeof check_note, "kind %d: %u of %d", kind, most, GUESTS);
        }
        CHECK(most <= GUESTS * 6 / 10);
    }
    CHECK_IS(0, leat_stop());
}

/* Few connections keep to the server's worker. While that is busy, the other one steals them: one
 * success in ROUNDS is enough. */
static void keeps_a_few_together(void **state)
{
    (void)state;
    enum { ROUNDS = 50 };
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    unsigned most = 0;
    for (int i = 0; i < ROUNDS && most < FEW; i++)
        most = spread_once(CALMLY, FEW);
    CHECK_IS(FEW, most);
    CHECK_IS(0, leat_stop());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(passes_over_what_has_gone),
        TESTS_ON_WORKERS(reports_a_shortage),
        TESTS_ON_WORKERS(no_listener_waits_for_another),
        TESTS_ON_WORKERS(goes_on_after_what_has_gone),
        TESTS_ON_WORKERS(rests_while_there_is_a_lack),
        TESTS_ON_WORKERS(rests_while_nothing_can_be_watched),
        cmocka_unit_test(spreads_connections),
        cmocka_unit_test(keeps_a_few_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
