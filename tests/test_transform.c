/* test_transform.c: transforms between two channels, against a plain model. */
#include "flows.h"

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

/* Tries to emit one more than `most`, which is 2. */
static int emit_three(void *arg, const void *in, leat_emit *emit)
{
    (void)arg;
    int error = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_IS(0, error);
        error = leat_emit_item(emit, in);
    }
    return error;
}

static int emit_nothing(void *arg, const void *in, leat_emit *emit)
{
    (void)arg, (void)in;
    return leat_emit_item(emit, NULL);
}

static int add_fifty(void *arg, int error, const void *item, leat_emit *emit)
{
    (void)arg;
    CHECK_IS(-ENOSPC, error);
    return leat_emit_item(emit, &(int){ *(const int *)item + 50 });
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
    int n, out[OUTPUTS], len;
    int left_out; /* inputs of the first stage */
    bool ended;
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
    m->ended |= s->ended;
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

static _Atomic int dropped_inputs, dropped_outputs;

static void drop_input(void *item)
{
    (void)item;
    atomic_fetch_add(&dropped_inputs, 1);
}

static void drop_output(void *item)
{
    (void)item;
    atomic_fetch_add(&dropped_outputs, 1);
}

static void finish(struct model *m)
{
    for (int i = 0; i < m->n; i++)
        cut_run(m, i);
}

/* The first stage takes an input. Its kinds from FILTER on either pass an item on or leave it out,
 * but for three: MAPCAT makes other items, PARTITION and PARTITION_BY keep theirs. RESCUE handles
 * its failures itself. */
static void feed_input(struct model *m, int x)
{
    static const bool leaves_out[STAGE_KINDS] = {
        [FILTER] = true, [REMOVE] = true, [TAKE] = true,     [TAKE_WHILE] = true,
        [DEDUPE] = true, [FAIL] = true,   [DISTINCT] = true,
    };
    struct stage *first = &m->stages[0];
    bool fails = first->kind == FAIL && x == 7;
    struct model probe = *m; /* only the first stage knows what it leaves out */
    probe.n = 1;
    probe.len = 0;
    if (!fails)
        feed(&probe, 0, x);
    m->left_out += fails || (leaves_out[first->kind] && probe.len == 0);
    if (!fails)
        feed(m, 0, x);
}

/* The consumer leaves after `most` items. */
static int check_outputs(const struct model *m, leat_chan *out, int most)
{
    int got = 0, x, error = 0;
    for (; got < most && (error = leat_recv(out, &x)) == 0; got++) {
        CHECK(got < m->len);
        CHECK_IS(m->out[got], x);
    }
    if (got < most) {
        CHECK_IS(-EPIPE, error);
        CHECK_IS(m->len, got);
    }
    CHECK_IS(0, leat_close(out));
    return got;
}

static void against_model(uint64_t *chance)
{
    struct model m = { .n = 1 + (int)below(chance, STAGES) };
    for (int i = 0; i < m.n; i++)
        m.stages[i] = (struct stage){ .kind = (int)below(chance, i ? FAIL : STAGE_KINDS),
                                      .n = 1 + (int)below(chance, RUN_MAX) };
    leat_transform *t = made_chain(&m, below(chance, 2));
    int items[INPUTS], taken = 0, most = below(chance, 4) ? OUTPUTS : (int)below(chance, 12);
    for (int i = 0; i < INPUTS; i++)
        items[i] = (int)below(chance, 12) - 2;
    for (; taken < INPUTS && !m.ended; taken++)
        feed_input(&m, items[taken]);
    finish(&m);
    dropped_inputs = dropped_outputs = 0;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_to_chan(outer, items, INT, INPUTS, drop_input);
    leat_chan *out = leat_through(s, in, t, below(chance, 5), drop_output);
    int got = check_outputs(&m, out, most);
    CHECK_IS(0, leat_scope_close(s));
    if (got == m.len && got < most) {
        CHECK_IS(m.left_out, dropped_inputs);
        CHECK_IS(INPUTS - taken, leat_chan_len(in));
        CHECK_IS(0, dropped_outputs);
    }
    CHECK_IS(0, leat_scope_close(outer));
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

/* ---- which inputs are dropped ---- */

static int drops_what_is_left_out(void *arg)
{
    (void)arg;
    static const struct {
        int kept, dropped; /* of 1, 1, 2, 3, 1, 2; the rest stays in the input */
    } expected[] = { { 4, 2 }, { 2, 4 }, { 2, 0 }, { 2, 1 }, { 5, 1 }, { 3, 3 }, { 4, 2 } };
    for (unsigned i = 0; i < 7; i++) {
        leat_transform *ts[] = {
            leat_filter(INT, is_odd, NULL),
            leat_remove(INT, is_odd, NULL),
            leat_take(INT, 2),
            leat_take_while(INT, is_odd, NULL),
            leat_dedupe(INT),
            leat_distinct(INT),
            leat_compose(leat_filter(INT, is_odd, NULL), leat_map(INT, INT, negate, NULL)),
        };
        for (unsigned other = 0; other < 7; other++)
            if (other != i)
                leat_transform_free(ts[other]);
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_to_chan(outer, (int[]){ 1, 1, 2, 3, 1, 2 }, INT, 6, drop_input);
        dropped_inputs = 0;
        leat_chan *out = leat_through(s, in, ts[i], 0, NULL);
        int kept = 0;
        while (leat_recv(out, NULL) == 0)
            kept++;
        CHECK_IS(expected[i].kept, kept);
        CHECK_IS(expected[i].dropped, dropped_inputs);
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(0, leat_scope_close(outer));
        CHECK_IS(6 - kept, dropped_inputs);
    }
    leat_leave_out(NULL, NULL);
    return 0;
}
ON_WORKERS(drops_what_is_left_out);

/* A thousand different items: each comes once, when it first comes. */
static int keeps_what_is_distinct(void *arg)
{
    (void)arg;
    enum { ITEMS = 4000, VALUES = 1000 };
    static int items[ITEMS];
    bool seen[VALUES] = { false };
    for (int i = 0; i < ITEMS; i++)
        items[i] = (int)((unsigned)i * 7919 % ITEMS % VALUES);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_to_chan(s, items, INT, ITEMS, NULL);
    leat_chan *out = leat_through(s, in, leat_distinct(INT), 0, NULL);
    for (int i = 0; i < ITEMS; i++) {
        int item;
        if (seen[items[i]])
            continue;
        seen[items[i]] = true;
        CHECK_IS(0, leat_recv(out, &item));
        CHECK_IS(items[i], item);
    }
    CHECK_IS(-EPIPE, leat_recv(out, NULL));
    return leat_scope_close(s);
}
ON_WORKERS(keeps_what_is_distinct);

/* Nothing is taken from the input, which may never have an item. */
static int takes_none(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        leat_transform *none = leat_take(INT, 0), *all = leat_map(INT, INT, negate, NULL);
        leat_transform *t = i == 0   ? none
                            : i == 1 ? leat_compose(none, all)
                            : i == 2 ? leat_compose(all, none)
                                     : leat_on_failure(none, add_hundred, NULL);
        if (i == 0 || i == 3)
            leat_transform_free(all);
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_chan_of(s, int, 2);
        CHECK_IS(-EPIPE, leat_recv(leat_through(s, in, t, 0, NULL), NULL));
        CHECK_IS(0, leat_send(in, &(int){ 1 }));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(takes_none);

/* ---- how many outputs a step may make ---- */

/* With a function for failures the limit is the same, and the function may emit one more. */
static int keeps_to_its_most(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_transform *t = leat_mapcat(INT, INT, 2, emit_three, NULL);
    leat_chan *in = leat_to_chan(s, (int[]){ 1, 2 }, INT, 2, NULL);
    leat_chan *out = leat_through(s, in, leat_on_failure(t, add_fifty, NULL), 0, NULL);
    const int expected[] = { 1, 1, 51, 2, 2, 52 };
    for (int i = 0, x; i < 6; i++) {
        CHECK_IS(0, leat_recv(out, &x));
        CHECK_IS(expected[i], x);
    }
    CHECK_IS(-EPIPE, leat_recv(out, NULL));
    /* outputs without bytes, of which a step may make any number */
    t = leat_mapcat(INT, 0, SIZE_MAX, emit_nothing, NULL);
    in = leat_to_chan(s, (int[]){ 1, 2 }, INT, 2, NULL);
    out = leat_through(s, in, leat_on_failure(t, add_fifty, NULL), 0, NULL);
    CHECK_IS(0, leat_recv(out, NULL));
    CHECK_IS(0, leat_recv(out, NULL));
    CHECK_IS(-EPIPE, leat_recv(out, NULL));
    return leat_scope_close(s);
}
ON_WORKERS(keeps_to_its_most);

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
    leat_chan *in = leat_chan_of(s, int, 0);
    leat_transform stepless = own, wide = own, endless = own;
    stepless.step = NULL;
    wide.out_size = big;
    endless.most = SIZE_MAX;
    CHECK(!leat_through(s, in, &stepless, 1, NULL));
    CHECK(!leat_through(s, in, &wide, 1, NULL));
    CHECK(!leat_through(s, in, &endless, 1, NULL));
    CHECK(!leat_through(s, in, leat_on_failure(&endless, add_hundred, NULL), 1, NULL));
    CHECK(!leat_through(s, in, &own, SIZE_MAX / 2, NULL));
    CHECK(!leat_through(s, leat_chan_of(s, char, 0), &own, 1, NULL));
    CHECK(!leat_through(s, NULL, &own, 1, NULL));
    CHECK(!leat_through(NULL, in, &own, 1, NULL));
    CHECK(!leat_through(s, in, NULL, 1, NULL));
    CHECK(leat_through(s, in, &own, 0, NULL));
    CHECK_IS(0, leat_close(in));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(15, freed); /* the fifth, and the last, by the scope */
    return 0;
}
ON_WORKERS(refuses_what_is_wrong);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(agrees_with_a_model),    TESTS_ON_WORKERS(drops_what_is_left_out),
        TESTS_ON_WORKERS(keeps_what_is_distinct), TESTS_ON_WORKERS(takes_none),
        TESTS_ON_WORKERS(keeps_to_its_most),      TESTS_ON_WORKERS(refuses_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
