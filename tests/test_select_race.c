/* test_select_race.c: select against select, against close, and against itself. */
#include "support.h"

static int names_a_channel_twice(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, 1);
        int a = -1, b = -1;
        leat_case twice[] = { LEAT_RECV(ch, &a), LEAT_RECV(ch, &b) };
        int seen[2] = { 0 };
        for (int i = 0; i < 200; i++) {
            CHECK_IS(0, leat_send(ch, &i));
            int n = leat_select(twice, 2, LEAT_NEVER);
            CHECK(n == 0 || n == 1);
            seen[n]++;
            CHECK_IS(i, n ? b : a);
            CHECK_IS(0, leat_chan_len(ch));
        }
        CHECK(seen[0] && seen[1]);
        CHECK_IS(-EAGAIN, leat_select(twice, 2, LEAT_NOW));
        CHECK_IS(-ETIMEDOUT, leat_select(twice, 2, leat_after(LEAT_US)));
        CHECK_IS(0, receivers_of(ch));
        crew_close(&crew);
    }
    return 0;
}
ON_WORKERS(names_a_channel_twice);

/* A select never meets itself. Two that each send and receive on one channel meet each other. */
struct both {
    leat_chan *ch;
    int mine, sent, received;
};

static int send_or_receive(void *arg)
{
    struct both *both = arg;
    int x = -1;
    leat_case cases[] = { LEAT_SEND(both->ch, &both->mine), LEAT_RECV(both->ch, &x) };
    int n = leat_select(cases, 2, LEAT_NEVER);
    CHECK(n == 0 || n == 1);
    both->sent = n == 0;
    both->received = n == 1 ? x : -1;
    CHECK(n == 0 || x >= 0);
    return 0;
}

static int sends_and_receives_on_one(void *arg)
{
    (void)arg;
    for (int round = 0; round < 300 / SCALE; round++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, 0);
        int x = 1;
        leat_case alone[] = { LEAT_SEND(ch, &x), LEAT_RECV(ch, &x) };
        CHECK_IS(-EAGAIN, leat_select(alone, 2, LEAT_NOW));
        CHECK_IS(-ETIMEDOUT, leat_select(alone, 2, leat_after(LEAT_US)));
        struct both both[6];
        for (int i = 0; i < 6; i++) {
            both[i] = (struct both){ ch, i, 0, 0 };
            crew_go(&crew, (i + round) % 5 ? TASK : kind_of(round), send_or_receive, &both[i]);
        }
        crew_close(&crew);
        int senders = 0;
        for (int i = 0; i < 6; i++)
            senders += both[i].sent;
        CHECK_IS(3, senders);
        for (int i = 0; i < 6; i++) {
            if (both[i].received >= 0) {
                CHECK(both[i].received != i);
                CHECK_IS(1, both[both[i].received].sent);
                both[both[i].received].sent = 0; /* count it once */
            }
        }
    }
    return 0;
}
ON_WORKERS(sends_and_receives_on_one);

/* Selects on both sides of several channels: each item arrives exactly once. */
enum { CHANS = 3, SIDES = 3 };

struct side {
    leat_chan **chans;
    int items, moved;
    uint64_t sum;
    int number;
};

static int select_to_send(void *arg)
{
    struct side *side = arg;
    for (int i = 0; i < side->items; i++) {
        int x = side->number * 100000 + i;
        leat_case cases[] = { LEAT_SEND(side->chans[i % 3], &x),
                              LEAT_SEND(side->chans[(i + 1) % 3], &x),
                              LEAT_SEND(side->chans[(i + 2) % 3], &x) };
        int n =
            i % 2 ? leat_select(cases, 3, LEAT_NEVER) : leat_select_ordered(cases, 3, LEAT_NEVER);
        CHECK(n >= 0 && n < 3);
        CHECK_IS(0, cases[n].status);
        side->moved++;
        side->sum += (uint64_t)x;
    }
    for (int i = 0; i < CHANS; i++)
        CHECK_IS(0, leat_chan_done(side->chans[i]));
    return 0;
}

static int select_to_receive(void *arg)
{
    struct side *side = arg;
    leat_chan *left[CHANS] = { side->chans[0], side->chans[1], side->chans[2] };
    while (left[0] || left[1] || left[2]) {
        int x[CHANS] = { -1, -1, -1 };
        leat_case cases[] = { LEAT_RECV(left[0], &x[0]), LEAT_RECV(left[1], &x[1]),
                              LEAT_RECV(left[2], &x[2]) };
        int n = leat_select(cases, 3, LEAT_NEVER);
        CHECK(n >= 0 && n < 3 && left[n]);
        for (int i = 0; i < CHANS; i++)
            CHECK((x[i] >= 0) == (i == n && cases[n].status == 0));
        if (cases[n].status == 0) {
            side->moved++;
            side->sum += (uint64_t)x[n];
        } else {
            CHECK_IS(-EPIPE, cases[n].status);
            left[n] = NULL;
        }
    }
    return 0;
}

static int select_against_select(void *arg)
{
    (void)arg;
    for (enum kind from = TASK; from < KINDS; from++) {
        for (enum kind to = TASK; to < KINDS; to++) {
            struct crew crew;
            crew_open(&crew);
            leat_chan *chans[CHANS];
            for (int i = 0; i < CHANS; i++) {
                chans[i] = leat_chan_of(crew.scope, int, (size_t)i *((from + to) % 2));
                CHECK_IS(0, leat_chan_senders(chans[i], SIDES));
            }
            struct side out[SIDES], in[SIDES];
            for (int i = 0; i < SIDES; i++) {
                out[i] = (struct side){ chans, 1500 / SCALE, 0, 0, i };
                in[i] = (struct side){ chans, 0, 0, 0, i };
                crew_go(&crew, i ? from : to, select_to_send, &out[i]);
                crew_go(&crew, i ? to : from, select_to_receive, &in[i]);
            }
            crew_close(&crew);
            uint64_t sent = 0, received = 0;
            int moved = 0;
            for (int i = 0; i < SIDES; i++) {
                sent += out[i].sum;
                received += in[i].sum;
                moved += in[i].moved;
            }
            CHECK_IS(SIDES * (1500 / SCALE), moved);
            CHECK_IS(sent, received);
        }
    }
    return 0;
}
ON_WORKERS(select_against_select);

/* The mover sends a token to one channel before it receives one from the other. So at each moment
 * one of them has a token, and a select that does not wait, but sees all channels at one moment,
 * finds it. It puts the token back where it was. Empty channels in between lengthen the look. */
enum { BETWEEN = 40 };

struct shuttle {
    leat_chan *a, *b;
    _Atomic bool stop;
    _Atomic int moves;
};

static int move_the_token(void *arg)
{
    struct shuttle *shuttle = arg;
    int token = 1;
    while (!atomic_load(&shuttle->stop)) {
        CHECK_IS(0, leat_send(shuttle->b, &token));
        CHECK_IS(0, leat_recv(shuttle->a, &token));
        CHECK_IS(0, leat_send(shuttle->a, &token));
        CHECK_IS(0, leat_recv(shuttle->b, &token));
        if (atomic_fetch_add(&shuttle->moves, 1) % 64 == 0)
            leat_yield();
    }
    return 0;
}

static int looks_at_one_moment(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        crew_open(&crew);
        struct shuttle shuttle = { .a = leat_chan_of(crew.scope, int, 3),
                                   .b = leat_chan_of(crew.scope, int, 3) };
        leat_case cases[BETWEEN + 2];
        int token = 1;
        for (int i = 0; i < BETWEEN + 2; i++)
            cases[i] = (leat_case)LEAT_RECV(leat_chan_of(crew.scope, int, 1), &token);
        cases[0].ch = shuttle.a;
        cases[BETWEEN + 1].ch = shuttle.b;
        CHECK_IS(0, leat_send(shuttle.a, &token));
        crew_go(&crew, kind, move_the_token, &shuttle);
        for (int i = 0; i < 20000 / SCALE || shuttle.moves < 5000 / SCALE; i++) {
            int n = i % 2 ? leat_select(cases, BETWEEN + 2, LEAT_NOW)
                          : leat_select_ordered(cases, BETWEEN + 2, LEAT_NOW);
            CHECK(n == 0 || n == BETWEEN + 1);
            CHECK_IS(0, leat_try_send(cases[n].ch, &token));
            if (i % 64 == 0)
                leat_yield();
        }
        atomic_store(&shuttle.stop, true);
        crew_close(&crew);
    }
    return 0;
}
ON_WORKERS(looks_at_one_moment);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(names_a_channel_twice),
        TESTS_ON_WORKERS(sends_and_receives_on_one),
        TESTS_ON_WORKERS(select_against_select),
        TESTS_ON_WORKERS(looks_at_one_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
