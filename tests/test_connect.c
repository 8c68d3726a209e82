/* test_connect.c: how connecting fails, waits and is cut short; and the addresses of names. */
#define _GNU_SOURCE
#include "sockets.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The error of the next call of connect(2), which then begins nothing; or 0. */
static _Atomic int idle;

/* In place of the C library's connect. */
int connect_or_idle(int fd, const struct sockaddr *address, socklen_t size) __asm__("connect");

int connect_or_idle(int fd, const struct sockaddr *address, socklen_t size)
{
    int error = atomic_exchange(&idle, 0);
    if (!error)
        return (int)syscall(SYS_connect, fd, address, size);
    errno = error;
    return -1;
}

/* The answers of the stub: the hosts of a name are made of its letters. */
static _Atomic int asked, answering;
static _Atomic bool hold;
static _Atomic int resolved; /* callers that have got their answer */

static int stub(const char *host, const char *service, leat_address *addresses)
{
    int n = 0;
    atomic_fetch_add(&asked, 1);
    atomic_fetch_add(&answering, 1);
    WAIT_UNTIL(!atomic_load(&hold));
    for (const char *letter = host; *letter; letter++)
        switch (*letter) {
        case '4': n += lt_net_number("127.0.0.1", service, &addresses[n]); break;
        case '6': n += lt_net_number("::1", service, &addresses[n]); break;
        case 'b': n += lt_net_number("192.0.2.1", service, &addresses[n]); break;
        case 'm': n += lt_net_number("127.0.0.2", service, &addresses[n]); break;
        default: break;
        }
    atomic_fetch_sub(&answering, 1);
    return n ? n : -ENOENT;
}

static lt_net_asks *use_stub(bool holding)
{
    lt_net_asks *before = atomic_load(&lt_net_ask);
    atomic_store(&asked, 0);
    atomic_store(&resolved, 0);
    atomic_store(&hold, holding);
    atomic_store(&lt_net_ask, stub);
    return before;
}

struct caller {
    const char *address;
    int64_t deadline;
    leat_io *got;
    leat_address addresses[4];
    int result;
};

static int connect_one(void *arg)
{
    struct caller *caller = arg;
    caller->result = leat_connect(NULL, caller->address, &caller->got, caller->deadline);
    return 0;
}

static int resolve_one(void *arg)
{
    struct caller *caller = arg;
    caller->result = leat_resolve(caller->address, "80", caller->addresses, 4, caller->deadline);
    atomic_fetch_add(&resolved, 1);
    return 0;
}

/* ---- connecting ---- */

static int refused(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT], name[LEAT_ADDRESS_TEXT];
    leat_io *io, *listener;
    listener = listen_at("127.0.0.1:0", 0, text);
    CHECK_IS(0, leat_io_unref(listener));
    int before = sockets();
    CHECK_IS(-ECONNREFUSED, leat_connect(NULL, text, &io, LEAT_NEVER));
    lt_net_asks *system = use_stub(false);
    snprintf(name, sizeof name, "m4m%s", strrchr(text, ':'));
    CHECK_IS(-ECONNREFUSED, leat_connect(NULL, name, &io, LEAT_NEVER));
    CHECK_IS(-ENOENT, leat_connect(NULL, "x:80", &io, LEAT_NEVER));
    CHECK_IS(-EAGAIN, leat_connect(NULL, "m4m:80", &io, LEAT_NOW));
    atomic_store(&lt_net_ask, system);
    CHECK_IS(before, sockets());
    return 0;
}
ON_WORKERS(refused);

/* A full backlog answers nothing: the connect waits, until the deadline or the cancel. */
static int unanswered(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT];
    leat_io *listener, *full[8] = { NULL };
    listener = listen_at("127.0.0.1:0", 1, text);
    int before = sockets(), n = 0, error = 0;
    while (n < 8 && !(error = leat_connect(NULL, text, &full[n], leat_after(50 * LEAT_MS))))
        n++;
    CHECK_IS(-ETIMEDOUT, error);
    for (int i = 0; i < 6; i++) {
        struct caller caller = { .address = text, .deadline = LEAT_NEVER };
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, i % 2 ? leat_go(scope, connect_one, &caller)
                          : leat_go_blocking(scope, connect_one, &caller));
        leat_sleep(i * 100 * LEAT_US);
        CHECK_IS(0, leat_scope_cancel(scope));
        CHECK_IS(0, leat_scope_close(scope));
        CHECK_IS(-ECANCELED, caller.result);
    }
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_io_unref(full[i]));
    CHECK_IS(before, sockets());
    return leat_io_unref(listener);
}
ON_WORKERS(unanswered);

/* A signal comes before the system begins. */
static int interrupted(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT];
    for (int i = 0; i < 2; i++) {
        leat_io *listener = listen_at(i ? "unix:@" : "127.0.0.1:0", 0, text), *io;
        atomic_store(&idle, EINTR);
        CHECK_IS(0, leat_connect(NULL, text, &io, leat_after(60 * LEAT_S)));
        CHECK_IS(0, atomic_load(&idle));
        CHECK_IS(0, leat_io_unref(io));
        CHECK_IS(0, leat_io_unref(listener));
    }
    return 0;
}
ON_WORKERS(interrupted);

/* A socket that has begun nothing is writable from the start. */
static int unbegun_ends_in_time(void *arg)
{
    (void)arg;
    leat_io *io;
    int before = sockets();
    atomic_store(&idle, EINPROGRESS);
    CHECK_IS(-ETIMEDOUT, leat_connect(NULL, "127.0.0.1:80", &io, leat_after(5 * LEAT_MS)));
    atomic_store(&idle, EINPROGRESS);
    CHECK_IS(-EAGAIN, leat_connect(NULL, "127.0.0.1:80", &io, LEAT_NOW));
    CHECK_IS(before, sockets());
    return 0;
}
ON_WORKERS(unbegun_ends_in_time);

/* The first address does not answer: the second begins after 250 ms and wins. */
static int second_address_wins(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT], name[LEAT_ADDRESS_TEXT], other[LEAT_ADDRESS_TEXT];
    leat_io *busy, *listener, *io, *full[8] = { NULL };
    busy = listen_at("127.0.0.2:0", 1, other);
    snprintf(text, sizeof text, "127.0.0.1%s", strrchr(other, ':'));
    if (leat_listen(NULL, text, 0, &listener) != 0)
        return leat_io_unref(busy); /* another program has the port */
    int n = 0;
    while (n < 8 && leat_connect(NULL, other, &full[n], leat_after(50 * LEAT_MS)) == 0)
        n++;
    lt_net_asks *system = use_stub(false);
    snprintf(name, sizeof name, "m4%s", strrchr(text, ':'));
    int before = sockets();
    int64_t begun = leat_now();
    CHECK_IS(0, leat_connect(NULL, name, &io, leat_after(60 * LEAT_S)));
    CHECK(leat_now() - begun >= 240 * LEAT_MS);
    CHECK_IS(before + 1, sockets());
    CHECK_IS(0, leat_io_unref(io));
    atomic_store(&lt_net_ask, system);
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_io_unref(full[i]));
    CHECK_IS(0, leat_io_unref(busy));
    return leat_io_unref(listener);
}
ON_WORKERS(second_address_wins);

/* All that leat_resolve finds are tried. */
static int last_address_wins(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT], name[LEAT_ADDRESS_TEXT];
    leat_io *listener = listen_at("127.0.0.1:0", 0, text), *io;
    lt_net_asks *system = use_stub(false);
    int before = sockets();
    snprintf(name, sizeof name, "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm4%s", strrchr(text, ':'));
    CHECK_IS(0, leat_connect(NULL, name, &io, leat_after(60 * LEAT_S)));
    CHECK_IS(before + 1, sockets());
    atomic_store(&lt_net_ask, system);
    CHECK_IS(0, leat_io_unref(io));
    return leat_io_unref(listener);
}
ON_WORKERS(last_address_wins);

/* No descriptor for it; and a network that cannot be reached, or does not answer. */
static int unreachable(void *arg)
{
    (void)arg;
    leat_io *io;
    int before = sockets();
    int error = leat_connect(NULL, "192.0.2.1:9", &io, leat_after(20 * LEAT_MS));
    CHECK(error == -ETIMEDOUT || error == -ENETUNREACH || error == -EHOSTUNREACH ||
          error == -ECONNREFUSED || error == -EACCES || error == -EPERM || !error);
    if (!error)
        CHECK_IS(0, leat_io_unref(io)); /* a proxy of the machine answers for it */
    CHECK_IS(before, sockets());
    return 0;
}
ON_WORKERS(unreachable);

static uint64_t timers(void)
{
    leat_counts counts;
    CHECK_IS(0, leat_count(&counts));
    return counts.timers;
}

/* Returns while the caller pauses before its next try. */
static void start_connecting(leat_scope *scope, struct caller *caller)
{
    WAIT_UNTIL(timers() == 0);
    CHECK_IS(0, leat_go(scope, connect_one, caller));
    WAIT_UNTIL(timers() == 1);
}

static int full_backlog_is_tried_again(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT];
    leat_io *listener, *io, *first, *second;
    listener = listen_at("unix:@", 1, text);
    int before = sockets();
    CHECK_IS(0, leat_connect(NULL, text, &first, LEAT_NOW));
    CHECK_IS(0, leat_connect(NULL, text, &second, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_connect(NULL, text, &io, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_connect(NULL, text, &io, leat_after(5 * LEAT_MS)));
    struct caller callers[2] = { { .address = text, .deadline = LEAT_NEVER },
                                 { .address = text, .deadline = LEAT_NEVER } };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    start_connecting(scope, &callers[0]);
    CHECK_IS(0, leat_accept(listener, NULL, &io, LEAT_NEVER));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(0, callers[0].result);
    scope = leat_scope_open(LEAT_NEVER);
    start_connecting(scope, &callers[1]);
    CHECK_IS(0, leat_scope_cancel(scope));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(-ECANCELED, callers[1].result);
    CHECK_IS(0, leat_io_unref(io));
    CHECK_IS(0, leat_io_unref(first));
    CHECK_IS(0, leat_io_unref(second));
    CHECK_IS(0, leat_io_unref(callers[0].got));
    CHECK_IS(before, sockets());
    return leat_io_unref(listener);
}
ON_WORKERS(full_backlog_is_tried_again);

/* ---- a connection to itself ---- */

/* A separate network, with one port to choose from. */
static bool enter_small_network(void)
{
    struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) != 0)
        return false;
    close(fd);
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
    return range && fprintf(range, "40001 40001") > 0 && fclose(range) == 0;
}

static int connect_to_itself(void *arg)
{
    (void)arg;
    leat_io *io;
    int before = sockets();
    CHECK_IS(-ECONNREFUSED, leat_connect(NULL, "127.0.0.1:40001", &io, LEAT_NEVER));
    CHECK_IS(before, sockets());
    return 0;
}

static void own_port_is_refused(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(enter_small_network() ? leat_main(connect_to_itself, NULL) != 0 : 77);
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* the system allows no network of one's own */
    CHECK_IS(0, WEXITSTATUS(status));
}

/* ---- names ---- */

static void is_not_called(leat_op *op, int status)
{
    (void)op;
    CHECK_IS(1, status);
}

/* A socket takes the last descriptor, and a wait for it needs one more. */
static int lack_for_a_wait_is_told(void *arg)
{
    (void)arg;
    char text[LEAT_ADDRESS_TEXT];
    leat_io *listener = listen_at("127.0.0.1:0", 1, text), *connection;
    leat_op op = LEAT_OP(NULL, 0);
    struct rlimit limit, few;
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &limit));
    int last = dup(leat_io_fd(listener));
    CHECK_IS(0, close(last));
    few = (struct rlimit){ (rlim_t)last + 1, limit.rlim_max };
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &few));
    int connected = leat_connect(NULL, text, &connection, LEAT_NEVER);
    few.rlim_cur = 0;
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &few));
    int awaited = leat_ready_then(&op, listener, LEAT_IN, is_not_called);
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &limit));
    CHECK_IS(-EMFILE, connected);
    CHECK_IS(-EMFILE, awaited);
    return leat_io_unref(listener);
}
ON_WORKERS(lack_for_a_wait_is_told);

static int equal_questions_are_shared(void *arg)
{
    (void)arg;
    struct caller callers[24];
    lt_net_asks *system = use_stub(true);
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 24; i++) {
        callers[i] = (struct caller){ .address = i % 3 ? "4m" : "6",
                                      .deadline = i < 12 ? LEAT_NEVER : leat_after(LEAT_MS) };
        CHECK_IS(0, i % 2 ? leat_go(scope, resolve_one, &callers[i])
                          : leat_go_blocking(scope, resolve_one, &callers[i]));
    }
    /* Those with a deadline have left. */
    WAIT_UNTIL(atomic_load(&resolved) == 12 && atomic_load(&answering) == 2);
    CHECK_IS(2, atomic_load(&asked));
    atomic_store(&hold, false);
    CHECK_IS(0, leat_scope_close(scope));
    for (int i = 0; i < 24; i++)
        CHECK_IS(i >= 12 ? -ETIMEDOUT : i % 3 ? 2 : 1, callers[i].result);
    atomic_store(&lt_net_ask, system);
    return 0;
}
ON_WORKERS(equal_questions_are_shared);

/* 40 different questions: 32 are asked, and 8 wait. Two callers leave, the last
 * one a question that waits. */
static int questions_wait_for_threads(void *arg)
{
    (void)arg;
    static char names[40][8];
    struct caller callers[40];
    lt_net_asks *system = use_stub(true);
    leat_scope *scope = leat_scope_open(LEAT_NEVER), *left = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "4x%02x", 0xc0 + i);
        callers[i] = (struct caller){ .address = names[i], .deadline = LEAT_NEVER };
        if (i == 39)
            WAIT_UNTIL(atomic_load(&answering) == 32);
        CHECK_IS(0, leat_go(i % 20 == 19 ? left : scope, resolve_one, &callers[i]));
    }
    leat_sleep(5 * LEAT_MS);
    CHECK_IS(32, atomic_load(&asked));
    CHECK_IS(0, leat_scope_cancel(left));
    CHECK_IS(0, leat_scope_close(left));
    CHECK_IS(-ECANCELED, callers[19].result);
    CHECK_IS(-ECANCELED, callers[39].result);
    atomic_store(&hold, false);
    CHECK_IS(0, leat_scope_close(scope));
    for (int i = 0; i < 40; i++)
        CHECK(callers[i].result > 0 || i % 20 == 19);
    CHECK(atomic_load(&asked) < 40);
    atomic_store(&lt_net_ask, system);
    return 0;
}
ON_WORKERS(questions_wait_for_threads);

/* The system does not answer. Callers leave at their deadline or when they are cancelled, their
 * scope closes, and leat_stop waits for the answer: the thread that asks still writes to memory of
 * the runtime. */
static int answer_later(void *arg)
{
    (void)arg;
    WAIT_UNTIL(!lt_running()); /* leat_stop is under way */
    atomic_store(&hold, false);
    return 0;
}

static void stop_waits_for_the_system(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        struct foreign later;
        CHECK_IS(0, leat_start(&(leat_options){ .workers = workers }));
        lt_net_asks *system = use_stub(true);
        struct caller callers[3] = { { .address = "4", .deadline = leat_after(5 * LEAT_MS) },
                                     { .address = "6", .deadline = LEAT_NEVER },
                                     { .address = "4", .deadline = LEAT_NEVER } };
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        for (int i = 0; i < 3; i++)
            CHECK_IS(0, i == 2 ? leat_go_blocking(scope, resolve_one, &callers[i])
                               : leat_go(scope, resolve_one, &callers[i]));
        CHECK_IS(-EBUSY, leat_stop());
        WAIT_UNTIL(atomic_load(&resolved) == 1 && atomic_load(&answering) == 2);
        CHECK_IS(-ETIMEDOUT, callers[0].result);
        CHECK_IS(0, leat_scope_cancel(scope));
        CHECK_IS(0, leat_scope_close(scope));
        CHECK_IS(-ECANCELED, callers[1].result);
        CHECK_IS(-ECANCELED, callers[2].result);
        CHECK_IS(2, atomic_load(&answering));
        foreign_start(&later, answer_later, NULL);
        CHECK_IS(0, leat_stop());
        CHECK_IS(0, atomic_load(&answering));
        CHECK_IS(0, foreign_join(&later));
        atomic_store(&lt_net_ask, system);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refused),
        TESTS_ON_WORKERS(unanswered),
        TESTS_ON_WORKERS(interrupted),
        TESTS_ON_WORKERS(unbegun_ends_in_time),
        TESTS_ON_WORKERS(second_address_wins),
        TESTS_ON_WORKERS(last_address_wins),
        TESTS_ON_WORKERS(unreachable),
        TESTS_ON_WORKERS(full_backlog_is_tried_again),
        cmocka_unit_test(own_port_is_refused),
        TESTS_ON_WORKERS(lack_for_a_wait_is_told),
        TESTS_ON_WORKERS(equal_questions_are_shared),
        TESTS_ON_WORKERS(questions_wait_for_threads),
        cmocka_unit_test(stop_waits_for_the_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
