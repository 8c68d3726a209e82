/* test_io_nasty.c: descriptors in bad company: hung up before they listen, with packets that look
 * like a stream, reset while both directions wait, held by a process that was forked or by one that
 * starts, with flags that another process changes; and ten thousand of them at once. */
#define _GNU_SOURCE
#include "io_parties.h"
#include "processes.h"

#include "io/io.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

/* Each party waits in the channel of its direction. */
static void wait_for_parties(leat_io *io, enum lt_way way, unsigned n)
{
    WAIT_UNTIL(lt_io_chan(io, way) && receivers_of(lt_io_chan(io, way)) == n);
}

/* ---- hung up before it listens ---- */

/* A socket that neither listens nor is connected has hung up, as poll(2) says. So its first event
 * says that, and that must not hide the connections that come later. */
static int accept_all(void *arg)
{
    leat_io *listener = arg, *connection;
    for (int i = 0; i < 3; i++) {
        CHECK_IS(0, leat_accept(listener, NULL, &connection, late()));
        CHECK_IS(0, leat_io_unref(connection));
    }
    return 0;
}

static int listens_after_a_hangup(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2 * KINDS; i++) {
        struct crew crew;
        crew_open(&crew);
        struct sockaddr_in at = { .sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof at;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        CHECK_IS(0, bind(fd, (struct sockaddr *)&at, size));
        CHECK_IS(0, getsockname(fd, (struct sockaddr *)&at, &size));
        leat_io *listener = adopt(crew.scope, fd);
        CHECK(leat_ready(listener, LEAT_IN, late()) & LEAT_HUP);
        CHECK(leat_io_readable(listener));
        CHECK_IS(0, leat_sleep(LEAT_MS)); /* the event comes */
        CHECK_IS(0, listen(fd, 10));
        CHECK_IS(-EAGAIN, leat_ready(listener, LEAT_IN, LEAT_NOW));
        crew_go(&crew, kind_of(i), accept_all, listener);
        if (i % 2)
            wait_for_parties(listener, LT_IN, 1);
        for (int k = 0; k < 3; k++) {
            int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            CHECK_IS(0, connect(client, (struct sockaddr *)&at, size));
            close(client);
        }
        crew_close(&crew);
    }
    return 0;
}
ON_WORKERS(listens_after_a_hangup);

/* ---- packets that look like a stream ---- */

/* A raw socket may have TCP's protocol, and has packets all the same: a read of one does not show
 * that there is no second. (Only root may open such a socket.) */
static int read_two_packets(void *arg)
{
    char packet[256];
    for (int i = 0; i < 2; i++)
        CHECK(leat_read_until(arg, packet, sizeof packet, late()) > 0);
    return 0;
}

static int reads_packet_after_packet(void *arg)
{
    (void)arg;
    /* An address of this process alone: such a socket gets the packets of others, too. */
    const uint32_t address = 0x7f000000 | ((uint32_t)getpid() & 0xffffff);
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return 0;
    CHECK_IS(0, bind(fd, (struct sockaddr *)&at, sizeof at));
    CHECK_IS(0, connect(fd, (struct sockaddr *)&at, sizeof at));
    /* Before it had an address, it got the packets of all connections on this machine. */
    while (recv(fd, &(char){ 0 }, 1, MSG_DONTWAIT) >= 0)
        continue;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *io = adopt(scope, fd);
    CHECK_IS(0, leat_go(scope, read_two_packets, io));
    WAIT_UNTIL(receivers_of(lt_io_chan(io, LT_IN)) == 1 || lt_io_in_ring(io, LT_IN));
    for (int i = 0; i < 2; i++)
        CHECK_IS(4, send(fd, "leat", 4, 0));
    return leat_scope_close(scope);
}
ON_WORKERS(reads_packet_after_packet);

/* ---- an error ends both directions at once ---- */

/* They wait; or the system has found some more room for them. */
static bool writers_at_rest(leat_io *io, struct io_party *parties)
{
    leat_chan *ch = lt_io_chan(io, LT_OUT);
    unsigned n = ch ? receivers_of(ch) : 0;
    for (int i = IO_KINDS; i < 2 * IO_KINDS; i++)
        n += (unsigned)atomic_load(&parties[i].calls);
    return n == IO_KINDS;
}

/* Readers and writers of all kinds wait for one connection when it is reset. One of them gets the
 * error, the others find the connection without it. */
static int error_wakes_both_ways(void *arg)
{
    (void)arg;
    for (int round = 0; round < 20 / SCALE + 1; round++) {
        struct io_party parties[2 * IO_KINDS];
        static char many[1 << 16];
        int ends[2], resets = 0;
        tcp_pair(ends);
        leat_scope *scope = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
        leat_io *io = adopt(scope, ends[0]);
        while (leat_write_until(io, many, sizeof many, leat_after(5 * LEAT_MS)) > 0)
            continue;
        for (int i = 0; i < 2 * IO_KINDS; i++) {
            parties[i] = (struct io_party){ .kind = (enum io_kind)(i % IO_KINDS),
                                            .deed = i < IO_KINDS ? READS : WRITES,
                                            .io = io,
                                            .scope = inner,
                                            .deadline = LEAT_NEVER,
                                            .n = 4 };
            io_party_go(&parties[i]);
        }
        wait_for_parties(io, LT_IN, IO_KINDS);
        WAIT_UNTIL(writers_at_rest(io, parties));
        CHECK_IS(0, setsockopt(ends[1], SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 },
                               sizeof(struct linger)));
        CHECK_IS(0, close(ends[1]));
        CHECK_IS(0, leat_scope_close(inner));
        for (int i = 0; i < 2 * IO_KINDS; i++) {
            io_party_check(&parties[i]);
            resets += parties[i].result == -ECONNRESET;
            if (parties[i].result != -ECONNRESET && parties[i].result != (int64_t)parties[i].n)
                CHECK_IS(parties[i].deed == READS ? 0 : -EPIPE, parties[i].result);
        }
        CHECK_IS(1, resets);
        CHECK_IS(0, leat_scope_close(scope));
    }
    return 0;
}
ON_WORKERS(error_wakes_both_ways);

/* ---- beside processes that hold copies of each descriptor ---- */

/* A descriptor that waits for events must get none of the file that had its number before, and that
 * another process still has. */
static void close_beside_copies(int rounds)
{
    int reused = 0, number = -1;
    for (int i = 0; i < rounds; i++) {
        struct pair old = open_pair(NULL), new;
        find_empty(old.a);
        number = leat_io_fd(old.a);
        int peer = dup(leat_io_fd(old.b));
        CHECK_IS(0, leat_io_unref(old.a));
        CHECK_IS(0, leat_io_unref(old.b));
        new = open_pair(NULL);
        reused += leat_io_fd(new.a) == number;
        find_empty(new.a);
        uint32_t raises = lt_io_raise_count(new.a, LT_IN);
        /* For a process that has the old file still, if there is one. */
        ssize_t n = send(peer, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        CHECK(n == 1 || (n < 0 && errno == EPIPE));
        CHECK_IS(0, close(peer));
        char byte;
        CHECK_IS(-ETIMEDOUT, leat_read_until(new.a, &byte, 1, leat_after(100 * LEAT_US)));
        CHECK_IS(raises, lt_io_raise_count(new.a, LT_IN));
        CHECK_IS(1, leat_write(new.b, "y", 1));
        CHECK_IS(1, leat_read_until(new.a, &byte, 1, late()));
        CHECK_IS('y', byte);
        CHECK_IS(0, leat_io_unref(new.a));
        CHECK_IS(0, leat_io_unref(new.b));
    }
    CHECK(reused > rounds / 2);
}

/* A process that is forked, and executes nothing, has all descriptors of its parent, the epolls
 * too: here it holds 20 sockets that its parent then closes. */
static int gets_no_event_by_a_fork(void *arg)
{
    (void)arg;
    enum { HELD = 20 };
    if (getenv("LEAT_EMULATED"))
        return 0; /* an emulator is not made for a fork beside threads */
    for (int round = 0; round < 4; round++) {
        struct pair held[HELD];
        int ends[2], peers[HELD];
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, pipe2(ends, O_CLOEXEC));
        for (int i = 0; i < HELD; i++) {
            held[i] = open_pair(scope);
            find_empty(held[i].a);
            peers[i] = dup(leat_io_fd(held[i].b));
        }
        pid_t child = fork();
        if (child == 0) {
            char byte;
            close(ends[1]);
            _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
        }
        CHECK(child > 0);
        close(ends[0]);
        for (int i = 0; i < HELD; i++)
            CHECK_IS(0, leat_io_close(held[i].a));
        struct pair again[HELD];
        uint32_t raises[HELD];
        for (int i = 0; i < HELD; i++) {
            again[i] = open_pair(scope);
            find_empty(again[i].a);
            raises[i] = lt_io_raise_count(again[i].a, LT_IN);
        }
        for (int i = 0; i < HELD; i++) { /* the child still has the other end */
            CHECK_IS(1, send(peers[i], "x", 1, MSG_NOSIGNAL));
            close(peers[i]);
        }
        close_beside_copies(20);
        for (int i = 0; i < HELD; i++)
            CHECK_IS(raises[i], lt_io_raise_count(again[i].a, LT_IN));
        close(ends[1]);
        int status;
        CHECK_IS(child, waitpid(child, &status, 0));
        CHECK_IS(0, status);
        CHECK_IS(0, leat_scope_close(scope));
    }
    return 0;
}
ON_WORKERS(gets_no_event_by_a_fork);

/* Between vfork and the end of execve a process has copies for a moment. */
static int spawn_often(void *arg)
{
    _Atomic bool *stop = arg;
    while (!atomic_load(stop)) {
        leat_captured captured;
        CHECK_IS(0, leat_capture(ARGV("true"), NULL, &captured, 1, LEAT_NEVER));
        CHECK_IS(0, captured.exit.code);
        CHECK_IS(0, leat_captured_free(&captured));
    }
    return 0;
}

static int gets_no_event_by_spawns(void *arg)
{
    (void)arg;
    _Atomic bool stop = false;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_go(scope, spawn_often, &stop));
    close_beside_copies(often(1200) + 20);
    atomic_store(&stop, true);
    CHECK_IS(0, leat_scope_close(scope));
    CHECK(!has_children());
    return 0;
}
ON_WORKERS(gets_no_event_by_spawns);

/* ---- an input that is shared with the parent process ---- */

struct shared {
    int asks, answers; /* the child asks for a change of the flag and waits for it */
    bool changes;
};

static int stay_responsive(void *arg)
{
    _Atomic int64_t *turns = arg;
    while (leat_sleep(LEAT_MS) == 0)
        atomic_fetch_add(turns, 1);
    return 0;
}

/* Reads its input to the end. While nothing comes its worker must go on. */
static int read_shared(void *arg)
{
    struct shared *shared = arg;
    _Atomic int64_t turns = 0;
    char byte, bytes[10];
    leat_io *in;
    leat_scope *scope = leat_scope_open(LEAT_NEVER), *beside;
    in = adopt(scope, STDIN_FILENO);
    CHECK_IS(1, leat_read(in, &byte, 1));
    if (shared->changes) {
        CHECK_IS(1, write(shared->asks, "?", 1));
        CHECK_IS(1, read(shared->answers, &byte, 1));
    }
    beside = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(beside, stay_responsive, (void *)&turns));
    for (int i = 0; i < 100 && !atomic_load(&turns); i++)
        CHECK_IS(-ETIMEDOUT, leat_read_until(in, &byte, 1, leat_after(20 * LEAT_MS)));
    CHECK(atomic_load(&turns) > 0);
    CHECK_IS(1, write(shared->asks, "!", 1));
    CHECK_IS(3, leat_read_full(in, bytes, sizeof bytes, late()));
    CHECK_IS(0, leat_scope_cancel(beside));
    CHECK_IS(0, leat_scope_close(beside));
    return leat_scope_close(scope);
}

static bool is_nonblocking(int fd)
{
    return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

static void set_nonblocking(int fd, bool on)
{
    int flags = fcntl(fd, F_GETFL);
    CHECK_IS(0, fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

/* The parent has the reading end, too, as a shell has the terminal of its programs. */
static void share(int reads, int writes, bool nonblocking, bool changes)
{
    int asks[2], answers[2], status;
    char byte;
    CHECK_IS(0, pipe(asks));
    CHECK_IS(0, pipe(answers));
    set_nonblocking(reads, nonblocking);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct shared shared = { asks[1], answers[0], changes };
        alarm(100);
        dup2(reads, STDIN_FILENO);
        close(writes);
        _exit(leat_main_with(read_shared, &shared, &(leat_options){ .workers = 1 }) != 0);
    }
    CHECK_IS(1, write(writes, "a", 1));
    if (changes) {
        CHECK_IS(1, read(asks[0], &byte, 1));
        set_nonblocking(reads, !nonblocking);
        CHECK_IS(1, write(answers[1], "x", 1));
    }
    CHECK_IS(1, read(asks[0], &byte, 1));
    CHECK_IS('!', byte);
    CHECK_IS(3, write(writes, "bcd", 3));
    CHECK_IS(0, close(writes));
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK_IS(0, status);
    CHECK_IS(nonblocking != changes, is_nonblocking(reads));
    CHECK_IS(0, close(reads));
    for (int i = 0; i < 2; i++) {
        close(asks[i]);
        close(answers[i]);
    }
}

static void shares_its_input(void **state)
{
    (void)state;
    skip_under_emulation();
    for (int i = 0; i < 8; i++) {
        int ends[2];
        CHECK_IS(0, i & 4 ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends));
        share(ends[0], ends[1], i & 1, i & 2);
    }
}

/* ---- very many ---- */

/* As many descriptors as there are parties that read, or as many as the system allows. */
static unsigned allowed_descriptors(void)
{
    enum { WANTED = SCALE == 1 ? 10000 : 2000 / SCALE };
    struct rlimit limit;
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &limit));
    return limit.rlim_max > WANTED + 100 ? WANTED : (unsigned)limit.rlim_max - 100;
}

/* Returns the processor time that the cancel took. */
static int64_t cancel_idle_descriptors(unsigned n)
{
    struct io_party *parties = calloc(n, sizeof *parties);
    leat_scope *scope = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    for (unsigned i = 0; i < n; i++) {
        enum io_kind kind = i % 500 == 0 ? A_POOL_THREAD : (enum io_kind)(i % (A_CALLBACK + 1));
        parties[i] = (struct io_party){ .kind = kind,
                                        .io = adopt(scope, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
                                        .scope = inner,
                                        .deadline = i % 2 ? LEAT_NEVER : leat_after(600 * LEAT_S),
                                        .n = 8 };
        io_party_go(&parties[i]);
    }
    for (unsigned i = 0; i < n; i++)
        wait_for_parties(parties[i].io, LT_IN, 1);
    int64_t begun = processor_time();
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    int64_t took = processor_time() - begun;
    for (unsigned i = 0; i < n; i++) {
        io_party_check(&parties[i]);
        CHECK_IS(-ECANCELED, parties[i].result);
    }
    /* All of them work on. */
    for (unsigned i = 0; i < n; i += 97) {
        uint64_t one = 1;
        CHECK_IS(8, leat_write(parties[i].io, &one, 8));
        CHECK_IS(8, leat_read(parties[i].io, &one, 8));
    }
    CHECK_IS(0, leat_scope_close(scope));
    free(parties);
    return took;
}

/* Some 5 us for each; if the time grew with the square, it would be seconds. A virtual machine also
 * counts time that its host takes away: one success is enough. */
static int cancels_many_idle_descriptors(void *arg)
{
    enum { TRIES = 10 };
    (void)arg;
    unsigned n = allowed_descriptors();
    bool quick = false;
    for (int i = 0; i < TRIES && !quick; i++)
        quick = cancel_idle_descriptors(n) < 500 * LEAT_MS || SCALE > 1;
    CHECK(quick);
    return 0;
}
ON_WORKERS(cancels_many_idle_descriptors);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(listens_after_a_hangup),
        TESTS_ON_WORKERS(reads_packet_after_packet),
        TESTS_ON_WORKERS(error_wakes_both_ways),
        TESTS_ON_WORKERS(gets_no_event_by_a_fork),
        TESTS_ON_WORKERS(gets_no_event_by_spawns),
        cmocka_unit_test(shares_its_input),
        TESTS_ON_WORKERS(cancels_many_idle_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
