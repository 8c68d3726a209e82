/* test_io_end.c: how the use of a descriptor ends: after the last bytes, with an error, without a
 * signal, at a deadline, or when the descriptor is given back. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <linux/filter.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/stat.h>

static char many[1 << 20];

/* Calls on a named pipe may block. */
static void fifo(int ends[2])
{
    static _Atomic int number;
    char name[64];
    snprintf(name, sizeof name, "/tmp/leat-fifo-%d-%d", (int)getpid(),
             atomic_fetch_add(&number, 1));
    CHECK_IS(0, mkfifo(name, 0600));
    ends[0] = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ends[1] = open(name, O_WRONLY | O_CLOEXEC);
    CHECK(ends[0] >= 0 && ends[1] >= 0);
    CHECK_IS(0, fcntl(ends[0], F_SETFL, 0));
    unlink(name);
}

/* ---- ends and errors after the last bytes ---- */

static int finds_the_end_after_bytes(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    char bytes[10];
    for (int kind = 0; kind < 3; kind++) {
        for (int half = 0; half < 2; half++) {
            int ends[2];
            if (kind == 0)
                tcp_pair(ends);
            else if (kind == 1)
                CHECK_IS(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
            else
                CHECK_IS(0, pipe2(ends, O_CLOEXEC));
            leat_io *io = adopt(scope, ends[0]);
            find_empty(io);
            CHECK_IS(3, write(ends[1], "abc", 3));
            if (half && kind < 2)
                CHECK_IS(0, shutdown(ends[1], SHUT_WR));
            else
                close(ends[1]);
            CHECK_IS(3, leat_read_until(io, bytes, sizeof bytes, late()));
            CHECK_IS(0, leat_read_until(io, bytes, sizeof bytes, late()));
            CHECK_IS(0, leat_read_until(io, bytes, sizeof bytes, late()));
            CHECK(leat_ready(io, LEAT_IN, late()) & LEAT_IN);
            leat_case cases[] = { LEAT_READABLE(io) };
            CHECK_IS(0, leat_select(cases, 1, late()));
            if (half && kind < 2) {
                CHECK_IS(2, leat_write(io, "xy", 2)); /* the other direction goes on */
                CHECK_IS(2, read(ends[1], bytes, 10));
                close(ends[1]);
            }
            CHECK_IS(0, leat_io_close(io));
        }
    }
    return leat_scope_close(scope);
}
ON_WORKERS(finds_the_end_after_bytes);

static int keeps_an_error_for_the_next_call(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *a, *b;
    char bytes[10];
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    CHECK_IS(1, leat_write(a, "x", 1)); /* never read: so the close resets the connection */
    CHECK_IS(3, leat_write(b, "abc", 3));
    CHECK_IS(0, leat_io_close(b));
    CHECK_IS(3, leat_read_full(a, bytes, sizeof bytes, late()));
    CHECK_IS(-ECONNRESET, leat_read(a, bytes, 1));
    CHECK_IS(0, leat_read(a, bytes, 1));
    return leat_scope_close(scope);
}
ON_WORKERS(keeps_an_error_for_the_next_call);

static int waits_know_of_an_error(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *a, *b;
    char byte;
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    struct user reader = { a, 0, late() };
    for (int i = 0; i < 2; i++) {
        leat_scope *inner = leat_scope_open(LEAT_NEVER);
        /* A party that waits gets the error: at first, with LEAT_IO=uring, in its ring. */
        CHECK_IS(0, leat_go(inner, read_one, &reader));
        WAIT_UNTIL(receivers_of(lt_io_chan(a, LT_IN)) + in_ring(a, LT_IN) == 1);
        lt_io_keep(a, LT_IN, -EIO, LEAT_NEVER);
        CHECK_IS(0, leat_scope_close(inner));
        CHECK_IS(-EIO, atomic_load(&reader.result));
        find_empty(a);
        lt_io_keep(a, LT_IN, -EIO, LEAT_NEVER);
        CHECK_IS(LEAT_IN | LEAT_HUP, leat_ready(a, LEAT_IN, late()));
        CHECK_IS(LEAT_OUT, leat_ready(a, LEAT_OUT, late()));
        leat_case cases[] = { LEAT_READABLE(a) };
        CHECK_IS(0, leat_select(cases, 1, late()));
        CHECK_IS(-EIO, leat_read_until(a, &byte, 1, late()));
        find_empty(a);
    }
    return leat_scope_close(scope);
}
ON_WORKERS(waits_know_of_an_error);

/* The other side drops all that comes, also what would acknowledge. */
static void play_dead(int fd)
{
    struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    CHECK_IS(0, setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER,
                           &(struct sock_fprog){ .len = 1, .filter = &drop },
                           sizeof(struct sock_fprog)));
}

/* An error with the number that also means a deadline, before the deadline and after it. */
static int keeps_a_timeout_of_the_system(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int past = 0; past < 2; past++) {
        int ends[2];
        char bytes[10];
        tcp_pair(ends);
        leat_io *a = adopt(scope, ends[0]), *b = adopt(scope, ends[1]);
        CHECK_IS(0, setsockopt(ends[0], IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){ 50 }, sizeof(int)));
        CHECK_IS(3, leat_write(b, "abc", 3));
        WAIT_UNTIL(leat_ready(a, LEAT_IN, LEAT_NOW) == LEAT_IN);
        play_dead(ends[1]);
        CHECK_IS(1, leat_write(a, "x", 1));
        if (past)
            WAIT_UNTIL(atomic_load(&a->hung[LT_IN])); /* the reactor has seen the error */
        CHECK_IS(3, leat_read_full(a, bytes, sizeof bytes, past ? 1 : late()));
        CHECK_IS(-ETIMEDOUT, leat_read(a, bytes, 1));
        CHECK_IS(0, leat_read(a, bytes, 1));
    }
    return leat_scope_close(scope);
}
ON_WORKERS(keeps_a_timeout_of_the_system);

/* ---- more than the system moves in one call ---- */

static int64_t moves_the_most(leat_io *io, void *arg)
{
    (void)io;
    (void)arg;
    return INT32_MAX / 4096 * 4096; /* as MAX_RW_COUNT of Linux */
}

static int a_call_that_moves_the_most_is_not_short(void *arg)
{
    (void)arg;
    int ends[2];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    tcp_pair(ends);
    leat_io *a = adopt(scope, ends[0]), *b = adopt(scope, ends[1]);
    CHECK_IS(1, leat_write(b, "x", 1));
    CHECK_IS(LEAT_IN, leat_ready(a, LEAT_IN, late()));
    CHECK_IS(LEAT_OUT, leat_ready(a, LEAT_OUT, late()));
    for (enum lt_way way = LT_IN; way < LT_WAYS; way++) {
        CHECK(lt_io_repeat(a, way, moves_the_most, NULL, (size_t)INT32_MAX * 2, LEAT_NOW) > 0);
        CHECK(lt_io_is_raised(a, way));
    }
    return leat_scope_close(scope);
}
ON_WORKERS(a_call_that_moves_the_most_is_not_short);

/* ---- SIGPIPE ---- */

static _Atomic int pipe_signals;

static void count_signal(int signal)
{
    (void)signal;
    atomic_fetch_add(&pipe_signals, 1);
}

static int read_and_close(void *arg)
{
    int fd = *(int *)arg;
    char bytes[100];
    nap();
    CHECK(read(fd, bytes, sizeof bytes) > 0);
    nap();
    return close(fd);
}

static int write_without_reader(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *a, *b, *from, *to;
    sigset_t pending;
    adopt_pair(scope, SOCK_STREAM, &a, &b);
    adopt_pipe(scope, 0, &from, &to);
    CHECK_IS(0, leat_io_close(b));
    CHECK_IS(0, leat_io_close(from));
    CHECK_IS(-EPIPE, leat_write(a, "x", 1));
    CHECK_IS(-EPIPE, leat_sendto(a, "x", 1, NULL, 0, LEAT_NEVER));
    CHECK_IS(-EPIPE, leat_write(to, "x", 1));
    adopt_pipe(scope, O_NONBLOCK, &from, &to);
    CHECK_IS(0, leat_io_close(from));
    CHECK_IS(-EPIPE, leat_write(to, "x", 1));
    /* sendfile raises it for sockets, too. */
    adopt_pair(scope, SOCK_STREAM | SOCK_NONBLOCK, &a, &b);
    CHECK_IS(0, leat_io_close(b));
    FILE *file = tmpfile();
    CHECK_IS(1, fwrite("hello", 5, 1, file));
    CHECK_IS(0, fflush(file));
    from = adopt(scope, dup(fileno(file)));
    CHECK_IS(0, lseek(leat_io_fd(from), 0, SEEK_SET));
    CHECK_IS(-EPIPE, leat_copy(a, from, 100, LEAT_NEVER));
    fclose(file);
    /* A write that has moved some bytes. */
    int ends[2];
    struct foreign thread;
    fifo(ends);
    to = adopt(scope, ends[1]);
    foreign_start(&thread, read_and_close, &ends[0]);
    CHECK(leat_write(to, many, sizeof many) > 0);
    CHECK_IS(0, foreign_join(&thread));
    CHECK_IS(-EPIPE, leat_write(to, many, 1));
    if (!lt_current_worker()) {
        CHECK_IS(0, sigpending(&pending));
        CHECK_IS(0, sigismember(&pending, SIGPIPE));
    }
    return leat_scope_close(scope);
}

static int raises_no_signal(void *arg)
{
    (void)arg;
    struct crew crew;
    struct sigaction before, count = { .sa_handler = count_signal };
    sigset_t sigpipe, mask;
    sigemptyset(&sigpipe);
    sigaddset(&sigpipe, SIGPIPE);
    CHECK_IS(0, sigaction(SIGPIPE, &count, &before));
    crew_open(&crew);
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        /* Threads that leat did not start inherit their maker's mask. */
        CHECK_IS(0, pthread_sigmask(SIG_UNBLOCK, &sigpipe, &mask));
        crew_go(&crew, kind, write_without_reader, NULL);
        CHECK_IS(0, pthread_sigmask(SIG_SETMASK, &mask, NULL));
    }
    crew_close(&crew);
    CHECK_IS(0, sigaction(SIGPIPE, &before, NULL));
    CHECK_IS(0, atomic_load(&pipe_signals));
    return 0;
}
ON_WORKERS(raises_no_signal);

/* ---- a deadline ---- */

/* A write that is cut short by its deadline says how far it came. */
static int cuts_a_write_at_its_deadline(void *arg)
{
    (void)arg;
    for (int kind = 0; kind < 4; kind++) {
        leat_scope *scope = leat_scope_open(LEAT_NEVER);
        int ends[2];
        if (kind == 0)
            CHECK_IS(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
        else if (kind == 1)
            CHECK_IS(0, pipe2(ends, O_CLOEXEC));
        else if (kind == 2)
            tcp_pair(ends);
        else
            fifo(ends);
        int flags = fcntl(ends[1], F_GETFL);
        leat_io *from = adopt(scope, ends[0]), *to = adopt(scope, ends[1]);
        char *got = malloc(16 * sizeof many);
        int64_t sent = 0, n;
        while ((n = leat_write_until(to, many, sizeof many, leat_after(LEAT_MS))) > 0)
            sent += n;
        CHECK_IS(-ETIMEDOUT, n);
        CHECK(sent > 0 && sent < (int64_t)(16 * sizeof many));
        CHECK_IS(sent, leat_read_full(from, got, (size_t)sent, late()));
        find_empty(from);
        CHECK_IS(
            sizeof many < (size_t)sent ? 4096 : sent,
            leat_write_until(to, many, sizeof many < (size_t)sent ? 4096 : (size_t)sent, late()));
        CHECK_IS(flags, fcntl(ends[1], F_GETFL));
        CHECK_IS(0, fcntl(ends[0], F_GETFL) & O_NONBLOCK);
        free(got);
        CHECK_IS(0, leat_scope_close(scope));
    }
    return 0;
}
ON_WORKERS(cuts_a_write_at_its_deadline);

/* ---- given back ---- */

static void no_call(leat_op *op, int status)
{
    (void)op;
    (void)status;
    CHECK(false);
}

static int gives_descriptors_back(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int ends[2];
    char byte;
    CHECK_IS(0, pipe2(ends, O_CLOEXEC));
    for (int i = 0; i < 3; i++) {
        leat_io *io = adopt(scope, ends[0]);
        if (i)
            find_empty(io);
        leat_op op = LEAT_OP(scope, 0);
        CHECK_IS(0, i ? leat_ready_then(&op, io, LEAT_IN, no_call) : 0);
        CHECK_IS(-EBUSY, i ? leat_io_release(io) : -EBUSY);
        CHECK_IS(0, i ? leat_withdraw(&op) : 0);
        CHECK_IS(ends[0], leat_io_release(io));
        CHECK_IS(-EBADF, leat_io_release(io));
        CHECK_IS(-EBADF, leat_read(io, &byte, 1));
        CHECK_IS(-EBADF, leat_io_close(io));
        CHECK_IS(ends[0], leat_io_fd(io));
    }
    CHECK_IS(-EINVAL, leat_io_release(NULL));
    CHECK_IS(0, leat_scope_close(scope));
    CHECK_IS(1, write(ends[1], "x", 1));
    CHECK_IS(1, read(ends[0], &byte, 1));
    close(ends[0]);
    close(ends[1]);
    return 0;
}
ON_WORKERS(gives_descriptors_back);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(finds_the_end_after_bytes),
        TESTS_ON_WORKERS(keeps_an_error_for_the_next_call),
        TESTS_ON_WORKERS(waits_know_of_an_error),
        TESTS_ON_WORKERS(keeps_a_timeout_of_the_system),
        TESTS_ON_WORKERS(a_call_that_moves_the_most_is_not_short),
        TESTS_ON_WORKERS(raises_no_signal),
        TESTS_ON_WORKERS(cuts_a_write_at_its_deadline),
        TESTS_ON_WORKERS(gives_descriptors_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
