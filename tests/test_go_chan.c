/* test_go_chan.c: what Go's channel tests check of order, of blocking, and of select. */
#include "support.h"

/* fifo: items leave a buffer in order, and tasks in a chain run in order. */
static int keeps_order_in_a_buffer(void *arg)
{
    (void)arg;
    enum { N = 10 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, N);
    for (int i = 0; i < N; i++)
        CHECK_IS(0, leat_send(ch, &i));
    for (int i = 0, x; i < N; i++) {
        CHECK_IS(0, leat_recv(ch, &x));
        CHECK_IS(i, x);
    }
    return leat_scope_close(s);
}
ON_WORKERS(keeps_order_in_a_buffer);

struct link {
    leat_chan *ch, *in, *out;
    int expected;
};

/* Waits for its turn, receives its item, and passes the turn on. */
static int take_a_turn(void *arg)
{
    struct link *link = arg;
    int x = -1;
    CHECK_IS(0, leat_recv(link->in, NULL));
    CHECK_IS(0, leat_recv(link->ch, &x));
    CHECK_IS(link->expected, x);
    CHECK_IS(0, leat_send(link->out, NULL));
    return 0;
}

static int keeps_order_in_a_chain(void *arg)
{
    (void)arg;
    enum { N = 12 };
    struct crew crew;
    struct link links[N];
    crew_open(&crew);
    leat_chan *ch = leat_chan_of(crew.scope, int, 0), *in = leat_chan_make(crew.scope, 0, 0);
    leat_chan *first = in;
    for (int i = 0; i < N; i++) {
        leat_chan *out = leat_chan_make(crew.scope, 0, 0);
        links[i] = (struct link){ ch, in, out, i };
        crew_go(&crew, (enum kind)(i % KINDS), take_a_turn, &links[i]);
        in = out;
    }
    CHECK_IS(0, leat_send(first, NULL));
    for (int i = 0; i < N; i++)
        CHECK_IS(0, leat_send(ch, &i));
    CHECK_IS(0, leat_recv(in, NULL));
    crew_close(&crew);
    return 0;
}
ON_WORKERS(keeps_order_in_a_chain);

/* nonblock: a select with a default finds a partner when one waits, and only then. */
struct partner {
    leat_chan *ch, *strobe;
    size_t size;
    unsigned char item[40];
};

static int receive_and_strobe(void *arg)
{
    struct partner *p = arg;
    CHECK_IS(0, leat_recv(p->ch, p->item));
    CHECK_IS(0, leat_send(p->strobe, NULL));
    return 0;
}

static int send_and_strobe(void *arg)
{
    struct partner *p = arg;
    CHECK_IS(0, leat_send(p->ch, p->item));
    CHECK_IS(0, leat_send(p->strobe, NULL));
    return 0;
}

static void meet(enum kind kind, size_t size, size_t capacity)
{
    struct crew crew;
    crew_open(&crew);
    leat_chan *strobe = leat_chan_make(crew.scope, 0, 0);
    struct partner p = { .strobe = strobe, .size = size };
    p.ch = leat_chan_make(crew.scope, size, capacity);
    unsigned char item[40];
    leat_case receive[] = { LEAT_RECV(p.ch, item) }, send[] = { LEAT_SEND(p.ch, item) };
    CHECK_IS(-EAGAIN, leat_select(receive, 1, LEAT_NOW));
    memset(item, 0x5A, sizeof item);
    crew_go(&crew, kind, receive_and_strobe, &p);
    if (capacity == 0)
        WAIT_UNTIL(leat_select(send, 1, LEAT_NOW) == 0);
    else
        CHECK_IS(0, leat_select(send, 1, LEAT_NOW));
    CHECK_IS(0, leat_recv(strobe, NULL));
    CHECK(memcmp(p.item, item, size) == 0);

    memset(p.item, 0xC3, sizeof p.item);
    crew_go(&crew, kind, send_and_strobe, &p);
    if (capacity > 0)
        CHECK_IS(0, leat_recv(strobe, NULL));
    WAIT_UNTIL(leat_select(receive, 1, LEAT_NOW) == 0);
    CHECK(memcmp(p.item, item, size) == 0);
    if (capacity == 0)
        CHECK_IS(0, leat_recv(strobe, NULL));
    crew_close(&crew);
}

static int meets_without_blocking(void *arg)
{
    (void)arg;
    static const size_t sizes[] = { 0, 1, 4, 8, 16, 40 };
    for (enum kind kind = TASK; kind < KINDS; kind++)
        for (size_t capacity = 0; capacity <= 1; capacity++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                meet(kind, sizes[i], capacity);
    return 0;
}
ON_WORKERS(meets_without_blocking);

/* select: a case with a NULL channel is never chosen; when all are, the default ends the loop. */
static int send_where_it_goes(leat_chan *a, leat_chan *b, unsigned *shift)
{
    int sent = 0;
    for (;; ++*shift) {
        unsigned value = 1u << *shift;
        leat_case cases[] = { LEAT_SEND(a, &value), LEAT_SEND(b, &value) };
        int i = leat_select(cases, 2, LEAT_NOW);
        if (i == -EAGAIN)
            return sent;
        CHECK(i == 0 || i == 1);
        *(i == 0 ? &a : &b) = NULL;
        sent++;
    }
}

static int never_chooses_null_channels(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *a = leat_chan_of(s, unsigned, 1), *b = leat_chan_of(s, unsigned, 1);
    unsigned shift = 0, from_a = 0, from_b = 0;
    CHECK_IS(2, send_where_it_goes(a, b, &shift));
    CHECK_IS(0, leat_recv(a, &from_a));
    CHECK_IS(0, leat_recv(b, &from_b));
    CHECK_IS(3, from_a | from_b);
    CHECK_IS(1, send_where_it_goes(a, NULL, &shift));
    CHECK_IS(0, send_where_it_goes(a, NULL, &shift));
    CHECK_IS(0, leat_recv(a, &from_a));
    CHECK_IS(4, from_a);
    return leat_scope_close(s);
}
ON_WORKERS(never_chooses_null_channels);

/* select2: many selects on a channel without any traffic leave nothing in its queues. */
enum { MANY = 20000 / SCALE };

static int send_many_ones(void *arg)
{
    for (int i = 0, one = 1; i < MANY; i++)
        CHECK_IS(0, leat_send(arg, &one));
    return 0;
}

static int leaves_no_waiter(void *arg)
{
    (void)arg;
    for (enum kind kind = TASK; kind < KINDS; kind++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, 0), *dummy = leat_chan_of(crew.scope, int, 0);
        crew_go(&crew, kind, send_many_ones, ch);
        for (int i = 0, x; i < MANY; i++) {
            leat_case cases[] = { LEAT_RECV(dummy, &x), LEAT_RECV(ch, &x) };
            CHECK_IS(1, leat_select(cases, 2, LEAT_NEVER));
            CHECK_IS(1, x);
            CHECK_IS(0, receivers_of(dummy));
        }
        crew_close(&crew);
    }
    return 0;
}
ON_WORKERS(leaves_no_waiter);

/* select3: what blocks, and what does not. leat returns an error for a closed channel, where Go
 * panics, and for NULL, where Go waits for ever. */
static int blocks_where_it_should(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *closed = leat_chan_of(s, int, 0), *idle = leat_chan_of(s, int, 0);
    leat_chan *room = leat_chan_of(s, int, 1);
    int x = 7;
    CHECK_IS(0, leat_close(closed));
    CHECK_IS(-EINVAL, leat_send(NULL, &x));
    CHECK_IS(-EINVAL, leat_recv(NULL, &x));
    for (int i = 0; i < 10; i++)
        CHECK_IS(-EPIPE, leat_recv(closed, &x));
    CHECK_IS(-EPIPE, leat_send(closed, &x));
    CHECK_IS(7, x);
    CHECK_IS(-ETIMEDOUT, leat_recv_until(idle, &x, leat_after(LEAT_MS)));
    CHECK_IS(-ETIMEDOUT, leat_send_until(idle, &x, leat_after(LEAT_MS)));
    CHECK_IS(0, leat_send(room, &x));
    CHECK_IS(-ETIMEDOUT, leat_send_until(room, &x, leat_after(LEAT_MS)));

    leat_case nulls[] = { LEAT_RECV(NULL, &x), LEAT_SEND(NULL, &x) };
    /* A select never meets itself. */
    leat_case idles[] = { LEAT_RECV(idle, &x), LEAT_SEND(idle, &x) };
    for (size_t n = 0; n <= 2; n++) {
        CHECK_IS(-EAGAIN, leat_select(nulls, n, LEAT_NOW));
        CHECK_IS(-ETIMEDOUT, leat_select(nulls, n, leat_after(LEAT_MS)));
        CHECK_IS(-EAGAIN, leat_select(idles, n, LEAT_NOW));
        CHECK_IS(-ETIMEDOUT, leat_select(idles, n, leat_after(LEAT_MS)));
    }
    leat_case ready[] = { LEAT_RECV(room, &x), LEAT_SEND(room, &x) };
    for (int i = 0; i < 4; i++) {
        CHECK_IS(i % 2, leat_select(ready, 2, LEAT_NEVER));
        CHECK_IS(0, ready[i % 2].status);
    }
    leat_case ended[] = { LEAT_RECV(closed, &x), LEAT_SEND(closed, &x) };
    for (size_t i = 0; i < 2; i++) {
        CHECK_IS(0, leat_select(&ended[i], 1, LEAT_NEVER));
        CHECK_IS(-EPIPE, ended[i].status);
    }
    return leat_scope_close(s);
}
ON_WORKERS(blocks_where_it_should);

/* select4: a case that is not chosen writes nothing. */
static int touches_only_what_happens(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *full = leat_chan_of(s, int, 1), *idle = leat_chan_of(s, int, 0);
    int x = 42, untouched = 1, got = 0;
    CHECK_IS(0, leat_send(full, &x));
    leat_case cases[] = { LEAT_RECV(idle, &untouched), LEAT_RECV(full, &got) };
    CHECK_IS(1, leat_select(cases, 2, LEAT_NEVER));
    CHECK_IS(42, got);
    CHECK_IS(1, untouched);
    return leat_scope_close(s);
}
ON_WORKERS(touches_only_what_happens);

/* select5: one ready case at each place among all mixtures of others, in each form of select. */
enum { OTHERS = 5 };

static void among_others(leat_chan *ch, bool sends, unsigned others, unsigned place, unsigned way)
{
    leat_chan *dummy = leat_chan_of(NULL, int, 0);
    leat_case all[OTHERS] = { LEAT_SEND(dummy, &way), LEAT_RECV(dummy, &way), LEAT_SEND(NULL, &way),
                              LEAT_RECV(NULL, &way), LEAT_SEND(NULL, NULL) };
    leat_case cases[OTHERS + 1];
    static int n;
    int x = ++n, at = -1;
    size_t count = 0;
    if (!sends) {
        CHECK_IS(0, leat_send(ch, &n));
        x = -1;
    }
    for (unsigned i = 0; i <= OTHERS - 1; i++) {
        if (i == place) {
            at = (int)count;
            cases[count++] =
                (leat_case){ ch, &x, sends ? LEAT_CASE_SEND : LEAT_CASE_RECV, 9, { 0 } };
        }
        if (others >> i & 1 && i < 4)
            cases[count++] = all[i];
    }
    int64_t deadline = way & 1 ? LEAT_NOW : LEAT_NEVER;
    CHECK_IS(at, (way & 2 ? leat_select_ordered : leat_select)(cases, count, deadline));
    CHECK_IS(0, cases[at].status);
    if (sends)
        CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(n, x);
    CHECK_IS(0, leat_chan_unref(dummy));
}

static int selects_in_every_mixture(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    for (unsigned others = 0; others < 16; others++)
        for (unsigned place = 0; place < OTHERS; place++)
            for (unsigned way = 0; way < 8; way++)
                among_others(ch, way & 4, others, place, way);
    return leat_scope_close(s);
}

static void selects_in_every_mixture_on_one(void **state)
{
    (void)state;
    run_on(1, selects_in_every_mixture);
}

/* select6: a select that ends by another channel leaves the other waiters here in order. */
struct queue {
    leat_chan *ch, *other, *done;
};

static int receive_nothing(void *arg)
{
    CHECK_IS(0, leat_recv(arg, NULL));
    return 0;
}

static int select_the_other(void *arg)
{
    struct queue *q = arg;
    leat_case cases[] = { LEAT_RECV(q->ch, NULL), LEAT_RECV(q->other, NULL) };
    CHECK_IS(1, leat_select(cases, 2, LEAT_NEVER));
    CHECK_IS(0, leat_send(q->done, NULL));
    return 0;
}

static int leaves_the_queue_whole(void *arg)
{
    (void)arg;
    for (unsigned before = 0; before <= 2; before++) {
        struct crew crew;
        crew_open(&crew);
        struct queue q;
        q.ch = leat_chan_make(crew.scope, 0, 0);
        q.other = leat_chan_make(crew.scope, 0, 0);
        q.done = leat_chan_make(crew.scope, 0, 0);
        for (unsigned i = 0; i < 4; i++) {
            crew_go(&crew, (enum kind)(i % KINDS), i == before ? select_the_other : receive_nothing,
                    i == before ? (void *)&q : q.ch);
            WAIT_UNTIL(receivers_of(q.ch) == i + 1);
        }
        CHECK_IS(0, leat_send(q.other, NULL));
        CHECK_IS(0, leat_recv(q.done, NULL));
        CHECK_IS(3, receivers_of(q.ch));
        for (int i = 0; i < 3; i++)
            CHECK_IS(0, leat_send(q.ch, NULL));
        CHECK_IS(-EAGAIN, leat_try_send(q.ch, NULL));
        crew_close(&crew);
    }
    return 0;
}
ON_WORKERS(leaves_the_queue_whole);

/* select7: every way to send meets every way to receive, whichever comes first. */
struct way {
    leat_chan *ch, *dummy;
    int cases; /* 0: no select */
    bool sends;
    int x;
};

static int go_that_way(void *arg)
{
    struct way *w = arg;
    int op = w->sends ? LEAT_CASE_SEND : LEAT_CASE_RECV, unused = 0;
    leat_case cases[] = { { w->ch, &w->x, op, 0, { NULL } },
                          LEAT_RECV(w->dummy, &unused),
                          LEAT_SEND(w->dummy, &unused) };
    if (w->cases)
        CHECK_IS(0, leat_select(cases, (size_t)w->cases, LEAT_NEVER));
    else
        CHECK_IS(0, w->sends ? leat_send(w->ch, &w->x) : leat_recv(w->ch, &w->x));
    return 0;
}

static int matches_every_way(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4 * 4 * 2 * KINDS; i++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, 0);
        struct way ways[] = { { ch, leat_chan_of(crew.scope, int, 0), i % 4, false, -1 },
                              { ch, leat_chan_of(crew.scope, int, 0), i / 4 % 4, true, i } };
        bool first = i / 16 % 2;
        crew_go(&crew, (enum kind)(i / 32), go_that_way, &ways[first]);
        WAIT_UNTIL(first ? senders_of(ch) : receivers_of(ch));
        CHECK_IS(0, go_that_way(&ways[!first]));
        crew_close(&crew);
        CHECK_IS(i, ways[0].x);
    }
    return 0;
}
ON_WORKERS(matches_every_way);

/* doubleselect: a select on four channels completes only one of them. (select8 has no counterpart:
 * a case in leat is no statement.) */
enum { CHANNELS = 4, DOUBLES = 40000 / SCALE };

struct spread {
    leat_chan *to[CHANNELS], *out;
    int number;
};

static int spread_over_four(void *arg)
{
    struct spread *sp = arg;
    for (int i = 0; i < DOUBLES; i++) {
        leat_case cases[CHANNELS];
        for (int j = 0; j < CHANNELS; j++)
            cases[j] = (leat_case)LEAT_SEND(sp->to[j], &i);
        CHECK(leat_select(cases, CHANNELS, LEAT_NEVER) >= 0);
    }
    for (int j = 0; j < CHANNELS; j++)
        CHECK_IS(0, leat_close(sp->to[j]));
    return 0;
}

static int pass_along(void *arg)
{
    struct spread *sp = arg;
    for (int x; leat_recv(sp->to[sp->number], &x) == 0;)
        CHECK_IS(0, leat_send(sp->out, &x));
    CHECK_IS(0, leat_chan_done(sp->out));
    return 0;
}

static int serves_a_select_once(void *arg)
{
    (void)arg;
    bool *seen = calloc(DOUBLES, sizeof *seen);
    CHECK(seen);
    struct crew crew;
    crew_open(&crew);
    struct spread spreads[CHANNELS] = { { .out = leat_chan_of(crew.scope, int, 0) } };
    for (int i = 0; i < CHANNELS; i++)
        spreads[0].to[i] = leat_chan_of(crew.scope, int, 0);
    CHECK_IS(0, leat_chan_senders(spreads[0].out, CHANNELS));
    for (int i = 0; i < CHANNELS; i++) {
        spreads[i] = spreads[0];
        spreads[i].number = i;
        crew_go(&crew, (enum kind)(i % KINDS), pass_along, &spreads[i]);
    }
    crew_go(&crew, TASK, spread_over_four, &spreads[0]);
    int count = 0;
    for (int x; leat_recv(spreads[0].out, &x) == 0; count++) {
        CHECK(!seen[x]);
        seen[x] = true;
    }
    CHECK_IS(DOUBLES, count);
    crew_close(&crew);
    free(seen);
    return 0;
}
ON_WORKERS(serves_a_select_once);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(keeps_order_in_a_buffer),
        TESTS_ON_WORKERS(keeps_order_in_a_chain),
        TESTS_ON_WORKERS(meets_without_blocking),
        TESTS_ON_WORKERS(never_chooses_null_channels),
        TESTS_ON_WORKERS(leaves_no_waiter),
        TESTS_ON_WORKERS(blocks_where_it_should),
        TESTS_ON_WORKERS(touches_only_what_happens),
        cmocka_unit_test(selects_in_every_mixture_on_one),
        TESTS_ON_WORKERS(leaves_the_queue_whole),
        TESTS_ON_WORKERS(matches_every_way),
        TESTS_ON_WORKERS(serves_a_select_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
