/* test_flow_large.c: mixes, mults and pubs with many members find each, and wake no others. */
#include "flows.h"

enum { MEMBERS = 400 / SCALE };

static leat_chan *chs[MEMBERS];

static void open_all(leat_scope *s, size_t capacity)
{
    for (int i = 0; i < MEMBERS; i++)
        chs[i] = leat_chan_of(s, int, capacity);
}

/* How many times parties have run. A worker counts late. */
static uint64_t switches(void)
{
    leat_counts counts;
    CHECK_IS(0, leat_count(&counts));
    return counts.switches;
}

/* Returns when all ready parties have run and have been counted. */
static void settle(void)
{
    for (int i = 0; i < 4; i++)
        leat_sleep(1);
}

static void admix_all(leat_mix *mix, unsigned state)
{
    for (int i = 0; i < MEMBERS; i++) {
        CHECK_IS(0, leat_admix(mix, chs[i], state));
        leat_yield();
    }
    settle();
}

/* Each input comes, sees one change, and goes. The cost grows with their number, not its square. */
static int wakes_no_others(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_chan_of(s, int, 1);
    leat_mix *mix = leat_mix_open(s, out, LEAT_MIX_MUTE);
    open_all(s, 1);
    uint64_t before = switches();
    admix_all(mix, 0);
    for (int i = 0; i < MEMBERS; i++)
        if (i % 2)
            CHECK_IS(0, leat_unmix(mix, chs[i]));
        else
            CHECK_IS(0, leat_close(chs[i]));
    settle();
    CHECK(IN_SIM || switches() - before <= 8 * MEMBERS + 200);
    CHECK_IS(-ENOENT, leat_unmix(mix, chs[1]));
    return leat_scope_close(s);
}

static void mixes_wake_no_others(void **state)
{
    (void)state;
    run_on(1, wakes_no_others);
}

static int switches_many(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_chan_of(s, int, 1);
    leat_mix *mix = leat_mix_open(s, out, LEAT_MIX_PAUSE);
    open_all(s, 0);
    admix_all(mix, 0);
    for (int i = 0; i < MEMBERS; i++) {
        CHECK_IS(0, leat_send(chs[i], &i));
        expect(out, i);
    }
    /* The first solo input stops the others, and when the last solo input ends they go on. */
    CHECK_IS(0, leat_admix(mix, chs[3], LEAT_MIX_SOLO));
    CHECK_IS(0, leat_admix(mix, chs[7], LEAT_MIX_SOLO));
    WAIT_UNTIL(receivers_of(chs[MEMBERS - 1]) == 0 && receivers_of(chs[0]) == 0);
    CHECK_IS(0, leat_send(chs[7], &(int){ 7 }));
    expect(out, 7);
    CHECK_IS(0, leat_close(chs[3]));
    CHECK_IS(0, leat_send(chs[7], &(int){ 8 }));
    expect(out, 8);
    CHECK_IS(0, leat_unmix(mix, chs[7]));
    for (int i = 0; i < MEMBERS; i++) {
        if (i == 3 || i == 7)
            continue;
        CHECK_IS(0, leat_send(chs[i], &i));
        expect(out, i);
    }
    CHECK_IS(0, leat_admix(mix, chs[5], LEAT_MIX_SOLO));
    CHECK_IS(0, leat_unmix_all(mix));
    CHECK_IS(-ENOENT, leat_unmix(mix, chs[0]));
    return leat_scope_close(s);
}
ON_WORKERS(switches_many);

static int finds_each_tap(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0);
    leat_mult *mult = leat_mult_open(s, in, NULL);
    open_all(s, 4);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < MEMBERS; i++)
            CHECK_IS(0, leat_tap(mult, chs[i], 0, LEAT_ENDS_CLOSED));
    for (int i = 0; i < MEMBERS; i += 2)
        CHECK_IS(0, leat_untap(mult, chs[i]));
    CHECK_IS(0, leat_close(chs[1])); /* the mult notices, and removes it */
    CHECK_IS(0, leat_send(in, &(int){ 5 }));
    for (int i = 3; i < MEMBERS; i += 2)
        expect(chs[i], 5);
    WAIT_UNTIL(receivers_of(in) == 1);
    for (int i = 0; i < MEMBERS; i++)
        CHECK_IS(i == 1 || i % 2 == 0 ? -ENOENT : 0, leat_untap(mult, chs[i]));
    CHECK_IS(0, leat_close(in));
    return leat_scope_close(s);
}
ON_WORKERS(finds_each_tap);

static uint64_t topic_of(void *arg, const void *item)
{
    (void)arg;
    return (uint64_t) * (const int *)item << 32;
}

static int finds_each_topic(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0);
    leat_pub *pub = leat_pub_open(s, in, &(leat_pub_spec){ .topic = topic_of });
    open_all(s, 1);
    for (int turn = 0; turn < 3; turn++) {
        int first = turn * MEMBERS;
        for (int i = 0; i < MEMBERS; i++)
            CHECK_IS(0, leat_sub(pub, (uint64_t)(first + i) << 32, chs[i], 0, LEAT_ENDS_CLOSED));
        for (int i = 0, x = first; i < MEMBERS; i++, x++) {
            CHECK_IS(0, leat_send(in, &x));
            expect(chs[i], x);
        }
        for (int i = 0; i < MEMBERS && turn < 2; i++) {
            CHECK_IS(0, leat_unsub(pub, (uint64_t)(first + i) << 32, chs[i]));
            CHECK_IS(-ENOENT, leat_unsub(pub, (uint64_t)(first + i) << 32, chs[i]));
        }
    }
    CHECK_IS(0, leat_close(in));
    for (int i = 0; i < MEMBERS; i++)
        CHECK_IS(-EPIPE, leat_recv(chs[i], &(int){ 0 }));
    return leat_scope_close(s);
}
ON_WORKERS(finds_each_topic);

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixes_wake_no_others),
        TESTS_ON_WORKERS(switches_many),
        TESTS_ON_WORKERS(finds_each_tap),
        TESTS_ON_WORKERS(finds_each_topic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
