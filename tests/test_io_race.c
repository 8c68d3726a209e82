/* test_io_race.c: descriptors at the wrong moment: closed, cancelled, written to or given away
 * while parties use them. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <poll.h>

/* ---- closing beside users of all kinds ---- */

struct block {
    leat_block block;
    leat_io *io;
    size_t done;
    int result;
    char byte;
};

static int read_as_block(leat_block *b)
{
    struct block *me = (struct block *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_READ(b, me->io, &me->byte, 1);
    me->result = b->status;
    LEAT_END(b);
}

static char much[1 << 20];

static int write_as_block(leat_block *b)
{
    struct block *me = (struct block *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_WRITE(b, me->io, much, sizeof much, me->done);
    me->result = b->status;
    LEAT_END(b);
}

static int wait_as_block(leat_block *b)
{
    struct block *me = (struct block *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_READY(b, me->io, LEAT_IN, LEAT_NEVER, NULL);
    me->result = b->status;
    LEAT_END(b);
}

struct operation {
    leat_op op;
    _Atomic int status;
};

static void note_status(leat_op *op, int status)
{
    atomic_store(&((struct operation *)op)->status, status);
}

static int write_much(void *arg)
{
    struct user *user = arg;
    int64_t n = leat_write(user->io, much, sizeof much);
    atomic_store(&user->result, n);
    return 0;
}

static int select_one(void *arg)
{
    struct user *user = arg;
    leat_case cases[] = { LEAT_READABLE(user->io) };
    int n = leat_select(cases, 1, LEAT_NEVER);
    atomic_store(&user->result, n ? n : cases[0].status);
    return 0;
}

static int ready_one(void *arg)
{
    struct user *user = arg;
    atomic_store(&user->result, leat_ready(user->io, LEAT_IN | LEAT_OUT, LEAT_NEVER));
    return 0;
}

static int closing_ends_each_wait(void *arg)
{
    (void)arg;
    for (int round = 0; round < 12 / SCALE + 1; round++) {
        struct crew crew;
        crew_open(&crew);
        struct pair pair = open_pair(crew.scope);
        while (write(leat_io_fd(pair.a), much, 4096) == 4096 &&
               poll(&(struct pollfd){ leat_io_fd(pair.a), POLLOUT, 0 }, 1, 0) == 1) {
        }
        struct user readers[KINDS], writers[KINDS], selects[KINDS], ready[KINDS];
        struct block blocks[3] = { { .io = pair.a }, { .io = pair.a }, { .io = pair.a } };
        struct operation op = { LEAT_OP(crew.scope, 0), 1 };
        for (enum kind kind = TASK; kind < KINDS; kind++) {
            readers[kind] = writers[kind] = selects[kind] = ready[kind] =
                (struct user){ pair.a, 0, LEAT_NEVER };
            crew_go(&crew, kind, read_one, &readers[kind]);
            crew_go(&crew, kind, write_much, &writers[kind]);
            crew_go(&crew, kind, select_one, &selects[kind]);
            crew_go(&crew, kind, ready_one, &ready[kind]);
        }
        CHECK_IS(0, leat_go_block(crew.scope, &blocks[0].block, read_as_block));
        CHECK_IS(0, leat_go_block(crew.scope, &blocks[1].block, write_as_block));
        CHECK_IS(0, leat_go_block(crew.scope, &blocks[2].block, wait_as_block));
        CHECK_IS(0, leat_ready_then(&op.op, pair.a, LEAT_IN, note_status));
        if (round)
            WAIT_UNTIL(readers_of(pair.a) == 12); /* 3 kinds each read, select and get ready; … */
        CHECK_IS(0, leat_io_close(pair.a));
        CHECK_IS(-EBADF, leat_io_close(pair.a));
        crew_close(&crew);
        for (enum kind kind = TASK; kind < KINDS; kind++) {
            CHECK_IS(-EBADF, atomic_load(&readers[kind].result));
            CHECK(atomic_load(&writers[kind].result) == -EBADF ||
                  atomic_load(&writers[kind].result) > 0);
            CHECK_IS(-EPIPE, atomic_load(&selects[kind].result));
            CHECK_IS(-EBADF, atomic_load(&ready[kind].result));
        }
        for (int i = 0; i < 3; i++)
            CHECK_IS(-EBADF, blocks[i].result);
        CHECK_IS(-EPIPE, atomic_load(&op.status));
    }
    return 0;
}
ON_WORKERS(closing_ends_each_wait);

/* Also if no party has waited before. */
static int closing_closes_the_channels(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int registered = 0; registered < 2; registered++) {
        struct pair pair = open_pair(scope);
        CHECK_IS(1, leat_write(pair.b, "x", 1));
        leat_chan *in = registered ? leat_io_readable(pair.a) : NULL;
        leat_chan *out = registered ? leat_io_writable(pair.a) : NULL;
        CHECK_IS(0, registered ? leat_recv(in, NULL) : 0);
        CHECK_IS(0, leat_io_close(pair.a));
        CHECK_IS(-EPIPE, leat_recv(leat_io_readable(pair.a), NULL));
        CHECK_IS(-EPIPE, leat_recv(leat_io_writable(pair.a), NULL));
        CHECK_IS(-EPIPE, registered ? leat_recv(in, NULL) : -EPIPE);
        CHECK_IS(-EPIPE, registered ? leat_recv(out, NULL) : -EPIPE);
        struct operation op = { LEAT_OP(scope, 0), 1 };
        CHECK_IS(0, leat_ready_then(&op.op, pair.a, LEAT_OUT, note_status));
        WAIT_UNTIL(atomic_load(&op.status) == -EPIPE);
        CHECK_IS(-EBADF, leat_io_release(pair.a));
        CHECK_IS(-EBADF, leat_shutdown(pair.a, SHUT_RD));
    }
    return leat_scope_close(scope);
}
ON_WORKERS(closing_closes_the_channels);

/* leat_io_writable in the middle of a close: the closer has found no channel for writing. */
static int a_close_hides_no_channel(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_io *a = open_pair(scope).a;
    leat_chan *readable = lt_io_chan(a, LT_IN);
    lt_chan_lock(readable);
    lt_chan_set_count(readable, 0);
    CHECK(!lt_chan_close_now(readable));
    lt_chan_unlock(readable);
    leat_case cases[] = { LEAT_WRITABLE(a) };
    CHECK_IS(0, leat_select(cases, 1, late()));
    CHECK_IS(-EPIPE, cases[0].status);
    CHECK_IS(0, leat_io_close(a));
    return leat_scope_close(scope);
}
ON_WORKERS(a_close_hides_no_channel);

/* ---- closed, and the number used again at once ---- */

struct traffic {
    struct pair pair;
    _Atomic bool stop;
    _Atomic int64_t sent, got;
};

static int send_traffic(void *arg)
{
    struct traffic *traffic = arg;
    char bytes[64] = { 0 };
    while (!atomic_load(&traffic->stop)) {
        CHECK_IS(sizeof bytes, leat_write(traffic->pair.a, bytes, sizeof bytes));
        atomic_fetch_add(&traffic->sent, (int64_t)sizeof bytes);
    }
    return leat_shutdown(traffic->pair.a, SHUT_WR);
}

static int get_traffic(void *arg)
{
    struct traffic *traffic = arg;
    char bytes[100];
    int64_t n;
    while ((n = leat_read(traffic->pair.b, bytes, sizeof bytes)) > 0)
        atomic_fetch_add(&traffic->got, n);
    return (int)n;
}

static int closes_and_reuses_numbers(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    struct traffic traffic = { .pair = open_pair(crew.scope) };
    crew_go(&crew, TASK, send_traffic, &traffic);
    crew_go(&crew, BLOCKING, get_traffic, &traffic);
    int rounds = in_long_run() ? 100000 / SCALE : often(12000), reused = 0, number = -1;
    for (int i = 0; i < rounds; i++) {
        struct crew inner;
        crew_open(&inner);
        struct pair pair = open_pair(NULL);
        reused += leat_io_fd(pair.a) == number;
        number = leat_io_fd(pair.a);
        struct user reader = { pair.a, 0, LEAT_NEVER };
        /* The peer writes just before or after the close; no party of the next round hears of
         * it. */
        if (i % 4 == 0) {
            char byte;
            CHECK_IS(-EAGAIN, leat_read_until(pair.a, &byte, 1, LEAT_NOW));
            int64_t n = leat_read_until(pair.a, &byte, 1, leat_after(LEAT_US));
            CHECK_IS(-ETIMEDOUT, n);
        }
        crew_go(&inner, i % 64 == 0 ? BLOCKING : TASK, read_one, &reader);
        if (i % 2)
            leat_yield();
        int copy = i % 3 ? -1 : dup(leat_io_fd(pair.a));
        if (i % 8 == 1)
            CHECK_IS(1, leat_write(pair.b, "x", 1));
        CHECK_IS(0, leat_io_close(pair.a));
        if (copy >= 0) {
            ssize_t n = write(leat_io_fd(pair.b), "x", 1); /* for the copy alone */
            CHECK_IS(1, n);
            close(copy);
        }
        crew_close(&inner);
        int64_t n = atomic_load(&reader.result);
        /* A read that was under way at the close may still find the byte. */
        CHECK(n == -EBADF || (n == 1 && (i % 8 == 1 || copy >= 0)));
        CHECK_IS(0, leat_io_unref(pair.a));
        CHECK_IS(0, leat_io_unref(pair.b));
    }
    atomic_store(&traffic.stop, true);
    crew_close(&crew);
    CHECK_IS(atomic_load(&traffic.sent), atomic_load(&traffic.got));
    CHECK(reused > rounds / 2);
    return 0;
}
ON_WORKERS(closes_and_reuses_numbers);

/* ---- deadline, cancel and data at the same moment ---- */

struct race {
    struct user user;
    int64_t got;
};

static int read_until_end(void *arg)
{
    struct race *race = arg;
    char bytes[3];
    int64_t n = leat_read_until(race->user.io, bytes, sizeof bytes, race->user.deadline);
    CHECK(n > 0 || n == -ETIMEDOUT || n == -ECANCELED);
    race->got = n > 0 ? n : 0;
    return 0;
}

static int loses_no_byte(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    uint64_t chance = seed_of_test();
    int64_t sent = 0, got = 0;
    for (int i = 0; i < often(20000); i++) {
        struct crew crew;
        crew_open(&crew);
        struct race races[2];
        for (int k = 0; k < 2; k++) {
            int64_t deadline = leat_after((int64_t)below(&chance, 40) * LEAT_US);
            races[k] = (struct race){ { pair.a, 0, deadline }, 0 };
            crew_go(&crew, below(&chance, 32) ? TASK : BLOCKING, read_until_end, &races[k]);
        }
        for (unsigned turns = below(&chance, 4); turns > 0; turns--)
            leat_yield();
        int64_t n = 1 + below(&chance, 3);
        sent += n;
        CHECK_IS(n, write(leat_io_fd(pair.b), "abc", (size_t)n));
        if (below(&chance, 2))
            CHECK_IS(0, leat_scope_cancel(crew.scope));
        crew_close(&crew);
        got += races[0].got + races[1].got;
    }
    char bytes[4096];
    while (got < sent) {
        int64_t n = leat_read_until(pair.a, bytes, sizeof bytes, late());
        CHECK(n > 0);
        got += n;
    }
    CHECK_IS(sent, got);
    CHECK_IS(-ETIMEDOUT, leat_read_until(pair.a, bytes, 1, leat_after(LEAT_MS)));
    return leat_scope_close(scope);
}
ON_WORKERS(loses_no_byte);

/* The first wait: data comes around the time of the registration. */
static int write_later(void *arg)
{
    struct pair *pair = arg;
    leat_yield();
    CHECK_IS(1, write(leat_io_fd(pair->b), "x", 1));
    return 0;
}

static int misses_no_first_edge(void *arg)
{
    (void)arg;
    for (int i = 0; i < often(6000); i++) {
        struct crew crew;
        crew_open(&crew);
        struct pair pair;
        adopt_pair(crew.scope, i % 2 ? SOCK_STREAM : SOCK_DGRAM, &pair.a, &pair.b);
        struct user reader = { pair.a, 0, late() };
        crew_go(&crew, TASK, read_one, &reader);
        crew_go(&crew, i % 16 ? TASK : kind_of(i / 16), write_later, &pair);
        crew_close(&crew);
        CHECK_IS(1, atomic_load(&reader.result));
    }
    return 0;
}
ON_WORKERS(misses_no_first_edge);

/* ---- room between a call and the first wait of another writer ---- */

struct writer {
    struct pair pair;
    int calls;
};

static void read_all(int fd)
{
    while (recv(fd, much, sizeof much, MSG_DONTWAIT) > 0) {
    }
}

/* The first call finds no room. Before it returns, the reactor reports that there is room, and then
 * another party makes the channel for waiting. The byte is for the other direction: the event that
 * brings it is the last one. */
static int64_t write_late(leat_io *io, void *arg)
{
    struct writer *writer = arg;
    int64_t n = lt_io_result(send(io->fd, "x", 1, MSG_DONTWAIT));
    if (writer->calls++ > 0)
        return n;
    CHECK_IS(-EAGAIN, n);
    uint32_t before = lt_io_raise_count(io, LT_IN);
    read_all(writer->pair.b->fd);
    CHECK_IS(1, send(writer->pair.b->fd, "x", 1, 0));
    WAIT_UNTIL(lt_io_raise_count(io, LT_IN) > before);
    CHECK(!lt_io_chan(io, LT_OUT));
    CHECK(leat_io_writable(io));
    return n;
}

static int finds_room_before_the_first_wait(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct writer writer = { .pair = open_pair(scope) };
    leat_io *io = writer.pair.a;
    find_empty(io);
    while (send(io->fd, much, 4096, MSG_DONTWAIT) > 0) {
    }
    CHECK_IS(1, lt_io_repeat(io, LT_OUT, write_late, &writer, 0, late()));
    CHECK_IS(2, writer.calls);
    return leat_scope_close(scope);
}
ON_WORKERS(finds_room_before_the_first_wait);

/* ---- crowds ---- */

static int cancels_many_readers(void *arg)
{
    (void)arg;
    enum { READERS = SCALE == 1 ? 10000 : 2000 / SCALE };
    leat_scope *scope = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    struct pair pair = open_pair(scope);
    struct user *readers = calloc(READERS, sizeof *readers);
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct user){ pair.a, 0, i % 2 ? LEAT_NEVER : leat_after(60 * LEAT_S) };
        CHECK_IS(0, leat_go(inner, read_one, &readers[i]));
    }
    WAIT_UNTIL(receivers_of(lt_io_chan(pair.a, LT_IN)) + in_ring(pair.a, LT_IN) == READERS);
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    for (int i = 0; i < READERS; i++)
        CHECK_IS(-ECANCELED, atomic_load(&readers[i].result));
    free(readers);
    return leat_scope_close(scope);
}
ON_WORKERS(cancels_many_readers);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(closing_ends_each_wait),
        TESTS_ON_WORKERS(closing_closes_the_channels),
        TESTS_ON_WORKERS(a_close_hides_no_channel),
        TESTS_ON_WORKERS(closes_and_reuses_numbers),
        TESTS_ON_WORKERS(loses_no_byte),
        TESTS_ON_WORKERS(misses_no_first_edge),
        TESTS_ON_WORKERS(finds_room_before_the_first_wait),
        TESTS_ON_WORKERS(cancels_many_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
