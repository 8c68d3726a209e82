/* test_flow.c: operators that move items do what a loop does. */
#include "flows.h"

static leat_chan *numbers(leat_scope *s, int from, int to)
{
    int items[1000];
    for (int i = from; i < to; i++)
        items[i - from] = i;
    leat_chan *ch = leat_to_chan(s, items, sizeof(int), (size_t)(to - from), NULL);
    CHECK(ch);
    return ch;
}

static void expect_all(leat_chan *ch, const int *items, int n)
{
    for (int i = 0; i < n; i++)
        expect(ch, items[i]);
    CHECK_IS(-EPIPE, leat_recv(ch, NULL));
}

static void expect_range(leat_chan *ch, int from, int to, int step)
{
    for (int i = from; i < to; i += step)
        expect(ch, i);
    CHECK_IS(-EPIPE, leat_recv(ch, NULL));
}

/* ---- pipe, through ---- */

static int pipes(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *a = leat_chan_of(s, int, 0), *b = leat_chan_of(s, int, 2);
    CHECK(leat_pipe(s, numbers(s, 0, 500), a, LEAT_ENDS_CLOSED) == a);
    CHECK(leat_pipe(s, a, b, LEAT_ENDS_CLOSED) == b);
    expect_range(b, 0, 500, 1);
    leat_chan *c = leat_chan_of(s, int, 20);
    CHECK(leat_pipe(s, numbers(s, 0, 5), c, LEAT_ENDS_OPEN) == c);
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(5, leat_chan_len(c));
    CHECK(!leat_chan_closed(c));
    CHECK_IS(0, leat_chan_senders(c, 2));
    CHECK(leat_pipe(s, numbers(s, 5, 9), c, LEAT_ENDS_DONE) == c);
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK(!leat_chan_closed(c));
    CHECK(leat_pipe(s, numbers(s, 9, 10), c, LEAT_ENDS_DONE) == c);
    expect_range(c, 0, 10, 1);
    CHECK(!leat_pipe(s, a, leat_chan_of(s, char, 0), LEAT_ENDS_CLOSED));
    CHECK(!leat_pipe(s, a, a, LEAT_ENDS_CLOSED));
    CHECK(!leat_pipe(s, NULL, a, LEAT_ENDS_CLOSED));
    CHECK(!leat_pipe(s, a, NULL, LEAT_ENDS_CLOSED));
    CHECK(!leat_pipe(NULL, a, b, LEAT_ENDS_CLOSED));
    return leat_scope_close(s);
}
ON_WORKERS(pipes);

static int goes_through_transforms(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    expect_range(leat_through(s, numbers(s, 0, 100), leat_take(sizeof(int), 7), 0, NULL), 0, 7, 1);
    expect_range(
        leat_through(s, numbers(s, 0, 100), leat_filter(sizeof(int), is_odd, NULL), 3, NULL), 1,
        100, 2);
    int repeated[] = { 1, 1, 2, 2, 2, 1, 3, 3 };
    leat_chan *ch = leat_to_chan(s, repeated, sizeof(int), 8, NULL);
    expect_all(leat_through(s, ch, leat_dedupe(sizeof(int)), 1, NULL), (int[]){ 1, 2, 1, 3 }, 4);
    ch = leat_to_chan(s, repeated, sizeof(int), 8, NULL);
    expect_all(leat_through(s, ch, leat_distinct(sizeof(int)), 1, NULL), (int[]){ 1, 2, 3 }, 3);
    struct {
        leat_run run;
        int items[3];
    } run;
    ch = leat_through(s, numbers(s, 0, 8), leat_partition(sizeof(int), 3), 1, NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_IS(0, leat_recv(ch, &run));
        CHECK_IS(i < 2 ? 3 : 2, run.run.count);
        CHECK_IS(3 * i + 1, run.items[1]);
    }
    CHECK_IS(-EPIPE, leat_recv(ch, NULL));
    CHECK(!leat_through(s, NULL, leat_take(sizeof(int), 1), 1, NULL));
    CHECK(!leat_through(s, ch, leat_take(1, 1), 1, NULL));
    CHECK(!leat_through(s, ch, NULL, 1, NULL));
    return leat_scope_close(s);
}
ON_WORKERS(goes_through_transforms);

/* ---- merge, split, combine, balance ---- */

static int merges(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ins[5];
    for (int i = 0; i < 5; i++)
        ins[i] = numbers(s, 200 * i, 200 * i + 40 * i);
    leat_chan *out = leat_merge(s, ins, 5, 0);
    int next[5] = { 0 }, x;
    while (leat_recv(out, &x) == 0)
        CHECK_IS(x % 200, next[x / 200]++);
    for (int i = 0; i < 5; i++)
        CHECK_IS(40 * i, next[i]);
    CHECK_IS(-EPIPE, leat_recv(leat_merge(s, NULL, 0, 0), NULL));
    leat_chan *unlike[] = { ins[0], leat_chan_of(s, char, 0) };
    CHECK(!leat_merge(s, unlike, 2, 0));
    unlike[1] = NULL;
    CHECK(!leat_merge(s, unlike, 2, 0));
    CHECK(!leat_merge(s, NULL, 1, 0));
    CHECK(!leat_merge(NULL, ins, 5, 0));
    return leat_scope_close(s);
}
ON_WORKERS(merges);

static int splits(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *odd, *even;
    CHECK_IS(0, leat_split(s, numbers(s, 0, 100), is_odd, NULL, &odd, &even, 50));
    expect_range(odd, 1, 100, 2);
    expect_range(even, 0, 100, 2);
    CHECK_IS(0, leat_split(s, numbers(s, 0, 100), is_odd, NULL, &odd, &even, 0));
    CHECK_IS(0, leat_close(odd));
    expect_range(even, 0, 100, 2);
    leat_chan *in = leat_chan_of(s, int, 0);
    CHECK_IS(0, leat_split(s, in, is_odd, NULL, &odd, &even, 0));
    CHECK_IS(0, leat_close(odd) + leat_close(even));
    CHECK_IS(0, leat_send(in, &(int){ 1 }) + leat_send(in, &(int){ 2 }));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(0, leat_split_sized(s, in, is_odd, NULL, &odd, &even, 3, 7));
    CHECK_IS(3, leat_chan_cap(odd));
    CHECK_IS(7, leat_chan_cap(even));
    CHECK_IS(0, leat_close(in));
    CHECK_IS(-EINVAL, leat_split_sized(s, in, NULL, NULL, &odd, &even, 3, 7));
    CHECK_IS(-EINVAL, leat_split(s, in, NULL, NULL, &odd, &even, 0));
    CHECK_IS(-EINVAL, leat_split(s, in, is_odd, NULL, &odd, &odd, 0));
    CHECK_IS(-EINVAL, leat_split(s, NULL, is_odd, NULL, &odd, &even, 0));
    CHECK_IS(-EINVAL, leat_split(s, in, is_odd, NULL, NULL, &even, 0));
    CHECK_IS(-EINVAL, leat_split(NULL, in, is_odd, NULL, &odd, &even, 0));
    return leat_scope_close(s);
}
ON_WORKERS(splits);

static int sum(void *arg, void *const *items, void *out)
{
    int total = *(int *)items[0] + *(int *)items[1] + *(int *)items[2];
    memcpy(out, &total, sizeof total);
    return total == *(int *)arg ? -EIO : 0;
}

static int combines(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ins[] = { numbers(s, 0, 90), numbers(s, 1000, 1080), numbers(s, 500, 590) };
    int never = -1, bad = 1500 + 3 * 2;
    expect_range(
        leat_combine(s, ins, 3, sum, &never, &(leat_chan_spec){ .item_size = sizeof(int) }), 1500,
        1500 + 3 * 80, 3);
    leat_chan *again[] = { numbers(s, 0, 4), numbers(s, 1000, 1004), numbers(s, 500, 504) };
    expect_all(leat_combine(s, again, 3, sum, &bad, &(leat_chan_spec){ .item_size = sizeof(int) }),
               (int[]){ 1500, 1503, 1509 }, 3);
    leat_chan *pair[] = { numbers(s, 0, 40), numbers(s, 100, 150) };
    leat_chan *zipped = leat_combine(s, pair, 2, NULL, NULL, &(leat_chan_spec){ .capacity = 1 });
    for (int i = 0, two[2]; i < 40; i++) {
        CHECK_IS(0, leat_recv(zipped, two));
        CHECK(two[0] == i && two[1] == 100 + i);
    }
    CHECK_IS(-EPIPE, leat_recv(zipped, NULL));
    leat_chan *none = leat_combine(s, NULL, 0, sum, NULL, &(leat_chan_spec){ .item_size = 4 });
    CHECK_IS(-EPIPE, leat_recv(none, &(int){ 0 }));
    CHECK_IS(-EPIPE, leat_recv(leat_combine(s, NULL, 0, NULL, NULL, &(leat_chan_spec){ 0 }), NULL));
    CHECK_IS(-EPIPE, leat_recv(leat_merge(s, NULL, 0, 0), NULL));
    CHECK(!leat_combine(s, NULL, 1, NULL, NULL, &(leat_chan_spec){ .capacity = 1 }));
    pair[1] = NULL;
    CHECK(!leat_combine(s, pair, 2, NULL, NULL, &(leat_chan_spec){ .capacity = 1 }));
    CHECK(!leat_combine(NULL, ins, 2, NULL, NULL, &(leat_chan_spec){ .capacity = 1 }));
    return leat_scope_close(s);
}
ON_WORKERS(combines);

static int balances(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *outs[3];
    for (int i = 0; i < 3; i++)
        outs[i] = leat_chan_of(s, int, 10);
    for (int i = 0; i < 4; i++)
        CHECK_IS(0, leat_send(outs[1], &i));
    CHECK_IS(0, leat_balance(s, numbers(s, 0, 26), outs, 3, LEAT_ENDS_CLOSED));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    for (int i = 0; i < 3; i++)
        CHECK_IS(10, leat_chan_len(outs[i]));
    for (int i = 0; i < 3; i++)
        outs[i] = leat_chan_of(s, int, 10);
    CHECK_IS(0, leat_balance(s, numbers(s, 0, 9), outs, 3, LEAT_ENDS_OPEN));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    for (int i = 0; i < 3; i++)
        CHECK_IS(3, leat_chan_len(outs[i]));
    CHECK_IS(-EINVAL, leat_balance(s, NULL, outs, 3, LEAT_ENDS_OPEN));
    CHECK_IS(-EINVAL, leat_balance(s, outs[0], outs, 3, LEAT_ENDS_OPEN));
    CHECK_IS(-EINVAL, leat_balance(s, numbers(s, 0, 1), outs, 0, LEAT_ENDS_OPEN));
    CHECK_IS(-EINVAL, leat_balance(NULL, numbers(s, 0, 1), outs, 3, LEAT_ENDS_OPEN));
    return leat_scope_close(s);
}
ON_WORKERS(balances);

/* The other output has room, but the operator ends all the same. */
static int a_balance_ends_with_one_output(void *arg)
{
    (void)arg;
    for (int closed = 0; closed < 2; closed++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_chan_of(s, int, 0);
        leat_chan *outs[] = { leat_chan_of(s, int, 10), leat_chan_of(s, int, 10) };
        CHECK_IS(0, leat_send(outs[closed], &closed)); /* the other one has fewer */
        CHECK_IS(0, leat_balance(s, in, outs, 2, LEAT_ENDS_CLOSED));
        CHECK_IS(0, leat_close(outs[closed]));
        CHECK_IS(0, leat_send(in, &closed));
        WAIT_UNTIL(leat_chan_closed(outs[!closed]) || leat_chan_len(outs[!closed]));
        CHECK_IS(0, leat_chan_len(outs[!closed]));
        CHECK_IS(0, leat_close(in));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(a_balance_ends_with_one_output);

/* ---- beginnings and ends ---- */

static int add_up(void *state, const void *item)
{
    *(int *)state += *(const int *)item;
    return *(int *)state > 10000 ? -EDOM : *(int *)state == 15 ? LEAT_ENOUGH : 0;
}

static int count_to(void *arg, void *item)
{
    int *left = arg;
    if (*left == 0)
        return 1;
    if (*left < -5)
        return -EIO;
    memcpy(item, left, sizeof *left);
    (*left)--;
    return 0;
}

static int begins_and_ends(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int total = 1000;
    CHECK_IS(0, leat_reduce(numbers(s, 0, 100), add_up, &total));
    CHECK_IS(1000 + 4950, total);
    total = 0;
    CHECK_IS(0, leat_reduce(numbers(s, 0, 100), add_up, &total));
    CHECK_IS(15, total);
    total = 9000;
    CHECK_IS(-EDOM, leat_reduce(numbers(s, 0, 100), add_up, &total));
    int state = 1000;
    expect_all(leat_reduce_into(s, numbers(s, 0, 100), add_up, &state, sizeof state),
               (int[]){ 5950 }, 1);
    int items[120];
    CHECK_IS(100, leat_into(numbers(s, 0, 100), items, 120));
    CHECK_IS(99, items[99]);
    leat_chan *some = numbers(s, 0, 100);
    CHECK_IS(30, leat_into(some, items, 30));
    CHECK_IS(30, leat_into(some, items, 30));
    CHECK_IS(59, items[29]);
    CHECK_IS(0, leat_into(some, items, 0));
    leat_chan *to = leat_chan_of(s, int, 1);
    CHECK(leat_onto(s, to, items, 20, LEAT_ENDS_CLOSED) == to);
    expect_range(to, 30, 50, 1);
    CHECK(!leat_onto(s, to, NULL, 20, LEAT_ENDS_CLOSED));
    CHECK_IS(-EPIPE, leat_recv(leat_to_chan(s, NULL, 4, 0, NULL), NULL));
    int left = 3;
    leat_chan_spec spec = { .item_size = sizeof(int) };
    expect_all(leat_generate(s, count_to, &left, &spec), (int[]){ 3, 2, 1 }, 3);
    CHECK_IS(-EINVAL, leat_reduce(NULL, add_up, &total));
    CHECK_IS(-EINVAL, leat_reduce(some, NULL, &total));
    CHECK_IS(-EINVAL, leat_into(NULL, items, 3));
    CHECK_IS(-EINVAL, leat_into(some, NULL, 3));
    CHECK(!leat_generate(s, NULL, &left, &spec));
    CHECK(!leat_generate(s, count_to, &left, NULL));
    CHECK(!leat_reduce_into(s, NULL, add_up, &state, sizeof state));
    CHECK_IS(0, leat_scope_close(s));
    s = leat_scope_open(LEAT_NEVER);
    left = -1;
    leat_chan *failing = leat_generate(s, count_to, &left, &spec);
    while (leat_recv(failing, &total) == 0)
        CHECK(total < 0);
    CHECK_IS(-EIO, leat_scope_close(s));
    return 0;
}
ON_WORKERS(begins_and_ends);

static int fail_with(void *state, const void *item)
{
    (void)item;
    return *(int *)state;
}

/* The function's own error is not the channel's end, whatever it is called. */
static int tells_errors_from_the_end(void *arg)
{
    (void)arg;
    const int errors[] = { -EPIPE, -ECANCELED, -EAGAIN };
    for (size_t i = 0; i < 3; i++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER);
        int state = errors[i];
        leat_chan *in = numbers(outer, 0, 3);
        CHECK_IS(errors[i], leat_reduce(in, fail_with, &state));
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *out = leat_reduce_into(s, in, fail_with, &state, sizeof state);
        WAIT_UNTIL(leat_chan_closed(out));
        CHECK_IS(0, leat_chan_len(out));
        CHECK_IS(errors[i], leat_scope_close(s));
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(tells_errors_from_the_end);

/* ---- promises ---- */

static _Atomic int dropped;

static void count_drop(void *item)
{
    CHECK_IS(7, *(int *)item);
    atomic_fetch_add(&dropped, 1);
}

static int passes_none(void *arg, const void *in)
{
    (void)arg;
    (void)in;
    return 0;
}

static void take_from_promise(leat_scope *s, leat_chan *promise, int how)
{
    leat_chan *out = leat_chan_of(s, int, 0), *ended = leat_chan_of(s, int, 0), *two = NULL;
    switch (how) {
    case 0: /* the item is delivered nowhere, */
        CHECK_IS(0, leat_close(out));
        CHECK(leat_pipe(s, promise, out, LEAT_ENDS_OPEN));
        break;
    case 1: /* or left out, */
        out = leat_through(s, promise, leat_take_while(sizeof(int), passes_none, NULL), 0, NULL);
        break;
    case 2: /* or its round has no other item, */
        CHECK_IS(0, leat_close(ended));
        out = leat_combine(s, (leat_chan *[]){ promise, ended }, 2, NULL, NULL,
                           &(leat_chan_spec){ .name = "zip" });
        break;
    case 3: /* or its copies stay in the channels of operators */
        out = leat_merge(s, &promise, 1, 2);
        two = leat_lapse(s, promise, LEAT_S, 2);
        WAIT_UNTIL(leat_chan_len(out) == 2 && leat_chan_len(two) == 2);
        CHECK_IS(0, leat_close(out));
        CHECK_IS(0, leat_close(two));
        break;
    default: /* or are taken by a mix */
        CHECK_IS(0, leat_admix(leat_mix_open(s, out, LEAT_MIX_MUTE), promise, 0));
        CHECK_IS(0, leat_close(out));
        break;
    }
    WAIT_UNTIL(how == 3 || leat_scope_tasks(s) == 0);
    CHECK(out);
}

/* A promise keeps its item, and drops it itself. */
static int leaves_the_item_to_the_promise(void *arg)
{
    (void)arg;
    for (int how = 0; how < 5; how++) {
        dropped = 0;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *promise = leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(int),
                                                                  .drop = count_drop,
                                                                  .buffer = LEAT_PROMISE });
        CHECK_IS(0, leat_send(promise, &(int){ 7 }));
        take_from_promise(s, promise, how);
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, dropped);
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(1, dropped);
    }
    return 0;
}
ON_WORKERS(leaves_the_item_to_the_promise);

/* Only leat sends to a timeout. */
static int sends_to_no_timeout(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_make(s, 0, 1), *late = leat_timeout(LEAT_NEVER);
    CHECK(!leat_pipe(s, in, late, LEAT_ENDS_OPEN));
    CHECK(!leat_onto(s, late, NULL, 3, LEAT_ENDS_OPEN));
    CHECK(!leat_mix_open(s, late, LEAT_MIX_MUTE));
    CHECK_IS(-EINVAL, leat_balance(s, in, &late, 1, LEAT_ENDS_OPEN));
    CHECK_IS(-EINVAL, leat_tap(leat_mult_open(s, in, NULL), late, 0, LEAT_ENDS_OPEN));
    CHECK_IS(0, leat_close(in));
    CHECK_IS(0, leat_chan_unref(late));
    return leat_scope_close(s);
}
ON_WORKERS(sends_to_no_timeout);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(pipes),
        TESTS_ON_WORKERS(goes_through_transforms),
        TESTS_ON_WORKERS(merges),
        TESTS_ON_WORKERS(splits),
        TESTS_ON_WORKERS(combines),
        TESTS_ON_WORKERS(balances),
        TESTS_ON_WORKERS(a_balance_ends_with_one_output),
        TESTS_ON_WORKERS(begins_and_ends),
        TESTS_ON_WORKERS(tells_errors_from_the_end),
        TESTS_ON_WORKERS(leaves_the_item_to_the_promise),
        TESTS_ON_WORKERS(sends_to_no_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
