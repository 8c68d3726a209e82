/* test_select.c: select completes exactly one case, or none; and which one. */
#include "support.h"

#include <limits.h>

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1), *empty = leat_chan_make(s, 0, 1);
    int x = 1;
    for (int ordered = 0; ordered <= 1; ordered++) {
        int (*select)(leat_case *, size_t, int64_t) = ordered ? leat_select_ordered : leat_select;
        leat_case cases[] = { LEAT_SEND(ch, &x), LEAT_SEND(ch, NULL) };
        CHECK_IS(-EINVAL, select(cases, 2, LEAT_NEVER));
        cases[1] = (leat_case)LEAT_RECV(ch, &x);
        cases[1].op = 0;
        CHECK_IS(-EINVAL, select(cases, 2, LEAT_NEVER));
        cases[1].op = 3;
        CHECK_IS(-EINVAL, select(cases, 2, LEAT_NOW));
        cases[1].op = LEAT_CASE_RECV;
        CHECK_IS(-EINVAL, select(cases, 2, -1));
        CHECK_IS(-EINVAL, select(cases, (size_t)INT_MAX + 1, LEAT_NEVER));
        CHECK_IS(-EINVAL, select(cases, SIZE_MAX, LEAT_NEVER));
        CHECK_IS(-EINVAL, select(NULL, 1, LEAT_NOW));
        CHECK_IS(0, leat_chan_len(ch)); /* the wrong call had no effect */
        leat_case no_bytes[] = { LEAT_SEND(empty, NULL), LEAT_RECV(empty, NULL) };
        CHECK_IS(0, select(no_bytes, 2, LEAT_NEVER));
        CHECK_IS(1, select(no_bytes, 2, LEAT_NEVER));
    }
    return leat_scope_close(s);
}
ON_WORKERS(refuses_wrong_arguments);

static void drop_nothing(void *item)
{
    (void)item;
}

static int refuses_to_discard_owned_items(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan_spec spec = { .item_size = 4, .capacity = 1, .drop = drop_nothing };
    leat_case cases[] = { LEAT_RECV(leat_chan_open(s, &spec), NULL) };
    CHECK_IS(-EINVAL, leat_select(cases, 1, LEAT_NOW));
    cases[0].ch = leat_chan_of(s, int, 1);
    CHECK_IS(0, leat_send(cases[0].ch, &(int){ 1 }));
    CHECK_IS(0, leat_select(cases, 1, LEAT_NOW));
    return leat_scope_close(s);
}
ON_WORKERS(refuses_to_discard_owned_items);

static int waits_for_nothing_until_a_deadline(void *arg)
{
    (void)arg;
    leat_case cases[] = { LEAT_RECV(NULL, NULL), LEAT_SEND(NULL, &(int){ 0 }) };
    for (size_t n = 0; n <= 2; n++) {
        CHECK_IS(-EAGAIN, leat_select(n ? cases : NULL, n, LEAT_NOW));
        int64_t deadline = leat_after(LEAT_MS);
        CHECK_IS(-ETIMEDOUT, leat_select(n ? cases : NULL, n, deadline));
        CHECK(leat_now() >= deadline);
    }
    return 0;
}
ON_WORKERS(waits_for_nothing_until_a_deadline);

/* Neither a scope nor a deadline could end this wait, so select refuses it. */
static int select_nothing(void *arg)
{
    (void)arg;
    leat_case cases[] = { LEAT_RECV(NULL, NULL), LEAT_SEND(NULL, &(int){ 0 }) };
    CHECK_IS(-EDEADLK, leat_select(cases, 2, LEAT_NEVER));
    CHECK_IS(-EDEADLK, leat_select_ordered(cases, 1, LEAT_NEVER));
    CHECK_IS(-EDEADLK, leat_select(NULL, 0, LEAT_NEVER));
    CHECK_IS(-EAGAIN, leat_select(cases, 2, LEAT_NOW));
    return 0;
}

static int in_a_foreign_thread(void *arg)
{
    (void)arg;
    struct foreign foreign;
    foreign_start(&foreign, select_nothing, NULL);
    return foreign_join(&foreign);
}

static void refuses_endless_waits_outside_scopes(void **state)
{
    (void)state;
    select_nothing(NULL);
    run_on(1, in_a_foreign_thread);
}

static int takes_the_first_in_order(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *chans[4];
    for (int i = 0; i < 4; i++) {
        chans[i] = leat_chan_of(s, int, 8);
        for (int j = 0; j < i; j++)
            CHECK_IS(0, leat_send(chans[i], &(int){ i * 10 + j }));
    }
    for (int i = 1; i < 4; i++) {
        for (int j = 0; j < i; j++) {
            int x = -1;
            leat_case cases[] = { LEAT_RECV(chans[0], &x), LEAT_RECV(chans[1], &x),
                                  LEAT_RECV(chans[2], &x), LEAT_RECV(chans[3], &x) };
            CHECK_IS(i, leat_select_ordered(cases, 4, LEAT_NEVER));
            CHECK_IS(i * 10 + j, x);
            CHECK_IS(0, cases[i].status);
        }
    }
    return leat_scope_close(s);
}
ON_WORKERS(takes_the_first_in_order);

/* Each ready case is equally likely: within 10 standard deviations in 12,000 throws. */
static int takes_any_at_random(void *arg)
{
    (void)arg;
    enum { CASES = 6, THROWS = 12000 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_case cases[CASES + 2];
    int x = 0, counts[CASES] = { 0 };
    for (int i = 0; i < CASES; i++) {
        leat_chan *ch = leat_chan_of(s, int, 1);
        cases[i] =
            (leat_case){ .ch = ch, .item = &x, .op = i % 2 ? LEAT_CASE_SEND : LEAT_CASE_RECV };
        if (i % 2 == 0)
            CHECK_IS(0, leat_send(ch, &x));
    }
    cases[CASES] = (leat_case)LEAT_RECV(leat_chan_of(s, int, 1), &x); /* never ready */
    cases[CASES + 1] = (leat_case)LEAT_SEND(NULL, &x);
    for (int i = 0; i < THROWS; i++) {
        int n = leat_select(cases, CASES + 2, i % 2 ? LEAT_NEVER : LEAT_NOW);
        CHECK(n >= 0 && n < CASES);
        counts[n]++;
        if (n % 2)
            CHECK_IS(0, leat_recv(cases[n].ch, &x));
        else
            CHECK_IS(0, leat_send(cases[n].ch, &x));
    }
    for (int i = 0; i < CASES; i++)
        CHECK(counts[i] > 2000 - 410 && counts[i] < 2000 + 410);
    return leat_scope_close(s);
}
ON_WORKERS(takes_any_at_random);

static int finds_closed_channels(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *open = leat_chan_of(s, int, 1), *closed = leat_chan_of(s, int, 1);
    int x = 5;
    leat_case cases[] = { LEAT_RECV(open, &x), LEAT_RECV(closed, &x), LEAT_SEND(closed, &x) };
    CHECK_IS(0, leat_send(closed, &(int){ 6 }));
    CHECK_IS(0, leat_close(closed));
    CHECK_IS(1, leat_select_ordered(cases, 3, LEAT_NEVER)); /* what is buffered comes first */
    CHECK_IS(0, cases[1].status);
    CHECK_IS(6, x);
    int seen[3] = { 0 };
    for (int i = 0; i < 200; i++) {
        int n = leat_select(cases, 3, i % 2 ? LEAT_NEVER : LEAT_NOW);
        CHECK(n == 1 || n == 2);
        seen[n]++;
        CHECK_IS(-EPIPE, cases[n].status);
        CHECK_IS(0, cases[0].status);
        CHECK_IS(0, cases[3 - n].status);
    }
    CHECK(seen[1] && seen[2]);
    CHECK_IS(6, x);
    CHECK_IS(0, leat_send(open, &(int){ 7 }));
    CHECK_IS(0, leat_select_ordered(cases, 3, LEAT_NEVER)); /* resets the old status */
    CHECK_IS(0, cases[0].status | cases[1].status | cases[2].status);
    CHECK_IS(7, x);
    return leat_scope_close(s);
}
ON_WORKERS(finds_closed_channels);

static int defaults_and_deadlines(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *empty = leat_chan_of(s, int, 1), *full = leat_chan_of(s, int, 1);
    int x = 5;
    CHECK_IS(0, leat_send(full, &x));
    leat_case cases[] = { LEAT_RECV(empty, &x), LEAT_SEND(full, &x) };
    for (int i = 0; i < 20; i++) {
        CHECK_IS(-EAGAIN, leat_select(cases, 2, LEAT_NOW));
        int64_t deadline = leat_after(i * 50 * LEAT_US);
        CHECK_IS(-ETIMEDOUT,
                 i % 2 ? leat_select(cases, 2, deadline) : leat_select_ordered(cases, 2, deadline));
        CHECK(leat_now() >= deadline);
        CHECK_IS(0, receivers_of(empty));
        CHECK_IS(0, senders_of(full));
    }
    CHECK_IS(-ETIMEDOUT, leat_select(cases, 2, 1));
    CHECK_IS(5, x);
    CHECK_IS(0, leat_recv(full, &x));
    CHECK_IS(1, leat_select(cases, 2, 1)); /* the deadline has passed, but no wait is needed */
    return leat_scope_close(s);
}
ON_WORKERS(defaults_and_deadlines);

struct chooser {
    leat_chan **chans;
    size_t n;
    int chosen, got, status;
    enum { ALL_RECEIVE, ALL_SEND, MIXED } what;
};

/* Waits for all channels at once; item i holds i. */
static int choose(void *arg)
{
    struct chooser *c = arg;
    leat_case *cases = calloc(c->n, sizeof *cases);
    int *items = calloc(c->n, sizeof *items);
    CHECK(cases && items);
    for (size_t i = 0; i < c->n; i++) {
        bool sends = c->what == ALL_SEND || (c->what == MIXED && i % 2);
        items[i] = sends ? (int)i : -1;
        cases[i] = (leat_case){ .ch = c->chans[i],
                                .item = &items[i],
                                .op = sends ? LEAT_CASE_SEND : LEAT_CASE_RECV };
    }
    c->chosen = leat_select(cases, c->n, LEAT_NEVER);
    CHECK(c->chosen >= 0 && (size_t)c->chosen < c->n);
    for (size_t i = 0; i < c->n; i++) {
        bool happened = i == (size_t)c->chosen;
        CHECK(happened || cases[i].status == 0);
        if (cases[i].op == LEAT_CASE_RECV && !happened)
            CHECK_IS(-1, items[i]);
    }
    c->got = items[c->chosen];
    c->status = cases[c->chosen].status;
    free(cases);
    free(items);
    return 0;
}

/* A partner meets one of 500 cases or closes its channel. The select then leaves all queues. */
static int waits_on_many(void *arg)
{
    (void)arg;
    enum { MANY = 500 };
    leat_chan **chans = calloc(MANY, sizeof(leat_chan *));
    CHECK(chans);
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        for (int round = 0; round < 4; round++) {
            struct crew crew;
            crew_open(&crew);
            for (int i = 0; i < MANY; i++)
                chans[i] = leat_chan_of(crew.scope, int, 0);
            struct chooser chooser = { .chans = chans, .n = MANY, .chosen = -1, .what = MIXED };
            crew_go(&crew, kind, choose, &chooser);
            int which = (round * 167 + 3) % MANY, x = 0;
            WAIT_UNTIL(senders_of(chans[MANY - 1]) == 1 && receivers_of(chans[0]) == 1);
            if (round == 3)
                CHECK_IS(0, leat_close(chans[which]));
            else if (which % 2)
                CHECK_IS(0, leat_recv(chans[which], &x));
            else
                CHECK_IS(0, leat_send(chans[which], &which));
            crew_close(&crew);
            CHECK_IS(which, chooser.chosen);
            CHECK_IS(round == 3 ? -EPIPE : 0, chooser.status);
            if (round != 3)
                CHECK_IS(which, which % 2 ? x : chooser.got);
        }
    }
    free(chans);
    return 0;
}
ON_WORKERS(waits_on_many);

static int leaves_the_other_queues(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *chans[3];
        for (int i = 0; i < 3; i++)
            chans[i] = leat_chan_of(crew.scope, int, 0);
        struct chooser chooser = { .chans = chans, .n = 3, .what = ALL_RECEIVE };
        crew_go(&crew, kind, choose, &chooser);
        WAIT_UNTIL(receivers_of(chans[2]) == 1);
        CHECK_IS(0, leat_send(chans[1], &(int){ 4 }));
        /* The select has ended, so no party waits here any more. */
        CHECK_IS(-EAGAIN, leat_try_send(chans[0], &(int){ 5 }));
        CHECK_IS(-EAGAIN, leat_try_send(chans[2], &(int){ 5 }));
        crew_close(&crew);
        CHECK_IS(4, chooser.got);
        crew_open(&crew);
        chooser.chans = chans;
        for (int i = 0; i < 3; i++)
            chans[i] = leat_chan_of(crew.scope, int, 0);
        chooser.what = ALL_SEND;
        crew_go(&crew, kind, choose, &chooser);
        WAIT_UNTIL(senders_of(chans[2]) == 1);
        int x = -1;
        CHECK_IS(0, leat_recv(chans[2], &x));
        CHECK_IS(2, x);
        CHECK_IS(-EAGAIN, leat_try_recv(chans[0], &x));
        CHECK_IS(-EAGAIN, leat_try_recv(chans[1], &x));
        crew_close(&crew);
    }
    return 0;
}
ON_WORKERS(leaves_the_other_queues);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(refuses_to_discard_owned_items),
        TESTS_ON_WORKERS(waits_for_nothing_until_a_deadline),
        cmocka_unit_test(refuses_endless_waits_outside_scopes),
        TESTS_ON_WORKERS(takes_the_first_in_order),
        TESTS_ON_WORKERS(takes_any_at_random),
        TESTS_ON_WORKERS(finds_closed_channels),
        TESTS_ON_WORKERS(defaults_and_deadlines),
        TESTS_ON_WORKERS(waits_on_many),
        TESTS_ON_WORKERS(leaves_the_other_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
