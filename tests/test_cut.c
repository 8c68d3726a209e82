/* test_cut.c: a stream that is cut short does not look complete: to receivers of a cut channel, and
 * to all parties that wait in a cancelled scope. */
#include "cut.h"

static int cut_streams_end_with_ecanceled(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = numbers(s, 4, 2);
    int x = -1, some[4];
    CHECK_IS(0, leat_cut(ch));
    CHECK_IS(0, leat_cut(ch));
    CHECK_IS(0, leat_close(ch));
    CHECK(leat_chan_closed(ch));
    CHECK_IS(-EPIPE, leat_send(ch, &x));
    CHECK_IS(-EPIPE, leat_try_send(ch, &x));
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(0, x);
    CHECK_IS(1, leat_recv_many(ch, some, 4, LEAT_NEVER));
    CHECK_IS(1, some[0]);
    CHECK_IS(-ECANCELED, leat_recv(ch, &x));
    CHECK_IS(-ECANCELED, leat_try_recv(ch, &x));
    CHECK_IS(-ECANCELED, leat_recv_until(ch, &x, LEAT_NOW));
    CHECK_IS(-ECANCELED, leat_recv_many(ch, some, 4, LEAT_NEVER));
    leat_case cases[] = { LEAT_RECV(ch, &x), LEAT_RECV(NULL, NULL) };
    CHECK_IS(0, leat_select(cases, 2, LEAT_NEVER));
    CHECK_IS(-ECANCELED, cases[0].status);
    CHECK_IS(0, leat_cancelled(NULL));
    return leat_scope_close(s);
}
ON_WORKERS(cut_streams_end_with_ecanceled);

static int cuts_only_what_is_open(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = numbers(s, 1, 0);
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(0, leat_cut(ch));
    CHECK_IS(-EPIPE, leat_recv(ch, NULL));
    leat_chan *late = leat_timeout(HOUR);
    CHECK_IS(-EPERM, leat_cut(late));
    CHECK_IS(0, leat_chan_unref(late));
    CHECK_IS(-EINVAL, leat_cut(NULL));
    return leat_scope_close(s);
}
ON_WORKERS(cuts_only_what_is_open);

static int cuts_special_channels(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *kept = leat_chan_open(s, &(leat_chan_spec){ .buffer = LEAT_PROMISE });
    leat_chan *broken = leat_chan_open(s, &(leat_chan_spec){ .buffer = LEAT_PROMISE });
    CHECK_IS(0, leat_send(kept, NULL));
    CHECK_IS(0, leat_cut(kept));
    CHECK_IS(0, leat_cut(broken));
    CHECK_IS(0, leat_recv(kept, NULL));
    CHECK_IS(0, leat_recv(kept, NULL));
    CHECK_IS(-ECANCELED, leat_recv(broken, NULL));
    leat_chan *items = leat_chan_of(s, int, 1);
    leat_chan *runs = leat_through(s, items, leat_partition(sizeof(int), 3), 2, NULL);
    CHECK(runs);
    CHECK_IS(0, leat_send(items, &(int){ 1 }));
    CHECK_IS(0, leat_cut(items));
    CHECK_IS(0, leat_recv(runs, &(char[64]){ 0 })); /* what the transform still held */
    CHECK_IS(-ECANCELED, leat_recv(runs, &(char[64]){ 0 }));
    return leat_scope_close(s);
}
ON_WORKERS(cuts_special_channels);

/* A channel that only leat sends to. */
static int cuts_ticks(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *cut = leat_tick(s, HOUR), *closed = leat_tick(s, HOUR);
    int64_t due;
    CHECK_IS(0, leat_cut(cut));
    CHECK_IS(-ECANCELED, leat_recv(cut, &due));
    CHECK_IS(0, leat_close(closed));
    CHECK_IS(0, leat_cut(closed)); /* too late */
    CHECK_IS(-EPIPE, leat_recv(closed, &due));
    return leat_scope_close(s);
}
ON_WORKERS(cuts_ticks);

/* ---- in a cancelled scope ---- */

/* All get -ECANCELED, whatever they wait for. */
static void wait_in_cancelled_scope(leat_chan *(*make)(leat_scope *s))
{
    struct waiting waiting[WAYS];
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = make(s);
    CHECK(ch);
    for (int way = 0; way < WAYS; way++)
        begin_to_wait(s, &waiting[way], ch, way);
    CHECK_IS(0, leat_go(outer, cancel_soon, s));
    CHECK_IS(-ECANCELED, leat_recv(ch, &(int){ 0 }));
    CHECK_IS(0, leat_scope_close(s)); /* the scope was cancelled from outside */
    for (int way = 0; way < WAYS; way++) {
        CHECK(atomic_load(&waiting[way].done));
        CHECK_IS(-ECANCELED, waiting[way].status);
    }
    CHECK_IS(0, leat_scope_close(outer));
}

static int receive_and_close(void *arg)
{
    leat_chan **pair = arg;
    CHECK_IS(-ECANCELED, leat_recv(pair[0], &(int){ 0 }));
    return leat_close(pair[1]);
}

/* A partner that closes its output as soon as it is cancelled. */
static leat_chan *after_a_task(leat_scope *s)
{
    static leat_chan *pair[2];
    pair[0] = numbers(s, 0, 0);
    pair[1] = numbers(s, 0, 0);
    CHECK_IS(0, leat_go(s, receive_and_close, pair));
    return pair[1];
}

static int echo(void *arg, const void *in, void *out)
{
    (void)arg;
    int error = leat_sleep(HOUR);
    memcpy(out, in, sizeof(int));
    return error;
}

static leat_chan *after_a_pipeline(leat_scope *s)
{
    return leat_pipeline(s, numbers(s, 4, 3),
                         &(leat_pipeline_spec){ .n = 2, .run = echo, .out_size = sizeof(int) });
}

static leat_chan *after_threads(leat_scope *s)
{
    return leat_pipeline(
        s, numbers(s, 4, 0),
        &(leat_pipeline_spec){ .n = 2, .run = echo, .out_size = sizeof(int), .blocking = 1 });
}

static leat_chan *after_merge(leat_scope *s)
{
    leat_chan *ins[] = { numbers(s, 0, 0), numbers(s, 0, 0) };
    return leat_merge(s, ins, 2, 0);
}

static int waits_in_cancelled_scope(void *arg)
{
    (void)arg;
    wait_in_cancelled_scope(after_a_task);
    wait_in_cancelled_scope(after_a_pipeline);
    wait_in_cancelled_scope(after_threads);
    wait_in_cancelled_scope(after_merge);
    return 0;
}
ON_WORKERS(waits_in_cancelled_scope);

struct deep {
    leat_scope *s;
    leat_chan *ch;
    _Atomic bool waits;
};

static int receive_deep_inside(void *arg)
{
    enum { DEPTH = 2000 / SCALE };
    struct deep *deep = arg;
    leat_scope *scopes[DEPTH];
    for (int i = 0; i < DEPTH; i++)
        CHECK(scopes[i] = leat_scope_open(LEAT_NEVER));
    atomic_store(&deep->waits, true);
    CHECK_IS(-ECANCELED, leat_recv(deep->ch, NULL));
    for (int i = DEPTH; i-- > 0;)
        leat_scope_close(scopes[i]);
    return 0;
}

static int close_when_cancelled(void *arg)
{
    struct deep *deep = arg;
    WAIT_UNTIL(leat_cancelled(deep->s));
    return leat_close(deep->ch);
}

/* The partner closes the channel as soon as the outer scope is marked, long before the receiver's
 * scope, deep inside, is. Still the receiver gets -ECANCELED. */
static int a_partner_may_be_faster_than_the_marks(void *arg)
{
    (void)arg;
    for (int round = 0; round < (IN_SIM ? 1 : 20); round++) {
        struct deep deep = { .s = leat_scope_open(LEAT_NEVER) };
        deep.ch = leat_chan_make(deep.s, 0, 0);
        CHECK_IS(0, leat_go_blocking(deep.s, receive_deep_inside, &deep));
        CHECK_IS(0, leat_go_blocking(deep.s, close_when_cancelled, &deep));
        WAIT_UNTIL(atomic_load(&deep.waits) && receivers_of(deep.ch));
        CHECK_IS(0, leat_scope_cancel(deep.s));
        CHECK_IS(0, leat_scope_close(deep.s));
    }
    return 0;
}
ON_WORKERS(a_partner_may_be_faster_than_the_marks);

/* ---- batches and timeouts ---- */

static int serve(void *arg, leat_batch_view *batch)
{
    (void)arg;
    leat_sleep(HOUR);
    return leat_batch_all_done(batch);
}

static int call(void *batcher)
{
    return leat_batch(batcher, NULL, NULL);
}

/* In the seeded world nothing runs between the return of leat_recv and this check. */
static int receive_a_timeout(void *late)
{
    int status = leat_recv(late, NULL);
    CHECK(status == -ECANCELED || (status == -EPIPE && !(IN_SIM && leat_cancelled(NULL))));
    return 0;
}

static int last_until_the_cancel(void *arg)
{
    (void)arg;
    return leat_sleep(HOUR) == -ECANCELED ? 0 : -EPROTO;
}

/* The timeout is due at the moment of the cancel. */
static int timeouts_may_end_with_the_scope(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    leat_chan *late = leat_timeout(20 * LEAT_MS);
    CHECK_IS(0, leat_go(s, receive_a_timeout, late));
    CHECK_IS(0, leat_go(s, last_until_the_cancel, NULL)); /* else s may close before */
    CHECK_IS(0, leat_go(outer, cancel_soon, s));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-EPIPE, leat_recv(late, NULL));
    CHECK_IS(0, leat_chan_unref(late));
    return leat_scope_close(outer);
}
ON_WORKERS(timeouts_may_end_with_the_scope);

/* A cancelled caller gets its result or -ECANCELED, never -EPIPE. */
static int batches_may_end_with_the_scope(void *arg)
{
    (void)arg;
    if (!IN_SIM)
        return 0; /* it would take an hour */
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    leat_batcher *batcher = leat_batcher_open(outer, &(leat_batcher_spec){ .run = serve });
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 5; i++)
        CHECK_IS(0, leat_go(s, call, batcher));
    leat_sleep(HOUR);
    CHECK_IS(0, leat_scope_cancel(s));
    int why = leat_scope_close(s);
    CHECK(why == 0 || why == -ECANCELED);
    return leat_scope_close(outer);
}
ON_WORKERS(batches_may_end_with_the_scope);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(cut_streams_end_with_ecanceled),
        TESTS_ON_WORKERS(cuts_only_what_is_open),
        TESTS_ON_WORKERS(cuts_special_channels),
        TESTS_ON_WORKERS(cuts_ticks),
        TESTS_ON_WORKERS(waits_in_cancelled_scope),
        TESTS_ON_WORKERS(a_partner_may_be_faster_than_the_marks),
        TESTS_ON_WORKERS(timeouts_may_end_with_the_scope),
        TESTS_ON_WORKERS(batches_may_end_with_the_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
