/* test_flow_leave.c: parties that leave a mult or a mix, and free the channel that they used. */
#include "flows.h"

/* While the mult shares the item for the newer tap, a thread removes the older one and frees its
 * channel. */
struct leaver {
    leat_mult *mult;
    leat_chan *in;
};

static _Atomic bool shares, has_left;

static void share_slowly(void *item)
{
    (void)item;
    shares = true;
    while (!has_left)
        nap();
}

static int leave_meanwhile(void *arg)
{
    struct leaver *l = arg;
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    leat_chan *older = leat_chan_of(inner, int, 1), *newer = leat_chan_of(NULL, int, 1);
    CHECK_IS(0, leat_tap(l->mult, older, 0, LEAT_ENDS_CLOSED));
    CHECK_IS(0, leat_tap(l->mult, newer, 0, LEAT_ENDS_CLOSED));
    CHECK_IS(0, leat_send(l->in, &(int){ 1 }));
    WAIT_UNTIL(shares);
    CHECK_IS(0, leat_untap(l->mult, older));
    CHECK_IS(0, leat_chan_len(older));
    CHECK_IS(0, leat_scope_close(inner));
    has_left = true;
    expect(newer, 1);
    CHECK_IS(0, leat_untap(l->mult, newer));
    return leat_chan_unref(newer);
}

static int sends_nothing_to_those_that_left(void *arg)
{
    (void)arg;
    if (IN_SIM) /* there a function of the mult cannot let others run */
        return 0;
    shares = has_left = false;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0);
    struct leaver l = { leat_mult_open(s, in, share_slowly), in };
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_blocking(inner, leave_meanwhile, &l));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(0, leat_close(in));
    return leat_scope_close(s);
}
ON_WORKERS(sends_nothing_to_those_that_left);

/* The mix holds its inputs for as long as it uses them. */
static int holds_the_inputs_of_a_mix(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_chan_of(s, int, 0);
    leat_mix *mix = leat_mix_open(s, out, LEAT_MIX_MUTE);
    for (int i = 0; i < 100; i++) {
        leat_chan *in = leat_chan_of(NULL, int, 0);
        CHECK_IS(0, leat_admix(mix, in, 0));
        CHECK_IS(0, leat_send(in, &i));
        expect(out, i);
        if (i % 3 == 0)
            WAIT_UNTIL(receivers_of(in) == 1);
        CHECK_IS(0, i % 2 ? leat_unmix(mix, in) : leat_close(in));
        CHECK_IS(0, leat_chan_unref(in));
    }
    return leat_scope_close(s);
}
ON_WORKERS(holds_the_inputs_of_a_mix);

/* An input is removed and added again while its block may hold an item: the item stays ahead of
 * those that come later. */
struct returner {
    leat_mix *mix;
    leat_chan *in;
};

static int leaves_and_comes_back(void *arg)
{
    struct returner *r = arg;
    for (int i = 0; i < 6; i++) {
        CHECK_IS(0, leat_unmix(r->mix, r->in));
        CHECK_IS(-ENOENT, leat_unmix(r->mix, r->in));
        CHECK_IS(0, leat_admix(r->mix, r->in, 0));
    }
    return 0;
}

static int sends_in_order(void *arg)
{
    for (int i = 0; i < 20; i++)
        CHECK_IS(0, leat_send(arg, &i));
    return 0;
}

static int keeps_the_order_of_an_input_that_comes_back(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_chan_of(s, int, 0);
    struct returner r = { leat_mix_open(s, out, LEAT_MIX_MUTE), leat_chan_of(s, int, 0) };
    CHECK_IS(0, leat_admix(r.mix, r.in, 0));
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go(inner, sends_in_order, r.in));
    CHECK_IS(0, leat_go(inner, leaves_and_comes_back, &r));
    for (int i = 0; i < 20; i++)
        expect(out, i);
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(0, leat_close(r.in));
    return leat_scope_close(s);
}
ON_WORKERS(keeps_the_order_of_an_input_that_comes_back);

/* Waits for less than a minute. */
static bool ends(leat_scope *s)
{
    for (int i = 0; i < 500 && leat_scope_tasks(s); i++)
        leat_sleep(10 * LEAT_MS);
    return !leat_scope_tasks(s);
}

static int removes_closed_inputs_that_are_paused(void *arg)
{
    (void)arg;
    for (int when = 0; when < 3; when++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *out = leat_chan_of(s, int, 0), *in = leat_chan_of(NULL, int, 1);
        leat_mix *mix = leat_mix_open(s, out, LEAT_MIX_MUTE);
        if (when == 0)
            CHECK_IS(0, leat_close(in));
        CHECK_IS(0, leat_admix(mix, in, LEAT_MIX_PAUSE));
        if (when == 1)
            leat_sleep(LEAT_MS); /* its block waits */
        CHECK_IS(0, leat_close(in));
        CHECK_IS(0, leat_chan_unref(in));
        CHECK(ends(s));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(removes_closed_inputs_that_are_paused);

/* A pause takes nothing, even after the end. */
static int keeps_the_items_of_a_paused_input(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_chan_of(s, int, 0), *in = leat_chan_of(s, int, 1);
    leat_mix *mix = leat_mix_open(s, out, LEAT_MIX_MUTE);
    CHECK_IS(0, leat_admix(mix, in, LEAT_MIX_PAUSE));
    CHECK_IS(0, leat_send(in, &(int){ 7 }));
    leat_sleep(LEAT_MS);
    CHECK_IS(0, leat_close(in));
    leat_sleep(LEAT_MS);
    CHECK_IS(1, leat_chan_len(in));
    CHECK_IS(0, leat_admix(mix, in, 0));
    expect(out, 7);
    CHECK(ends(s));
    return leat_scope_close(s);
}
ON_WORKERS(keeps_the_items_of_a_paused_input);

static _Atomic int dropped;

static void drop(void *item)
{
    (void)item;
    atomic_fetch_add(&dropped, 1);
}

/* Makes a channel without a scope that holds an item from the start. */
static leat_chan *holding_one(void)
{
    leat_chan *ch = leat_chan_open(
        NULL, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 1, .drop = drop });
    CHECK_IS(0, leat_send(ch, &(int){ 1 }));
    return ch;
}

/* Closed taps leave when others come, even if the mult gets no item: it gives their references
 * back. A tap that stays hides none of them. */
static int lets_go_of_closed_taps(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan_spec spec = { .item_size = sizeof(int), .drop = drop };
    leat_chan *in = leat_chan_open(s, &spec), *stays = leat_chan_open(s, &spec);
    leat_mult *m = leat_mult_open(s, in, NULL);
    dropped = 0;
    CHECK_IS(0, leat_tap(m, stays, 0, LEAT_ENDS_CLOSED));
    for (int i = 0; i < 20; i++) {
        leat_chan *ch = holding_one();
        CHECK_IS(0, leat_tap(m, ch, 0, LEAT_ENDS_CLOSED));
        CHECK_IS(0, leat_close(ch));
        CHECK_IS(0, leat_chan_unref(ch));
        CHECK(i - dropped < 3);
    }
    CHECK_IS(0, leat_send(in, &(int){ 2 }));
    expect(stays, 2);
    CHECK_IS(0, leat_close(in));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(20, dropped);
    return 0;
}
ON_WORKERS(lets_go_of_closed_taps);

static uint64_t itself(void *arg, const void *item)
{
    (void)arg;
    return (uint64_t) * (const int *)item;
}

/* A closed channel does not keep its topic, to which no further item comes. */
static int uses_topics_of_closed_channels_again(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0), *stays = leat_chan_of(s, int, 0);
    leat_pub *pub = leat_pub_open(s, in, &(leat_pub_spec){ .topic = itself });
    CHECK_IS(0, leat_sub(pub, 77, stays, 0, LEAT_ENDS_CLOSED));
    dropped = 0;
    for (int i = 0; i < 20; i++) {
        leat_chan *ch = holding_one();
        CHECK_IS(0, leat_sub(pub, (uint64_t)i, ch, 0, LEAT_ENDS_CLOSED));
        CHECK_IS(0, leat_close(ch));
        CHECK_IS(0, leat_chan_unref(ch));
        leat_sleep(LEAT_MS); /* in the seeded world the mult surely waits again */
    }
    CHECK(dropped > 9);
    CHECK(!leat_sim_running() || leat_scope_tasks(s) < 6); /* the pub and its topics */
    CHECK_IS(0, leat_send(in, &(int){ 77 }));
    expect(stays, 77);
    CHECK_IS(0, leat_close(in));
    return leat_scope_close(s);
}
ON_WORKERS(uses_topics_of_closed_channels_again);

/* Nor do any of its closed channels stay in the topic that takes over. */
static int closed_channels_change_no_topic(void *arg)
{
    (void)arg;
    enum { CHANS = 7 };
    leat_chan *chs[CHANS];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0);
    leat_pub *pub = leat_pub_open(s, in, &(leat_pub_spec){ .topic = itself });
    dropped = 0;
    for (int i = 0; i < CHANS; i++) {
        chs[i] = holding_one();
        CHECK_IS(0, leat_sub(pub, 1, chs[i], 0, LEAT_ENDS_CLOSED));
    }
    for (int i = 0; i < CHANS; i++) {
        CHECK_IS(0, leat_close(chs[i]));
        CHECK_IS(0, leat_chan_unref(chs[i]));
    }
    leat_sleep(LEAT_MS); /* in the seeded world the mult surely waits */
    CHECK_IS(0, leat_sub(pub, 2, leat_chan_of(s, int, 0), 0, LEAT_ENDS_CLOSED));
    CHECK(!leat_sim_running() || dropped == CHANS);
    CHECK_IS(0, leat_close(in));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(CHANS, dropped);
    return 0;
}
ON_WORKERS(closed_channels_change_no_topic);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(sends_nothing_to_those_that_left),
        TESTS_ON_WORKERS(holds_the_inputs_of_a_mix),
        TESTS_ON_WORKERS(keeps_the_order_of_an_input_that_comes_back),
        TESTS_ON_WORKERS(removes_closed_inputs_that_are_paused),
        TESTS_ON_WORKERS(keeps_the_items_of_a_paused_input),
        TESTS_ON_WORKERS(lets_go_of_closed_taps),
        TESTS_ON_WORKERS(uses_topics_of_closed_channels_again),
        TESTS_ON_WORKERS(closed_channels_change_no_topic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
