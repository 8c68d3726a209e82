/* test_sim_io.c: simulated pipes and pairs: what the seed chooses, and that a seed repeats it.
 * test_io_pair.c has their ends and the waits for them. */
#include "traffic.h"

#include <fcntl.h>
#include <unistd.h>

enum { SEEDS = 600 };

/* Virtual time by which everything has arrived. */
#define LONG_AFTER (10 * LEAT_S)

static uint64_t seeds(void)
{
    return (uint64_t)(tries_more_seeds() ? 10 * SEEDS : SEEDS) / SCALE;
}

static void all_arrives_in_each_world(void **state)
{
    (void)state;
    CHECK_IS(0, leat_sim_each(0, seeds(), all_arrives, NULL));
    const leat_sim_options slow = { .slip = LEAT_US, .io_delay = LEAT_S };
    CHECK_IS(0, leat_sim_each_with(&slow, 0, seeds() / 4, all_arrives, NULL));
}

static uint64_t digest_of(uint64_t seed)
{
    uint64_t trace = 0;
    leat_sim_outcome outcome;
    CHECK_IS(0, leat_sim_with(&(leat_sim_options){ .seed = seed, .outcome = &outcome }, all_arrives,
                              &trace));
    return outcome.digest ^ trace;
}

static void repeats_itself(void **state)
{
    (void)state;
    enum { DIGESTS = 20 };
    uint64_t digests[DIGESTS];
    for (unsigned seed = 0; seed < DIGESTS; seed++)
        digests[seed] = digest_of(seed);
    for (unsigned seed = DIGESTS; seed-- > 0;) {
        void *elsewhere = malloc(64 + seed * 4096); /* shifts all later addresses */
        CHECK(digest_of(seed) == digests[seed]);
        free(elsewhere);
        for (unsigned other = 0; other < seed; other++)
            CHECK(digests[other] != digests[seed]);
    }
}

/* ---- what the seed chooses ---- */

/* In how many worlds each has been seen. */
static unsigned short_reads, short_writes, delays, longest_delays, full[5];

static int reads_may_be_short(void *arg)
{
    (void)arg;
    char bytes[1000] = { 0 };
    leat_io *ends[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, ends);
    CHECK_IS(sizeof bytes, leat_write(ends[1], bytes, sizeof bytes));
    CHECK_IS(0, leat_sleep(LONG_AFTER));
    int64_t n = leat_read_until(ends[0], bytes, sizeof bytes, LEAT_NOW);
    CHECK(n > 0);
    short_reads += n < (int64_t)sizeof bytes;
    return leat_scope_close(s);
}

struct letter {
    leat_io *io;
    char letter;
};

static int writes_a_letter(void *arg)
{
    struct letter *me = arg;
    char bytes[300];
    memset(bytes, me->letter, sizeof bytes);
    CHECK_IS(sizeof bytes, leat_write(me->io, bytes, sizeof bytes));
    return 0;
}

/* Between two pieces of a write another party may write. */
static int writes_may_be_short(void *arg)
{
    (void)arg;
    char bytes[600];
    leat_io *ends[2];
    int changes = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, ends);
    struct letter a = { ends[1], 'a' }, b = { ends[1], 'b' };
    CHECK_IS(0, leat_go(s, writes_a_letter, &a));
    CHECK_IS(0, leat_go(s, writes_a_letter, &b));
    CHECK_IS(sizeof bytes, leat_read_full(ends[0], bytes, sizeof bytes, LEAT_NEVER));
    for (size_t i = 1; i < sizeof bytes; i++)
        changes += bytes[i] != bytes[i - 1];
    CHECK(changes > 0);
    short_writes += changes > 1;
    return leat_scope_close(s);
}

static int bytes_may_be_late(void *arg)
{
    int64_t most = *(int64_t *)arg;
    char byte;
    leat_io *ends[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    int64_t before = leat_now();
    CHECK_IS(1, leat_write(ends[1], "x", 1));
    CHECK_IS(1, leat_read(ends[0], &byte, 1));
    int64_t took = leat_now() - before;
    CHECK(took >= 0 && took <= most);
    delays += took > 0;
    longest_delays += took > most / 2;
    return leat_scope_close(s);
}

static int rooms_differ(void *arg)
{
    (void)arg;
    static const char bytes[100000];
    leat_io *ends[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, ends);
    int64_t n = leat_write_until(ends[1], bytes, sizeof bytes, LEAT_NOW);
    CHECK_IS(-EAGAIN, leat_write_until(ends[1], bytes, 1, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_ready(ends[1], LEAT_OUT, LEAT_NOW));
    int i = 0;
    while (i < 5 && n != 4096 << i)
        i++;
    CHECK(i < 5);
    full[i]++;
    return leat_scope_close(s);
}

static void seed_chooses(void **state)
{
    (void)state;
    const unsigned n = 300;
    int64_t most = LEAT_MS;
    CHECK_IS(0, leat_sim_each(0, n, reads_may_be_short, NULL));
    CHECK(short_reads > n / 10 && short_reads < n / 2);
    CHECK_IS(0, leat_sim_each(0, n, writes_may_be_short, NULL));
    CHECK(short_writes > n / 50 && short_writes < n / 2);
    CHECK_IS(0, leat_sim_each(0, n, bytes_may_be_late, &most));
    CHECK(delays > n / 10 && delays < n / 2);
    delays = longest_delays = 0;
    most = LEAT_S;
    const leat_sim_options slow = { .io_delay = most };
    CHECK_IS(0, leat_sim_each_with(&slow, 0, n, bytes_may_be_late, &most));
    CHECK(delays > n / 10 && longest_delays > 0);
    CHECK_IS(0, leat_sim_each(0, n, rooms_differ, NULL));
    for (int i = 0; i < 5; i++)
        CHECK(full[i] > n / 15);
}

/* ---- resets ---- */

static unsigned resets;

struct talker {
    leat_io *io;
    int64_t error;
};

/* A transfer that is cut short leaves its error to the next one of the same direction. */
static int talk(void *arg)
{
    struct talker *me = arg;
    char bytes[50] = { 0 };
    int64_t n = sizeof bytes;
    for (int i = 0; i < 40 && n == sizeof bytes; i++) {
        n = leat_write(me->io, bytes, sizeof bytes);
        if (n > 0 && n < (int64_t)sizeof bytes)
            n = leat_write(me->io, bytes, 1);
        if (n == sizeof bytes)
            n = leat_read_full(me->io, bytes, sizeof bytes, LEAT_NEVER);
        if (n > 0 && n < (int64_t)sizeof bytes)
            n = leat_read(me->io, bytes, 1);
    }
    me->error = n < 0 ? n : 0;
    CHECK(n != 0);
    return 0;
}

/* Each end finds the error once, and what then is left of the stream. */
static int both_ends_find_a_reset(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    char bytes[50];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    struct talker talkers[2] = { { ends[0], 0 }, { ends[1], 0 } };
    leat_scope *talking = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(talking, talk, &talkers[0]));
    CHECK_IS(0, leat_go(talking, talk, &talkers[1]));
    CHECK_IS(0, leat_scope_close(talking));
    bool reset = talkers[0].error || talkers[1].error;
    resets += reset;
    for (int i = 0; i < 2 && reset; i++) {
        int64_t n = talkers[i].error;
        if (!n) /* it had read the last bytes before the reset */
            n = leat_read(ends[i], bytes, sizeof bytes);
        CHECK_IS(-ECONNRESET, n);
        while ((n = leat_read(ends[i], bytes, sizeof bytes)) > 0) {
        }
        CHECK_IS(0, n);
        CHECK_IS(-EPIPE, leat_write(ends[i], bytes, 1));
        CHECK_IS(LEAT_IN | LEAT_OUT | LEAT_HUP, leat_ready(ends[i], LEAT_IN | LEAT_OUT, LEAT_NOW));
    }
    return leat_scope_close(s);
}

static int first_write_is_reset(void *arg)
{
    (void)arg;
    leat_io *pair[2], *pipe[2];
    char byte = 'x';
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, pair);
    open_two(s, false, pipe);
    CHECK_IS(-ECONNRESET, leat_write(pair[0], &byte, 1));
    CHECK_IS(-EPIPE, leat_write(pair[0], &byte, 1));
    CHECK_IS(0, leat_read(pair[0], &byte, 1));
    CHECK_IS(-ECONNRESET, leat_read(pair[1], &byte, 1));
    CHECK_IS(0, leat_read(pair[1], &byte, 1));
    for (int i = 0; i < 20; i++) {
        CHECK_IS(1, leat_write(pipe[1], &byte, 1));
        CHECK_IS(1, leat_read(pipe[0], &byte, 1));
    }
    return leat_scope_close(s);
}

static void resets_where_asked(void **state)
{
    (void)state;
    CHECK_IS(0, leat_sim_each(0, 100, both_ends_find_a_reset, NULL));
    CHECK_IS(0, resets);
    const leat_sim_options some = { .io_resets = 100 }, always = { .io_resets = 1 };
    CHECK_IS(0, leat_sim_each_with(&some, 0, 300, both_ends_find_a_reset, NULL));
    CHECK(resets > 100 && resets < 300);
    CHECK_IS(0, leat_sim_each_with(&always, 0, 50, first_write_is_reset, NULL));
}

/* ---- waits ---- */

static int read_one(void *arg)
{
    struct talker *me = arg;
    char byte;
    me->error = leat_read(me->io, &byte, 1);
    return 0;
}

static int write_until_error(void *arg)
{
    static const char bytes[10000];
    struct talker *me = arg;
    do
        me->error = leat_write(me->io, bytes, sizeof bytes);
    while (me->error > 0);
    return 0;
}

/* As TCP does. */
static int shutdown_ends_a_wait_to_write(void *arg)
{
    (void)arg;
    leat_io *ends[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, true, ends);
    struct talker writer = { ends[0], 0 };
    CHECK_IS(0, leat_go(s, write_until_error, &writer));
    WAIT_UNTIL(receivers_of(leat_io_writable(ends[0])));
    CHECK_IS(0, leat_shutdown(ends[0], SHUT_WR));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-EPIPE, writer.error);
    return 0;
}

static void shuts_down_under_a_writer(void **state)
{
    (void)state;
    CHECK_IS(0, leat_sim_each(0, seeds() / 4, shutdown_ends_a_wait_to_write, NULL));
}

static int sleeps_for_ever(void *arg)
{
    (void)arg;
    return leat_sleep_until(LEAT_NEVER) == -ECANCELED ? 0 : 1;
}

static int waits_without_partner(void *arg)
{
    struct talker *me = arg;
    leat_io *ends[2];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    open_two(s, false, ends);
    CHECK_IS(0, leat_go(s, sleeps_for_ever, NULL)); /* and has the writer */
    me->io = ends[0];
    CHECK_IS(0, leat_go(s, read_one, me));
    leat_scope_close(s);
    return 0;
}

static void reports_deadlocks(void **state)
{
    (void)state;
    FILE *nowhere = fopen("/dev/null", "w");
    for (unsigned seed = 0; seed < 20; seed++) {
        struct talker reader = { 0 };
        leat_sim_outcome outcome;
        CHECK_IS(-EDEADLK,
                 leat_sim_with(
                     &(leat_sim_options){ .seed = seed, .report = nowhere, .outcome = &outcome },
                     waits_without_partner, &reader));
        CHECK_IS(1, outcome.deadlock);
        CHECK_IS(-ECANCELED, reader.error);
    }
    fclose(nowhere);
}

/* ---- what is refused ---- */

static int refuses_descriptors(void *arg)
{
    int fd = *(int *)arg;
    leat_io *io = NULL, *ends[2];
    leat_address address;
    char byte = 'x';
    struct msghdr header = { 0 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-ENOTSUP, leat_io_adopt(s, fd, &io));
    CHECK_IS(-ENOTSUP, leat_poll(fd, LEAT_IN, LEAT_NOW));
    CHECK_IS(-ENOTSUP, leat_listen(s, "127.0.0.1:0", 0, &io));
    CHECK_IS(-ENOTSUP, leat_connect(s, "127.0.0.1:1", &io, LEAT_NEVER));
    open_two(s, true, ends);
    CHECK_IS(-ENOTSUP, leat_io_fd(ends[0]));
    CHECK_IS(-ENOTSUP, leat_io_release(ends[0]));
    CHECK_IS(-ENOTSUP, leat_recvfrom(ends[0], &byte, 1, NULL, NULL, LEAT_NEVER));
    CHECK_IS(-ENOTSUP, leat_recvmsg(ends[0], &header, 0, LEAT_NEVER));
    CHECK_IS(-ENOTSUP, leat_sendto(ends[0], &byte, 1, NULL, 0, LEAT_NEVER));
    CHECK_IS(-ENOTSUP, leat_sendmsg(ends[0], &header, 0, LEAT_NEVER));
    CHECK_IS(-ENOTSUP, leat_accept(ends[0], s, &io, LEAT_NEVER));
    CHECK_IS(-ENOTSUP, leat_io_local(ends[0], &address));
    CHECK_IS(-ENOTSUP, leat_io_peer(ends[0], &address));
    CHECK(!io);
    CHECK_IS(1, leat_write(ends[0], &byte, 1)); /* the pair is as before */
    CHECK_IS(1, leat_read(ends[1], &byte, 1));
    return leat_scope_close(s);
}

static int leaves_a_pair(void *arg)
{
    open_two(NULL, true, arg);
    CHECK_IS(1, leat_write(((leat_io **)arg)[0], "x", 1));
    return 0;
}

static void refuses(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK_IS(0, leat_sim_each(0, 20, refuses_descriptors, &fd));
    CHECK_IS(0, fcntl(fd, F_GETFD) < 0);
    close(fd);
    static const leat_sim_options wrong[] = { { .io_delay = -1 }, { .io_delay = LEAT_S + 1 } };
    for (int i = 0; i < 2; i++)
        CHECK_IS(-EINVAL, leat_sim_with(&wrong[i], refuses_descriptors, &fd));
    leat_io *ends[2];
    CHECK_IS(-EINVAL, leat_io_pipe(NULL, ends));
    CHECK_IS(-EINVAL, leat_io_pair(NULL, ends));
    for (unsigned seed = 0; seed < 20; seed++) {
        char byte;
        CHECK_IS(0, leat_sim(seed, leaves_a_pair, ends));
        CHECK_IS(-EINVAL, leat_read(ends[1], &byte, 1));
        CHECK_IS(-EINVAL, leat_write(ends[0], &byte, 1));
        CHECK_IS(-EINVAL, leat_shutdown(ends[0], SHUT_WR));
        CHECK_IS(0, leat_io_close(ends[0]));
        CHECK_IS(0, leat_io_unref(ends[0]));
        CHECK_IS(0, leat_io_unref(ends[1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_arrives_in_each_world),
        cmocka_unit_test(repeats_itself),
        cmocka_unit_test(seed_chooses),
        cmocka_unit_test(resets_where_asked),
        cmocka_unit_test(shuts_down_under_a_writer),
        cmocka_unit_test(reports_deadlocks),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
