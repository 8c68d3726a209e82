/* test_flow_harsh.c: each request of a stage, an operator or a helper for memory or a thread fails
 * once, in turn. The call that needed it returns NULL or -ENOMEM, what was made before ends with
 * its scope, and no item is lost. This needs the harsh build. */
#include "faults.h"
#include "flows.h"

static _Atomic int alive; /* items that have not ended */
static void drop_item(void *item)
{
    (void)item;
    atomic_fetch_sub(&alive, 1);
}

static leat_chan *items(leat_scope *s)
{
    static const int some[] = { 1, 2, 3, 4, 5 };
    leat_chan *ch = leat_to_chan(s, some, sizeof(int), 5, drop_item);
    if (ch)
        atomic_fetch_add(&alive, 5);
    return ch;
}

static int same(void *arg, const void *in, void *out)
{
    (void)arg;
    memcpy(out, in, sizeof(int));
    return 0;
}

static int end_at_once(void *arg, const void *in, leat_result *result)
{
    (void)arg;
    CHECK_IS(0, leat_result_add(result, in));
    return leat_result_end(result, 0);
}

static uint64_t parity(void *arg, const void *in)
{
    (void)arg;
    return (uint64_t)(*(const int *)in % 2);
}

static int nothing(void *arg, size_t begin, size_t end)
{
    (void)arg;
    (void)begin;
    (void)end;
    return 0;
}

static int win(void *arg, size_t index, void *out)
{
    (void)arg;
    (void)index;
    (void)out;
    return 0;
}

static int find_value(void *arg, const void *key, void *value)
{
    return same(arg, key, value);
}

/* Receives all items of an output. `ch` may be NULL. */
static void drain(leat_chan *ch)
{
    int item;
    while (made(ch) && leat_recv(ch, &item) == 0)
        drop_item(&item);
}

static leat_chan *stage(leat_scope *s, leat_chan *in, int which)
{
    return leat_pipeline(s, in,
                         &(leat_pipeline_spec){ .n = 2,
                                                .window = 3,
                                                .run = which < 2 ? same : NULL,
                                                .start = which < 2 ? NULL : end_at_once,
                                                .blocking = which == 1,
                                                .out_size = sizeof(int),
                                                .drop = drop_item });
}

static int give(void *arg, void *value)
{
    return same(arg, &(int){ 7 }, value);
}

static int leave(void *arg)
{
    (void)arg;
    return 0;
}

static void start_tasks(leat_scope *s)
{
    const leat_chan_spec number = { .item_size = sizeof(int) };
    made(leat_go_value(s, give, NULL, &number));
    made(leat_go_blocking_value(s, give, NULL, &number));
    leat_semaphore *permits = leat_semaphore_open(s, 1);
    if (made(permits) && worked(leat_go_within(s, permits, LEAT_NEVER, leave, NULL)))
        worked(leat_go_within(s, permits, LEAT_NEVER, leave, NULL));
}

static void use_operators(leat_scope *s)
{
    drain(stage(s, stage(s, stage(s, items(s), 0), 1), 2));
    drain(leat_through(s, items(s), leat_take(sizeof(int), 9), 1, drop_item));
    leat_chan *two[] = { items(s), items(s) }, *odd = NULL, *even = NULL;
    drain(leat_merge(s, two, 2, 1));
    leat_chan *in = items(s);
    if (made(in) && worked(leat_split(s, in, is_odd, NULL, &odd, &even, 5))) {
        drain(odd);
        drain(even);
    }
    drain(leat_rate(s, items(s), 1, 1, 0));
    start_tasks(s);
    leat_chan *out =
        leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(int), .drop = drop_item });
    leat_mix *mix = leat_mix_open(s, out, LEAT_MIX_MUTE);
    in = items(s);
    if (made(mix) && made(in) && worked(leat_admix(mix, in, 0)))
        for (int i = 0, item; i < 5; i++) {
            CHECK_IS(0, leat_recv(out, &item));
            drop_item(&item);
        }
}

static void use_mults(leat_scope *s)
{
    leat_chan *taps[2], *in = leat_chan_of(s, int, 0);
    for (int i = 0; i < 2; i++)
        taps[i] = leat_chan_of(s, int, 0);
    leat_mult *mult = leat_mult_open(s, in, NULL);
    if (made(taps[0]) && made(taps[1]) && made(mult) &&
        worked(leat_tap(mult, taps[0], 0, LEAT_ENDS_CLOSED)))
        worked(leat_tap(mult, taps[1], LEAT_TAP_LOSSY, LEAT_ENDS_CLOSED));
    leat_close(in);
    in = leat_chan_of(s, int, 0);
    leat_pub *pub = leat_pub_open(s, in, &(leat_pub_spec){ .topic = parity, .capacity = 2 });
    if (made(pub) && made(taps[0]))
        worked(leat_sub(pub, 1, taps[0], 0, LEAT_ENDS_OPEN));
    leat_close(in);
}

static void use_helpers(leat_scope *s)
{
    worked(leat_parallel_for(0, 50, nothing, NULL, &(leat_parallel){ 4, 5 }));
    int64_t first = leat_first(3, win, NULL, NULL, 0, NULL);
    CHECK(first < 3);
    worked(first < 0 ? (int)first : 0);
    leat_semaphore *semaphore = leat_semaphore_open(s, 3);
    if (made(semaphore))
        CHECK_IS(0, leat_acquire(semaphore, 2));
    made(leat_latch(s, 1));
    leat_singleflight *flights =
        leat_singleflight_open(s, &(leat_singleflight_spec){ find_value, NULL, 4, 4 });
    int key = 3, value = 0;
    if (made(flights) && worked(leat_singleflight_do(flights, &key, &value, LEAT_NEVER)))
        CHECK_IS(3, value);
}

static int use_all(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    if (!made(s))
        return 0;
    use_operators(s);
    use_mults(s);
    use_helpers(s);
    CHECK_IS(0, leat_scope_cancel(s)); /* operators whose partner is missing wait */
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, alive);
    return 0;
}

static void survives_each_failure(void **state)
{
    (void)state;
    fail_each_request(use_all, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(survives_each_failure) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
