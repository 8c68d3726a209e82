/* test_transform_fail.c: inputs of a composition whose first transform fails go to the drop
 * function once, whatever the second transform has done. */
#include "support.h"

enum { INT = sizeof(int) };

static _Atomic int dropped;

static void drop(void *item)
{
    (void)item;
    atomic_fetch_add(&dropped, 1);
}

static int emit_and_fail(void *arg, const void *in, leat_emit *emit)
{
    (void)arg;
    leat_emit_item(emit, in);
    return -EIO;
}

static int pass(void *arg, const void *in)
{
    (void)arg, (void)in;
    return 1;
}

static int refuse(void *arg, const void *in)
{
    (void)arg, (void)in;
    return -EDOM;
}

static int forgive(void *arg, int error, const void *item, leat_emit *emit)
{
    (void)arg, (void)error, (void)item, (void)emit;
    return 0;
}

static leat_transform *failing_filter(void)
{
    return leat_compose(leat_filter(INT, pass, NULL), leat_filter(INT, refuse, NULL));
}

/* Each second transform gets items from a first one that fails after it has emitted. */
static leat_transform *second(int which)
{
    switch (which) {
    case 0: return leat_filter(INT, pass, NULL);
    case 1: return leat_take(INT, 1);
    case 2: return leat_on_failure(failing_filter(), forgive, NULL);
    default: return leat_compose(leat_take(INT, 1), leat_filter(INT, pass, NULL));
    }
}

static int drops_inputs_of_a_first_that_fails(void *arg)
{
    (void)arg;
    for (int which = 0; which < 4; which++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER);
        dropped = 0;
        leat_chan *in = leat_to_chan(outer, (int[]){ 1, 2, 3 }, INT, 3, drop);
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_transform *first = leat_mapcat(INT, INT, 1, emit_and_fail, NULL);
        leat_chan *out = leat_through(s, in, leat_compose(first, second(which)), 3, NULL);
        CHECK_IS(0, leat_scope_close(s) + !out);
        int left = (int)leat_chan_len(in);
        CHECK_IS(3 - left, dropped);
        CHECK_IS(which % 2 ? 2 : 0, left);
        CHECK_IS(0, leat_scope_close(outer));
        CHECK_IS(3, dropped);
    }
    return 0;
}
ON_WORKERS(drops_inputs_of_a_first_that_fails);

/* Then the input belongs to the first transform, which has passed it on. */
static int drops_nothing_if_the_second_fails(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER);
    dropped = 0;
    leat_chan *in = leat_to_chan(outer, (int[]){ 1, 2, 3 }, INT, 3, drop);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_transform *passes = leat_filter(INT, pass, NULL);
    leat_chan *out = leat_through(s, in, leat_compose(failing_filter(), passes), 3, NULL);
    CHECK_IS(0, leat_scope_close(s) + !out);
    CHECK_IS(0, leat_scope_close(outer));
    CHECK_IS(0, dropped);
    return 0;
}
ON_WORKERS(drops_nothing_if_the_second_fails);

/* The items that a take has passed on count, also if the transform behind it fails. */
static int ends_a_take_whose_items_fail(void *arg)
{
    (void)arg;
    for (int which = 0; which < 3; which++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER);
        dropped = 0;
        leat_chan *in = leat_to_chan(outer, (int[]){ 1, 2, 3 }, INT, 3, drop);
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_transform *t = leat_compose(leat_take(INT, 2), leat_filter(INT, refuse, NULL));
        if (which == 1)
            t = leat_on_failure(t, forgive, NULL);
        if (which == 2)
            t = leat_compose(leat_filter(INT, pass, NULL), t);
        leat_chan *out = leat_through(s, in, t, 3, NULL);
        CHECK_IS(0, leat_scope_close(s) + !out);
        CHECK_IS(1, leat_chan_len(in));
        CHECK_IS(0, leat_scope_close(outer));
        CHECK_IS(1, dropped);
    }
    return 0;
}
ON_WORKERS(ends_a_take_whose_items_fail);

static int count_call(void *calls, int error, const void *item, leat_emit *emit)
{
    (void)error, (void)item, (void)emit;
    ++*(int *)calls;
    return 0;
}

/* The function for failures of the second of three transforms is not called for the third's. */
static int asks_only_the_one_that_failed(void *arg)
{
    (void)arg;
    for (int from_the_left = 0; from_the_left < 2; from_the_left++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_to_chan(s, (int[]){ 1, 2, 3 }, INT, 3, NULL);
        int calls = 0;
        leat_transform *a = leat_filter(INT, pass, NULL), *c = leat_filter(INT, refuse, NULL);
        leat_transform *b = leat_on_failure(leat_filter(INT, pass, NULL), count_call, &calls);
        leat_transform *t = from_the_left ? leat_compose(leat_compose(a, b), c)
                                          : leat_compose(a, leat_compose(b, c));
        leat_chan *out = leat_through(s, in, t, 3, NULL);
        CHECK_IS(0, leat_scope_close(s) + !out);
        CHECK_IS(0, calls);
    }
    return 0;
}
ON_WORKERS(asks_only_the_one_that_failed);

/* ---- what is held at the end ---- */

struct pair {
    leat_run run;
    int items[2];
};
struct pairs {
    leat_run run;
    struct pair items[2];
};

static int same_count(void *arg, const void *before, const void *pair)
{
    (void)arg;
    return ((const struct pair *)before)->run.count == ((const struct pair *)pair)->run.count;
}

static int first_of_lone(void *arg, const void *in, void *out)
{
    (void)arg;
    const struct pairs *pairs = in;
    *(int *)out = pairs->items[0].items[0];
    return pairs->items[0].run.count == 1 ? 0 : -EDOM;
}

/* At the end the first transform gives up its items, and the third one fails on what the second
 * then makes. The second's own rest still gets through, however they are composed. */
static int passes_the_rest_on_after_a_failure(void *arg)
{
    (void)arg;
    for (int from_the_left = 0; from_the_left < 2; from_the_left++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_to_chan(s, (int[]){ 1, 2, 3 }, INT, 3, NULL);
        leat_transform *a = leat_partition(INT, 2);
        leat_transform *b = leat_partition_by(sizeof(struct pair), 2, same_count, NULL);
        leat_transform *c = leat_map(sizeof(struct pairs), INT, first_of_lone, NULL);
        leat_transform *t = from_the_left ? leat_compose(leat_compose(a, b), c)
                                          : leat_compose(a, leat_compose(b, c));
        leat_chan *out = leat_through(s, in, t, 3, NULL);
        int item;
        CHECK_IS(0, leat_recv(out, &item));
        CHECK_IS(3, item);
        CHECK_IS(-EPIPE, leat_recv(out, &item));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(passes_the_rest_on_after_a_failure);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(drops_inputs_of_a_first_that_fails),
        TESTS_ON_WORKERS(drops_nothing_if_the_second_fails),
        TESTS_ON_WORKERS(ends_a_take_whose_items_fail),
        TESTS_ON_WORKERS(asks_only_the_one_that_failed),
        TESTS_ON_WORKERS(passes_the_rest_on_after_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
