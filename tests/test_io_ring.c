/* test_io_ring.c: LEAT_IO=uring: operations that the kernel completes into the caller's memory. */
#define _GNU_SOURCE
#include "descriptors.h"
#include "refuse.h"

#include "base/config.h"
#include "sched/runtime.h"

#include <leat/watch.h>

#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Nobody has waited for either end, so nothing is registered. */
static struct pair tcp(leat_scope *scope)
{
    int ends[2];
    tcp_pair(ends);
    return (struct pair){ adopt(scope, ends[0]), adopt(scope, ends[1]) };
}

/* ---- reading and writing ---- */

static int reads_in_the_ring(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 20; i++) {
        struct pair pair = i % 2 ? tcp(scope) : open_pair(scope);
        struct user reader = { pair.a, -1, i % 4 < 2 ? LEAT_NEVER : late() };
        CHECK_IS(0, leat_go(scope, read_one, &reader));
        WAIT_UNTIL(in_ring(pair.a, LT_IN));
        CHECK(!lt_io_is_registered(pair.a));
        if (i < 18)
            CHECK_IS(1, write(leat_io_fd(pair.b), "x", 1));
        else
            CHECK_IS(0, leat_shutdown(pair.b, SHUT_WR));
        WAIT_UNTIL(!in_ring(pair.a, LT_IN));
        WAIT_UNTIL(atomic_load(&reader.result) == (i < 18));
        CHECK(!lt_io_is_registered(pair.a));
    }
    return leat_scope_close(scope);
}
ON_WORKERS(reads_in_the_ring);

static int echo(void *arg)
{
    leat_io *io = arg;
    char bytes[64];
    int64_t n;
    while ((n = leat_read(io, bytes, sizeof bytes)) > 0)
        CHECK_IS(n, leat_write(io, bytes, (size_t)n));
    CHECK_IS(0, n);
    return 0;
}

static int ask(void *arg)
{
    leat_io *io = arg;
    char sent[60], got[60];
    for (int i = 0; i < 200 / SCALE + 3; i++) {
        size_t n = 1 + (size_t)(i * 7) % sizeof sent;
        memset(sent, 'a' + i % 26, n);
        CHECK_IS((int64_t)n, leat_write_until(io, sent, n, late()));
        CHECK_IS((int64_t)n, leat_read_full(io, got, n, late()));
        CHECK(memcmp(sent, got, n) == 0);
    }
    return leat_shutdown(io, SHUT_WR);
}

/* More at once than a ring submits in one call, or in the harsh build than it takes. */
static int answers_many(void *arg)
{
    (void)arg;
    enum { MANY = SCALE == 1 ? LT_URING_QUEUE + 50 : 40 };
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < MANY; i++) {
        struct pair pair = i % 2 ? tcp(scope) : open_pair(scope);
        CHECK_IS(0, leat_go(scope, echo, pair.a));
        CHECK_IS(0, leat_go(scope, ask, pair.b));
    }
    return leat_scope_close(scope);
}
ON_WORKERS(answers_many);

static char much[SCALE == 1 ? 1 << 20 : 1 << 18];

static int write_pieces(void *arg)
{
    struct user *user = arg;
    int64_t n, done = 0;
    const int64_t piece = 8000;
    while ((n = leat_write_until(user->io, much, (size_t)piece, user->deadline)) == piece)
        done += n;
    atomic_store(&user->result, n > 0 ? done + n : done);
    return n > 0 ? 0 : (int)n;
}

static int yield_until(void *arg)
{
    while (!atomic_load((_Atomic bool *)arg))
        leat_yield();
    return 0;
}

/* A write in the ring that its deadline cuts short says how much went out. */
static int returns_what_was_written(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 6; i++) {
        struct pair pair = i % 2 ? tcp(scope) : open_pair(scope);
        struct user writer = { pair.a, -1, i % 3 ? leat_after(20 * LEAT_MS) : LEAT_NEVER };
        _Atomic bool stop = false;
        leat_scope *others = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(others, yield_until, &stop)); /* so that others are ready */
        CHECK_IS(0, leat_go(inner, write_pieces, &writer));
        WAIT_UNTIL(in_ring(pair.a, LT_OUT) || atomic_load(&writer.result) >= 0 ||
                   lt_io_is_registered(pair.a));
        if (i % 3 == 0)
            CHECK_IS(0, leat_scope_cancel(inner));
        int error = leat_scope_close(inner);
        if (!(error == 0 || error == -ETIMEDOUT || error == -ECANCELED))
            CHECK_IS(0, error);
        atomic_store(&stop, true);
        CHECK_IS(0, leat_scope_close(others));
        CHECK_IS(0, leat_io_close(pair.a));
        int64_t got = 0, n;
        while ((n = leat_read_until(pair.b, much, sizeof much, late())) > 0)
            got += n;
        CHECK_IS(atomic_load(&writer.result), got);
    }
    return leat_scope_close(scope);
}
ON_WORKERS(returns_what_was_written);

/* ---- ends that race ---- */

struct guarded {
    leat_io *io;
    int64_t deadline, got;
    char *buffer;
};

enum { GUARDED = 64 };

static int read_guarded(void *arg)
{
    struct guarded *g = arg;
    memset(g->buffer, 'g', GUARDED);
    int64_t n = leat_read_until(g->io, g->buffer, GUARDED, g->deadline);
    CHECK(n > 0 || n == -ETIMEDOUT || n == -ECANCELED || n == -EBADF);
    g->got = n > 0 ? n : 0;
    return 0;
}

static void check_guard(const struct guarded *g)
{
    for (int64_t i = g->got; i < GUARDED; i++)
        CHECK_IS('g', g->buffer[i]);
}

/* Bytes that come after the call has returned stay in the socket, and the buffer is untouched. */
static int writes_to_no_buffer_later(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    for (int i = 0; i < 60 / SCALE + 4; i++) {
        struct pair pair = i % 2 ? tcp(scope) : open_pair(scope);
        struct guarded g = { pair.a, i % 4 < 2 ? LEAT_NEVER : leat_after(LEAT_MS), -1, page };
        leat_scope *inner = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(inner, read_guarded, &g));
        if (i % 4 < 2) {
            WAIT_UNTIL(in_ring(pair.a, LT_IN));
            CHECK_IS(0, leat_scope_cancel(inner));
        }
        CHECK_IS(0, leat_scope_close(inner));
        CHECK_IS(0, g.got);
        CHECK_IS(3, write(leat_io_fd(pair.b), "abc", 3));
        CHECK_IS(1, poll(&(struct pollfd){ leat_io_fd(pair.a), POLLIN, 0 }, 1, 10000));
        check_guard(&g);
        char bytes[8];
        CHECK_IS(3, leat_read_until(pair.a, bytes, sizeof bytes, late()));
        check_guard(&g);
    }
    munmap(page, 4096);
    return leat_scope_close(scope);
}
ON_WORKERS(writes_to_no_buffer_later);

/* Data, deadline, cancel and close come at the same moment: each byte is read once, or still
 * there. */
static int loses_no_byte(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    int64_t sent = 0, got = 0;
    char buffer[GUARDED], bytes[4096];
    for (int i = 0; i < often(10000); i++) {
        struct crew crew;
        crew_open(&crew);
        struct guarded g = { pair.a, leat_after((int64_t)below(&chance, 60) * LEAT_US), 0, buffer };
        crew_go(&crew, TASK, read_guarded, &g);
        for (unsigned turns = below(&chance, 4); turns > 0; turns--)
            leat_yield();
        int64_t n = 1 + below(&chance, 3);
        bool closes = below(&chance, 16) == 0;
        if (closes && below(&chance, 2))
            CHECK_IS(0, leat_io_close(pair.a));
        else
            sent += n;
        ssize_t written = send(leat_io_fd(pair.b), "abc", (size_t)n, MSG_NOSIGNAL);
        CHECK(written == n || (closes && written < 0));
        if (below(&chance, 2))
            CHECK_IS(0, leat_scope_cancel(crew.scope));
        int number = closes ? dup(leat_io_fd(pair.b)) : -1;
        if (closes)
            leat_io_close(pair.a);
        crew_close(&crew);
        check_guard(&g);
        got += g.got;
        if (!closes)
            continue;
        /* The bytes left in the socket have gone with it. */
        CHECK(got <= sent + n);
        got = sent = 0;
        close(number);
        CHECK_IS(0, leat_io_close(pair.b));
        pair = i % 3 ? tcp(scope) : open_pair(scope);
    }
    while (got < sent) {
        int64_t n = leat_read_until(pair.a, bytes, sizeof bytes, late());
        CHECK(n > 0);
        got += n;
    }
    CHECK_IS(sent, got);
    return leat_scope_close(scope);
}
ON_WORKERS(loses_no_byte);

static int closing_ends_a_read(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 200 / SCALE + 4; i++) {
        struct pair pair = i % 2 ? tcp(scope) : open_pair(scope);
        struct user reader = { pair.a, 1, LEAT_NEVER };
        leat_scope *inner = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(inner, read_one, &reader));
        if (i % 3)
            WAIT_UNTIL(in_ring(pair.a, LT_IN));
        CHECK_IS(0, leat_io_close(pair.a));
        CHECK_IS(0, leat_scope_close(inner));
        CHECK_IS(-EBADF, atomic_load(&reader.result));
    }
    return leat_scope_close(scope);
}
ON_WORKERS(closing_ends_a_read);

static int cancels_a_crowd(void *arg)
{
    (void)arg;
    enum { MANY = SCALE == 1 ? 1000 : 40 };
    leat_scope *scope = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    struct user *readers = calloc(MANY, sizeof *readers);
    for (int i = 0; i < MANY; i++) {
        readers[i] = (struct user){ open_pair(scope).a, 0, i % 2 ? LEAT_NEVER : late() };
        CHECK_IS(0, leat_go(inner, read_one, &readers[i]));
    }
    for (int i = 0; i < MANY; i++)
        WAIT_UNTIL(in_ring(readers[i].io, LT_IN) || lt_io_is_registered(readers[i].io));
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    for (int i = 0; i < MANY; i++)
        CHECK_IS(-ECANCELED, atomic_load(&readers[i].result));
    free(readers);
    return leat_scope_close(scope);
}
ON_WORKERS(cancels_a_crowd);

/* ---- a worker that computes ---- */

static int write_one(void *arg)
{
    CHECK_IS(1, write(*(int *)arg, "x", 1));
    return 0;
}

/* The caller keeps its worker, which has the ring of the read. */
static int holds_up_no_read(void *arg)
{
    (void)arg;
    if (leat_workers() == 1)
        return 0;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 12; i++) {
        struct pair pair = i % 2 ? tcp(scope) : open_pair(scope);
        struct user reader = { pair.a, 0, i % 3 == 2 ? leat_after(5 * LEAT_MS) : LEAT_NEVER };
        int number = leat_io_fd(pair.b), expected = i % 3 == 2 ? -ETIMEDOUT : 1;
        struct foreign writer;
        CHECK_IS(0, leat_go(scope, read_one, &reader));
        /* Submitted, or only queued; or its deadline has passed already. */
        while (!in_ring(pair.a, LT_IN) && atomic_load(&reader.result) != expected)
            leat_yield();
        if (i % 3)
            leat_sleep(LEAT_MS);
        if (expected == 1)
            foreign_start(&writer, write_one, &number);
        while (atomic_load(&reader.result) != expected) {
        }
        if (expected == 1)
            CHECK_IS(0, foreign_join(&writer));
    }
    return leat_scope_close(scope);
}
ON_WORKERS(holds_up_no_read);

/* ---- a system that refuses ---- */

static void check_dump(const char *wanted)
{
    static char text[65536];
    FILE *file = tmpfile();
    CHECK_IS(0, leat_dump(file));
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    CHECK(strstr(text, wanted));
}

static bool any_in_ring(const struct pair *pairs, int n)
{
    bool any = false;
    for (int i = 0; i < n; i++)
        any |= in_ring(pairs[i].a, LT_IN);
    return any;
}

static int serve_many(void *error)
{
    enum { READERS = 30, WAYS = 3 };
    leat_scope *scope = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    struct pair pairs[READERS];
    struct user readers[READERS];
    for (int i = 0; i < READERS; i++) {
        pairs[i] = i % 2 ? tcp(scope) : open_pair(scope);
        readers[i] =
            (struct user){ pairs[i].a, 0, i % WAYS == 2 ? leat_after(30 * LEAT_MS) : LEAT_NEVER };
        CHECK_IS(0, leat_go(i % WAYS == 1 ? inner : scope, read_one, &readers[i]));
    }
    if (error) {
        WAIT_UNTIL(any_in_ring(pairs, READERS));
        check_dump("descriptors: io_uring and epoll");
        check_dump(": 1 waits to read\n");
        refuse(SYS_io_uring_enter, *(int *)error);
    }
    for (int i = 0; i < READERS; i += WAYS)
        CHECK_IS(1, write(leat_io_fd(pairs[i].b), "x", 1));
    for (int i = 0; i < READERS; i += WAYS)
        WAIT_UNTIL(atomic_load(&readers[i].result) == 1);
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    for (int i = 2; i < READERS; i += WAYS)
        WAIT_UNTIL(atomic_load(&readers[i].result) == -ETIMEDOUT);
    for (int i = 1; i < READERS; i += WAYS)
        CHECK_IS(-ECANCELED, atomic_load(&readers[i].result));
    CHECK_IS(0, leat_go(scope, echo, pairs[0].a));
    CHECK_IS(0, ask(pairs[0].b));
    check_dump("descriptors: epoll; the system refuses io_uring, error");
    return leat_scope_close(scope);
}

static void goes_on_without_a_ring(void **state)
{
    (void)state;
    skip_under_emulation();
    for (int i = 0; i < 6; i++) {
        int status, error = i % 2 ? EPERM : ENOSYS;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(100);
            if (i < 2)
                refuse(SYS_io_uring_setup, error);
            CHECK_IS(0, leat_main_with(serve_many, i < 2 ? NULL : &error,
                                       &(leat_options){ .workers = 1 + (unsigned)i % 3 }));
            _exit(0);
        }
        CHECK_IS(child, waitpid(child, &status, 0));
        CHECK_IS(0, status);
    }
}

/* ---- the environment ---- */

static void knows_three_words(void **state)
{
    (void)state;
    static const char *const good[] = { "auto", "epoll", "uring", "" }, *const bad[] = { "on",
                                                                                         "URING" };
    for (size_t i = 0; i < 2; i++) {
        int former = dup(STDERR_FILENO), ends[2];
        char text[256];
        setenv("LEAT_IO", bad[i], 1);
        CHECK_IS(0, pipe2(ends, O_CLOEXEC));
        CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
        int error = leat_start(NULL);
        CHECK(dup2(former, STDERR_FILENO) >= 0);
        ssize_t n = read(ends[0], text, sizeof text - 1);
        CHECK(n > 0);
        text[n] = 0;
        CHECK_IS(-EINVAL, error);
        CHECK(strstr(text, "LEAT_IO") && strstr(text, "auto, epoll or uring"));
        close(former);
        close(ends[0]);
        close(ends[1]);
    }
    for (size_t i = 0; i < 4; i++) {
        setenv("LEAT_IO", good[i], 1);
        CHECK_IS(0, leat_start(NULL));
        CHECK_IS(i == 2, lt_uring_is_wanted());
        CHECK_IS(0, leat_stop());
    }
    setenv("LEAT_IO", "uring", 1);
}

static int uses_a_ring(void *arg)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    char byte;
    CHECK_IS(-ETIMEDOUT, leat_read_until(open_pair(scope).a, &byte, 1, leat_after(LEAT_MS)));
    *(bool *)arg = lt_uring_refusal() == 0;
    return leat_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(reads_in_the_ring),
        TESTS_ON_WORKERS(answers_many),
        TESTS_ON_WORKERS(answers_many),
        TESTS_ON_WORKERS(returns_what_was_written),
        TESTS_ON_WORKERS(writes_to_no_buffer_later),
        TESTS_ON_WORKERS(loses_no_byte),
        TESTS_ON_WORKERS(closing_ends_a_read),
        TESTS_ON_WORKERS(cancels_a_crowd),
        TESTS_ON_WORKERS(holds_up_no_read),
        cmocka_unit_test(goes_on_without_a_ring),
        cmocka_unit_test(knows_three_words),
    };
    bool there = false;
    struct rlimit limit;
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &limit));
    setenv("LEAT_IO", "uring", 1);
    CHECK_IS(0, leat_main(uses_a_ring, &there));
    return there ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
