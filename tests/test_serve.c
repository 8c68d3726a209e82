/* test_serve.c: servers: limits, ends, and what happens when the system has no descriptor left. */
#define _GNU_SOURCE
#include "sockets.h"

#include <netinet/in.h>
#include <sys/resource.h>

struct server {
    leat_io *listener;
    char text[LEAT_ADDRESS_TEXT];
    leat_serve_fn *fn;
    leat_step *step; /* NULL: it has tasks or threads */
    leat_serve_options options;
    int result;
    _Atomic int now, most, all, reports, cancelled;
    _Atomic bool let_go, ended;
};

struct talk {
    leat_served served;
    int n;
    size_t done;
    char bytes[100];
};

static int run_server(void *arg)
{
    struct server *server = arg;
    const leat_block_type type = { server->step, "talk" };
    server->result = server->step
                         ? leat_serve_blocks_typed(server->listener, &type, sizeof(struct talk),
                                                   server, &server->options)
                         : leat_serve(server->listener, server->fn, server, &server->options);
    atomic_store(&server->ended, true);
    return 0;
}

static void count(struct server *server)
{
    int now = atomic_fetch_add(&server->now, 1) + 1, most = atomic_load(&server->most);
    while (now > most && !atomic_compare_exchange_weak(&server->most, &most, now))
        continue;
    atomic_fetch_add(&server->all, 1);
}

/* Echoes until the end of the stream. */
static int echo(leat_io *connection, void *arg)
{
    struct server *server = arg;
    char bytes[100];
    int64_t n;
    count(server);
    while ((n = leat_read(connection, bytes, sizeof bytes)) > 0)
        if (leat_write(connection, bytes, (size_t)n) < 0)
            break;
    atomic_fetch_add(&server->cancelled, n == -ECANCELED);
    atomic_fetch_sub(&server->now, 1);
    return -EIO; /* which ends a strict server only */
}

static int echo_as_block(leat_block *b)
{
    struct talk *me = (struct talk *)b;
    struct server *server = me->served.arg;
    LEAT_BEGIN(b);
    CHECK(!me->n && !me->done && !me->bytes[0] && !me->bytes[99]);
    count(server);
    for (;;) {
        LEAT_AWAIT_READ(b, me->served.connection, me->bytes, sizeof me->bytes);
        me->n = b->status;
        if (me->n <= 0)
            break;
        LEAT_AWAIT_WRITE(b, me->served.connection, me->bytes, (size_t)me->n, me->done);
        if (b->status < 0)
            break;
    }
    atomic_fetch_add(&server->cancelled, me->n == -ECANCELED);
    atomic_fetch_sub(&server->now, 1);
    LEAT_RETURN(b, -EIO);
}

static void count_error(void *arg, int error)
{
    struct server *server = arg;
    CHECK_IS(-EMFILE, error);
    atomic_fetch_add(&server->reports, 1);
}

static struct server make_server(bool blocks)
{
    struct server server = { .fn = echo, .step = blocks ? echo_as_block : NULL };
    server.listener = listen_at("127.0.0.1:0", 0, server.text);
    return server;
}

static void talk(leat_io *io)
{
    char bytes[3];
    CHECK_IS(3, leat_write(io, "abc", 3));
    CHECK_IS(3, leat_read_full(io, bytes, 3, LEAT_NEVER));
}

static leat_io *call(const struct server *server)
{
    leat_io *io;
    CHECK_IS(0, leat_connect(NULL, server->text, &io, LEAT_NEVER));
    return io;
}

static int call_and_talk(void *arg)
{
    leat_io *io = call(arg);
    talk(io);
    return leat_io_unref(io);
}

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    struct server server = make_server(false);
    const leat_block_type none = { NULL, NULL };
    const size_t size = sizeof(struct talk);
    CHECK_IS(-EINVAL, leat_serve_blocks(NULL, echo_as_block, size, NULL, NULL));
    CHECK_IS(-EINVAL, leat_serve_blocks(server.listener, echo_as_block, sizeof(leat_served) - 1,
                                        NULL, NULL));
    CHECK_IS(-EINVAL, leat_serve_blocks(server.listener, echo_as_block, size, NULL,
                                        &(leat_serve_options){ .threads = 1, .most = 2 }));
    CHECK_IS(-EINVAL, leat_serve_blocks(server.listener, echo_as_block, size, NULL,
                                        &(leat_serve_options){ .stack_size = 1 << 20 }));
    CHECK_IS(-EINVAL, leat_serve_blocks_typed(server.listener, NULL, size, NULL, NULL));
    CHECK_IS(-EINVAL, leat_serve_blocks_typed(server.listener, &none, size, NULL, NULL));
    CHECK_IS(-EINVAL, leat_serve(NULL, echo, NULL, NULL));
    CHECK_IS(-EINVAL, leat_serve(server.listener, NULL, NULL, NULL));
    CHECK_IS(-EINVAL,
             leat_serve(server.listener, echo, NULL, &(leat_serve_options){ .grace = -1 }));
    CHECK_IS(-EINVAL,
             leat_serve(server.listener, echo, NULL, &(leat_serve_options){ .stack_size = 1 }));
    leat_io *io = call(&server);
    CHECK_IS(-EINVAL, leat_serve(io, echo, NULL, NULL));
    CHECK_IS(0, leat_io_unref(io));
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_scope_cancel(scope));
    CHECK_IS(-ECANCELED, leat_serve(server.listener, echo, NULL, NULL));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, leat_io_close(server.listener));
    CHECK_IS(0, leat_serve(server.listener, echo, NULL, NULL));
    return leat_io_unref(server.listener);
}
ON_WORKERS(refuses_wrong_arguments);

static int serves_so_many(void *arg)
{
    (void)arg;
    for (unsigned most = 1; most <= 4; most++) {
        struct server server = make_server(most == 4);
        server.options.most = most;
        server.options.threads = most == 2;
        leat_scope *scope = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, most == 3 ? leat_go_blocking(scope, run_server, &server)
                              : leat_go(scope, run_server, &server));
        for (int i = 0; i < 20; i++)
            CHECK_IS(0, leat_go(inner, call_and_talk, &server));
        CHECK_IS(0, leat_scope_close(inner));
        CHECK_IS(0, leat_io_close(server.listener));
        CHECK_IS(0, leat_scope_close(scope));
        CHECK_IS(0, server.result);
        CHECK_IS(20, atomic_load(&server.all));
        CHECK(atomic_load(&server.most) <= (int)most);
        CHECK_IS(0, leat_io_unref(server.listener));
    }
    return 0;
}
ON_WORKERS(serves_so_many);

/* ---- the end ---- */

/* The server waits for its connections, which go on meanwhile; or the grace passes. */
static void end_gracefully(bool blocks, bool by_cancel, int64_t grace, unsigned most)
{
    int before = sockets();
    struct server server = make_server(blocks);
    server.options = (leat_serve_options){ .grace = grace, .most = most };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(scope, run_server, &server));
    leat_io *io = call(&server);
    talk(io);
    CHECK_IS(0, by_cancel ? leat_scope_cancel(scope) : leat_io_close(server.listener));
    if (grace == LEAT_NEVER) {
        CHECK_IS(0, leat_shield());
        leat_sleep(5 * LEAT_MS);
        CHECK(!atomic_load(&server.ended));
        talk(io);
        CHECK_IS(0, leat_unshield());
        CHECK_IS(0, leat_io_unref(io));
    }
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(by_cancel ? -ECANCELED : 0, server.result);
    CHECK_IS(grace != LEAT_NEVER, atomic_load(&server.cancelled));
    if (grace != LEAT_NEVER)
        CHECK_IS(0, leat_io_unref(io));
    CHECK_IS(0, leat_io_unref(server.listener));
    CHECK_IS(before, sockets());
}

static int ends_gracefully(void *arg)
{
    (void)arg;
    for (int i = 0; i < 16; i++)
        end_gracefully(i & 8, i & 1, i & 2 ? LEAT_NEVER : 10 * LEAT_MS, i & 4 ? 1 : 0);
    return 0;
}
ON_WORKERS(ends_gracefully);

static void end_strictly(bool blocks)
{
    struct server server = make_server(blocks);
    server.options.strict = 1;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(scope, run_server, &server));
    leat_io *other = call(&server);
    talk(other);
    CHECK_IS(0, call_and_talk(&server));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(-EIO, server.result);
    CHECK_IS(1, atomic_load(&server.cancelled));
    CHECK_IS(0, leat_io_unref(other));
    CHECK_IS(0, leat_io_unref(server.listener));
}

static int strict_server_ends(void *arg)
{
    (void)arg;
    end_strictly(false);
    end_strictly(true);
    return 0;
}
ON_WORKERS(strict_server_ends);

static int keep(leat_io *connection, void *arg)
{
    struct server *server = arg;
    atomic_store(&server->now, leat_io_release(connection));
    return 0;
}

static int keep_as_block(leat_block *b)
{
    leat_served *me = (leat_served *)b;
    return keep(me->connection, me->arg);
}

static void keep_connection(bool blocks)
{
    struct server server = make_server(blocks);
    server.fn = keep;
    if (blocks)
        server.step = keep_as_block;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(scope, run_server, &server));
    leat_io *io = call(&server);
    WAIT_UNTIL(atomic_load(&server.now));
    CHECK_IS(0, leat_io_close(server.listener));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(1, write(atomic_load(&server.now), "x", 1));
    CHECK_IS(0, close(atomic_load(&server.now)));
    CHECK_IS(1, leat_read(io, server.text, 1));
    CHECK_IS(0, leat_io_unref(io));
    CHECK_IS(0, leat_io_unref(server.listener));
}

static int connection_is_kept(void *arg)
{
    (void)arg;
    keep_connection(false);
    keep_connection(true);
    return 0;
}
ON_WORKERS(connection_is_kept);

/* ---- without descriptors ---- */

/* The part of a processor that this program takes for so long, in thousandths. */
static int64_t use_of_processor(int64_t ns)
{
    int64_t begun = processor_time(), since = leat_now();
    leat_sleep(ns);
    return (processor_time() - begun) * 1000 / (leat_now() - since);
}

/* The server rests after each failure for longer. So much time has passed when it has reported n
 * failures. */
static int64_t rests_of(int n)
{
    int64_t sum = 0;
    for (int64_t pause = 5 * LEAT_MS; n > 1; n--, pause = pause < LEAT_S / 2 ? 2 * pause : LEAT_S)
        sum += pause;
    return sum;
}

/* A connection comes while no descriptor is left. It is served later. Meanwhile the server takes
 * less than 1 % of a processor. (The system may charge the process for more, so one of several
 * measurements is enough.) */
static int rests_without_descriptors(void *arg)
{
    (void)arg;
    struct server server = make_server(false);
    struct rlimit limit, none;
    server.options.error = count_error;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(scope, run_server, &server));
    CHECK_IS(0, call_and_talk(&server));
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    CHECK_IS(0, getsockname(leat_io_fd(server.listener), (struct sockaddr *)&at, &size));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    WAIT_UNTIL(!atomic_load(&server.now));
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &limit));
    none = (struct rlimit){ 0, limit.rlim_max };
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &none));
    int64_t since = leat_now();
    CHECK_IS(0, connect(fd, (struct sockaddr *)&at, size));
    WAIT_UNTIL(atomic_load(&server.reports) >= 3);
    WAIT_UNTIL(use_of_processor(600 * LEAT_MS) < (SCALE == 1 ? 10 : 100)); /* of the sanitizers */
    int reports = atomic_load(&server.reports);
    CHECK(leat_now() - since >= rests_of(reports));
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &limit));
    leat_io *io;
    CHECK_IS(0, leat_io_adopt(NULL, fd, &io));
    talk(io);
    CHECK_IS(0, leat_io_unref(io));
    CHECK_IS(0, leat_io_close(server.listener));
    CHECK_IS(0, leat_scope_close(scope));
    return leat_io_unref(server.listener);
}
ON_WORKERS(rests_without_descriptors);

/* ---- many ---- */

enum { CALLERS = 20 };

struct many {
    struct server *server;
    uint64_t chance;
    int calls;
};

/* Short calls; some are reset, before or after the server has answered. */
static int call_often(void *arg)
{
    struct many *many = arg;
    struct linger reset = { .l_onoff = 1 };
    for (int i = 0; i < many->calls; i++) {
        leat_io *io = call(many->server);
        unsigned kind = below(&many->chance, 4);
        if (kind)
            talk(io);
        if (kind < 2)
            CHECK_IS(0, setsockopt(leat_io_fd(io), SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
        CHECK_IS(0, leat_io_unref(io));
    }
    return 0;
}

static void come_and_go(bool blocks)
{
    int before = sockets();
    struct server server = make_server(blocks);
    struct many many[CALLERS];
    uint64_t chance = seed_of_test();
    leat_scope *scope = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(scope, run_server, &server));
    for (int i = 0; i < CALLERS; i++) {
        many[i] = (struct many){ &server, lt_rng_next(&chance), 2000 / CALLERS };
        CHECK_IS(0, leat_go(inner, call_often, &many[i]));
    }
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(0, leat_io_close(server.listener));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, server.result);
    CHECK_IS(0, atomic_load(&server.now));
    CHECK(atomic_load(&server.all) <= 2000);
    CHECK_IS(0, leat_io_unref(server.listener));
    CHECK_IS(before, sockets());
}

static int many_come_and_go(void *arg)
{
    (void)arg;
    come_and_go(false);
    come_and_go(true);
    return 0;
}
ON_WORKERS(many_come_and_go);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_wrong_arguments), TESTS_ON_WORKERS(serves_so_many),
        TESTS_ON_WORKERS(ends_gracefully),         TESTS_ON_WORKERS(strict_server_ends),
        TESTS_ON_WORKERS(connection_is_kept),      TESTS_ON_WORKERS(rests_without_descriptors),
        TESTS_ON_WORKERS(many_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
