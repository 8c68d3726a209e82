/* test_flow_model_pipeline.c: random programs compare stages of every kind with a plain loop, and
 * source and sink count the inputs in flight. */
#include "flow_model.h"

enum way { ONE, MANY, ASYNC_INSIDE, ASYNC_LATE, WAYS };
enum { OUTPUTS = 8, FIRST_OUTPUT = LENGTH };

struct output {
    leat_outcome outcome;
    int tag; /* its id + 1, so that zeros mean no output */
};

struct staging {
    struct world w;
    leat_pipeline_spec spec;
    enum way way;
    int outputs[LENGTH];
    bool fails[LENGTH], any_fails;
    bool stalls; /* the sink waits until as many inputs as possible are in flight */
    _Atomic int running, peak, gone, asking;
};

/* Finds the item by its tag, since a drop function gets nothing else. */
static void drop_output(void *item)
{
    int tag = ((const struct output *)item)->tag;
    if (tag)
        item_ended(tag - 1);
}

/* ---- the function, in its forms ---- */

static void runs(struct staging *s)
{
    int now = atomic_fetch_add(&s->running, 1) + 1, peak = atomic_load(&s->peak);
    CHECK(now <= (int)s->spec.n);
    while (now > peak && !atomic_compare_exchange_weak(&s->peak, &peak, now)) {
    }
}

/* If the input has no outputs to come, its permit may be free from now on. */
static int has_run(struct staging *s, int input)
{
    atomic_fetch_sub(&s->running, 1);
    bool reported = s->fails[input] && s->spec.failing == LEAT_FAIL_TELLS;
    if (!reported && (s->fails[input] || !s->outputs[input]))
        atomic_fetch_add(&s->gone, 1);
    return s->fails[input] ? -EIO : 0;
}

static struct output make_output(int input, int k)
{
    int id = FIRST_OUTPUT + input * OUTPUTS + k;
    item_made(id);
    return (struct output){ .tag = id + 1 };
}

static uint64_t chance_of(const struct staging *s, int input)
{
    return s->w.seed + (uint64_t)input;
}

static int run_one(void *arg, const void *in, void *out)
{
    struct staging *s = arg;
    int input = *(const int *)in;
    uint64_t chance = chance_of(s, input);
    runs(s);
    item_ended(input);
    dawdle(&chance);
    struct output output = make_output(input, 0);
    memcpy(out, &output, sizeof output);
    if (s->fails[input])
        item_ended(output.tag - 1);
    return has_run(s, input);
}

static int run_many(void *arg, const void *in, leat_emit *emit)
{
    struct staging *s = arg;
    int input = *(const int *)in;
    uint64_t chance = chance_of(s, input);
    runs(s);
    item_ended(input);
    for (int k = 0; k < s->outputs[input]; k++) {
        dawdle(&chance);
        struct output output = make_output(input, k);
        int error = leat_emit_item(emit, &output);
        CHECK(error == 0 || error == -ECANCELED);
        if (error)
            item_ended(output.tag - 1);
    }
    return has_run(s, input);
}

struct late {
    leat_timer timer;
    struct staging *staging;
    leat_result *result;
    int input, next;
    uint64_t chance;
};

static void add_output(struct staging *s, leat_result *result, int input, int k)
{
    struct output output = make_output(input, k);
    int error = leat_result_add(result, &output);
    CHECK(error == 0 || error == -ECANCELED);
    if (error)
        item_ended(output.tag - 1);
    (void)s;
}

/* Adds one output each time, and then ends the result. */
static void add_late(leat_timer *timer, int status)
{
    struct late *late = (struct late *)timer;
    struct staging *s = late->staging;
    if (late->next < s->outputs[late->input]) {
        add_output(s, late->result, late->input, late->next++);
        if (status == 0 &&
            leat_after_func(timer, (int64_t)below(&late->chance, 9) * LEAT_US, add_late) == 0)
            return;
    }
    leat_result *result = late->result;
    int input = late->input;
    free(late);
    CHECK_IS(0, leat_result_end(result, has_run(s, input)));
}

static int start(void *arg, const void *in, leat_result *result)
{
    struct staging *s = arg;
    int input = *(const int *)in;
    runs(s);
    item_ended(input);
    if (s->way == ASYNC_LATE) {
        struct late *late = malloc(sizeof *late);
        *late = (struct late){ LEAT_TIMER(s->w.s), s, result, input, 0, chance_of(s, input) };
        add_late(&late->timer, 0);
        return 0;
    }
    for (int k = 0; k < s->outputs[input]; k++)
        add_output(s, result, input, k);
    int status = has_run(s, input);
    return status ? status : leat_result_end(result, 0);
}

/* ---- source and sink: they count ---- */

/* The stage takes at most as many inputs as it has room for, plus those that are gone. An input may
 * be gone as soon as the sink asks for an output. */
static int send_bounded(void *arg)
{
    struct source *source = arg;
    struct staging *s = LT_CONTAINER(source->world, struct staging, w);
    int room = (int)(s->spec.window ? s->spec.window : s->spec.n);
    room += (int)(leat_chan_cap(source->ch) + leat_chan_cap(s->w.sink[0].ch));
    for (int i = 0; i < source->length; i++) {
        dawdle(&source->chance);
        item_made(i);
        if (leat_send(source->ch, &i) != 0) {
            item_ended(i);
            break;
        }
        int sent = atomic_fetch_add(&source->sent, 1) + 1;
        int asking = atomic_load(&s->asking); /* read before `gone`, which the sink writes first */
        /* Items that are dropped at the end do not count as gone. */
        bool ends = leat_chan_closed(source->ch) || leat_chan_closed(s->w.sink[0].ch) ||
                    leat_cancelled(s->w.s);
        CHECK(ends || sent <= room + atomic_load(&s->gone) + asking);
    }
    return leat_close(source->ch);
}

/* In order and without failures: the inputs before this one are gone after `received` outputs. */
static int first_not_gone(const struct staging *s, int received)
{
    int i = 0;
    for (int outputs = 0; i < s->w.source[0].length; i++)
        if ((outputs += s->outputs[i]) > received)
            break;
    return i;
}

static void stall(struct staging *s, int received)
{
    const struct source *source = &s->w.source[0];
    int most = first_not_gone(s, received) + (int)(s->spec.window ? s->spec.window : s->spec.n) +
               (int)leat_chan_cap(source->ch);
    if (most > source->length)
        most = source->length;
    WAIT_UNTIL(source->sent == most);
    for (int i = 0; i < 5; i++)
        leat_yield();
    CHECK_IS(most, source->sent);
}

static bool is_last(const struct staging *s, const struct output *o)
{
    if (o->outcome.status)
        return true;
    int k = (o->tag - 1 - FIRST_OUTPUT) % OUTPUTS, input = (o->tag - 1 - FIRST_OUTPUT) / OUTPUTS;
    return !s->fails[input] && k + 1 == s->outputs[input];
}

static int receive_outputs(void *arg)
{
    struct sink *sink = arg;
    struct staging *s = LT_CONTAINER(sink->world, struct staging, w);
    for (int i = 0; i < sink->enough; i++) {
        struct output o;
        if (s->stalls)
            stall(s, i);
        atomic_store(&s->asking, 1);
        if (leat_recv(sink->ch, &o) != 0)
            break;
        if (is_last(s, &o))
            atomic_fetch_add(&s->gone, 1);
        atomic_store(&s->asking, 0);
        /* A failure is noted by its index. */
        CHECK(sink->n < GOT);
        sink->got[sink->n++] = o.tag ? o.tag - 1 : -1 - (int)o.outcome.index;
        CHECK_IS(o.tag ? 0 : -EIO, o.outcome.status);
        if (o.tag && s->spec.failing == LEAT_FAIL_TELLS)
            CHECK_IS((o.tag - 1 - FIRST_OUTPUT) / OUTPUTS, o.outcome.index);
        drop_output(&o);
        dawdle(&sink->chance);
    }
    if (s->w.early == ENOUGH)
        leat_close(sink->ch);
    return leat_chan_done(s->w.left);
}

/* ---- the model ---- */

static int input_of(int got)
{
    return got < 0 ? -1 - got : (got - FIRST_OUTPUT) / OUTPUTS;
}

/* How many outputs from `got` on belong to one input, in order and without a gap. */
static int group_at(const struct staging *s, const int *got, int n)
{
    int input = input_of(got[0]), i = 0;
    while (i < n && got[i] == FIRST_OUTPUT + input * OUTPUTS + i)
        i++;
    CHECK(i <= s->outputs[input]);
    bool reported = i < n && got[i] == -1 - input;
    CHECK(!reported || (s->fails[input] && s->spec.failing == LEAT_FAIL_TELLS));
    return i + reported;
}

static bool is_complete(const struct staging *s, const int *group, int n)
{
    int input = input_of(group[0]);
    if (!s->fails[input])
        return n == s->outputs[input];
    return s->spec.failing != LEAT_FAIL_TELLS || group[n - 1] < 0;
}

static void check_outputs(const struct staging *s, bool whole)
{
    const struct sink *sink = &s->w.sink[0];
    bool seen[LENGTH] = { false };
    int before = -1;
    for (int i = 0, n; i < sink->n; i += n) {
        const int *group = &sink->got[i];
        int input = input_of(group[0]);
        n = group_at(s, group, sink->n - i);
        CHECK(n > 0 && !seen[input]);
        CHECK(s->spec.unordered || input > before);
        CHECK(is_complete(s, group, n) || (!whole && i + n == sink->n));
        seen[input] = true;
        /* With room for all its outputs, an input that fails delivers none of them. */
        if (s->fails[input] && (int)s->spec.room >= s->outputs[input])
            CHECK(n == 1 && group[0] < 0);
        for (int k = before + 1; k < input && !s->spec.unordered; k++)
            CHECK(s->fails[k] || !s->outputs[k]); /* a missing input had no outputs */
        before = input;
    }
    for (int i = 0; whole && i < s->w.source[0].length; i++)
        if (s->fails[i] ? s->spec.failing == LEAT_FAIL_TELLS : s->outputs[i] > 0)
            CHECK(seen[i]);
}

/* ---- programs ---- */

static void make_up(struct staging *s)
{
    uint64_t *chance = &s->w.chance;
    s->way = (enum way)below(chance, WAYS);
    leat_pipeline_spec *spec = &s->spec;
    spec->n = 1 + below(chance, 4);
    spec->window = below(chance, 2) ? spec->n + below(chance, 4) : 0;
    spec->run = s->way == ONE ? run_one : NULL;
    spec->run_many = s->way == MANY ? run_many : NULL;
    spec->start = s->way >= ASYNC_INSIDE ? start : NULL;
    spec->blocking = s->way <= MANY && below(chance, 3) == 0;
    spec->unordered = below(chance, 3) == 0;
    spec->failing = (leat_failing)below(chance, 3);
    spec->out_size = sizeof(struct output);
    spec->room = below(chance, 5);
    spec->arg = s;
    spec->capacity = below(chance, 2) ? below(chance, 4) : 0;
    spec->drop = drop_output;
    bool fails = below(chance, 2), fits = true;
    for (int i = 0; i < s->w.source[0].length; i++) {
        s->outputs[i] = s->way == ONE ? 1 : (int)below(chance, 6);
        s->fails[i] = fails && below(chance, 5) == 0;
        s->any_fails |= s->fails[i];
        fits = fits && (s->way != MANY || s->outputs[i] <= (int)(spec->room ? spec->room : 1));
    }
    /* A function that waits for room counts as running, so others do not run. */
    s->stalls = s->w.whole && !s->any_fails && !spec->unordered && !spec->capacity && fits &&
                below(chance, 2);
}

static void stages(uint64_t *chance)
{
    static struct staging s;
    memset(&s, 0, sizeof s);
    world_open(&s.w, "pipeline", chance, 1, 1);
    make_up(&s);
    size_t noted = strlen(check_note);
    snprintf(check_note + noted, sizeof check_note - noted, ", way %d, n %u, window %u, room %zu",
             s.way, s.spec.n, s.spec.window, s.spec.room);
    s.w.send = send_bounded;
    s.w.receive = receive_outputs;
    bool cancels = s.any_fails && s.spec.failing == LEAT_FAIL_CANCELS;
    s.w.verdict = cancels ? -EIO : 0;
    s.w.sink[0].ch = leat_pipeline(s.w.s, s.w.source[0].ch, &s.spec);
    CHECK(s.w.sink[0].ch);
    world_run(&s.w);
    world_close(&s.w);
    CHECK_IS(0, s.running);
    if (s.spec.failing != LEAT_FAIL_CANCELS || !s.any_fails)
        check_outputs(&s, s.w.whole);
}

static int stages_do_what_a_loop_does(void *arg)
{
    (void)arg;
    static operator_fn *const operators[] = { stages, stages };
    return run_operators(operators, 2);
}
ON_WORKERS(stages_do_what_a_loop_does);

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS_ON_WORKERS(stages_do_what_a_loop_does) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
