/* test_soak.c: an echo server and clients that talk, hang up, reset, cancel and close at any
 * moment, over TCP and over sockets of this machine. In the end no descriptor, no task, no timer
 * and no memory is left.
 *
 *     test_soak              some thousand connections
 *     test_soak 1000000      a million
 *
 * The first byte from a client is an order: what the server shall do. So it is known which clients
 * must get everything back. */
#include "sockets.h"

#include "sched/runtime.h"

#include <malloc.h>
#include <sys/socket.h>

enum { LANES = 48, MOST = 300000, PIECE = 3000 };

enum order { ECHO, HASTE, HALVE, LEAVE, RESET_IT, ORDERS };
enum deed { TALK, HALF, RESET, SHORT, CANCEL, CLOSE, DEEDS };

static int64_t connections; /* from the command line, or 0 */
static uint64_t seed;

static void close_by_reset(leat_io *io)
{
    struct linger at_once = { .l_onoff = 1 };
    setsockopt(leat_io_fd(io), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* ---- the server ---- */

static int obey(leat_io *io, void *arg)
{
    (void)arg;
    char order, bytes[4096];
    if (leat_read(io, &order, 1) != 1 || order == LEAVE)
        return 0;
    leat_scope *s = leat_scope_open(order == HASTE ? leat_after(50 * LEAT_US) : LEAT_NEVER);
    if (order == HALVE)
        leat_shutdown(io, SHUT_WR);
    int64_t n;
    while ((n = leat_read(io, bytes, sizeof bytes)) > 0 && order != RESET_IT)
        if (order != HALVE && leat_write(io, bytes, (size_t)n) != n)
            break;
    if (order == RESET_IT)
        close_by_reset(io);
    leat_scope_close(s);
    return 0;
}

static int serve(void *listener)
{
    return leat_serve(listener, obey, NULL, NULL);
}

/* ---- a visit of a client ---- */

struct visit {
    leat_scope *scope;
    leat_io *io;
    enum deed deed;
    enum order order;
    int total; /* bytes that go there and back, without the order */
    unsigned turns;
};

static char byte_at(int64_t place)
{
    return (char)(place % 251);
}

/* Only clients whose server echoes, and that wait for the end, can expect that all goes well. */
static void check_result(const struct visit *visit, int64_t n)
{
    if (visit->deed == TALK || visit->deed == HALF)
        CHECK(n > 0);
    else
        CHECK(n >= 0 || n == -ECANCELED || n == -ECONNRESET || n == -EPIPE || n == -EBADF);
}

static bool put(const struct visit *visit, const char *bytes, int n)
{
    int64_t written = leat_write(visit->io, bytes, (size_t)n);
    check_result(visit, written > 0 && written < n ? -EPIPE : written);
    return written == n;
}

static int pour(void *arg)
{
    struct visit *visit = arg;
    char order = (char)visit->order, bytes[PIECE];
    bool good = put(visit, &order, 1);
    for (int done = 0, n; good && done < visit->total; done += n) {
        for (n = 0; n < PIECE && done + n < visit->total; n++)
            bytes[n] = byte_at(done + n);
        good = put(visit, bytes, n);
    }
    if (good && visit->deed == HALF)
        leat_shutdown(visit->io, SHUT_WR);
    return 0;
}

/* Reads up to `most` bytes, which must be those that were written. */
static void drink(const struct visit *visit, unsigned most)
{
    char bytes[4096];
    for (unsigned got = 0; got < most;) {
        size_t left = most - got;
        int64_t n = leat_read(visit->io, bytes, left < sizeof bytes ? left : sizeof bytes);
        check_result(visit, n);
        if (n <= 0)
            return;
        for (int64_t i = 0; i < n; i++)
            CHECK_IS(byte_at(got++), bytes[i]);
    }
}

static int interfere(void *arg)
{
    struct visit *visit = arg;
    while (visit->turns-- > 0)
        leat_yield();
    if (visit->deed == CLOSE)
        CHECK_IS(0, leat_io_close(visit->io));
    else
        CHECK_IS(0, leat_scope_cancel(visit->scope));
    return 0;
}

/* All ports may be taken for some time: the system keeps those of connections that ended lately. */
static int connect_to(leat_scope *scope, const char *address, leat_io **io)
{
    int error;
    while ((error = leat_connect(scope, address, io, LEAT_NEVER)) == -EADDRNOTAVAIL)
        leat_sleep(10 * LEAT_MS);
    return error;
}

static void visit_once(const char *address, uint64_t *chance)
{
    char byte;
    struct visit visit = { .deed = (enum deed)below(chance, DEEDS), .turns = below(chance, 12) };
    bool whole = visit.deed == TALK || visit.deed == HALF;
    visit.order = whole ? ECHO : (enum order)below(chance, ORDERS);
    visit.total = 1 + (int)below(chance, below(chance, 32) ? PIECE : MOST);
    bool late = visit.deed == CANCEL && below(chance, 2);
    visit.scope = leat_scope_open(late ? leat_after(below(chance, 300) * LEAT_US) : LEAT_NEVER);
    if (visit.deed == CANCEL && !late)
        CHECK_IS(0, leat_go(visit.scope, interfere, &visit));
    int error = connect_to(visit.scope, address, &visit.io);
    CHECK(!error || (error == -ECANCELED && visit.deed == CANCEL));
    if (!error && visit.deed != SHORT) {
        int started = leat_go(visit.scope, pour, &visit);
        CHECK(!started || started == -ECANCELED);
        if (visit.deed == CLOSE)
            CHECK_IS(0, leat_go(visit.scope, interfere, &visit));
        unsigned most = (unsigned)visit.total;
        drink(&visit, visit.deed == RESET ? below(chance, most) : most);
    }
    if (!error && visit.deed == HALF)
        CHECK_IS(0, leat_read(visit.io, &byte, 1));
    if (!error && (visit.deed == TALK || visit.deed == RESET))
        close_by_reset(visit.io);
    if (!error && visit.deed == RESET)
        CHECK_IS(0, leat_io_close(visit.io)); /* perhaps while it is written to */
    leat_scope_close(visit.scope);
}

/* ---- many visits ---- */

struct soak {
    leat_io *listeners[2];
    char addresses[2][LEAT_ADDRESS_TEXT];
    _Atomic int64_t left;
};

static int stay_in_lane(void *arg)
{
    static _Atomic uint64_t lanes;
    struct soak *soak = arg;
    uint64_t chance = seed + atomic_fetch_add(&lanes, 1);
    while (atomic_fetch_sub(&soak->left, 1) > 0)
        visit_once(soak->addresses[below(&chance, 2)], &chance);
    return 0;
}

static void visit_often(int64_t times)
{
    struct soak soak = { .left = times };
    leat_scope *server = leat_scope_open(LEAT_NEVER), *clients = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 2; i++) {
        soak.listeners[i] = listen_at(i ? "unix:@" : "127.0.0.1:0", 0, soak.addresses[i]);
        CHECK_IS(0, leat_go(server, serve, soak.listeners[i]));
    }
    for (int i = 0; i < LANES; i++)
        CHECK_IS(0, leat_go(clients, stay_in_lane, &soak));
    CHECK_IS(0, leat_scope_close(clients));
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_io_close(soak.listeners[i]));
    CHECK_IS(0, leat_scope_close(server));
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_io_unref(soak.listeners[i]));
}

/* ---- what is left ---- */

struct rest {
    int descriptors;
    int64_t tasks, timers, sources, heap, resident;
};

static int descriptors(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static struct rest rest_now(void)
{
    leat_counts counts;
    CHECK_IS(0, leat_count(&counts));
    struct mallinfo2 heap = mallinfo2();
    struct rest rest = { .descriptors = descriptors(),
                         .tasks = (int64_t)counts.stacks,
                         .timers = (int64_t)counts.timers,
                         .heap = (int64_t)(heap.uordblks + heap.hblkhd),
                         .resident = resident() };
    for (unsigned i = 0; i < leat_workers(); i++)
        rest.sources += atomic_load(&lt_runtime.workers[i]->reactor.sources);
    return rest;
}

/* The counts are up to date when each worker has looked for work once more. */
static struct rest rest_in_the_end(void)
{
    struct rest rest;
    int tries = 0;
    do {
        CHECK(tries++ < 6000);
        CHECK_IS(0, leat_sleep(10 * LEAT_MS));
        rest = rest_now();
    } while (rest.tasks != 1 || rest.timers != 0 || rest.sources != 0);
    return rest;
}

static int leaves_nothing(void *arg)
{
    (void)arg;
    int64_t times = (connections ? connections : often(20000)) / 3;
    visit_often(times / 8 + 100); /* what is kept for later is there after these */
    struct rest before = rest_in_the_end();
    visit_often(times);
    struct rest after = rest_in_the_end();
    fprintf(stderr, "  %lld connections; heap %lld, then %lld; resident %lld, then %lld\n",
            (long long)times, (long long)before.heap, (long long)after.heap,
            (long long)before.resident, (long long)after.resident);
    CHECK_IS(before.descriptors, after.descriptors);
    if (SCALE == 1) { /* elsewhere the memory is not the program's alone */
        CHECK(after.heap - before.heap < 512 * 1024);
        CHECK(after.resident - before.resident < 16 * 1024 * 1024);
    }
    return 0;
}
ON_WORKERS(leaves_nothing);

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { TESTS_ON_WORKERS(leaves_nothing) };
    connections = argc > 1 ? atoll(argv[1]) : 0;
    seed = seed_of_test();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
