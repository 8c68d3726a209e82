/* test_io_copy.c: copies that are cut short lose nothing. In the seeded world the pipes are
 * simulated. */
#define _GNU_SOURCE
#include "copies.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* In place of the C library's read: a signal interrupts every second one of a pipe, as it may. */
ssize_t read_or_not(int fd, void *bytes, size_t n) __asm__("read");

ssize_t read_or_not(int fd, void *bytes, size_t n)
{
    static _Atomic unsigned calls;
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISFIFO(about.st_mode) || atomic_fetch_add(&calls, 1) % 2)
        return syscall(SYS_read, fd, bytes, n);
    errno = EINTR;
    return -1;
}

/* ---- a stream through a copier that is cut short again and again ---- */

enum { PASSED = IN_SIM ? 60000 : 2000000 / SCALE };

static int write_stream(void *arg)
{
    unsigned char bytes[CHUNK];
    for (size_t at = 0, n; at < PASSED; at += n) {
        n = PASSED - at < CHUNK ? PASSED - at : CHUNK;
        fill(bytes, n, at);
        CHECK_IS(n, leat_write(arg, bytes, n));
    }
    return leat_io_close(arg);
}

/* By a deadline, or by a cancel that comes before the call or during it. */
static int64_t copy_for_a_while(struct relay *relay)
{
    int64_t deadline = leat_after(below(&relay->chance, 200) * LEAT_US);
    if (below(&relay->chance, 2))
        return leat_copy(relay->to, relay->from, INT64_MAX, deadline);
    leat_scope *scope = leat_scope_open(deadline);
    int64_t n = leat_copy(relay->to, relay->from, 1 + below(&relay->chance, 100000), LEAT_NEVER);
    leat_scope_close(scope);
    return n;
}

static int pass_on(void *arg)
{
    struct relay *relay = arg;
    int64_t n;
    while ((n = copy_for_a_while(relay)) != 0) {
        if (n > 0)
            relay->copied += n;
        else
            CHECK(n == -ETIMEDOUT || n == -ECANCELED);
        relay->cuts++;
    }
    return leat_io_close(relay->to);
}

static int nothing_is_lost(void *arg)
{
    (void)arg;
    for (int kind = 0; kind < (IN_SIM ? 2 : 4); kind++) {
        leat_io *in[2], *out[2];
        unsigned char bytes[3000];
        size_t at = 0;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        open_ends(s, kind / 2, in);
        open_ends(s, kind / 2, out);
        struct relay relay = { in[0], out[1], seed_of_test(), 0, 0 };
        CHECK_IS(0, leat_go(s, write_stream, in[1]));
        CHECK_IS(0, kind % 2 ? leat_go_blocking(s, pass_on, &relay) : leat_go(s, pass_on, &relay));
        for (int64_t n; (n = leat_read(out[0], bytes, sizeof bytes)) != 0; at += (size_t)n) {
            CHECK(n > 0);
            expect(bytes, (size_t)n, at);
            if (at % 16 == 0)
                leat_sleep(20 * LEAT_US);
        }
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(PASSED, at);
        CHECK_IS(PASSED, relay.copied);
    }
    return 0;
}
ON_WORKERS(nothing_is_lost);

/* The copy is cut short while its pipe is full, since nobody reads. */
static int a_full_pipe_gives_back(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    leat_io *in[2], *out[2];
    unsigned char bytes[3000];
    int little = 10000;
    int64_t n, copied = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_ends(s, true, in);
    open_ends(s, true, out);
    CHECK_IS(0, setsockopt(leat_io_fd(out[1]), SOL_SOCKET, SO_SNDBUF, &little, sizeof little));
    CHECK_IS(0, leat_go(s, write_stream, in[1]));
    for (; (n = leat_copy(out[1], in[0], INT64_MAX, leat_after(20 * LEAT_MS))) > 0; copied += n)
        continue;
    CHECK(n == 0 || n == -ETIMEDOUT);
    CHECK_IS(0, leat_io_close(out[1]));
    size_t at = 0;
    for (int i = 0; i < 2; i++)
        for (; (n = leat_read(i ? in[0] : out[0], bytes, sizeof bytes)) > 0; at += (size_t)n) {
            CHECK(i || at < (size_t)copied);
            expect(bytes, (size_t)n, at);
        }
    CHECK_IS(PASSED, at);
    return leat_scope_close(s);
}
ON_WORKERS(a_full_pipe_gives_back);

/* ---- what has come back ---- */

static void write_until_full(leat_io *io)
{
    static const char bytes[10000];
    int64_t n;
    while ((n = leat_write_until(io, bytes, sizeof bytes, LEAT_NOW)) > 0)
        continue;
    CHECK_IS(-EAGAIN, n);
}

static void give_back(leat_io *to, leat_io *from, leat_io *writer, const char *text)
{
    CHECK_IS(strlen(text), leat_write(writer, text, strlen(text)));
    CHECK_IS(-ETIMEDOUT, leat_copy(to, from, INT64_MAX, leat_after(20 * LEAT_MS)));
}

/* The descriptor itself is empty, and its channel would have been lowered. */
static int what_came_back_is_read_first(void *arg)
{
    (void)arg;
    leat_io *in[2], *out[2];
    char bytes[10] = "";
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, in);
    open_two(s, false, out);
    write_until_full(out[1]);
    CHECK_IS(-ETIMEDOUT, leat_read_until(in[0], bytes, 1, leat_after(LEAT_MS)));
    give_back(out[1], in[0], in[1], "hello");
    CHECK_IS(LEAT_IN, leat_ready(in[0], LEAT_IN, LEAT_NOW));
    leat_case cases[] = { LEAT_READABLE(in[0]) };
    CHECK_IS(0, leat_select(cases, 1, LEAT_NOW));
    CHECK_IS(IN_SIM ? -ENOTSUP : -EBUSY, leat_io_release(in[0]));
    give_back(out[1], in[0], in[1], "abc"); /* and what came back before with it */
    CHECK_IS(3, leat_write(in[1], "def", 3));
    CHECK_IS(1, leat_read(in[0], bytes, 1));
    struct iovec parts[] = { { bytes + 1, 3 }, { bytes + 4, 0 }, { bytes + 4, 2 } };
    int64_t n = leat_readv(in[0], parts, 3, LEAT_NOW);
    CHECK(n > 0);
    CHECK_IS(9 - n, leat_read_full(in[0], bytes + 1 + n, (size_t)(9 - n), LEAT_NEVER));
    CHECK(memcmp(bytes, "helloabcde", 10) == 0);
    CHECK_IS(1, leat_read(in[0], bytes, 10));
    CHECK_IS(-EAGAIN, leat_read_until(in[0], bytes, 1, LEAT_NOW));
    CHECK_IS(-ETIMEDOUT, leat_ready(in[0], LEAT_IN, leat_after(LEAT_MS)));
    give_back(out[1], in[0], in[1], "freed with the scope");
    return leat_scope_close(s);
}
ON_WORKERS(what_came_back_is_read_first);

/* Also an error of the destination gives back, and wakes a reader that waits. */
static int coming_back_wakes_a_reader(void *arg)
{
    (void)arg;
    leat_io *in[2], *out[2];
    for (int broken = 0; broken < 2; broken++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER);
        open_two(outer, false, in);
        open_two(outer, false, out);
        write_until_full(out[1]);
        struct relay relay = { in[0], out[1], 0, 0, 0 };
        struct user reader = { in[0], 0, LEAT_NEVER };
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(s, copy_all, &relay));
        CHECK_IS(1, leat_write(in[1], "x", 1));
        WAIT_UNTIL(receivers_of(leat_io_writable(out[1])));
        leat_shield();
        leat_scope *inner = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(inner, read_one, &reader));
        WAIT_UNTIL(readers_of(in[0]) == 1);
        CHECK_IS(0, broken ? leat_io_close(out[0]) : leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(inner));
        leat_unshield();
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(broken ? -EPIPE : -ECANCELED, relay.copied);
        CHECK_IS(1, reader.result);
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(coming_back_wakes_a_reader);

/* What it has read could not come back to a descriptor that is no longer leat's. */
static int a_copy_keeps_its_source(void *arg)
{
    (void)arg;
    leat_io *in[2], *out[2];
    char byte;
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    open_two(outer, false, in);
    open_two(outer, false, out);
    write_until_full(out[1]);
    struct relay relay = { in[0], out[1], 0, 0, 0 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(s, copy_all, &relay));
    CHECK_IS(1, leat_write(in[1], "x", 1));
    WAIT_UNTIL(receivers_of(leat_io_writable(out[1])));
    CHECK_IS(IN_SIM ? -ENOTSUP : -EBUSY, leat_io_release(in[0]));
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-ECANCELED, relay.copied);
    CHECK_IS(1, leat_read_until(in[0], &byte, 1, late()));
    return leat_scope_close(outer);
}
ON_WORKERS(a_copy_keeps_its_source);

/* ---- messages, and files ---- */

static int messages_find_it(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    leat_io *in[2], *out[2];
    char bytes[10];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, in);
    open_two(s, false, out);
    write_until_full(out[1]);
    give_back(out[1], in[0], in[1], "hello");
    struct iovec part = { bytes, 2 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_name = bytes + 2 };
    message.msg_namelen = 5;
    CHECK_IS(2, leat_recvmsg(in[0], &message, MSG_PEEK, LEAT_NOW));
    CHECK_IS(0, message.msg_namelen);
    CHECK_IS(2, leat_recvmsg(in[0], &message, 0, LEAT_NOW));
    CHECK(memcmp(bytes, "he", 2) == 0);
    CHECK_IS(3, leat_recvfrom(in[0], bytes, sizeof bytes, NULL, NULL, LEAT_NOW));
    CHECK(memcmp(bytes, "llo", 3) == 0);
    give_back(out[1], in[0], in[1], "dropped");
    part = (struct iovec){ NULL, 7 };
    CHECK_IS(7, leat_recvmsg(in[0], &message, MSG_TRUNC, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_recvfrom(in[0], bytes, sizeof bytes, NULL, NULL, LEAT_NOW));
    return leat_scope_close(s);
}
ON_WORKERS(messages_find_it);

struct copying_block {
    leat_block block;
    leat_io *to, *from;
    int64_t copied;
};

static int copy_at_once(leat_block *b)
{
    struct copying_block *me = (struct copying_block *)b;
    LEAT_BEGIN(b);
    me->copied = leat_copy(me->to, me->from, 1000, LEAT_NOW);
    LEAT_END(b);
}

/* By a block, into a pipe, and the rest by a task into a socket. */
static int files_are_copied_in_order(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    unsigned char *bytes = malloc(MOST_BYTES);
    fill(bytes, MOST_BYTES, 0);
    FILE *file = tmpfile();
    CHECK_IS(1, fwrite(bytes, MOST_BYTES, 1, file));
    CHECK_IS(0, fflush(file));
    rewind(file);
    leat_io *pair[2], *pipe[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, pair);
    open_two(s, false, pipe);
    leat_io *from = adopt(s, dup(fileno(file)));
    struct copying_block block = { .to = pair[0], .from = from };
    CHECK_IS(0, leat_go_block(s, &block.block, copy_at_once));
    CHECK_IS(0, leat_block_join(&block.block));
    CHECK_IS(1000, block.copied);
    CHECK_IS(1000, leat_read_full(pair[1], bytes, 1000, LEAT_NEVER));
    expect(bytes, 1000, 0);
    struct relay into_pipe = { from, pipe[1], 0, 0, 0 }, relay = { from, pair[0], 0, 0, 0 };
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(inner, copy_all, &into_pipe));
    WAIT_UNTIL(receivers_of(leat_io_writable(pipe[1])));
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_scope_close(inner));
    int64_t piped = into_pipe.copied;
    CHECK(piped > 0 && piped < MOST_BYTES - 1000);
    CHECK_IS(0, leat_go(s, copy_all, &relay));
    size_t rest = MOST_BYTES - 1000 - (size_t)piped;
    CHECK_IS(rest, leat_read_full(pair[1], bytes, rest, late()));
    expect(bytes, rest, 1000 + (size_t)piped);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(rest, relay.copied);
    fclose(file);
    free(bytes);
    return 0;
}
ON_WORKERS(files_are_copied_in_order);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(nothing_is_lost),
        TESTS_ON_WORKERS(a_full_pipe_gives_back),
        TESTS_ON_WORKERS(what_came_back_is_read_first),
        TESTS_ON_WORKERS(coming_back_wakes_a_reader),
        TESTS_ON_WORKERS(a_copy_keeps_its_source),
        TESTS_ON_WORKERS(messages_find_it),
        TESTS_ON_WORKERS(files_are_copied_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
