/* test_pipeline_end.c: stages close, are cancelled or fail at any moment, and lose no item. */
#include "pipelines.h"

#include "flow/stage.h"
#include "scope/scope.h"

/* ---- at any moment ---- */

enum event { CLOSE_OUT, CANCEL, LEAVE, EVENTS };

struct ending {
    struct trial trial;
    enum event event;
    int64_t delay;
    _Atomic int received;
};

static int throw_event(void *arg)
{
    struct ending *e = arg;
    leat_sleep(e->delay);
    switch (e->event) {
    case CLOSE_OUT: CHECK_IS(0, leat_close(e->trial.out)); break;
    default: CHECK_IS(0, leat_scope_cancel(e->trial.scope)); break;
    }
    return 0;
}

static int send_until_refused(void *arg)
{
    struct trial *t = arg;
    for (int i = 0; leat_send(t->in, &i) == 0; i++)
        atomic_fetch_add(&t->sent, 1);
    return 0;
}

static int receive_until_refused(void *arg)
{
    struct ending *e = arg;
    struct output o;
    while (leat_recv(e->trial.out, &o) == 0)
        atomic_fetch_add(&e->received, o.number + 1 == (int)e->trial.outputs ? 1 : 0);
    return 0;
}

/* The drop function counts each output, and an input makes `outputs` of them. */
static void end_at_any_moment(struct ending *e)
{
    struct trial *t = &e->trial;
    trial_open(t);
    CHECK_IS(0, leat_go(t->scope, send_until_refused, t));
    if (e->event != LEAVE) /* else there is no receiver */
        CHECK_IS(0, leat_go(t->scope, receive_until_refused, e));
    CHECK_IS(0, leat_go(t->scope, throw_event, e));
    if (e->event == CLOSE_OUT) {
        /* The stage ends by itself. Its producer waits until the input is closed. */
        WAIT_UNTIL(leat_scope_tasks(t->scope) == 1);
        CHECK_IS(0, leat_close(t->in));
    }
    trial_close(t);
    CHECK(t->sent - t->dropped_in == t->ran);
}

static int accounts_for_every_item(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    for (int round = 0; round < 400 / SCALE; round++) {
        struct ending e = { .trial = { .way = (enum way)below(&chance, WAYS),
                                       .n = 1 + below(&chance, 4),
                                       .unordered = (int)below(&chance, 2),
                                       .outputs = 1 },
                            .event = (enum event)below(&chance, EVENTS),
                            .delay = (int64_t)below(&chance, 300) * LEAT_US };
        if (below(&chance, 2))
            e.trial.window = e.trial.n + below(&chance, 5);
        end_at_any_moment(&e);
        /* Each input that ran has one output: received, or dropped. Other inputs were dropped. */
        CHECK_IS(e.trial.ran, e.received + e.trial.dropped_out);
    }
    return 0;
}
ON_WORKERS(accounts_for_every_item);

/* ---- a stage that waits for an input learns that its output is closed ---- */

static int notices_a_closed_output(void *arg)
{
    (void)arg;
    for (int done = 0; done < 2; done++)
        for (enum way way = 0; way < WAYS; way++) {
            struct trial t = { .way = way, .n = 3, .outputs = 1 };
            trial_open(&t);
            WAIT_UNTIL(receivers_of(t.in) == 1);
            if (done)
                CHECK_IS(0, leat_chan_senders(t.out, 1) + leat_chan_done(t.out));
            else
                CHECK_IS(0, leat_close(t.out));
            WAIT_UNTIL(leat_scope_tasks(t.scope) == 0);
            CHECK_IS(0, receivers_of(t.in));
            CHECK_IS(-EAGAIN, leat_try_send(t.in, &(int){ 1 }));
            trial_close(&t);
        }
    return 0;
}
ON_WORKERS(notices_a_closed_output);

static int close_it(void *arg)
{
    return leat_close(arg);
}

static int notices_when_a_thread_closes(void *arg)
{
    (void)arg;
    struct trial t = { .way = ON_TASKS, .n = 3, .outputs = 1 };
    trial_open(&t);
    WAIT_UNTIL(receivers_of(t.in) == 1);
    struct foreign thread;
    foreign_start(&thread, close_it, t.out);
    WAIT_UNTIL(leat_scope_tasks(t.scope) == 0);
    CHECK_IS(0, foreign_join(&thread));
    trial_close(&t);
    return 0;
}
ON_WORKERS(notices_when_a_thread_closes);

static int begins_with_a_closed_output(void *arg)
{
    (void)arg;
    struct trial t = { .way = ON_TASKS, .n = 2 };
    leat_scope *s = t.scope = leat_scope_open(LEAT_NEVER);
    leat_pipeline_spec spec = spec_of(&t);
    spec.out = leat_chan_of(s, struct output, 1);
    leat_chan *in = leat_chan_of(s, int, 1);
    CHECK_IS(0, leat_send(in, &(int){ 1 }));
    CHECK_IS(0, leat_close(spec.out));
    CHECK(leat_pipeline(s, in, &spec) == spec.out);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(begins_with_a_closed_output);

/* ---- what happens to the output ---- */

static int ends_its_output_as_asked(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct trial t = { .way = ON_TASKS, .n = 2, .scope = s };
    leat_pipeline_spec spec = spec_of(&t);
    for (int ending = LEAT_ENDS_CLOSED; ending <= LEAT_ENDS_OPEN; ending++) {
        spec.out = leat_chan_of(s, struct output, 8);
        spec.ending = (leat_ending)ending;
        int stages = ending == LEAT_ENDS_DONE ? 3 : 1;
        CHECK_IS(0, leat_chan_senders(spec.out, 3));
        for (int i = 0; i < stages; i++) {
            leat_chan *in = leat_chan_of(s, int, 1);
            CHECK_IS(0, leat_send(in, &i));
            CHECK_IS(0, leat_close(in));
            CHECK_IS(0, leat_chan_closed(spec.out));
            CHECK(leat_pipeline(s, in, &spec) == spec.out);
            struct output o;
            CHECK_IS(0, leat_recv(spec.out, &o));
            CHECK_IS(i, o.input);
            WAIT_UNTIL(leat_scope_tasks(s) == 0);
        }
        CHECK_IS(ending != LEAT_ENDS_OPEN, leat_chan_closed(spec.out));
    }
    return leat_scope_close(s);
}
ON_WORKERS(ends_its_output_as_asked);

/* ---- failures ---- */

enum { BAD = 3 };

static int fail_on_bad(void *arg, const void *in, void *out)
{
    (void)arg;
    memcpy(out, in, sizeof(int));
    return *(const int *)in == BAD ? -EIO : 0;
}

/* The failure of another input may have stopped the stage. */
static int fail_on_bad_many(void *arg, const void *in, leat_emit *emit)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        int error = leat_emit_item(emit, in);
        CHECK(error == 0 || error == -ECANCELED);
        if (error)
            return 0;
    }
    return *(const int *)in == BAD ? -EIO : 0;
}

static int fail_to_start(void *arg, const void *in, leat_result *result)
{
    if (*(const int *)in == BAD)
        return -EIO;
    (void)arg;
    int error = leat_result_add(result, in);
    CHECK(error == 0 || error == -ECANCELED);
    return leat_result_end(result, 0);
}

static int end_with_failure(void *arg, const void *in, leat_result *result)
{
    (void)arg;
    int error = leat_result_add(result, in);
    CHECK(error == 0 || error == -ECANCELED);
    return leat_result_end(result, *(const int *)in == BAD ? -EIO : 0);
}

static const leat_pipeline_spec failing_specs[] = {
    { .run = fail_on_bad, .room = 1 },           { .run = fail_on_bad, .room = 1, .blocking = 1 },
    { .run_many = fail_on_bad_many, .room = 2 }, { .start = fail_to_start, .room = 1 },
    { .start = end_with_failure, .room = 1 },
};

enum { FAILING = sizeof failing_specs / sizeof *failing_specs };

static leat_chan *six_numbers(leat_scope *s)
{
    leat_chan *in = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 6, .drop = drop_input });
    for (int i = 0; i < 6; i++)
        CHECK_IS(0, leat_send(in, &i));
    CHECK_IS(0, leat_close(in));
    return in;
}

static int drops_what_fails(void *arg)
{
    (void)arg;
    for (int f = 0; f < FAILING; f++) {
        struct trial t = { 0 };
        trial_of_drops = &t;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_pipeline_spec spec = failing_specs[f];
        spec.n = 2;
        spec.out_size = sizeof(int);
        spec.failing = LEAT_FAIL_DROPS;
        spec.drop = drop_output;
        leat_chan *out = leat_pipeline(s, six_numbers(s), &spec);
        int x;
        for (int i = 0; i < 6; i++)
            for (size_t k = 0; i != BAD && k < spec.room; k++) {
                CHECK_IS(0, leat_recv(out, &x));
                CHECK_IS(i, x);
            }
        CHECK_IS(-EPIPE, leat_recv(out, &x));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(spec.run_many ? 2 : spec.start == end_with_failure, t.dropped_out);
        CHECK_IS(0, t.dropped_in);
    }
    return 0;
}
ON_WORKERS(drops_what_fails);

struct checked_output {
    leat_outcome outcome;
    int x;
};

static int return_by_item(void *arg, const void *in, void *out)
{
    (void)arg;
    ((struct checked_output *)out)->x = *(const int *)in;
    return *(const int *)in == BAD ? -EIO : 0;
}

static int reports_what_fails(void *arg)
{
    (void)arg;
    for (int unordered = 0; unordered < 2; unordered++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct trial t = { 0 };
        trial_of_drops = &t;
        leat_chan *out =
            leat_pipeline(s, six_numbers(s),
                          &(leat_pipeline_spec){ .n = 3,
                                                 .run = return_by_item,
                                                 .unordered = unordered,
                                                 .failing = LEAT_FAIL_TELLS,
                                                 .out_size = sizeof(struct checked_output) });
        unsigned seen = 0;
        for (int i = 0; i < 6; i++) {
            struct checked_output output;
            CHECK_IS(0, leat_recv(out, &output));
            int index = (int)output.outcome.index;
            CHECK(unordered || index == i);
            CHECK_IS(index == BAD ? -EIO : 0, output.outcome.status);
            CHECK_IS(index == BAD ? 0 : index, output.x);
            seen |= 1u << index;
        }
        CHECK_IS(63, seen);
        CHECK_IS(-EPIPE, leat_recv(out, NULL));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(reports_what_fails);

static int cancels_when_one_fails(void *arg)
{
    (void)arg;
    for (int f = 0; f < FAILING; f++) {
        struct trial t = { 0 };
        trial_of_drops = &t;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_pipeline_spec spec = failing_specs[f];
        spec.n = 2;
        spec.out_size = sizeof(int);
        spec.drop = drop_output;
        leat_chan *out = leat_pipeline(s, six_numbers(s), &spec);
        int x, received = 0;
        while (leat_recv(out, &x) == 0) {
            CHECK(x < BAD);
            received++;
        }
        CHECK(received <= BAD * (int)spec.room);
        CHECK_IS(-EIO, leat_scope_close(s));
        CHECK(t.dropped_in <= 2 + 2); /* in the channel and in flight */
    }
    return 0;
}
ON_WORKERS(cancels_when_one_fails);

/* ---- a cancel that is under way ---- */

struct asking {
    leat_scope *outer, *between, *inner;
    leat_chan *out;
    struct lt_stage *stage;
    bool by_function; /* else the block that gives asks */
    _Atomic int begun;
    _Atomic bool goes_on;
};

/* The function of the first input waits for room, and the giver for a receiver. */
static int emit_once_or_twice(void *arg, const void *in, leat_emit *emit)
{
    struct asking *a = arg;
    CHECK_IS(0, leat_sleep(0)); /* the scope's lock is taken at the first wait */
    CHECK_IS(0, leat_emit_item(emit, in));
    atomic_fetch_add(&a->begun, 1);
    if (a->by_function && *(const int *)in)
        WAIT_UNTIL(atomic_load(&a->goes_on));
    if (a->by_function)
        CHECK_IS(-ECANCELED, leat_emit_item(emit, in));
    return 0;
}

static int cancel_it(void *scope)
{
    return leat_scope_cancel(scope);
}

/* The cancel of `outer` is held up, and the stage finds that `inner` will be cancelled, too. A look
 * that holds the lock of `inner` still gets the stage's lock. */
static int look_while_the_stage_asks(void *arg)
{
    struct asking *a = arg;
    struct lt_lock *inner = &a->inner->lock, *stage = &a->stage->lock;
    struct foreign canceller;
    if (a->by_function) {
        lt_lock(stage);
        atomic_store(&a->goes_on, true);
        WAIT_UNTIL(atomic_load(&stage->wanted));
    }
    lt_lock(&a->between->lock);
    foreign_start(&canceller, cancel_it, a->outer);
    WAIT_UNTIL(lt_scope_is_cancelled(a->outer));
    lt_lock(inner);
    if (a->by_function)
        lt_unlock(stage);
    else
        CHECK_IS(0, leat_recv(a->out, NULL));
    WAIT_UNTIL(atomic_load(&inner->wanted));
    WAIT_UNTIL(lt_try_lock(stage));
    lt_unlock(stage);
    lt_unlock(inner);
    lt_unlock(&a->between->lock);
    return foreign_join(&canceller);
}

/* The stage is the only thing in the scope that is no channel. */
static struct lt_stage *stage_of(leat_scope *scope)
{
    struct lt_node *node = scope->owned.next;
    while (lt_chan_owned(LT_CONTAINER(node, struct lt_owned, node)))
        node = node->next;
    return LT_CONTAINER(node, struct lt_stage, flow.owned.node);
}

static int asks_with_no_lock_held(void *arg)
{
    (void)arg;
    if (IN_SIM)
        return 0; /* a party must not hold a lock there */
    for (int by_function = 0; by_function < 2; by_function++) {
        struct asking a = { .outer = leat_scope_open(LEAT_NEVER),
                            .between = leat_scope_open(LEAT_NEVER),
                            .by_function = by_function };
        struct foreign look;
        leat_scope *s = a.inner = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_chan_of(s, int, 0);
        a.out = leat_pipeline(s, in,
                              &(leat_pipeline_spec){ .n = 2,
                                                     .window = 3,
                                                     .run_many = emit_once_or_twice,
                                                     .arg = &a,
                                                     .out_size = sizeof(int) });
        a.stage = stage_of(s);
        for (int i = 0; i < 3 - by_function; i++)
            CHECK_IS(0, leat_send(in, &i));
        WAIT_UNTIL(senders_of(a.out) == 1 &&
                   (by_function ? a.begun == 2 : receivers_of(a.stage->seats) == 2));
        foreign_start(&look, look_while_the_stage_asks, &a);
        CHECK_IS(0, foreign_join(&look));
        CHECK_IS(-ECANCELED, leat_scope_close(a.inner));
        CHECK_IS(-ECANCELED, leat_scope_close(a.between));
        CHECK_IS(0, leat_scope_close(a.outer));
    }
    return 0;
}
ON_WORKERS(asks_with_no_lock_held);

/* ---- wrong arguments ---- */

static int refuses(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct trial t = { .way = ON_TASKS, .n = 1, .scope = s };
    leat_chan *in = leat_chan_of(s, int, 1), *wrong = leat_chan_of(s, char, 0);
    leat_chan *tick = leat_tick(s, LEAT_S);
    leat_pipeline_spec good = spec_of(&t), bad[13];
    for (int i = 0; i < 13; i++)
        bad[i] = good;
    bad[0].n = 0;
    bad[1].n = 65537;
    bad[2].n = 2, bad[2].window = 1;
    bad[3].window = (1 << 20) + 1;
    bad[4].run = NULL;
    bad[5].start = start_async;
    bad[6].run = NULL, bad[6].start = start_async, bad[6].blocking = 1;
    bad[7].out_size = (1 << 20) + 1;
    bad[8].out = wrong;
    bad[9].out = in;
    bad[10].out = tick, bad[10].out_size = sizeof(int64_t);
    bad[11].failing = LEAT_FAIL_TELLS; /* items have no room for the outcome */
    bad[12].run = NULL, bad[12].run_many = make_many, bad[12].room = SIZE_MAX / 8;
    for (int i = 0; i < 13; i++)
        CHECK(!leat_pipeline(s, in, &bad[i]));
    CHECK(!leat_pipeline(NULL, in, &good));
    CHECK(!leat_pipeline(s, NULL, &good));
    CHECK(!leat_pipeline(s, in, NULL));
    CHECK_IS(-EINVAL, leat_result_add(NULL, &t));
    CHECK_IS(-EINVAL, leat_result_end(NULL, 0));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    return leat_scope_close(s);
}
ON_WORKERS(refuses);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(accounts_for_every_item),
        TESTS_ON_WORKERS(notices_a_closed_output),
        TESTS_ON_WORKERS(notices_when_a_thread_closes),
        TESTS_ON_WORKERS(begins_with_a_closed_output),
        TESTS_ON_WORKERS(ends_its_output_as_asked),
        TESTS_ON_WORKERS(drops_what_fails),
        TESTS_ON_WORKERS(reports_what_fails),
        TESTS_ON_WORKERS(cancels_when_one_fails),
        TESTS_ON_WORKERS(asks_with_no_lock_held),
        TESTS_ON_WORKERS(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
