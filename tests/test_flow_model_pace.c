/* test_flow_model_pace.c: operators that use the clock. Loops compute what comes out, and when to
 * the nanosecond. Nothing is lost, however the operators end. */
#include "flow_model.h"

enum { RUN = 4 };
enum pace { DEBOUNCE, THROTTLE, SAMPLE, WINDOW, RATE, LAPSE, PACES };

static const char *const names[] = { "debounce", "throttle", "sample", "window", "rate", "lapse" };

struct run {
    leat_run run;
    int items[RUN];
};

/* A buffer may hold runs without their alignment. */
static struct run run_at(const void *item)
{
    struct run run;
    memcpy(&run.run, item, sizeof run.run);
    CHECK(run.run.count <= RUN);
    memcpy(run.items, (const unsigned char *)item + sizeof run.run, run.run.count * sizeof(int));
    return run;
}

static void drop_run(void *item)
{
    struct run run = run_at(item);
    for (size_t i = 0; i < run.run.count; i++)
        item_ended(run.items[i]);
}

struct pacing {
    enum pace pace;
    int64_t time;
    unsigned burst; /* or the size of a window */
};

static leat_chan *make(const struct pacing *p, leat_scope *s, leat_chan *in, size_t capacity)
{
    switch (p->pace) {
    case DEBOUNCE: return leat_debounce(s, in, p->time, capacity);
    case THROTTLE: return leat_throttle(s, in, p->time, capacity);
    case SAMPLE: return leat_sample(s, in, p->time, capacity);
    case WINDOW: return leat_window(s, in, p->burst, p->time, capacity, drop_run);
    case RATE: return leat_rate(s, in, p->time, p->burst, capacity);
    default: return leat_lapse(s, in, p->time, capacity);
    }
}

/* ---- however they end ---- */

static void note_run(struct sink *sink, const void *item)
{
    struct run run = run_at(item);
    CHECK(run.run.count > 0);
    for (size_t i = 0; i < run.run.count; i++) {
        sink->got[sink->n++] = run.items[i];
        item_ended(run.items[i]);
    }
}

static void paces(uint64_t *chance)
{
    for (enum pace pace = 0; pace < PACES; pace++) {
        struct world w;
        world_open(&w, names[pace], chance, 1, 1);
        struct pacing p = { pace, 1 + (int64_t)below(&w.chance, 20) * LEAT_US,
                            1 + below(&w.chance, RUN) };
        struct sink *sink = &w.sink[0];
        CHECK(sink->ch = make(&p, w.s, w.source[0].ch, below(&w.chance, 3)));
        if (pace == WINDOW) {
            sink->size = sizeof(struct run);
            sink->note = note_run;
        }
        world_run(&w);
        world_close(&w);
        bool gaps = pace <= SAMPLE;
        for (int i = 0; i < sink->n; i++)
            CHECK(gaps ? !i || sink->got[i] > sink->got[i - 1] : sink->got[i] == i);
        if (!w.whole || pace == LAPSE || !w.source[0].length)
            continue;
        CHECK(sink->n > 0);
        if (pace == THROTTLE)
            CHECK_IS(0, sink->got[0]);
        else
            CHECK_IS(w.source[0].length - 1, sink->got[sink->n - 1]);
    }
}

static int loses_nothing(void *arg)
{
    (void)arg;
    static operator_fn *const operators[] = { paces };
    return run_operators(operators, 1);
}
ON_WORKERS(loses_nothing);

/* ---- to the nanosecond ----
 *
 * Items come 3 µs after a multiple of 10 µs, and times end 5 µs after one: none coincide. */

struct event {
    int64_t at;
    int item; /* -1: the channel closed */
};

struct timetable {
    struct event in[LENGTH + 1], out[LENGTH + 1], expected[LENGTH + 1];
    int n, outs, expects; /* n does not count the end; the others do */
    int64_t begin;
    leat_chan *from, *to;
    bool runs;
};

static void expect(struct timetable *t, int64_t at, int item)
{
    t->expected[t->expects++] = (struct event){ at, item };
}

static int send_on_time(void *arg)
{
    struct timetable *t = arg;
    for (int i = 0; i < t->n; i++) {
        CHECK_IS(0, leat_sleep_until(t->begin + t->in[i].at));
        if (leat_send(t->from, &t->in[i].item) != 0)
            return 0;
    }
    CHECK_IS(0, leat_sleep_until(t->begin + t->in[t->n].at));
    return leat_close(t->from);
}

/* For a run, notes 100 times its first item plus its length. */
static void receive_on_time(struct timetable *t)
{
    for (int item = 0; item >= 0;) {
        struct run run;
        int status = leat_recv(t->to, &run);
        if (status)
            item = -1;
        else if (t->runs)
            item = run.items[0] * 100 + (int)run.run.count;
        else
            memcpy(&item, &run, sizeof item);
        CHECK(t->outs <= LENGTH);
        t->out[t->outs++] = (struct event){ leat_now() - t->begin, item };
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Debounce: the last item of a quick succession. Sample: the last item between two ticks. */
static void expect_last(struct timetable *t, const struct pacing *p)
{
    for (int i = 0; i < t->n; i++) {
        int64_t at = t->in[i].at;
        int64_t due = p->pace == DEBOUNCE ? at + p->time : (at / p->time + 1) * p->time;
        if (due < t->in[i + 1].at || i + 1 == t->n)
            expect(t, least(due, t->in[t->n].at), i);
    }
}

static void expect_first(struct timetable *t, const struct pacing *p)
{
    for (int i = 0, before = -1; i < t->n; i++)
        if (before < 0 || t->in[i].at > t->in[before].at + p->time) {
            expect(t, t->in[i].at, i);
            before = i;
        }
}

static void expect_windows(struct timetable *t, const struct pacing *p)
{
    for (int i = 0, k; i < t->n; i = k) {
        int64_t until = t->in[i].at + p->time;
        for (k = i + 1; k < t->n && k - i < (int)p->burst && t->in[k].at < until; k++) {
        }
        bool full = k - i == (int)p->burst;
        expect(t, full ? t->in[k - 1].at : least(until, t->in[t->n].at), 100 * i + k - i);
    }
}

/* A drop comes each nanosecond; an item costs `time` drops. Returns when the last one leaves. */
static int64_t expect_rated(struct timetable *t, const struct pacing *p)
{
    int64_t full = (int64_t)p->burst * p->time, drops = full, now = 0;
    for (int i = 0; i < t->n; i++) {
        int64_t at = most(t->in[i].at, now);
        drops = least(full, drops + at - now);
        int64_t wait = most(0, p->time - drops);
        now = at + wait;
        drops += wait - p->time;
        expect(t, now, i);
    }
    return now;
}

/* Returns when no item has come for `time`. */
static int64_t expect_until_lapse(struct timetable *t, const struct pacing *p)
{
    int64_t last = 0;
    for (int i = 0; i < t->n && t->in[i].at < last + p->time; i++) {
        expect(t, t->in[i].at, i);
        last = t->in[i].at;
    }
    return last + p->time;
}

static void make_timetable(struct timetable *t, const struct pacing *p, uint64_t *chance)
{
    t->n = (int)below(chance, LENGTH);
    int64_t at = 3 * LEAT_US;
    for (int i = 0; i <= t->n; i++) {
        at += (int64_t)below(chance, 4) * 10 * LEAT_US;
        t->in[i] = (struct event){ at, i };
    }
    int64_t end = t->in[t->n].at;
    switch (p->pace) {
    case DEBOUNCE:
    case SAMPLE: expect_last(t, p); break;
    case THROTTLE: expect_first(t, p); break;
    case WINDOW: expect_windows(t, p); break;
    case RATE: end = most(end, expect_rated(t, p)); break;
    default: end = least(end, expect_until_lapse(t, p)); break;
    }
    expect(t, end, -1);
}

static int is_on_time(void *arg)
{
    (void)arg;
    uint64_t *chance = lt_chance();
    for (enum pace pace = 0; pace < PACES; pace++) {
        struct timetable t = { .runs = pace == WINDOW };
        struct pacing p = { pace, (5 + 10 * (int64_t)below(chance, 6)) * LEAT_US,
                            1 + below(chance, RUN) };
        make_timetable(&t, &p, chance);
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        t.from = leat_chan_of(s, int, 0);
        t.begin = leat_now();
        CHECK(t.to = make(&p, s, t.from, below(chance, 3)));
        CHECK_IS(0, leat_go(s, send_on_time, &t));
        receive_on_time(&t);
        CHECK_IS(0, leat_close(t.from)); /* perhaps it has no receiver any more */
        CHECK_IS(0, leat_scope_close(s));
        for (int i = 0; i < t.outs && i < t.expects; i++)
            if (t.out[i].item != t.expected[i].item || t.out[i].at != t.expected[i].at)
                check_failed(__FILE__, __LINE__, "%s: %d after %lld, not %d after %lld",
                             names[pace], t.out[i].item, (long long)t.out[i].at, t.expected[i].item,
                             (long long)t.expected[i].at);
        CHECK_IS(t.expects, t.outs);
    }
    return 0;
}

/* ---- trying again ---- */

struct attempts {
    int n, until;
    int64_t at[LENGTH];
};

static int fail_until(void *arg)
{
    struct attempts *a = arg;
    a->at[a->n++] = leat_now();
    return a->n < a->until ? -EIO : 0;
}

static int tries_again_on_time(void *arg)
{
    (void)arg;
    uint64_t *chance = lt_chance();
    struct attempts a = { .until = 1 + (int)below(chance, LENGTH) };
    leat_retrying how = { .tries = below(chance, LENGTH),
                          .pause = 1 + below(chance, 1000),
                          .most = 1 + below(chance, 10000),
                          .exact = (int)below(chance, 2) };
    bool fails = how.tries && (int)how.tries < a.until;
    CHECK_IS(fails ? -EIO : 0, leat_retry(fail_until, &a, &how));
    CHECK_IS(fails ? (int)how.tries : a.until, a.n);
    int64_t pause = how.pause;
    for (int i = 1; i < a.n; i++, pause *= 2) {
        int64_t longest = least(pause, how.most), was = a.at[i] - a.at[i - 1];
        CHECK(was <= longest && (how.exact ? was == longest : was >= longest / 2));
    }
    return 0;
}

/* In this world computing takes no time. */
static void keeps_time(void **state)
{
    (void)state;
    CHECK_IS(0, leat_sim_each(0, 1000, is_on_time, NULL));
    CHECK_IS(0, leat_sim_each(0, 1000, tries_again_on_time, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS_ON_WORKERS(loses_nothing),
                                        cmocka_unit_test(keeps_time) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
