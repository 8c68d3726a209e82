/* test_cut_flow.c: operators whose scope is cancelled, whose input is cut or whose function fails:
 * their output does not look complete to any receiver. */
#include "cut.h"

static int is_even(void *arg, const void *item)
{
    (void)arg;
    return *(const int *)item % 2 == 0;
}

static int pass(void *arg, const void *in, void *out)
{
    (void)arg;
    memcpy(out, in, sizeof(int));
    return 0;
}

static int start(void *arg, const void *in, leat_result *result)
{
    (void)arg;
    CHECK_IS(0, leat_result_add(result, in));
    return leat_result_end(result, 0);
}

static uint64_t one_topic(void *arg, const void *item)
{
    (void)arg, (void)item;
    return 0;
}

static int next_of(void *arg, void *item)
{
    return leat_try_recv(arg, item) == 0 ? 0 : 1;
}

static int add(void *state, const void *item)
{
    *(int *)state += *(const int *)item;
    return 0;
}

static int sum;

/* An operator of each kind in `s`, after `in`. If it takes its output, `outer` owns that. */
static leat_chan *put_after(leat_scope *s, leat_scope *outer, leat_chan *in, int kind)
{
    leat_chan *out = numbers(outer, 8, 0), *no, *yes;
    leat_pipeline_spec spec = {
        .n = 2, .run = pass, .out_size = sizeof(int), .out = out, .unordered = kind % 2
    };
    switch (kind) {
    case 0: return leat_pipe(s, in, out, LEAT_ENDS_CLOSED);
    case 1: CHECK_IS(0, leat_chan_senders(out, 1)); return leat_pipe(s, in, out, LEAT_ENDS_DONE);
    case 2:
    case 3: return leat_pipeline(s, in, &spec);
    case 4: spec.run = NULL, spec.start = start; return leat_pipeline(s, in, &spec);
    case 5: spec.blocking = 1; return leat_pipeline(s, in, &spec);
    case 6: CHECK_IS(0, leat_balance(s, in, &out, 1, LEAT_ENDS_CLOSED)); return out;
    case 7:
        CHECK_IS(0, leat_tap(leat_mult_open(s, in, NULL), out, 0, LEAT_ENDS_CLOSED));
        return out;
    case 8:
        CHECK_IS(0, leat_sub(leat_pub_open(s, in, &(leat_pub_spec){ .topic = one_topic }), 0, out,
                             0, LEAT_ENDS_CLOSED));
        return out;
    /* These make their own outputs. */
    case 9:
        return leat_merge(s, (leat_chan *[]){ in, leat_to_chan(s, NULL, sizeof(int), 0, NULL) }, 2,
                          8);
    case 10: CHECK_IS(0, leat_split(s, in, is_even, NULL, &yes, &no, 8)); return yes;
    case 11: return leat_combine(s, &in, 1, NULL, NULL, &(leat_chan_spec){ .capacity = 8 });
    case 12: return leat_through(s, in, leat_dedupe(sizeof(int)), 8, NULL);
    case 13: return leat_debounce(s, in, HOUR, 8);
    case 14: return leat_throttle(s, in, 1, 8);
    case 15: return leat_sample(s, in, HOUR, 8);
    case 16: return leat_lapse(s, in, HOUR, 8);
    case 17: return leat_rate(s, in, 1, 1, 8);
    case 18: return leat_reduce_into(s, in, add, &sum, sizeof sum);
    case 19: return leat_window(s, in, 1, HOUR, 8, NULL);
    default: return NULL;
    }
}

enum { WITH_OUTPUTS = 9, OPERATORS = 20 };

static int last_word(leat_chan *ch)
{
    char item[64];
    int status;
    do
        status = leat_recv(ch, item);
    while (!status);
    return status;
}

/* An operator's scope is cancelled. Its receivers belong to another scope. */
static int is_cut_outside(void *arg)
{
    (void)arg;
    for (int kind = 0; kind < WITH_OUTPUTS; kind++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER);
        leat_chan *in = numbers(outer, 4, 0);
        struct waiting waiting;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *out = put_after(s, outer, in, kind);
        CHECK(out);
        send_numbers(in, 3);
        for (int i = 0; i < 3; i++)
            CHECK_IS(0, leat_recv(out, &(int){ 0 }));
        begin_to_wait(outer, &waiting, out, kind);
        CHECK_IS(0, leat_go(outer, cancel_soon, s));
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(-ECANCELED, leat_recv(out, &(int){ 0 }));
        CHECK_IS(0, leat_cancelled(NULL));
        CHECK_IS(0, leat_scope_close(outer));
        CHECK_IS(-ECANCELED, waiting.status);
    }
    return 0;
}
ON_WORKERS(is_cut_outside);

/* When an operator's input is cut, its output is cut, too, after everything that came before. */
static int passes_the_cut_on(void *arg)
{
    (void)arg;
    for (int kind = 0; kind < OPERATORS; kind++)
        for (int cut = 0; cut < 2; cut++) {
            leat_scope *s = leat_scope_open(LEAT_NEVER);
            leat_chan *in = numbers(s, 4, 0), *out = put_after(s, s, in, kind);
            CHECK(out);
            send_numbers(in, 3);
            CHECK_IS(0, cut ? leat_cut(in) : leat_close(in));
            bool value = kind == 18;
            if (kind < WITH_OUTPUTS || (value && !cut))
                for (int i = 0; i < (value ? 1 : 3); i++)
                    CHECK_IS(0, leat_recv(out, &(int){ 0 }));
            CHECK_IS(cut ? -ECANCELED : -EPIPE, last_word(out));
            CHECK_IS(0, leat_scope_close(s));
        }
    return 0;
}
ON_WORKERS(passes_the_cut_on);

static int fail_at_two(void *arg, const void *in, void *out)
{
    (void)arg, (void)out;
    return *(const int *)in == 2 ? -EIO : leat_sleep(0);
}

static int fail_next(void *arg, void *item)
{
    int *n = arg;
    *(int *)item = *n;
    return (*n)++ == 2 ? -EIO : 0;
}

/* The output is cut even before the failure has cancelled the scope. */
static int is_cut_by_a_failure(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out =
        leat_pipeline(s, numbers(s, 4, 4),
                      &(leat_pipeline_spec){
                          .n = 1, .run = fail_at_two, .out_size = sizeof(int), .capacity = 4 });
    CHECK_IS(-ECANCELED, last_word(out));
    CHECK_IS(-EIO, leat_scope_close(s));
    int n = 0;
    s = leat_scope_open(LEAT_NEVER);
    out = leat_generate(s, fail_next, &n,
                        &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 4 });
    CHECK_IS(-ECANCELED, last_word(out));
    CHECK_IS(-EIO, leat_scope_close(s));
    return 0;
}
ON_WORKERS(is_cut_by_a_failure);

/* One of two inputs is cut: the other still works, and at its end the output is cut. */
static int counts_one_that_is_cut(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ins[] = { numbers(s, 4, 1), numbers(s, 4, 1) }, *out = leat_merge(s, ins, 2, 0);
    CHECK_IS(0, leat_cut(ins[0]));
    CHECK_IS(0, leat_recv(out, &(int){ 0 }));
    CHECK_IS(0, leat_recv(out, &(int){ 0 }));
    CHECK_IS(0, leat_send(ins[1], &(int){ 7 }));
    int x = 0;
    CHECK_IS(0, leat_recv(out, &x));
    CHECK_IS(7, x);
    CHECK_IS(0, leat_close(ins[1]));
    CHECK_IS(-ECANCELED, leat_recv(out, &x));
    leat_chan *made = leat_generate(s, next_of, ins[1],
                                    &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 1 });
    CHECK_IS(-EPIPE, leat_recv(made, &x));
    return leat_scope_close(s);
}
ON_WORKERS(counts_one_that_is_cut);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(is_cut_outside),
        TESTS_ON_WORKERS(passes_the_cut_on),
        TESTS_ON_WORKERS(is_cut_by_a_failure),
        TESTS_ON_WORKERS(counts_one_that_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
