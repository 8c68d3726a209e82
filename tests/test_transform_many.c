/* test_transform_many.c: a transform between many parties at once: its steps run one by one, and
 * each item passes once. */
#include "support.h"

enum { INT = sizeof(int), PARTIES = 4, EACH = 2000 / SCALE };

static _Atomic int received[PARTIES * EACH + 1];

struct guarded {
    leat_transform t;
    leat_chan *log;
    _Atomic int inside, steps, finishes;
};

/* No other step of the operator runs meanwhile. */
static int guarded_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct guarded *g = (struct guarded *)t;
    int x = *(const int *)item;
    CHECK_IS(0, atomic_fetch_add(&g->inside, 1));
    CHECK_IS(0, leat_try_send(g->log, &x));
    g->steps++;
    int error = 0;
    for (int i = 0; i < x % 3 && !error; i++)
        error = leat_emit_item(emit, &x);
    CHECK_IS(1, atomic_fetch_sub(&g->inside, 1));
    return error;
}

static int guarded_finish(leat_transform *t, leat_emit *emit)
{
    struct guarded *g = (struct guarded *)t;
    CHECK_IS(0, atomic_fetch_add(&g->inside, 1));
    CHECK_IS(0, g->finishes++);
    return leat_emit_item(emit, &(int){ PARTIES * EACH });
}

struct side {
    leat_chan *ch;
    int number, sent;
};

static int send_all(void *arg)
{
    struct side *side = arg;
    for (int i = 0; i < EACH; i++) {
        int x = side->number * EACH + i, error;
        leat_case cases[] = { LEAT_RECV(NULL, NULL), LEAT_SEND(side->ch, &x) };
        bool selects = side->number % 2 && leat_select(cases, 2, LEAT_NEVER) == 1;
        error = selects ? cases[1].status : leat_send(side->ch, &x);
        if (error == -EPIPE)
            return 0;
        CHECK_IS(0, error);
        side->sent++;
    }
    CHECK_IS(0, leat_chan_done(side->ch));
    return 0;
}

static int receive_all(void *arg)
{
    struct side *side = arg;
    int x, error;
    while ((error = leat_recv(side->ch, &x)) == 0)
        atomic_fetch_add(&received[x], 1);
    CHECK_IS(-EPIPE, error);
    return 0;
}

static void from_many_sides(int round, bool closes)
{
    struct crew crew;
    struct side sides[2 * PARTIES];
    crew_open(&crew);
    for (int i = 0; i <= PARTIES * EACH; i++)
        received[i] = 0;
    struct guarded g = { .t = { INT, INT, 2, guarded_step, guarded_finish, NULL, NULL } };
    leat_chan *in = leat_chan_make(NULL, INT, (size_t)round % 2);
    leat_chan *out = leat_through(crew.scope, in, &g.t, (size_t)round, NULL);
    g.log = leat_chan_make(NULL, INT, (size_t)PARTIES * EACH);
    CHECK_IS(0, leat_chan_senders(in, PARTIES));
    for (int i = 0; i < 2 * PARTIES; i++) {
        sides[i] = (struct side){ i % 2 ? out : in, i / 2, 0 };
        crew_go(&crew, (enum kind)((i + round) % KINDS), i % 2 ? receive_all : send_all, &sides[i]);
    }
    if (closes) {
        WAIT_UNTIL(g.steps > EACH / 2);
        CHECK_IS(0, leat_close(in));
    }
    crew_close(&crew);
    int sent = 0, x;
    for (int i = 0; i < PARTIES; i++)
        sent += sides[2 * i].sent;
    CHECK(closes || sent == PARTIES * EACH);
    CHECK_IS(sent, g.steps);
    CHECK_IS(1, g.finishes);
    CHECK_IS(sent, leat_chan_len(g.log));
    for (int i = 0; i < sent; i++) {
        CHECK_IS(0, leat_recv(g.log, &x));
        CHECK_IS(x % 3, received[x]);
        received[x] = 0;
    }
    CHECK_IS(1, received[PARTIES * EACH]);
    received[PARTIES * EACH] = 0;
    for (int i = 0; i <= PARTIES * EACH; i++)
        CHECK_IS(0, received[i]);
    CHECK_IS(0, leat_chan_unref(in));
    CHECK_IS(0, leat_chan_unref(g.log));
}

static int counts_from_many_sides(void *arg)
{
    (void)arg;
    for (int round = 0; round < 6; round++)
        from_many_sides(round, round % 3 == 2);
    return 0;
}
ON_WORKERS(counts_from_many_sides);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(counts_from_many_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
