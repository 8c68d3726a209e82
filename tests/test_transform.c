/* test_transform.c: transforms of channels, against a plain model and with many parties at once. */
#include "support.h"

enum { INT = sizeof(int), RUN_MAX = 4 };

struct run {
    leat_run run;
    int items[RUN_MAX];
};

/* ---- functions for the transforms ---- */

static int negate(void *arg, const void *in, void *out)
{
    (void)arg;
    *(int *)out = -*(const int *)in;
    return 0;
}

static int is_odd(void *arg, const void *in)
{
    (void)arg;
    return *(const int *)in % 2 != 0;
}

static int is_below_nine(void *arg, const void *in)
{
    (void)arg;
    return *(const int *)in < 9;
}

static int fails_on_seven(void *arg, const void *in)
{
    (void)arg;
    return *(const int *)in == 7 ? -EIO : 1;
}

static int add_hundred(void *arg, int error, const void *item, leat_emit *emit)
{
    (void)arg;
    CHECK_IS(-EIO, error);
    return leat_emit_item(emit, &(int){ *(const int *)item + 100 });
}

/* Emits the item |x| % 3 times. */
static int repeat(void *arg, const void *in, leat_emit *emit)
{
    (void)arg;
    int x = *(const int *)in, error = 0;
    for (int i = 0; i < abs(x) % 3 && !error; i++)
        error = leat_emit_item(emit, &(int){ x + i });
    return error;
}

static int same_parity(void *arg, const void *before, const void *item)
{
    return is_odd(arg, before) == is_odd(arg, item);
}

static int sum_of_run(void *arg, const void *in, void *out)
{
    (void)arg;
    const struct run *r = in;
    int sum = (int)r->run.count;
    CHECK(r->run.count >= 1 && r->run.count <= RUN_MAX);
    for (size_t i = 0; i < r->run.count; i++)
        sum += r->items[i];
    *(int *)out = sum;
    return 0;
}

/* ---- the model: stages that feed each other ---- */

enum { MAP, FILTER, REMOVE, RESCUE, MAPCAT, TAKE, TAKE_WHILE };
enum { PARTITION = TAKE_WHILE + 1, PARTITION_BY, DEDUPE, DISTINCT, FAIL, STAGE_KINDS };
enum { STAGES = 3, INPUTS = 40, OUTPUTS = INPUTS * 8 + 8 };

struct stage {
    int kind, n, held, sum, last, seen[OUTPUTS], seen_count;
    bool ended;
};

struct model {
    struct stage stages[STAGES];
    int n, out[OUTPUTS], len, dropped;
    bool closed;
};

static void feed(struct model *m, int i, int x);

static void cut_run(struct model *m, int i)
{
    struct stage *s = &m->stages[i];
    int sum = s->held + s->sum;
    bool any = s->held;
    s->held = s->sum = 0;
    if (any)
        feed(m, i + 1, sum);
}

static bool seen_before(struct stage *s, int x)
{
    for (int i = s->kind == DEDUPE && s->seen_count ? s->seen_count - 1 : 0; i < s->seen_count; i++)
        if (s->seen[i] == x)
            return true;
    s->seen[s->seen_count++] = x;
    return false;
}

static void feed(struct model *m, int i, int x)
{
    if (i == m->n) {
        m->out[m->len++] = x;
        return;
    }
    struct stage *s = &m->stages[i];
    bool passes = !s->ended;
    if (s->kind == FILTER)
        passes = x % 2 != 0;
    else if (s->kind == REMOVE)
        passes = x % 2 == 0;
    else if (s->kind == TAKE_WHILE)
        s->ended = !(passes = passes && x < 9);
    else if (s->kind == DEDUPE || s->kind == DISTINCT)
        passes = !seen_before(s, x);
    else if (s->kind == TAKE)
        s->ended = !(passes = passes && s->n > 0) || --s->n == 0;
    m->closed |= s->ended;
    if (s->kind == PARTITION || s->kind == PARTITION_BY) {
        if (s->kind == PARTITION_BY && s->held && (s->last + x) % 2)
            cut_run(m, i);
        s->held++;
        s->sum += s->last = x;
        if (s->held == s->n)
            cut_run(m, i);
    } else if (s->kind == MAPCAT) {
        for (int copy = 0; copy < abs(x) % 3; copy++)
            feed(m, i + 1, x + copy);
    } else if (passes) {
        feed(m, i + 1, s->kind == MAP ? -x : s->kind == RESCUE && x == 7 ? 107 : x);
    }
}

static leat_transform *made(const struct stage *s)
{
    size_t n = (size_t)s->n;
    leat_transform *t;
    switch (s->kind) {
    case MAP: return leat_map(INT, INT, negate, NULL);
    case FILTER: return leat_filter(INT, is_odd, NULL);
    case REMOVE: return leat_remove(INT, is_odd, NULL);
    case RESCUE: return leat_on_failure(leat_filter(INT, fails_on_seven, NULL), add_hundred, NULL);
    case MAPCAT: return leat_mapcat(INT, INT, 2, repeat, NULL);
    case TAKE: return leat_take(INT, n);
    case TAKE_WHILE: return leat_take_while(INT, is_below_nine, NULL);
    case PARTITION:
    case PARTITION_BY:
        t = s->kind == PARTITION ? leat_partition(INT, n)
                                 : leat_partition_by(INT, n, same_parity, NULL);
        return leat_compose(t, leat_map(sizeof(leat_run) + n * INT, INT, sum_of_run, NULL));
    case DEDUPE: return leat_dedupe(INT);
    case DISTINCT: return leat_distinct(INT);
    default: return leat_filter(INT, fails_on_seven, NULL);
    }
}

static leat_transform *made_chain(const struct model *m, bool from_the_left)
{
    leat_transform *t = made(&m->stages[from_the_left ? 0 : m->n - 1]);
    for (int i = 1; i < m->n; i++)
        t = from_the_left ? leat_compose(t, made(&m->stages[i]))
                          : leat_compose(made(&m->stages[m->n - 1 - i]), t);
    return t;
}

static _Atomic int drops;

static void count_fall(void *item)
{
    (void)item;
    atomic_fetch_add(&drops, 1);
}

/* Drops outputs that the buffer has no room for. */
static void shed(struct model *m, leat_buffer buffer, int capacity)
{
    while (buffer != LEAT_FIXED && m->len > capacity) {
        if (buffer == LEAT_SLIDING)
            memmove(m->out, m->out + 1, (size_t)(m->len - 1) * INT);
        m->len--;
        m->dropped++;
    }
}

static void receive_one(struct model *m, leat_buffer buffer, leat_chan *ch)
{
    int x;
    CHECK_IS(m->len ? 0 : m->closed ? -EPIPE : -EAGAIN, leat_recv_until(ch, &x, LEAT_NOW));
    if (m->len == 0)
        return;
    CHECK_IS(m->out[0], x);
    if (buffer != LEAT_PROMISE)
        memmove(m->out, m->out + 1, (size_t)--m->len * INT);
}

static void finish(struct model *m)
{
    for (int i = 0; i < m->n; i++)
        cut_run(m, i);
    m->closed = true;
}

static int send_by(unsigned way, leat_chan *ch, int *x)
{
    leat_case cases[] = { LEAT_SEND(ch, x) };
    if (way == 0)
        return leat_try_send(ch, x);
    int error =
        way == 1 ? (int)leat_send_many(ch, x, 1, LEAT_NOW) : leat_select(cases, 1, LEAT_NOW);
    return error < 0 ? error : way == 1 ? error - 1 : cases[0].status;
}

static void against_model(uint64_t *chance)
{
    struct model m = { .n = 1 + (int)below(chance, STAGES) };
    for (int i = 0; i < m.n; i++)
        m.stages[i] = (struct stage){ .kind = (int)below(chance, i ? FAIL : STAGE_KINDS),
                                      .n = 1 + (int)below(chance, RUN_MAX) };
    leat_buffer buffer = below(chance, 2) ? LEAT_FIXED : (leat_buffer)below(chance, 4);
    int capacity = buffer == LEAT_PROMISE ? 1 : 1 + (int)below(chance, 5);
    drops = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch =
        leat_chan_open(s, &(leat_chan_spec){ .item_size = INT,
                                             .capacity = (size_t)capacity,
                                             .buffer = buffer,
                                             .drop = count_fall,
                                             .transform = made_chain(&m, below(chance, 2)) });
    CHECK(ch);
    for (int i = 0; i < INPUTS; i++) {
        int x = (int)below(chance, 12) - 2;
        bool was_closed = m.closed, fails = m.stages[0].kind == FAIL && x == 7;
        bool full = buffer == LEAT_FIXED && m.len >= capacity;
        if (!was_closed && !full && !fails)
            feed(&m, 0, x);
        int expected = was_closed ? -EPIPE : full ? -EAGAIN : fails ? -EIO : 0;
        CHECK_IS(expected, send_by(below(chance, 3), ch, &x));
        if (!was_closed && (m.closed || below(chance, 60) == 0)) {
            shed(&m, buffer, capacity);
            finish(&m);
            CHECK_IS(0, leat_close(ch));
        }
        shed(&m, buffer, capacity);
        CHECK_IS(m.closed, leat_chan_closed(ch));
        CHECK_IS(m.len, leat_chan_len(ch));
        CHECK_IS(m.dropped, drops);
        for (unsigned n = below(chance, 3); n > 0; n--)
            receive_one(&m, buffer, ch);
    }
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(m.dropped + m.len, drops);
}

static int agrees_with_a_model(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    for (int round = 0; round < 4000 / SCALE; round++)
        against_model(&chance);
    return 0;
}
ON_WORKERS(agrees_with_a_model);

/* ---- wrong arguments, and when a transform is freed ---- */

static _Atomic int freed;

static void count_free(leat_transform *t)
{
    (void)t;
    atomic_fetch_add(&freed, 1);
}

static int pass_on(leat_transform *t, const void *item, leat_emit *emit)
{
    (void)t;
    return leat_emit_item(emit, item);
}

static leat_transform own = { INT, INT, 1, pass_on, NULL, NULL, count_free };

static int refuses_what_is_wrong(void *arg)
{
    (void)arg;
    const size_t big = ((size_t)1 << 20) + 1;
    freed = 0;
    CHECK(!leat_map(INT, INT, NULL, NULL) && !leat_map(big, INT, negate, NULL));
    CHECK(!leat_map(INT, big, negate, NULL) && !leat_map(INT, SIZE_MAX, negate, NULL));
    CHECK(!leat_filter(INT, NULL, NULL) && !leat_filter(big, is_odd, NULL));
    CHECK(!leat_remove(INT, NULL, NULL) && !leat_take_while(INT, NULL, NULL));
    CHECK(!leat_mapcat(INT, INT, 2, NULL, NULL) && !leat_take(big, 1));
    CHECK(!leat_partition(INT, 0) && !leat_partition(INT, SIZE_MAX / INT + 2));
    CHECK(!leat_partition_by(INT, 2, NULL, NULL));
    CHECK(!leat_partition_by(INT, SIZE_MAX, same_parity, NULL));
    CHECK(!leat_dedupe(big) && !leat_distinct(big));
    CHECK_IS(-EINVAL, leat_emit_item(NULL, &(int){ 1 }));
    leat_transform_free(NULL);
    CHECK(!leat_compose(NULL, NULL));
    CHECK(!leat_on_failure(NULL, add_hundred, NULL));
    CHECK(!leat_compose(&own, NULL)); /* a NULL argument frees the other one */
    CHECK(!leat_compose(NULL, &own));
    CHECK(!leat_on_failure(&own, NULL, NULL));
    CHECK_IS(3, freed);
    CHECK(!leat_compose(&own, leat_filter(INT + 1, is_odd, NULL)));
    CHECK_IS(4, freed);
    leat_transform_free(leat_compose(leat_compose(&own, leat_dedupe(INT)), leat_distinct(INT)));
    CHECK_IS(5, freed);
    leat_transform_free(leat_on_failure(&own, add_hundred, NULL));
    CHECK_IS(6, freed);

    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_transform stepless = own;
    stepless.step = NULL;
    const leat_chan_spec good = { INT, 4, NULL, NULL, LEAT_FIXED, &own };
    leat_chan_spec bad[7] = { good, good, good, good, good, good, good };
    bad[0].item_size = 5;
    bad[1].item_size = big;
    bad[2].capacity = 0;
    bad[3].capacity = SIZE_MAX;
    bad[4].capacity = SIZE_MAX / INT;
    bad[5].buffer = (leat_buffer)4;
    bad[6].transform = &stepless;
    for (int i = 0; i < 7; i++) {
        CHECK(!leat_chan_open(s, &bad[i]));
        CHECK_IS(7 + i, freed);
    }
    CHECK_IS(0, leat_close(leat_chan_open(s, &good)));
    leat_chan *counted = leat_chan_open(NULL, &good);
    CHECK_IS(0, leat_chan_ref(counted));
    CHECK_IS(0, leat_chan_unref(counted));
    CHECK_IS(13, freed);
    CHECK_IS(0, leat_chan_unref(counted));
    CHECK_IS(14, freed);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(15, freed);
    return 0;
}
ON_WORKERS(refuses_what_is_wrong);

/* ---- many parties at once ---- */

enum { PARTIES = 4, EACH = 2000 / SCALE };

static _Atomic int received[PARTIES * EACH + 1];

struct guarded {
    leat_transform t;
    leat_chan *self, *log;
    _Atomic int inside, steps, finishes;
};

/* A step may do what this one does, and no other step of the channel runs meanwhile. */
static int guarded_step(leat_transform *t, const void *item, leat_emit *emit)
{
    struct guarded *g = (struct guarded *)t;
    int x = *(const int *)item;
    CHECK_IS(0, atomic_fetch_add(&g->inside, 1));
    if (x % 16 == 0)
        leat_yield();
    CHECK(leat_chan_len(g->self) <= leat_chan_cap(g->self) + 1);
    CHECK_IS(0, leat_try_send(g->log, &x));
    int again = leat_try_send(g->self, &x);
    CHECK(again == -EAGAIN || again == -EPIPE);
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

static void from_many_sides(leat_buffer buffer, int round, bool closes)
{
    struct crew crew;
    struct side sides[2 * PARTIES];
    crew_open(&crew);
    for (int i = 0; i <= PARTIES * EACH; i++)
        received[i] = 0;
    struct guarded g = { .t = { INT, INT, 2, guarded_step, guarded_finish, NULL, NULL } };
    leat_chan_spec spec = { INT, 1 + (size_t)round, NULL, NULL, buffer, &g.t };
    leat_chan *ch = g.self = leat_chan_open(NULL, &spec);
    g.log = leat_chan_make(NULL, INT, (size_t)PARTIES * EACH);
    CHECK_IS(0, leat_chan_senders(ch, PARTIES));
    for (int i = 0; i < 2 * PARTIES; i++) {
        sides[i] = (struct side){ ch, i / 2, 0 };
        crew_go(&crew, (enum kind)((i + round) % KINDS), i % 2 ? receive_all : send_all, &sides[i]);
    }
    if (closes) {
        WAIT_UNTIL(g.steps > EACH / 2);
        CHECK_IS(0, leat_close(ch));
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
        CHECK(buffer != LEAT_FIXED ? received[x] <= x % 3 : received[x] == x % 3);
        received[x] = 0;
    }
    CHECK(received[PARTIES * EACH] == 1 || buffer == LEAT_DROPPING);
    received[PARTIES * EACH] = 0;
    for (int i = 0; i <= PARTIES * EACH; i++)
        CHECK_IS(0, received[i]);
    CHECK_IS(0, leat_chan_unref(ch));
    CHECK_IS(0, leat_chan_unref(g.log));
}

static int counts_from_many_sides(void *arg)
{
    (void)arg;
    for (int round = 0; round < 4; round++) {
        from_many_sides(LEAT_FIXED, round, round % 2);
        from_many_sides(round % 2 ? LEAT_SLIDING : LEAT_DROPPING, round, round >= 2);
    }
    return 0;
}
ON_WORKERS(counts_from_many_sides);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(agrees_with_a_model),
        TESTS_ON_WORKERS(refuses_what_is_wrong),
        TESTS_ON_WORKERS(counts_from_many_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
