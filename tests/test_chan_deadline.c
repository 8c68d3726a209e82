/* test_chan_deadline.c: waiting until a deadline: never early, never twice, no item lost. */
#include "support.h"

static int full_and_empty(leat_scope *s, leat_chan **full, leat_chan **empty, size_t capacity)
{
    *full = leat_chan_of(s, int, capacity);
    *empty = leat_chan_of(s, int, capacity);
    for (size_t i = 0; i < capacity; i++)
        CHECK_IS(0, leat_send(*full, &(int){ 1 }));
    return 0;
}

static int time_out(void *arg)
{
    leat_chan **ends = arg;
    for (int i = 1; i <= 20; i++) {
        int x = 77;
        int64_t deadline = leat_after(i * i * 10 * LEAT_US);
        CHECK_IS(-ETIMEDOUT, i % 2 ? leat_send_until(ends[0], &x, deadline)
                                   : leat_recv_until(ends[1], &x, deadline));
        CHECK(leat_now() >= deadline);
        CHECK_IS(77, x);
    }
    return 0;
}

static int is_never_early(void *arg)
{
    (void)arg;
    for (size_t capacity = 0; capacity <= 2; capacity++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ends[2];
        full_and_empty(crew.scope, &ends[0], &ends[1], capacity);
        for (int i = 0; i < 6; i++)
            crew_go(&crew, kind_of(i), time_out, ends);
        crew_close(&crew);
    }
    return 0;
}
ON_WORKERS(is_never_early);

/* A waiter that has timed out is off the queue: a partner meets the waiter after it. */
struct end {
    leat_chan *ch;
    int number;
    _Atomic int result; /* 1: still waits, or has not begun */
    int64_t deadline;
};

static int send_number(void *arg)
{
    struct end *end = arg;
    end->result = leat_send_until(end->ch, &end->number, end->deadline);
    return 0;
}

static int receive_number(void *arg)
{
    struct end *end = arg;
    end->result = leat_recv_until(end->ch, &end->number, end->deadline);
    return 0;
}

static int leaves_the_queue(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        for (int sending = 0; sending <= 1; sending++) {
            struct crew crew;
            crew_open(&crew);
            leat_chan *ch = leat_chan_of(crew.scope, int, 0);
            struct end first = { ch, 1, 1, leat_after(5 * LEAT_MS) };
            struct end second = { ch, 2, 1, LEAT_NEVER };
            crew_go(&crew, kind, sending ? send_number : receive_number, &first);
            WAIT_UNTIL((sending ? senders_of(ch) : receivers_of(ch)) == 1 || first.result != 1);
            crew_go(&crew, kind_of((int)kind + 1), sending ? send_number : receive_number, &second);
            WAIT_UNTIL(first.result != 1);
            WAIT_UNTIL((sending ? senders_of(ch) : receivers_of(ch)) == 1);
            int x = 9;
            if (sending)
                CHECK_IS(0, leat_recv(ch, &x));
            else
                CHECK_IS(0, leat_send(ch, &x));
            CHECK_IS(-EAGAIN, sending ? leat_try_recv(ch, NULL) : leat_try_send(ch, &x));
            crew_close(&crew);
            CHECK_IS(-ETIMEDOUT, first.result);
            CHECK_IS(1, first.number);
            CHECK_IS(0, second.result);
            CHECK_IS(sending ? 2 : 9, sending ? x : second.number);
        }
    }
    return 0;
}
ON_WORKERS(leaves_the_queue);

/* An operation that need not wait succeeds even after its deadline. */
static int does_not_wait_where_it_need_not(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    int64_t past = leat_now();
    int x = 4;
    CHECK_IS(0, leat_send_until(ch, &x, past));
    CHECK_IS(-ETIMEDOUT, leat_send_until(ch, &x, past));
    CHECK_IS(-ETIMEDOUT, leat_send_until(ch, &x, 1));
    x = 0;
    CHECK_IS(0, leat_recv_until(ch, &x, past));
    CHECK_IS(4, x);
    CHECK_IS(-ETIMEDOUT, leat_recv_until(ch, &x, past));
    CHECK_IS(-ETIMEDOUT, leat_recv_until(ch, &x, leat_after(-LEAT_S)));
    CHECK_IS(0, leat_send_until(ch, &x, LEAT_NEVER));
    CHECK_IS(0, leat_recv_until(ch, &x, LEAT_NEVER));
    return leat_scope_close(s);
}
ON_WORKERS(does_not_wait_where_it_need_not);

static int ends_with_the_partner(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, 0);
        struct end in = { ch, 0, 1, leat_after(600 * LEAT_S) }, out = { ch, 8, 1, in.deadline };
        crew_go(&crew, kind, receive_number, &in);
        WAIT_UNTIL(receivers_of(ch) == 1);
        CHECK_IS(0, leat_send(ch, &(int){ 6 }));
        crew_go(&crew, kind, send_number, &out);
        int x = 0;
        CHECK_IS(0, leat_recv_until(ch, &x, leat_after(600 * LEAT_S)));
        CHECK_IS(8, x);
        crew_close(&crew);
        CHECK_IS(0, in.result);
        CHECK_IS(6, in.number);
        CHECK_IS(0, out.result);
    }
    return 0;
}
ON_WORKERS(ends_with_the_partner);

/* Deadlines pass while the partner comes. Both sides agree: as many items are sent as received. */
struct race {
    leat_chan *ch;
    int rounds;
    uint64_t chance;
    int moved;
    _Atomic int *running;
};

static int64_t soon(struct race *race)
{
    race->chance = race->chance * 6364136223846793005u + 1442695040888963407u;
    return leat_after((int64_t)(race->chance >> 33) % (40 * LEAT_US));
}

static int race_to_send(void *arg)
{
    struct race *race = arg;
    for (int i = 0; i < race->rounds; i++) {
        int err = leat_send_until(race->ch, &i, soon(race));
        CHECK(err == 0 || err == -ETIMEDOUT);
        race->moved += err == 0;
    }
    if (atomic_fetch_sub(race->running, 1) == 1)
        CHECK_IS(0, leat_close(race->ch));
    return 0;
}

static int race_to_receive(void *arg)
{
    struct race *race = arg;
    for (;;) {
        int x = -1, err = leat_recv_until(race->ch, &x, soon(race));
        CHECK(err == 0 || err == -ETIMEDOUT || err == -EPIPE);
        CHECK((err == 0) == (x >= 0));
        if (err == -EPIPE)
            return 0;
        race->moved += err == 0;
    }
}

static int deadlines_race_partners(void *arg)
{
    (void)arg;
    enum { PAIRS = 3 };
    for (int round = 0; round < 4; round++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, (size_t)(round / 2));
        struct race out[PAIRS], in[PAIRS];
        _Atomic int running = PAIRS;
        for (int i = 0; i < PAIRS; i++) {
            out[i] = (struct race){ ch, 1000 / SCALE, (uint64_t)i, 0, &running };
            in[i] = (struct race){ ch, 0, (uint64_t)i + 100, 0, NULL };
            crew_go(&crew, kind_of(i), race_to_send, &out[i]);
            crew_go(&crew, kind_of(i + round), race_to_receive, &in[i]);
        }
        crew_close(&crew);
        CHECK_IS(out[0].moved + out[1].moved + out[2].moved,
                 in[0].moved + in[1].moved + in[2].moved);
    }
    return 0;
}
ON_WORKERS(deadlines_race_partners);

/* A deadline that its wait did not need does not end a later wait of the same party. */
static int leaves_no_stale_deadline(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, 0), *other = leat_chan_of(crew.scope, int, 0);
        struct end out = { ch, i, 1, LEAT_NEVER };
        crew_go(&crew, TASK, send_number, &out);
        int x = -1;
        int64_t short_one = leat_after(2 * LEAT_MS), long_one = short_one + 3 * LEAT_MS;
        int err = leat_recv_until(ch, &x, short_one);
        if (err == -ETIMEDOUT) /* on a slow machine */
            err = leat_recv(ch, &x);
        CHECK_IS(0, err);
        CHECK_IS(i, x);
        CHECK_IS(-ETIMEDOUT, leat_recv_until(other, &x, long_one));
        CHECK(leat_now() >= long_one);
        crew_close(&crew);
        CHECK_IS(0, out.result);
    }
    return 0;
}
ON_WORKERS(leaves_no_stale_deadline);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(is_never_early),
        TESTS_ON_WORKERS(leaves_the_queue),
        TESTS_ON_WORKERS(does_not_wait_where_it_need_not),
        TESTS_ON_WORKERS(ends_with_the_partner),
        TESTS_ON_WORKERS(deadlines_race_partners),
        TESTS_ON_WORKERS(leaves_no_stale_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
