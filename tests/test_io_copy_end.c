/* test_io_copy_end.c: what ends a copy, and what the next call then returns. In the seeded world
 * the pipes are simulated. */
#define _GNU_SOURCE
#include "copies.h"

#include <poll.h>
#include <stdlib.h>

static int read_all(void *io)
{
    char bytes[10000];
    int64_t n;
    while ((n = leat_read(io, bytes, sizeof bytes)) > 0)
        continue;
    return (int)n;
}

static int closing_the_file_ends_a_copy(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    enum { BYTES = 4 << 20 };
    FILE *file = tmpfile();
    CHECK_IS(0, ftruncate(fileno(file), BYTES));
    leat_io *pair[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    open_two(s, true, pair);
    struct relay relay = { adopt(s, dup(fileno(file))), pair[0], 0, 0, 0 };
    CHECK_IS(0, leat_go(inner, copy_all, &relay));
    WAIT_UNTIL(receivers_of(leat_io_writable(pair[0])));
    CHECK_IS(0, leat_io_close(relay.from));
    CHECK_IS(0, leat_go(s, read_all, pair[1]));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK(relay.copied > 0 && relay.copied < BYTES);
    CHECK_IS(0, leat_io_close(pair[0]));
    fclose(file);
    return leat_scope_close(s);
}
ON_WORKERS(closing_the_file_ends_a_copy);

struct text {
    leat_io *to;
    const unsigned char *bytes;
    size_t n;
};

static int write_text(void *arg)
{
    struct text *text = arg;
    CHECK_IS(text->n, leat_write(text->to, text->bytes, text->n));
    return 0;
}

/* After bytes an error is kept, as leat_read_full keeps it: else a stream that was reset would seem
 * to have ended. In bulk it comes by the pipe. */
static int error_of_the_source_is_kept(void *arg)
{
    (void)arg;
    unsigned char *bytes = malloc(MOST_BYTES), *got = malloc(MOST_BYTES);
    fill(bytes, MOST_BYTES, 0);
    for (int kind = 0; kind < (IN_SIM ? 2 : 6); kind++) {
        leat_io *in[2], *out[2];
        leat_scope *s = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
        if (kind < 4)
            open_two(s, true, in);
        else
            open_ends(s, true, in);
        open_ends(s, kind >= 4, out);
        struct relay relay = { in[0], out[1], 0, 0, 0 };
        struct text text = { in[1], bytes, kind / 2 ? MOST_BYTES : 5 };
        CHECK_IS(1, leat_write(in[0], "x", 1)); /* never read: so the close is a reset */
        CHECK_IS(0, leat_go(inner, write_text, &text));
        CHECK_IS(0, kind % 2 ? leat_go_blocking(inner, copy_all, &relay)
                             : leat_go(inner, copy_all, &relay));
        CHECK_IS(text.n, leat_read_full(out[0], got, text.n, late()));
        expect(got, text.n, 0);
        CHECK_IS(0, leat_io_close(in[1]));
        CHECK_IS(0, leat_scope_close(inner));
        CHECK_IS(text.n, relay.copied);
        CHECK_IS(-ECONNRESET, leat_copy(out[1], in[0], INT64_MAX, LEAT_NEVER));
        CHECK_IS(0, leat_copy(out[1], in[0], INT64_MAX, LEAT_NEVER));
        CHECK_IS(0, leat_scope_close(s));
    }
    free(bytes);
    free(got);
    return 0;
}
ON_WORKERS(error_of_the_source_is_kept);

/* The system passes no urgent byte through a pipe, and nothing that comes after it. */
static int write_around_an_urgent_byte(void *arg)
{
    struct text *text = arg;
    for (int i = 0; i < 2; i++) {
        CHECK_IS(text->n, leat_write(text->to, text->bytes, text->n));
        struct iovec part = { (char[]){ '!' }, 1 };
        struct msghdr urgent = { .msg_iov = &part, .msg_iovlen = 1 };
        if (i == 0)
            CHECK_IS(1, leat_sendmsg(text->to, &urgent, MSG_OOB, LEAT_NEVER));
    }
    return leat_io_close(text->to);
}

static bool has_ended(leat_io *io)
{
    struct pollfd end = { .fd = leat_io_fd(io), .events = POLLRDHUP };
    return poll(&end, 1, 0) == 1;
}

static int an_urgent_byte_ends_no_copy(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0;
    unsigned char *bytes = malloc(MOST_BYTES), *got = malloc(MOST_BYTES);
    fill(bytes, MOST_BYTES, 0);
    for (int kind = 0; kind < 4; kind++) {
        leat_io *in[2], *out[2];
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        open_ends(s, true, in);
        open_ends(s, true, out);
        struct relay relay = { in[0], out[1], 0, 0, 0 };
        struct text text = { in[1], bytes, MOST_BYTES };
        int room = MOST_BYTES;
        if (kind / 2) { /* all has come, and the end, before the copy begins */
            CHECK_IS(0, setsockopt(leat_io_fd(in[0]), SOL_SOCKET, SO_RCVBUF, &room, sizeof room));
            text.n = 70000;
        }
        CHECK_IS(0, leat_go(s, write_around_an_urgent_byte, &text));
        if (kind / 2)
            WAIT_UNTIL(has_ended(in[0]));
        CHECK_IS(0,
                 kind % 2 ? leat_go_blocking(s, copy_all, &relay) : leat_go(s, copy_all, &relay));
        for (int i = 0; i < 2; i++) {
            CHECK_IS(text.n, leat_read_full(out[0], got, text.n, late()));
            expect(got, text.n, 0);
        }
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(2 * text.n, relay.copied);
    }
    free(bytes);
    free(got);
    return 0;
}
ON_WORKERS(an_urgent_byte_ends_no_copy);

/* Neither side ever makes it wait. */
static int copy_without_waits(void *arg)
{
    enum { MUCH = 1 << 28 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_io *from = adopt(s, open("/dev/zero", O_RDONLY | O_CLOEXEC)),
            *to = adopt(s, open("/dev/null", O_WRONLY | O_CLOEXEC));
    int64_t n = leat_copy(to, from, MUCH, leat_after(LEAT_MS));
    CHECK(n < MUCH && (n > 0 || n == -ETIMEDOUT));
    CHECK_IS(-ETIMEDOUT, leat_copy(to, from, MUCH, 1));
    CHECK_IS(1, leat_copy(to, from, 1, LEAT_NOW));
    leat_scope_cancel(s);
    CHECK_IS(-ECANCELED, leat_copy(to, from, 1, 1));
    CHECK_IS(-ECANCELED, leat_copy(to, from, 1, LEAT_NOW));
    (void)arg;
    return leat_scope_close(s);
}

static int deadline_ends_a_fast_copy(void *arg)
{
    (void)arg;
    struct crew crew;
    if (IN_SIM)
        return 0;
    crew_open(&crew);
    for (int kind = 0; kind < KINDS; kind++)
        crew_go(&crew, kind_of(kind), copy_without_waits, NULL);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(deadline_ends_a_fast_copy);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(closing_the_file_ends_a_copy),
        TESTS_ON_WORKERS(error_of_the_source_is_kept),
        TESTS_ON_WORKERS(an_urgent_byte_ends_no_copy),
        TESTS_ON_WORKERS(deadline_ends_a_fast_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
