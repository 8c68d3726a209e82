/* test_pipeline.c: how many inputs are in flight, in which order outputs come, and when. */
#include "pipelines.h"

/* ---- the bound: reached and kept ---- */

/* How many inputs may be in flight. */
static int bound(const struct trial *t)
{
    return (int)(t->window ? t->window : t->n);
}

/* Sends all items, and counts them in `sent`. */
static int send_all(void *arg)
{
    struct trial *t = arg;
    for (int i = 0; i < t->items && leat_send(t->in, &i) == 0; i++)
        CHECK(atomic_fetch_add(&t->sent, 1) + 1 <= atomic_load(&t->asked) + bound(t));
    CHECK_IS(0, leat_close(t->in));
    return 0;
}

static void receive_item(struct trial *t, int number, uint64_t *seen)
{
    struct output first = { 0, 0 }, o;
    for (unsigned i = 0; i < t->outputs; i++) {
        if (i + 1 == t->outputs)
            atomic_fetch_add(&t->asked, 1);
        CHECK_IS(0, leat_recv(t->out, &o));
        first = i ? first : o;
        CHECK_IS(first.input, o.input);
        CHECK_IS(i, o.number);
    }
    if (!t->unordered)
        CHECK_IS(number, first.input);
    CHECK(!(*seen & UINT64_C(1) << first.input));
    *seen |= UINT64_C(1) << first.input;
}

/* Before each receive the consumer waits until as many inputs as possible are in flight. */
static void count_in_flight(struct trial *t)
{
    trial_open(t);
    CHECK_IS(0, leat_go(t->scope, send_all, t));
    uint64_t seen = 0;
    for (int i = 0; i < t->items; i++) {
        int most = i + bound(t) < t->items ? i + bound(t) : t->items;
        WAIT_UNTIL(atomic_load(&t->sent) == most);
        if (i < 3) {
            leat_sleep(LEAT_MS);
            CHECK_IS(most, t->sent);
        }
        receive_item(t, i, &seen);
    }
    struct output o;
    CHECK_IS(-EPIPE, leat_recv(t->out, &o));
    trial_close(t);
    CHECK_IS(t->items, t->ran);
    if (t->together)
        CHECK_IS(t->n, t->peak);
    CHECK_IS(0, t->dropped_in + t->dropped_out);
}

static void count_each(enum way way, unsigned n, unsigned window, int unordered)
{
    bool many = way != ON_TASKS && way != ON_THREADS;
    for (unsigned outputs = 1; outputs <= (many ? 3u : 1u); outputs += 2)
        count_in_flight(&(struct trial){ .way = way,
                                         .n = n,
                                         .window = window,
                                         .unordered = unordered,
                                         .outputs = outputs,
                                         .items = (int)(2 * n + window + 3),
                                         .together = way != INSIDE });
}

static int keeps_exactly_n_in_flight(void *arg)
{
    (void)arg;
    static const unsigned ns[] = { 1, 2, 3, 8 };
    for (enum way way = 0; way < WAYS; way++)
        for (unsigned i = 0; i < sizeof ns / sizeof *ns; i++)
            for (int unordered = 0; unordered < 2; unordered++) {
                count_each(way, ns[i], 0, unordered);
                count_each(way, ns[i], ns[i] + 5, unordered);
            }
    return 0;
}
ON_WORKERS(keeps_exactly_n_in_flight);

/* An input without outputs gives its permit back without a delivery. */
static int inputs_without_outputs_free_permits(void *arg)
{
    (void)arg;
    for (enum way way = 0; way < WAYS; way++) {
        if (way == ON_TASKS || way == ON_THREADS)
            continue;
        struct trial t = { .way = way, .n = 2, .items = 50, .outputs = 0 };
        trial_open(&t);
        t.asked = 1000; /* no outputs are wanted */
        CHECK_IS(0, leat_go(t.scope, send_all, &t));
        struct output o;
        CHECK_IS(-EPIPE, leat_recv(t.out, &o));
        trial_close(&t);
        CHECK_IS(50, t.ran);
    }
    return 0;
}
ON_WORKERS(inputs_without_outputs_free_permits);

/* ---- the text's experiments: to the nanosecond in the seeded world; elsewhere a "second" is
 * short, and nothing is checked that depends on speed ---- */

#define SECOND (leat_sim_running() ? LEAT_S : 20 * LEAT_MS)

static bool to_the_nanosecond; /* computing takes no time */

struct job {
    int number, seconds;
};

struct clocked {
    _Atomic int running, peak, starts, ends;
    int started[10], ended[10]; /* numbers of jobs, in order */
    int64_t begin;
};

static int take_its_time(void *arg, const void *in, void *out)
{
    struct clocked *c = arg;
    const struct job *job = in;
    int now = atomic_fetch_add(&c->running, 1) + 1, peak = atomic_load(&c->peak);
    while (now > peak && !atomic_compare_exchange_weak(&c->peak, &peak, now)) {
    }
    c->started[atomic_fetch_add(&c->starts, 1)] = job->number;
    leat_sleep(job->seconds * SECOND);
    c->ended[atomic_fetch_add(&c->ends, 1)] = job->number;
    atomic_fetch_sub(&c->running, 1);
    memcpy(out, &job->number, sizeof job->number);
    return 0;
}

struct timed {
    struct clocked *clocked;
    leat_result *result;
    struct job job;
    leat_timer timer;
};

static void its_time_has_come(leat_timer *timer, int status)
{
    (void)status;
    struct timed *t = LT_CONTAINER(timer, struct timed, timer);
    t->clocked->ended[atomic_fetch_add(&t->clocked->ends, 1)] = t->job.number;
    atomic_fetch_sub(&t->clocked->running, 1);
    CHECK_IS(0, leat_result_add(t->result, &t->job.number));
    CHECK_IS(0, leat_result_end(t->result, 0));
    free(t);
}

static int start_its_time(void *arg, const void *in, leat_result *result)
{
    struct clocked *c = arg;
    struct timed *t = malloc(sizeof *t);
    *t = (struct timed){ c, result, { 0, 0 }, LEAT_TIMER(NULL) };
    memcpy(&t->job, in, sizeof t->job);
    int now = atomic_fetch_add(&c->running, 1) + 1, peak = atomic_load(&c->peak);
    while (now > peak && !atomic_compare_exchange_weak(&c->peak, &peak, now)) {
    }
    c->started[atomic_fetch_add(&c->starts, 1)] = t->job.number;
    CHECK_IS(0, leat_after_func(&t->timer, t->job.seconds * SECOND, its_time_has_come));
    return 0;
}

/* Runs ten jobs: the first takes `first` seconds, the others one. Fills in the outputs and the
 * whole time, and returns the time of the first output. */
static int64_t ten_items(struct clocked *c, leat_pipeline_spec *spec, int first, int outs[10],
                         int64_t *whole)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, struct job, 10);
    for (int i = 0; i < 10; i++)
        CHECK_IS(0, leat_send(in, &(struct job){ i, i ? 1 : first }));
    CHECK_IS(0, leat_close(in));
    spec->arg = c;
    spec->out_size = sizeof(int);
    c->begin = leat_now();
    leat_chan *out = leat_pipeline(s, in, spec);
    int64_t when = 0;
    for (int i = 0; i < 10; i++) {
        CHECK_IS(0, leat_recv(out, &outs[i]));
        when = when ? when : leat_now() - c->begin;
    }
    CHECK_IS(-EPIPE, leat_recv(out, NULL));
    *whole = leat_now() - c->begin;
    CHECK_IS(0, leat_scope_close(s));
    return when;
}

static void takes(int64_t seconds, int64_t time)
{
    if (to_the_nanosecond)
        CHECK_IS(seconds * SECOND, time);
    CHECK(time >= seconds * SECOND);
}

static void runs_at_once(int most, const struct clocked *c)
{
    if (to_the_nanosecond)
        CHECK_IS(most, c->peak);
    CHECK(c->peak <= most);
}

static void comes_last(int number, int last)
{
    if (to_the_nanosecond)
        CHECK_IS(number, last);
}

/* 0: tasks; 1: threads; 2: asynchronous, where no function runs. */
static void variant(leat_pipeline_spec *spec, int which)
{
    spec->run = which < 2 ? take_its_time : NULL;
    spec->start = which < 2 ? NULL : start_its_time;
    spec->blocking = which == 1;
}

static int takes_ten_seconds_by_one(void *arg)
{
    (void)arg;
    for (int v = 0; v < 3; v++) {
        struct clocked c = { 0 };
        leat_pipeline_spec spec = { .n = 1 };
        variant(&spec, v);
        int outs[10];
        int64_t whole;
        takes(1, ten_items(&c, &spec, 1, outs, &whole));
        takes(10, whole);
        runs_at_once(1, &c);
        for (int i = 0; i < 10; i++)
            CHECK(outs[i] == i && c.started[i] == i && c.ended[i] == i);
    }
    return 0;
}
ON_WORKERS(takes_ten_seconds_by_one);

static int takes_four_seconds_by_three(void *arg)
{
    (void)arg;
    for (int v = 0; v < 3; v++) {
        struct clocked c = { 0 };
        leat_pipeline_spec spec = { .n = 3 };
        variant(&spec, v);
        int outs[10];
        int64_t whole;
        takes(1, ten_items(&c, &spec, 1, outs, &whole));
        takes(4, whole);
        runs_at_once(3, &c);
        for (int i = 0; i < 10; i++)
            CHECK_IS(i, outs[i]);
        /* Item i gets the permit of an earlier item, and there are three permits. */
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < 10; j++)
                CHECK(c.started[i] != j || abs(i - j) < 3);
    }
    return 0;
}
ON_WORKERS(takes_four_seconds_by_three);

static int is_not_held_up_where_order_does_not_matter(void *arg)
{
    (void)arg;
    for (int v = 0; v < 3; v++) {
        struct clocked c = { 0 };
        leat_pipeline_spec spec = { .n = 3, .unordered = 1 };
        variant(&spec, v);
        int outs[10];
        int64_t whole;
        takes(1, ten_items(&c, &spec, 10, outs, &whole));
        takes(10, whole);
        runs_at_once(3, &c);
        comes_last(0, outs[9]);
    }
    return 0;
}
ON_WORKERS(is_not_held_up_where_order_does_not_matter);

static int is_not_held_up_with_a_window(void *arg)
{
    (void)arg;
    for (int v = 0; v < 3; v++) {
        struct clocked c = { 0 };
        leat_pipeline_spec spec = { .n = 3, .window = 10 };
        variant(&spec, v);
        int outs[10];
        int64_t whole;
        takes(10, ten_items(&c, &spec, 10, outs, &whole));
        takes(10, whole);
        runs_at_once(3, &c);
        comes_last(0, c.ended[9]); /* the first job ended last */
        for (int i = 0; i < 10; i++)
            CHECK_IS(i, outs[i]);
    }
    return 0;
}
ON_WORKERS(is_not_held_up_with_a_window);

/* Without a window, two more jobs run beside the first, and then no others. */
static int is_held_up_without_a_window(void *arg)
{
    (void)arg;
    struct clocked c = { 0 };
    leat_pipeline_spec spec = { .n = 3, .run = take_its_time };
    int outs[10];
    int64_t whole;
    takes(10, ten_items(&c, &spec, 10, outs, &whole));
    takes(13, whole); /* the other seven take three rounds */
    runs_at_once(3, &c);
    comes_last(0, c.ended[2]);
    return 0;
}
ON_WORKERS(is_held_up_without_a_window);

static int all_experiments(void *arg)
{
    (void)arg;
    CHECK_IS(0, takes_ten_seconds_by_one(NULL));
    CHECK_IS(0, takes_four_seconds_by_three(NULL));
    CHECK_IS(0, is_not_held_up_where_order_does_not_matter(NULL));
    CHECK_IS(0, is_not_held_up_with_a_window(NULL));
    return is_held_up_without_a_window(NULL);
}

static void takes_exactly_the_texts_times(void **state)
{
    (void)state;
    to_the_nanosecond = true;
    CHECK_IS(0, leat_sim_each(0, 1000 / SCALE, all_experiments, NULL));
    to_the_nanosecond = false;
}

/* ---- what core.async's pipeline_test checks ---- */

static int same(void *arg, const void *in, void *out)
{
    (void)arg;
    memcpy(out, in, sizeof(int));
    return 0;
}

static int count_up(void *arg)
{
    struct trial *t = arg;
    for (int i = 0; i < t->items; i++)
        CHECK_IS(0, leat_send(t->in, &i));
    CHECK_IS(0, leat_close(t->in));
    return 0;
}

static int passes_any_number(void *arg)
{
    (void)arg;
    static const int sizes[][2] = {
        { 1, 0 }, { 1, 10 }, { 10, 10 }, { 20, 10 }, { 5, IN_SIM ? 100 : 1000 }, { 64, 3 }, { 3, 1 }
    };
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int blocking = 0; blocking < 2; blocking++) {
            leat_scope *s = leat_scope_open(LEAT_NEVER);
            struct trial t = { .items = sizes[i][1], .in = leat_chan_of(s, int, i % 3) };
            leat_chan *out = t.in;
            for (int stages = 0; stages < 3; stages++)
                out = leat_pipeline(s, out,
                                    &(leat_pipeline_spec){ .n = (unsigned)sizes[i][0],
                                                           .run = same,
                                                           .blocking = blocking,
                                                           .capacity = i,
                                                           .out_size = sizeof(int) });
            CHECK_IS(0, leat_go(s, count_up, &t));
            int x;
            for (int j = 0; j < t.items; j++) {
                CHECK_IS(0, leat_recv(out, &x));
                CHECK_IS(j, x);
            }
            CHECK_IS(-EPIPE, leat_recv(out, &x));
            CHECK_IS(0, leat_scope_close(s));
        }
    return 0;
}
ON_WORKERS(passes_any_number);

/* A number n becomes 0 ... n-1. */
static int multiply(void *arg, const void *in, leat_emit *emit)
{
    (void)arg;
    for (int i = 0; i < *(const int *)in; i++)
        CHECK_IS(0, leat_emit_item(emit, &i));
    return 0;
}

static int multiplies(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 4);
    for (int i = 1; i < 5; i++)
        CHECK_IS(0, leat_send(in, &i));
    CHECK_IS(0, leat_close(in));
    leat_chan *out = leat_pipeline(
        s, in,
        &(leat_pipeline_spec){ .n = 2, .run_many = multiply, .room = 4, .out_size = sizeof(int) });
    static const int expected[] = { 0, 0, 1, 0, 1, 2, 0, 1, 2, 3 };
    int x;
    for (int i = 0; i < 10; i++) {
        CHECK_IS(0, leat_recv(out, &x));
        CHECK_IS(expected[i], x);
    }
    CHECK_IS(-EPIPE, leat_recv(out, &x));
    return leat_scope_close(s);
}
ON_WORKERS(multiplies);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(keeps_exactly_n_in_flight),
        TESTS_ON_WORKERS(inputs_without_outputs_free_permits),
        TESTS_ON_WORKERS(takes_ten_seconds_by_one),
        TESTS_ON_WORKERS(takes_four_seconds_by_three),
        TESTS_ON_WORKERS(is_not_held_up_where_order_does_not_matter),
        TESTS_ON_WORKERS(is_not_held_up_with_a_window),
        TESTS_ON_WORKERS(is_held_up_without_a_window),
        cmocka_unit_test(takes_exactly_the_texts_times),
        TESTS_ON_WORKERS(passes_any_number),
        TESTS_ON_WORKERS(multiplies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
