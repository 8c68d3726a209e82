/* test_core_async_2.c: core.async's tests of transducers, for transforms between two channels:
 * expanding, ends, closing, failures. */
#include "flows.h"

enum { INT = sizeof(int) };

struct pair {
    leat_chan *in, *out;
};

static _Atomic int dropped; /* inputs */

static void count_drop(void *item)
{
    (void)item;
    atomic_fetch_add(&dropped, 1);
}

static struct pair through(leat_scope *s, size_t capacity, leat_transform *t)
{
    struct pair pair = { .in = leat_chan_open(
                             s, &(leat_chan_spec){ .item_size = INT, .drop = count_drop }) };
    atomic_store(&dropped, 0);
    pair.out = leat_through(s, pair.in, t, capacity, NULL);
    CHECK(pair.in && pair.out);
    return pair;
}

/* These items come out, and then the end. */
static void gives(leat_chan *out, int n, const int *expected)
{
    int x;
    for (int i = 0; i < n; i++) {
        CHECK_IS(0, leat_recv(out, &x));
        CHECK_IS(expected[i], x);
    }
    CHECK_IS(-EPIPE, leat_recv(out, &x));
}
#define GIVES(out, ...) \
    gives(out, (int)(sizeof((int[]){ __VA_ARGS__ }) / INT), (int[]){ __VA_ARGS__ })

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

static int is_equal(void *arg, const void *before, const void *item)
{
    (void)arg;
    return *(const int *)before == *(const int *)item;
}

static int fails_by_item(void *arg, const void *in, void *out)
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
    struct pair p = through(crew.scope, 1, leat_mapcat(INT, INT, 3, times, NULL));
    struct putter pending[3] = { { .x = 3 }, { .x = 3 }, { .x = 3 } };
    PUT(p.in, 3);
    WAIT_UNTIL(leat_chan_len(p.out) == 1 && senders_of(p.out) == 1);
    wait_to_put(&crew, p.in, pending, 3);
    int x;
    for (int i = 0; i < 12; i++) {
        CHECK_IS(0, leat_recv(p.out, &x));
        CHECK_IS(i % 3, x);
        /* It takes the next item when the last output of this one is in the buffer. */
        WAIT_UNTIL(senders_of(p.in) == (unsigned)(i < 1 ? 3 : i < 10 ? 2 - (i - 1) / 3 : 0));
    }
    CHECK_IS(0, leat_close(p.in));
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
    struct pair p = through(crew.scope, 1, leat_mapcat(INT, INT, 5, times, NULL));
    struct putter takers[3];
    wait_to_take(&crew, p.out, takers, 3);
    PUT(p.in, 0); /* emits nothing */
    CHECK_IS(3, receivers_of(p.out));
    PUT(p.in, 5);
    CHECK_IS(0, leat_close(p.in));
    WAIT_UNTIL(receivers_of(p.out) == 0);
    GIVES(p.out, 3, 4);
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
    int status = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct pair p = through(s, 9, leat_mapcat(INT, INT, 3, times, &status));
    PUT(p.in, 3, 4);
    CHECK_IS(0, leat_close(p.in));
    GIVES(p.out, 0, 1, 2, 0, 1, 2);
    CHECK_IS(-ENOSPC, status);
    CHECK_IS(1, dropped);
    return leat_scope_close(s);
}
ON_WORKERS(emits_most_at_the_most);

static int emits_most_in_a_composition(void *arg)
{
    (void)arg;
    int status = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_transform *t = leat_compose(leat_mapcat(INT, INT, 2, times, &status), leat_dedupe(INT));
    struct pair p = through(s, 4, t);
    PUT(p.in, 3);
    CHECK_IS(0, leat_close(p.in));
    GIVES(p.out, 0, 1);
    CHECK_IS(-ENOSPC, status);
    return leat_scope_close(s);
}
ON_WORKERS(emits_most_in_a_composition);

/* ---- pending puts ---- */

static int lets_waiting_senders_in(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    struct pair pair = through(
        crew.scope, 2,
        leat_compose(leat_map(INT, INT, fails_by_item, NULL), leat_filter(INT, is_odd, NULL)));
    struct putter p[] = {
        { .x = 5 }, { .x = 6 }, { .x = -EIO }, { .x = 8 }, { .x = 7 }, { .x = 9 }
    };
    PUT(pair.in, 1, 3, 3);
    WAIT_UNTIL(senders_of(pair.out) == 1); /* the operator: its output is full */
    wait_to_put(&crew, pair.in, p, 6);
    int x = 0;
    CHECK_IS(0, leat_recv(pair.out, &x)); /* makes room for one: so it takes 5 */
    CHECK_IS(1, x);
    WAIT_UNTIL(senders_of(pair.in) == 5);
    CHECK_IS(0, leat_recv(pair.out, &x)); /* 6, the failing item and 8 emit nothing: it takes 7 */
    CHECK_IS(3, x);
    WAIT_UNTIL(senders_of(pair.in) == 1);
    CHECK_IS(0, leat_recv(pair.out, &x));
    WAIT_UNTIL(senders_of(pair.in) == 0);
    CHECK_IS(0, leat_close(pair.in));
    GIVES(pair.out, 5, 7, 9);
    crew_close(&crew);
    for (int i = 0; i < 6; i++)
        CHECK_IS(0, p[i].result);
    CHECK_IS(1, dropped); /* the failing item: the others belong to the map */
    return 0;
}
ON_WORKERS(lets_waiting_senders_in);

/* Items after the end are not taken. */
static int ends_early(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    struct pair pair = through(crew.scope, 0, leat_take(INT, 2));
    struct putter p[4] = { { .x = 2 }, { .x = 3 }, { .x = 4 }, { .x = 5 } };
    PUT(pair.in, 1);
    WAIT_UNTIL(senders_of(pair.out) == 1);
    wait_to_put(&crew, pair.in, p, 4);
    GIVES(pair.out, 1, 2);
    CHECK_IS(3, senders_of(pair.in));
    CHECK_IS(0, leat_close(pair.in));
    crew_close(&crew);
    for (int i = 0; i < 4; i++)
        CHECK_IS(i ? -EPIPE : 0, p[i].result);
    CHECK_IS(0, dropped);
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
    struct pair p = through(crew.scope, 2, leat_partition(INT, 4));
    struct run r;
    PUT(p.in, 1, 2, 3, 4, 5, 6);
    CHECK_IS(0, leat_close(p.in));
    CHECK_IS(0, leat_recv(p.out, &r));
    CHECK(r.run.count == 4 && r.items[0] == 1 && r.items[3] == 4);
    CHECK_IS(0, leat_recv(p.out, &r));
    CHECK(r.run.count == 2 && r.items[0] == 5 && r.items[1] == 6);
    CHECK_IS(-EPIPE, leat_recv(p.out, &r));

    /* A finish may emit more than fits, also after an early end. */
    p = through(crew.scope, 0, counts_of_runs());
    PUT(p.in, 7, 7, 8);
    CHECK_IS(0, leat_close(p.in));
    GIVES(p.out, 2, 1);
    p = through(crew.scope, 1, leat_compose(leat_take(INT, 3), counts_of_runs()));
    PUT(p.in, 7, 7, 7);
    GIVES(p.out, 3);

    /* A waiting receiver gets it. */
    struct putter takers[3];
    p = through(crew.scope, 1, counts_of_runs());
    wait_to_take(&crew, p.out, takers, 3);
    PUT(p.in, 1, 2, 2);
    WAIT_UNTIL(receivers_of(p.out) == 2);
    CHECK_IS(0, leat_close(p.in));
    crew_close(&crew);
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
    struct pair p = through(s, 4,
                            leat_compose(leat_partition_by(INT, 4, is_equal, NULL),
                                         leat_take_while(sizeof(struct run), is_single, NULL)));
    struct run r;
    PUT(p.in, 1, 2, 2, 3); /* runs of one and of two are out, and a run of one is open */
    CHECK_IS(0, leat_recv(p.out, &r));
    CHECK_IS(1, r.items[0]);
    CHECK_IS(-EPIPE, leat_recv(p.out, &r));
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
    struct pair p = through(s, 9, leat_map(INT, INT, fails_by_item, NULL));
    PUT(p.in, 1, -EIO, -ENOMEM, -EPIPE, -ECANCELED, -EAGAIN, -EINVAL, 2);
    CHECK_IS(0, leat_close(p.in));
    GIVES(p.out, 1, 2);
    CHECK_IS(6, dropped);

    /* The handler may emit a value or emit nothing. Then the item is its own. */
    int value = 70, none = 0;
    leat_transform *t = leat_on_failure(leat_map(INT, INT, fails_by_item, NULL), instead, &value);
    p = through(s, 9, t);
    PUT(p.in, 1, -EIO, 3);
    CHECK_IS(0, leat_close(p.in));
    GIVES(p.out, 1, 70, 3);
    t = leat_on_failure(leat_map(INT, INT, fails_by_item, NULL), instead, &none);
    p = through(s, 9, leat_compose(t, counts_of_runs()));
    PUT(p.in, 1, -EINTR, 1);
    CHECK_IS(0, leat_close(p.in));
    GIVES(p.out, 2);

    /* Around a composition, the handler covers all of it. */
    t = leat_compose(leat_dedupe(INT), leat_map(INT, INT, fails_by_item, NULL));
    p = through(s, 9, leat_on_failure(t, instead, &value));
    PUT(p.in, 1, -EIO, -EIO, 3);
    CHECK_IS(0, leat_close(p.in));
    GIVES(p.out, 1, 70, 3);
    CHECK_IS(1, dropped); /* the repetition */
    return leat_scope_close(s);
}
ON_WORKERS(handles_failures);

/* A handler's error ends the scope, wherever the handler stands: its output is cut short. */
static int fails_its_scope(void *arg)
{
    (void)arg;
    for (int place = 0; place < 3; place++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        int none = 0;
        leat_transform *t =
            leat_on_failure(leat_map(INT, INT, fails_by_item, NULL), instead, &none);
        if (place == 1)
            t = leat_compose(leat_dedupe(INT), t);
        if (place == 2)
            t = leat_on_failure(leat_compose(t, leat_dedupe(INT)), instead, &(int){ 70 });
        leat_chan *in = leat_to_chan(outer, (int[]){ 1, -EIO, 3 }, INT, 3, count_drop);
        atomic_store(&dropped, 0);
        CHECK(leat_through(s, in, t, 9, NULL));
        CHECK_IS(-EBADMSG, leat_scope_close(s));
        CHECK_IS(1, leat_chan_len(in));
        CHECK_IS(0, leat_scope_close(outer));
        CHECK_IS(1, dropped); /* 3, which was not taken */
    }
    return 0;
}
ON_WORKERS(fails_its_scope);

/* ---- what happens during a step ---- */

enum { INPUT_CLOSES, OUTPUT_CLOSES, SCOPE_IS_CANCELLED, ACTS };

struct act {
    leat_transform t;
    int act;
    leat_scope *scope;
    leat_chan *in, *out;
    int finishes, frees;
};

static int act_and_emit(leat_transform *t, const void *item, leat_emit *emit)
{
    struct act *a = (struct act *)t;
    switch (a->act) {
    case INPUT_CLOSES: CHECK_IS(0, leat_close(a->in)); break;
    case OUTPUT_CLOSES: CHECK_IS(0, leat_close(a->out)); break;
    default: CHECK_IS(0, leat_scope_cancel(a->scope));
    }
    return leat_emit_item(emit, item);
}

static int finish_once(leat_transform *t, leat_emit *emit)
{
    CHECK_IS(0, ((struct act *)t)->finishes++);
    return leat_emit_item(emit, &(int){ 99 });
}

static void free_once(leat_transform *t)
{
    struct act *a = (struct act *)t;
    CHECK_IS(1, a->finishes);
    a->frees++;
}

/* The step is not interrupted, the finish runs once, and what cannot be sent is dropped. */
static int ends_after_the_step(void *arg)
{
    (void)arg;
    for (int i = 0; i < ACTS; i++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        struct act a = { .t = { INT, INT, 1, act_and_emit, finish_once, NULL, free_once },
                         .act = i,
                         .scope = s,
                         .in = leat_chan_of(outer, int, 0) };
        atomic_store(&dropped, 0);
        a.out = leat_through(s, a.in, &a.t, 4, count_drop);
        PUT(a.in, 1);
        if (a.act == INPUT_CLOSES)
            GIVES(a.out, 1, 99);
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(1, a.frees);
        CHECK_IS(a.act == INPUT_CLOSES ? 0 : 2, dropped);
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(ends_after_the_step);

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
        TESTS_ON_WORKERS(fails_its_scope),
        TESTS_ON_WORKERS(ends_after_the_step),
        TESTS_ON_WORKERS(emits_most_in_a_composition),
        TESTS_ON_WORKERS(ends_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
