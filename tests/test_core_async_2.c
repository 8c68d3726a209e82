/* test_core_async_2.c: core.async's tests of transducers: expanding, ends, closing, failures. */
#include "support.h"

enum { INT = sizeof(int) };

static leat_chan *through(leat_scope *s, leat_buffer buffer, size_t capacity, leat_transform *t)
{
    leat_chan_spec spec = { t ? t->out_size : INT, capacity, NULL, NULL, buffer, t };
    leat_chan *ch = t ? leat_chan_open(s, &spec) : NULL;
    CHECK(ch);
    return ch;
}

/* The channel holds exactly these items. */
static void holds(leat_chan *ch, int n, const int *expected)
{
    int x;
    for (int i = 0; i < n; i++) {
        CHECK_IS(0, leat_try_recv(ch, &x));
        CHECK_IS(expected[i], x);
    }
    CHECK_IS(leat_chan_closed(ch) ? -EPIPE : -EAGAIN, leat_try_recv(ch, &x));
}
#define HOLDS(ch, ...) \
    holds(ch, (int)(sizeof((int[]){ __VA_ARGS__ }) / INT), (int[]){ __VA_ARGS__ })

static void put_all(leat_chan *ch, int n, const int *items)
{
    for (int i = 0; i < n; i++)
        CHECK_IS(0, leat_send(ch, &items[i]));
}
#define PUT(ch, ...) \
    put_all(ch, (int)(sizeof((int[]){ __VA_ARGS__ }) / INT), (int[]){ __VA_ARGS__ })

/* Emits as many items as the input says, even more than `most`. */
static int times(void *arg, const void *in, leat_emit *emit)
{
    int x = *(const int *)in, error = 0;
    for (int i = 0; i < x && !error; i++)
        error = leat_emit_item(emit, &i);
    if (arg)
        *(int *)arg = error;
    return error;
}

static int is_odd(void *arg, const void *in)
{
    (void)arg;
    return *(const int *)in % 2 != 0;
}

static int is_equal(void *arg, const void *before, const void *item)
{
    (void)arg;
    return *(const int *)before == *(const int *)item;
}

static int fails_as_told(void *arg, const void *in, void *out)
{
    (void)arg;
    int x = *(const int *)in;
    *(int *)out = x;
    return x < 0 ? x : 0;
}

/* ---- parties that send and receive in the background ---- */

struct putter {
    leat_chan *ch;
    int x, result;
};

static int put_one(void *arg)
{
    struct putter *p = arg;
    p->result = leat_send(p->ch, &p->x);
    return 0;
}

static int take_one(void *arg)
{
    struct putter *p = arg;
    p->result = leat_recv(p->ch, &p->x);
    return 0;
}

/* The senders queue in this order. */
static void wait_to_put(struct crew *crew, leat_chan *ch, struct putter *p, int n)
{
    for (int i = 0; i < n; i++) {
        p[i].ch = ch;
        p[i].result = 1;
        crew_go(crew, (enum kind)(i % KINDS), put_one, &p[i]);
        WAIT_UNTIL(senders_of(ch) == (unsigned)i + 1);
    }
}

static void wait_to_take(struct crew *crew, leat_chan *ch, struct putter *p, int n)
{
    for (int i = 0; i < n; i++) {
        p[i] = (struct putter){ ch, -1, 1 };
        crew_go(crew, (enum kind)(i % KINDS), take_one, &p[i]);
        WAIT_UNTIL(receivers_of(ch) == (unsigned)i + 1);
    }
}

/* ---- expanding ---- */

static int passes_the_bound(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = through(crew.scope, LEAT_FIXED, 1, leat_mapcat(INT, INT, 3, times, NULL));
    struct putter pending[3] = { { .x = 3 }, { .x = 3 }, { .x = 3 } };
    PUT(ch, 3);
    CHECK_IS(3, leat_chan_len(ch));
    CHECK_IS(1, leat_chan_cap(ch));
    wait_to_put(&crew, ch, pending, 3);
    int x;
    for (int i = 0; i < 12; i++) {
        CHECK_IS(3 - i % 3, leat_chan_len(ch));
        /* The last of three items makes room, and the next sender's item comes in. */
        CHECK_IS(i < 9 ? 3 - i / 3 : 0, senders_of(ch));
        CHECK_IS(0, leat_recv(ch, &x));
        CHECK_IS(i % 3, x);
    }
    crew_close(&crew);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, pending[i].result);
    return 0;
}
ON_WORKERS(passes_the_bound);

static int serves_several_takers_with_one_put(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = through(crew.scope, LEAT_FIXED, 1, leat_mapcat(INT, INT, 5, times, NULL));
    struct putter takers[3];
    wait_to_take(&crew, ch, takers, 3);
    PUT(ch, 0); /* emits nothing */
    CHECK_IS(3, receivers_of(ch));
    PUT(ch, 5);
    CHECK_IS(2, leat_chan_len(ch));
    HOLDS(ch, 3, 4);
    crew_close(&crew);
    for (int i = 0; i < 3; i++) {
        CHECK_IS(0, takers[i].result);
        CHECK_IS(i, takers[i].x);
    }
    return 0;
}
ON_WORKERS(serves_several_takers_with_one_put);

static int emits_most_at_the_most(void *arg)
{
    (void)arg;
    int told = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = through(s, LEAT_FIXED, 1, leat_mapcat(INT, INT, 3, times, &told));
    CHECK_IS(0, leat_send(ch, &(int){ 3 }));
    CHECK_IS(0, told);
    HOLDS(ch, 0, 1, 2);
    CHECK_IS(-ENOSPC, leat_send(ch, &(int){ 4 }));
    CHECK_IS(-ENOSPC, told);
    HOLDS(ch, 0, 1, 2);
    return leat_scope_close(s);
}
ON_WORKERS(emits_most_at_the_most);

static int emits_most_in_a_composition(void *arg)
{
    (void)arg;
    int told = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_transform *t = leat_compose(leat_mapcat(INT, INT, 2, times, &told), leat_dedupe(INT));
    leat_chan *ch = through(s, LEAT_FIXED, 4, t);
    CHECK_IS(-ENOSPC, leat_send(ch, &(int){ 3 }));
    CHECK_IS(-ENOSPC, told);
    HOLDS(ch, 0, 1);
    return leat_scope_close(s);
}
ON_WORKERS(emits_most_in_a_composition);

/* ---- pending puts ---- */

static int lets_waiting_senders_in(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = through(
        crew.scope, LEAT_FIXED, 2,
        leat_compose(leat_map(INT, INT, fails_as_told, NULL), leat_filter(INT, is_odd, NULL)));
    struct putter p[] = {
        { .x = 5 }, { .x = 6 }, { .x = -EIO }, { .x = 8 }, { .x = 7 }, { .x = 9 }
    };
    PUT(ch, 1, 3);
    wait_to_put(&crew, ch, p, 6);
    int x = 0;
    CHECK_IS(0, leat_recv(ch, &x)); /* makes room for one: 5 */
    CHECK_IS(1, x);
    CHECK_IS(5, senders_of(ch));
    CHECK_IS(2, leat_chan_len(ch));
    CHECK_IS(0, leat_recv(ch, &x)); /* 6, the failing item and 8 emit nothing, so 7 gets the room */
    CHECK_IS(3, x);
    CHECK_IS(1, senders_of(ch));
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(0, senders_of(ch));
    HOLDS(ch, 7, 9);
    crew_close(&crew);
    for (int i = 0; i < 6; i++)
        CHECK_IS(i == 2 ? -EIO : 0, p[i].result); /* only its sender gets the error */
    return 0;
}
ON_WORKERS(lets_waiting_senders_in);

static int ends_early(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = through(crew.scope, LEAT_FIXED, 1, leat_take(INT, 2));
    struct putter p[4] = { { .x = 2 }, { .x = 3 }, { .x = 4 }, { .x = 5 } };
    PUT(ch, 1);
    wait_to_put(&crew, ch, p, 4);
    int x = 0;
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(1, leat_chan_closed(ch));
    CHECK_IS(-EPIPE, leat_send(ch, &x));
    CHECK_IS(-EPIPE, leat_chan_senders(ch, 1));
    HOLDS(ch, 2);
    crew_close(&crew);
    for (int i = 0; i < 4; i++)
        CHECK_IS(i ? -EPIPE : 0, p[i].result);
    return 0;
}
ON_WORKERS(ends_early);

/* ---- what closing adds ---- */

struct run {
    leat_run run;
    int items[4];
};

static int is_single(void *arg, const void *in)
{
    (void)arg;
    return ((const struct run *)in)->run.count == 1;
}

static int count_of_run(void *arg, const void *in, void *out)
{
    (void)arg;
    *(int *)out = (int)((const struct run *)in)->run.count;
    return 0;
}

static leat_transform *counts_of_runs(void)
{
    return leat_compose(leat_partition_by(INT, 4, is_equal, NULL),
                        leat_map(sizeof(struct run), INT, count_of_run, NULL));
}

static int flushes_on_close(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = through(crew.scope, LEAT_FIXED, 2, leat_partition(INT, 4));
    struct run r;
    PUT(ch, 1, 2, 3, 4, 5, 6);
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_recv(ch, &r));
    CHECK(r.run.count == 4 && r.items[0] == 1 && r.items[3] == 4);
    CHECK_IS(0, leat_recv(ch, &r));
    CHECK(r.run.count == 2 && r.items[0] == 5 && r.items[1] == 6);
    CHECK_IS(-EPIPE, leat_recv(ch, &r));

    /* A finish may emit more than fits, also after an early end; waiting senders fail before. */
    ch = through(crew.scope, LEAT_FIXED, 1, counts_of_runs());
    struct putter pending[2] = { { .x = 9 }, { .x = 9 } };
    PUT(ch, 7, 7, 8);
    wait_to_put(&crew, ch, pending, 2);
    CHECK_IS(0, leat_close(ch));
    HOLDS(ch, 2, 1);
    ch = through(crew.scope, LEAT_FIXED, 1, leat_compose(leat_take(INT, 3), counts_of_runs()));
    PUT(ch, 7, 7, 7);
    CHECK_IS(1, leat_chan_closed(ch));
    HOLDS(ch, 3);

    /* A waiting receiver gets it. */
    struct putter takers[3];
    ch = through(crew.scope, LEAT_FIXED, 1, counts_of_runs());
    wait_to_take(&crew, ch, takers, 3);
    PUT(ch, 1, 2, 2);
    CHECK_IS(2, receivers_of(ch));
    CHECK_IS(0, leat_close(ch));
    crew_close(&crew);
    CHECK(pending[0].result == -EPIPE && pending[1].result == -EPIPE);
    CHECK(takers[0].result == 0 && takers[0].x == 1);
    CHECK(takers[1].result == 0 && takers[1].x == 2);
    CHECK(takers[2].result == -EPIPE && takers[2].x == -1);
    return 0;
}
ON_WORKERS(flushes_on_close);

/* When take_while has ended the stream, nothing more comes through, not even from a finish. */
static int ends_for_good(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = through(s, LEAT_FIXED, 4,
                            leat_compose(leat_partition_by(INT, 4, is_equal, NULL),
                                         leat_take_while(sizeof(struct run), is_single, NULL)));
    struct run r;
    PUT(ch, 1, 2, 2, 3); /* runs of one and of two are out, and a run of one is open */
    CHECK_IS(1, leat_chan_closed(ch));
    CHECK_IS(0, leat_recv(ch, &r));
    CHECK_IS(1, r.items[0]);
    CHECK_IS(-EPIPE, leat_recv(ch, &r));
    return leat_scope_close(s);
}
ON_WORKERS(ends_for_good);

/* ---- failures ---- */

static int instead(void *arg, int error, const void *item, leat_emit *emit)
{
    int kept = *(const int *)item == error && *(int *)arg != 0;
    if (kept)
        CHECK_IS(0, leat_emit_item(emit, arg));
    return kept || error == -EINTR ? 0 : -EBADMSG;
}

static int handles_failures(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = through(s, LEAT_FIXED, 9, leat_map(INT, INT, fails_as_told, NULL));
    static const int told[] = { -EIO, -ENOMEM, -EPIPE, -ECANCELED, -ETIMEDOUT, -EINVAL };
    PUT(ch, 1);
    for (int i = 0; i < 6; i++) {
        leat_case cases[] = { LEAT_SEND(ch, &told[i]) };
        CHECK_IS(told[i], leat_send(ch, &told[i]));
        CHECK_IS(told[i], leat_try_send(ch, &told[i]));
        CHECK_IS(0, leat_select(cases, 1, LEAT_NEVER));
        CHECK_IS(told[i], cases[0].status);
    }
    PUT(ch, 2); /* the channel still works */
    HOLDS(ch, 1, 2);

    /* The handler may emit a value, emit nothing, or return another error. */
    int value = 70, none = 0;
    leat_transform *t = leat_on_failure(leat_map(INT, INT, fails_as_told, NULL), instead, &value);
    ch = through(s, LEAT_FIXED, 9, t);
    PUT(ch, 1, -EIO, 3);
    HOLDS(ch, 1, 70, 3);
    t = leat_on_failure(leat_map(INT, INT, fails_as_told, NULL), instead, &none);
    ch = through(s, LEAT_FIXED, 9, leat_compose(t, counts_of_runs()));
    PUT(ch, 1, -EINTR, 1);
    CHECK_IS(-EBADMSG, leat_send(ch, &told[0]));
    CHECK_IS(0, leat_close(ch));
    HOLDS(ch, 2);

    /* Around a composition, the handler covers all of it. */
    t = leat_compose(leat_dedupe(INT), leat_map(INT, INT, fails_as_told, NULL));
    ch = through(s, LEAT_FIXED, 9, leat_on_failure(t, instead, &value));
    PUT(ch, 1, -EIO, -EIO, 3);
    HOLDS(ch, 1, 70, 3);
    return leat_scope_close(s);
}
ON_WORKERS(handles_failures);

/* A transform may fail with an error that leat also uses itself. */
static int returns_a_transforms_eagain(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = through(s, LEAT_FIXED, 4, leat_map(INT, INT, fails_as_told, NULL));
    int x = -EAGAIN;
    leat_case cases[] = { LEAT_SEND(ch, &x) };
    CHECK_IS(-EAGAIN, leat_try_send(ch, &x));
    CHECK_IS(-EAGAIN, leat_send_until(ch, &x, leat_after(200 * LEAT_MS)));
    CHECK_IS(-EAGAIN, leat_send_many(ch, &x, 1, leat_after(200 * LEAT_MS)));
    CHECK_IS(0, leat_select(cases, 1, LEAT_NEVER));
    CHECK_IS(-EAGAIN, cases[0].status);
    return leat_scope_close(s);
}
ON_WORKERS(returns_a_transforms_eagain);

/* ---- a step that takes long ---- */

struct gate {
    leat_transform t;
    _Atomic bool inside, open;
    _Atomic int finishes;
};

static int pass_the_gate(leat_transform *t, const void *item, leat_emit *emit)
{
    struct gate *gate = (struct gate *)t;
    gate->inside = true;
    while (!gate->open)
        nap();
    return leat_emit_item(emit, item);
}

static int finish_once(leat_transform *t, leat_emit *emit)
{
    CHECK_IS(0, ((struct gate *)t)->finishes++);
    return leat_emit_item(emit, &(int){ 99 });
}

/* A close does not interrupt a step. The finish runs right after it, before any waiting sender. */
static int closes_after_the_step(void *arg)
{
    (void)arg;
    static const leat_buffer buffers[] = { LEAT_FIXED, LEAT_SLIDING };
    for (int i = 0; i < 2; i++) {
        struct crew crew;
        crew_open(&crew);
        struct gate gate = { .t = { INT, INT, 1, pass_the_gate, finish_once, NULL, NULL } };
        leat_chan *ch = through(crew.scope, buffers[i], 4, &gate.t);
        struct putter in = { ch, 1, 1 }, behind[3] = { { .x = 2 }, { .x = 3 }, { .x = 4 } };
        crew_go(&crew, FOREIGN, put_one, &in);
        WAIT_UNTIL(gate.inside);
        CHECK_IS(-EAGAIN, leat_try_send(ch, &in.x));
        wait_to_put(&crew, ch, behind, 3);
        CHECK_IS(0, leat_close(ch));
        CHECK_IS(-EPIPE, leat_send(ch, &in.x));
        CHECK_IS(-EAGAIN, leat_try_recv(ch, NULL)); /* the step may still emit an item */
        gate.open = true;
        int x = 0;
        CHECK_IS(0, leat_recv(ch, &x));
        CHECK_IS(1, x);
        CHECK_IS(0, leat_recv(ch, &x));
        CHECK_IS(99, x);
        CHECK_IS(-EPIPE, leat_recv(ch, &x));
        crew_close(&crew);
        CHECK_IS(0, in.result);
        for (int j = 0; j < 3; j++)
            CHECK_IS(-EPIPE, behind[j].result);
        CHECK_IS(1, gate.finishes);
    }
    return 0;
}
ON_WORKERS(closes_after_the_step);

/* ---- transforms of promises, and from callbacks ---- */

static void is_done(leat_op *op, int status)
{
    CHECK(op && status == 0);
}

static int promises_what_passes(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = through(crew.scope, LEAT_PROMISE, 0, leat_filter(INT, is_odd, NULL));
    struct putter takers[4];
    wait_to_take(&crew, ch, takers, 4);
    PUT(ch, 2, 4);
    CHECK_IS(4, receivers_of(ch));
    leat_op op = LEAT_OP(crew.scope, 0);
    CHECK_IS(0, leat_send_then(&op, ch, &(int){ 5 }, is_done));
    PUT(ch, 7, 8);
    CHECK_IS(0, leat_close(ch));
    crew_close(&crew);
    for (int i = 0; i < 4; i++)
        CHECK(takers[i].result == 0 && takers[i].x == 5);
    return 0;
}
ON_WORKERS(promises_what_passes);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(passes_the_bound),
        TESTS_ON_WORKERS(serves_several_takers_with_one_put),
        TESTS_ON_WORKERS(emits_most_at_the_most),
        TESTS_ON_WORKERS(lets_waiting_senders_in),
        TESTS_ON_WORKERS(ends_early),
        TESTS_ON_WORKERS(flushes_on_close),
        TESTS_ON_WORKERS(handles_failures),
        TESTS_ON_WORKERS(closes_after_the_step),
        TESTS_ON_WORKERS(promises_what_passes),
        TESTS_ON_WORKERS(emits_most_in_a_composition),
        TESTS_ON_WORKERS(ends_for_good),
        TESTS_ON_WORKERS(returns_a_transforms_eagain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
