/* test_flow_verdict.c: what an operator's verdict does to its scope. The receiver of an output that
 * was cut short may return -ECANCELED at once: the operator's own verdict still is the first. */
#include "support.h"

enum op { GENERATE, VALUE, BLOCKING_VALUE, THROUGH, REDUCE, RUN, MANY, START, OPS };
enum { ROUNDS = IN_SIM ? 3 * OPS : 16000 / SCALE };

static int refuse(void *arg, void *item)
{
    (void)arg, (void)item;
    return -EIO;
}

static int fail_by_item(void *arg, const void *in, void *out)
{
    (void)in;
    return refuse(arg, out);
}

static int fail_to_reduce(void *state, const void *item)
{
    (void)item;
    return refuse(NULL, state);
}

static int fail_for_good(void *arg, int error, const void *item, leat_emit *emit)
{
    (void)arg, (void)item, (void)emit;
    return error;
}

/* The first input fails. The others return the error of leat_emit_item. */
static int fail_or_emit(void *arg, const void *in, leat_emit *emit)
{
    int error = 0;
    if (*(const int *)in == 0) {
        nap();
        return refuse(arg, NULL);
    }
    while (!error)
        error = leat_emit_item(emit, in);
    return error;
}

static int fail_to_start(void *arg, const void *in, leat_result *result)
{
    (void)in, (void)result;
    return refuse(arg, NULL);
}

static int receive_all(void *out)
{
    int item, error;
    while ((error = leat_recv(out, &item)) == 0) {
    }
    return error == -EPIPE ? 0 : error;
}

static leat_chan *make(leat_scope *s, enum op op)
{
    static const int items[] = { 0, 1, 2, 3 };
    static int state;
    const leat_chan_spec number = { .item_size = sizeof(int) };
    leat_chan *in = leat_to_chan(s, items, sizeof(int), 4, NULL);
    leat_transform *t;
    leat_pipeline_spec spec = { .n = 2, .out_size = sizeof(int) };
    switch (op) {
    case GENERATE: return leat_generate(s, refuse, NULL, &number);
    case VALUE: return leat_go_value(s, refuse, NULL, &number);
    case BLOCKING_VALUE: return leat_go_blocking_value(s, refuse, NULL, &number);
    case THROUGH:
        t = leat_map(sizeof(int), sizeof(int), fail_by_item, NULL);
        return leat_through(s, in, leat_on_failure(t, fail_for_good, NULL), 0, NULL);
    case REDUCE: return leat_reduce_into(s, in, fail_to_reduce, &state, sizeof state);
    case RUN: spec.run = fail_by_item; break;
    case MANY: spec.run_many = fail_or_emit; break;
    default: spec.start = fail_to_start;
    }
    return leat_pipeline(s, in, &spec);
}

static int is_the_first_reason(void *arg)
{
    (void)arg;
    for (int round = 0; round < ROUNDS; round++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *out = make(s, (enum op)(round % OPS));
        CHECK_IS(0, leat_go_spread(s, receive_all, out));
        CHECK_IS(0, leat_go_blocking(s, receive_all, out));
        snprintf(check_note, sizeof check_note, "operator %d", round % OPS);
        CHECK_IS(-EIO, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(is_the_first_reason);

/* ---- a stage whose output was closed ---- */

static int emit_ten(void *arg, const void *in, leat_emit *emit)
{
    (void)arg;
    int error = 0;
    for (int i = 0; i < 10 && !error; i++)
        error = leat_emit_item(emit, in);
    return error;
}

/* A function returns the error by which it learned that its outputs are not wanted. */
static int is_none_where_the_output_was_closed(void *arg)
{
    (void)arg;
    for (int round = 0; round < 20; round++) {
        static const int items[] = { 0, 1, 2, 3 };
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_to_chan(s, items, sizeof(int), 4, NULL);
        leat_chan *out = leat_pipeline(
            s, in,
            &(leat_pipeline_spec){
                .n = 2, .run_many = emit_ten, .blocking = round % 2, .out_size = sizeof(int) });
        int item;
        CHECK_IS(0, leat_recv(out, &item));
        CHECK_IS(0, leat_close(out));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(is_none_where_the_output_was_closed);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(is_the_first_reason),
        TESTS_ON_WORKERS(is_none_where_the_output_was_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
