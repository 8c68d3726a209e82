/* test_flow_mult.c: mult, pub and mix: which item goes where, what stalls, and what may change. */
#include "flows.h"

#define TAPS_OF(scope, n, capacity) \
    leat_chan *taps[n]; \
    for (int i_ = 0; i_ < (n); i_++) \
    taps[i_] = leat_chan_of(scope, int, capacity)

/* ---- mult ---- */

static int gives_every_item_to_every_tap(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0);
    leat_mult *m = leat_mult_open(s, in, NULL);
    TAPS_OF(s, 3, 0);
    CHECK_IS(0, leat_send(in, &(int){ -1 })); /* no tap yet */
    WAIT_UNTIL(receivers_of(in) == 1);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_tap(m, taps[i], 0, i == 2 ? LEAT_ENDS_OPEN : LEAT_ENDS_CLOSED));
    CHECK_IS(0, leat_tap(m, taps[0], 0, LEAT_ENDS_CLOSED)); /* adding it again changes nothing */
    for (int i = 0; i < 30; i++) {
        CHECK_IS(0, leat_send(in, &i));
        /* One party receives from the taps in any order. */
        for (int k = 0; k < 3; k++)
            expect(taps[(i + (i % 2 ? k : 3 - k)) % 3], i);
    }
    CHECK_IS(0, leat_close(in));
    CHECK_IS(-EPIPE, leat_recv(taps[0], NULL));
    CHECK_IS(-EPIPE, leat_recv(taps[1], NULL));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK(!leat_chan_closed(taps[2]));
    CHECK_IS(-ENOENT, leat_untap(m, taps[2]));
    CHECK_IS(0, leat_tap(m, taps[2], 0, LEAT_ENDS_CLOSED));
    CHECK_IS(-EPIPE, leat_recv(taps[2], NULL));
    return leat_scope_close(s);
}
ON_WORKERS(gives_every_item_to_every_tap);

/* Nobody receives from the second tap. When it leaves, the others get items again. */
static int goes_on_without_those_that_leave(void *arg)
{
    (void)arg;
    for (int how = 0; how < 3; how++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_chan_of(s, int, 0);
        leat_mult *m = leat_mult_open(s, in, NULL);
        TAPS_OF(s, 3, 0);
        for (int i = 0; i < 3; i++)
            CHECK_IS(0, leat_tap(m, taps[i], 0, LEAT_ENDS_CLOSED));
        CHECK_IS(0, leat_send(in, &(int){ 1 }));
        expect(taps[0], 1);
        expect(taps[2], 1);
        WAIT_UNTIL(senders_of(taps[1]) == 1);
        leat_sleep(LEAT_MS);
        CHECK_IS(-EAGAIN, leat_try_send(in, &(int){ 2 })); /* the slow tap stalls the others */
        switch (how) {
        case 0: CHECK_IS(0, leat_untap(m, taps[1])); break;
        case 1: CHECK_IS(0, leat_close(taps[1])); break;
        default: CHECK_IS(0, leat_untap_all(m));
        }
        CHECK_IS(0, leat_send(in, &(int){ 2 }));
        CHECK_IS(0, senders_of(taps[1]));
        if (how < 2) {
            expect(taps[0], 2);
            expect(taps[2], 2);
            CHECK_IS(-ENOENT, leat_untap(m, taps[1]));
        }
        CHECK_IS(0, leat_send(in, &(int){ 3 }));
        CHECK_IS(how == 1 ? -EPIPE : -EAGAIN, leat_try_recv(taps[1], &how));
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(goes_on_without_those_that_leave);

static int counts_what_lossy_taps_miss(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0);
    leat_mult *m = leat_mult_open(s, in, NULL);
    leat_chan *lossy = leat_chan_of(s, int, 4), *all = leat_chan_of(s, int, 0);
    leat_chan *slides = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 2, .buffer = LEAT_SLIDING });
    CHECK_IS(0, leat_tap(m, lossy, LEAT_TAP_LOSSY, LEAT_ENDS_CLOSED));
    CHECK_IS(0, leat_tap(m, all, 0, LEAT_ENDS_CLOSED));
    CHECK_IS(0, leat_tap(m, slides, 0, LEAT_ENDS_CLOSED));
    for (int i = 0; i < 10; i++) {
        CHECK_IS(0, leat_send(in, &i));
        expect(all, i);
    }
    CHECK_IS(0, leat_send(in, &(int){ 10 }));
    expect(all, 10);
    WAIT_UNTIL(leat_tap_missed(m, lossy) == 7);
    CHECK_IS(0, leat_tap_missed(m, all));
    CHECK_IS(-ENOENT, leat_tap_missed(m, in));
    for (int i = 0; i < 4; i++)
        expect(lossy, i);
    CHECK_IS(0, leat_close(in));
    CHECK_IS(-EPIPE, leat_recv(all, NULL));
    expect(slides, 9);
    expect(slides, 10);
    CHECK_IS(-EINVAL, leat_tap(NULL, all, 0, LEAT_ENDS_CLOSED));
    CHECK_IS(-EINVAL, leat_tap(m, NULL, 0, LEAT_ENDS_CLOSED));
    CHECK_IS(-EINVAL, leat_tap(m, in, 0, LEAT_ENDS_CLOSED));
    CHECK_IS(-EINVAL, leat_tap(m, leat_chan_of(s, char, 0), 0, LEAT_ENDS_CLOSED));
    CHECK_IS(-EINVAL, leat_tap(m, all, 2, LEAT_ENDS_CLOSED));
    CHECK_IS(-EINVAL, leat_untap(NULL, all));
    CHECK_IS(-EINVAL, leat_untap_all(NULL));
    CHECK_IS(-EINVAL, leat_tap_missed(NULL, all));
    CHECK(!leat_mult_open(s, NULL, NULL));
    CHECK(!leat_mult_open(NULL, in, NULL));
    return leat_scope_close(s);
}
ON_WORKERS(counts_what_lossy_taps_miss);

/* Several parties add and remove taps while items pass. A tap that stays misses nothing. */
struct churn {
    leat_mult *mult;
    _Atomic uint64_t chance;
    _Atomic bool over;
};

static int come_and_go(void *arg)
{
    struct churn *c = arg;
    uint64_t chance = atomic_fetch_add(&c->chance, 1);
    leat_chan *ch = leat_chan_make(NULL, sizeof(int), below(&chance, 2));
    while (!c->over) {
        CHECK_IS(0, leat_tap(c->mult, ch, below(&chance, 2), LEAT_ENDS_OPEN));
        int last = -1, x;
        for (unsigned n = below(&chance, 4); n > 0; n--)
            if (leat_recv_until(ch, &x, leat_after(LEAT_MS)) == 0) {
                CHECK(x > last);
                last = x;
            }
        leat_untap(c->mult, ch);
        while (leat_try_recv(ch, &x) == 0) {
        }
        leat_yield();
    }
    return leat_chan_unref(ch); /* the mult holds it while it sends */
}

static int keeps_those_that_stay(void *arg)
{
    (void)arg;
    enum { ITEMS = 3000 / SCALE };
    leat_scope *s = leat_scope_open(LEAT_NEVER), *others;
    leat_chan *in = leat_chan_of(s, int, 0), *stays = leat_chan_of(s, int, 0);
    struct churn c = { .mult = leat_mult_open(s, in, NULL), .chance = seed_of_test() };
    CHECK_IS(0, leat_tap(c.mult, stays, 0, LEAT_ENDS_CLOSED));
    others = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, i % 2 ? leat_go_blocking(others, come_and_go, &c)
                          : leat_go(others, come_and_go, &c));
    for (int i = 0; i < ITEMS; i++) {
        CHECK_IS(0, leat_send(in, &i));
        expect(stays, i);
    }
    CHECK_IS(0, leat_close(in));
    CHECK_IS(-EPIPE, leat_recv(stays, NULL));
    c.over = true;
    CHECK_IS(0, leat_scope_close(others));
    return leat_scope_close(s);
}
ON_WORKERS(keeps_those_that_stay);

/* The tap's channel is gone when the mult's send is over. */
static int lets_go_of_channels(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0);
    leat_mult *m = leat_mult_open(s, in, NULL);
    for (int i = 0; i < 100; i++) {
        leat_scope *inner = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = leat_chan_of(inner, int, 0);
        CHECK_IS(0, leat_tap(m, ch, 0, LEAT_ENDS_CLOSED));
        CHECK_IS(0, leat_send(in, &i));
        expect(ch, i);
        CHECK_IS(0, leat_untap(m, ch));
        CHECK_IS(0, leat_scope_close(inner));
    }
    CHECK_IS(0, leat_close(in));
    return leat_scope_close(s);
}
ON_WORKERS(lets_go_of_channels);

/* ---- pub ---- */

static uint64_t tens(void *arg, const void *item)
{
    (void)arg;
    return (uint64_t)(*(const int *)item / 10);
}

static int publishes_by_topic(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0);
    leat_pub *pub = leat_pub_open(s, in, &(leat_pub_spec){ .topic = tens, .capacity = 5 });
    TAPS_OF(s, 4, 0);
    CHECK_IS(0, leat_sub(pub, 1, taps[0], 0, LEAT_ENDS_CLOSED));
    CHECK_IS(0, leat_sub(pub, 1, taps[1], 0, LEAT_ENDS_CLOSED));
    CHECK_IS(0, leat_sub(pub, 2, taps[2], 0, LEAT_ENDS_CLOSED));
    for (int i = 0; i < 3; i++) {
        CHECK_IS(0, leat_send(in, &(int){ 10 + i }));
        CHECK_IS(0, leat_send(in, &(int){ 20 + i }));
        CHECK_IS(0, leat_send(in, &(int){ 30 + i }));
    }
    for (int i = 0; i < 3; i++) {
        expect(taps[1], 10 + i);
        expect(taps[0], 10 + i);
        expect(taps[2], 20 + i);
    }
    CHECK_IS(0, leat_unsub(pub, 1, taps[0]));
    CHECK_IS(-ENOENT, leat_unsub(pub, 1, taps[0]));
    CHECK_IS(-ENOENT, leat_unsub(pub, 7, taps[0]));
    WAIT_UNTIL(receivers_of(in) == 1); /* all items have found their topic, or none */
    CHECK_IS(0, leat_sub(pub, 3, taps[3], 0, LEAT_ENDS_OPEN));
    CHECK_IS(0, leat_send(in, &(int){ 15 }));
    CHECK_IS(0, leat_send(in, &(int){ 35 }));
    expect(taps[1], 15);
    expect(taps[3], 35);
    CHECK_IS(0, leat_close(in));
    CHECK_IS(-EPIPE, leat_recv(taps[1], NULL));
    CHECK_IS(-EPIPE, leat_recv(taps[2], NULL));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    /* Too late: closes the tap. */
    CHECK_IS(0, leat_sub(pub, 9, taps[3], 0, LEAT_ENDS_CLOSED));
    CHECK_IS(-EPIPE, leat_recv(taps[3], NULL));
    CHECK(!leat_chan_closed(taps[0]));
    CHECK_IS(-EINVAL, leat_sub(NULL, 1, taps[0], 0, LEAT_ENDS_CLOSED));
    CHECK_IS(-EINVAL, leat_sub(pub, 1, NULL, 0, LEAT_ENDS_CLOSED));
    CHECK_IS(-EINVAL, leat_sub(pub, 1, in, 0, LEAT_ENDS_CLOSED));
    CHECK_IS(-EINVAL, leat_unsub(pub, 1, NULL));
    CHECK(!leat_pub_open(s, in, NULL));
    CHECK(!leat_pub_open(s, in, &(leat_pub_spec){ .capacity = 1 }));
    CHECK(!leat_pub_open(s, in, &(leat_pub_spec){ .topic = tens, .buffer = LEAT_SLIDING }));
    CHECK(!leat_pub_open(s, in, &(leat_pub_spec){ .topic = tens, .buffer = LEAT_PROMISE }));
    /* A buffer that drops such long items cannot be made. */
    leat_chan *long_in = leat_chan_open(s, &(leat_chan_spec){ .item_size = 1025, .drop = free });
    CHECK(!leat_pub_open(s, long_in,
                         &(leat_pub_spec){ .topic = tens, .capacity = 1, .buffer = LEAT_SLIDING }));
    return leat_scope_close(s);
}
ON_WORKERS(publishes_by_topic);

/* ---- mix ---- */

struct mixed {
    leat_scope *scope;
    leat_chan *ins[3], *out;
    leat_mix *mix;
};

/* What becomes of the next item. 1: the input plays; 0: the mix discards it; -1: it stays where it
 * is. */
static void check_plays(struct mixed *m, int i, int expected)
{
    int x = -1;
    if (expected < 0) {
        CHECK_IS(-ETIMEDOUT, leat_send_until(m->ins[i], &i, leat_after(20 * LEAT_MS)));
        return;
    }
    CHECK_IS(0, leat_send_until(m->ins[i], &i, leat_after(60 * LEAT_S)));
    /* The input's block sends the item, or has dropped it and waits for another one. */
    WAIT_UNTIL(senders_of(m->out) + receivers_of(m->ins[i]) == 1);
    CHECK_IS(expected ? 0 : -EAGAIN, leat_try_recv(m->out, &x));
    CHECK_IS(expected ? i : -1, x);
}

static void all_play(struct mixed *m, int a, int b, int c)
{
    check_plays(m, 0, a);
    check_plays(m, 1, b);
    check_plays(m, 2, c);
}

static int mixes(void *arg)
{
    (void)arg;
    for (unsigned others = LEAT_MIX_MUTE; others <= LEAT_MIX_PAUSE; others++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct mixed m = { .scope = s, .out = leat_chan_of(s, int, 0) };
        m.mix = leat_mix_open(s, m.out, others);
        for (int i = 0; i < 3; i++) {
            m.ins[i] = leat_chan_of(s, int, 0);
            CHECK_IS(0, leat_admix(m.mix, m.ins[i], 0));
        }
        int rest = others == LEAT_MIX_MUTE ? 0 : -1;
        all_play(&m, 1, 1, 1);
        CHECK_IS(0, leat_admix(m.mix, m.ins[0], LEAT_MIX_MUTE));
        CHECK_IS(0, leat_admix(m.mix, m.ins[1], LEAT_MIX_PAUSE));
        all_play(&m, 0, -1, 1);
        CHECK_IS(0, leat_admix(m.mix, m.ins[0], LEAT_MIX_SOLO));
        all_play(&m, 1, -1, rest);
        CHECK_IS(0, leat_admix(m.mix, m.ins[1], LEAT_MIX_SOLO));
        all_play(&m, 1, 1, rest);
        CHECK_IS(0, leat_admix(m.mix, m.ins[0], LEAT_MIX_SOLO | LEAT_MIX_PAUSE));
        CHECK_IS(0, leat_close(m.ins[1]));    /* the only solo input */
        WAIT_UNTIL(leat_scope_tasks(s) == 3); /* a paused input counts twice */
        check_plays(&m, 0, -1);
        check_plays(&m, 2, 1);
        CHECK_IS(0, leat_unmix(m.mix, m.ins[2]));
        check_plays(&m, 2, -1);
        CHECK_IS(-ENOENT, leat_unmix(m.mix, m.ins[2]));
        CHECK_IS(0, leat_admix(m.mix, m.ins[2], 0));
        check_plays(&m, 2, 1);
        CHECK_IS(0, leat_unmix_all(m.mix));
        WAIT_UNTIL(leat_scope_tasks(s) == 0);
        CHECK(!leat_chan_closed(m.out));
        CHECK_IS(-EINVAL, leat_admix(m.mix, NULL, 0));
        CHECK_IS(-EINVAL, leat_admix(m.mix, m.out, 0));
        CHECK_IS(-EINVAL, leat_admix(m.mix, m.ins[0], 8));
        CHECK_IS(-EINVAL, leat_admix(NULL, m.ins[0], 0));
        CHECK_IS(-EINVAL, leat_unmix(m.mix, NULL));
        CHECK_IS(-EINVAL, leat_unmix_all(NULL));
        CHECK(!leat_mix_open(s, m.out, 0));
        CHECK(!leat_mix_open(s, NULL, LEAT_MIX_MUTE));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(mixes);

/* ---- memory is reused ---- */

static int owned_by(leat_scope *s)
{
    int n = 0;
    lt_lock(&s->lock);
    for (struct lt_node *node = s->owned.next; node != &s->owned; node = node->next)
        n++;
    lt_unlock(&s->lock);
    return n;
}

static uint64_t itself(void *arg, const void *item)
{
    (void)arg;
    return (uint64_t) * (const int *)item;
}

/* Changes what the other inputs do, with and without a solo input. */
static int switches_the_others(void *arg)
{
    (void)arg;
    struct mixed m;
    leat_scope *s = m.scope = leat_scope_open(LEAT_NEVER);
    m.out = leat_chan_of(s, int, 0);
    m.mix = leat_mix_open(s, m.out, LEAT_MIX_MUTE);
    for (int i = 0; i < 3; i++) {
        m.ins[i] = leat_chan_of(s, int, 0);
        CHECK_IS(0, leat_admix(m.mix, m.ins[i], i ? 0 : LEAT_MIX_SOLO));
    }
    all_play(&m, 1, 0, 0);
    CHECK_IS(0, leat_mix_others(m.mix, LEAT_MIX_PAUSE));
    all_play(&m, 1, -1, -1);
    CHECK_IS(0, leat_mix_others(m.mix, LEAT_MIX_MUTE));
    all_play(&m, 1, 0, 0);
    CHECK_IS(0, leat_admix(m.mix, m.ins[0], 0));
    CHECK_IS(0, leat_mix_others(m.mix, LEAT_MIX_PAUSE));
    all_play(&m, 1, 1, 1);
    CHECK_IS(0, leat_admix(m.mix, m.ins[2], LEAT_MIX_SOLO));
    all_play(&m, -1, -1, 1);
    CHECK_IS(-EINVAL, leat_mix_others(m.mix, LEAT_MIX_SOLO));
    CHECK_IS(-EINVAL, leat_mix_others(m.mix, 0));
    CHECK_IS(-EINVAL, leat_mix_others(NULL, LEAT_MIX_MUTE));
    CHECK_IS(0, leat_scope_cancel(s));
    return leat_scope_close(s);
}
ON_WORKERS(switches_the_others);

static int uses_inputs_again(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_chan_of(s, int, 0);
    leat_mix *mix = leat_mix_open(s, out, LEAT_MIX_MUTE);
    int first = 0;
    for (int i = 0; i < 20; i++) {
        leat_chan *in = leat_chan_of(NULL, int, 0);
        CHECK_IS(0, leat_admix(mix, in, 0));
        CHECK_IS(0, leat_send(in, &i));
        expect(out, i);
        if (i % 2)
            CHECK_IS(0, leat_unmix(mix, in));
        else
            CHECK_IS(0, leat_close(in));
        WAIT_UNTIL(leat_scope_tasks(s) == 0); /* its block has ended */
        CHECK_IS(0, leat_chan_unref(in));
        first = i ? first : owned_by(s);
        CHECK_IS(first, owned_by(s));
    }
    return leat_scope_close(s);
}
ON_WORKERS(uses_inputs_again);

static int ends_all_subscriptions(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0), *chs[6];
    leat_pub *pub = leat_pub_open(s, in, &(leat_pub_spec){ .topic = itself });
    for (int i = 0; i < 6; i++) {
        chs[i] = leat_chan_of(s, int, 1);
        CHECK_IS(0, leat_sub(pub, (uint64_t)i / 2, chs[i], 0, LEAT_ENDS_CLOSED));
    }
    CHECK_IS(0, leat_unsub_topic(pub, 1));
    CHECK_IS(0, leat_unsub_topic(pub, 1));
    CHECK_IS(0, leat_unsub_topic(pub, 77));
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_send(in, &i));
    for (int i = 0; i < 6; i++)
        if (i / 2 != 1)
            expect(chs[i], i / 2);
    CHECK_IS(0, leat_unsub_all(pub));
    CHECK_IS(0, leat_unsub_all(pub));
    for (int i = 0; i < 6; i++)
        CHECK_IS(-ENOENT, leat_unsub(pub, (uint64_t)i / 2, chs[i]));
    CHECK_IS(0, leat_sub(pub, 2, chs[5], 0, LEAT_ENDS_CLOSED));
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_send(in, &i));
    expect(chs[5], 2);
    CHECK_IS(0, leat_close(in));
    CHECK_IS(-EPIPE, leat_recv(chs[5], &(int){ 0 }));
    for (int i = 0; i < 5; i++) {
        CHECK_IS(0, leat_chan_closed(chs[i]));
        CHECK_IS(0, leat_chan_len(chs[i]));
    }
    CHECK_IS(-EINVAL, leat_unsub_topic(NULL, 1));
    CHECK_IS(-EINVAL, leat_unsub_all(NULL));
    return leat_scope_close(s);
}
ON_WORKERS(ends_all_subscriptions);

static int uses_topics_again(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0), *ch = leat_chan_of(s, int, 0);
    leat_pub *pub = leat_pub_open(s, in, &(leat_pub_spec){ .topic = itself, .capacity = 1 });
    int owned = 0;
    for (int i = 0; i < 20; i++) {
        CHECK_IS(0, leat_sub(pub, (uint64_t)i, ch, 0, LEAT_ENDS_OPEN));
        CHECK_IS(0, leat_send(in, &i));
        expect(ch, i);
        CHECK_IS(0, leat_unsub(pub, (uint64_t)i, ch));
        CHECK_IS(-ENOENT, leat_unsub(pub, (uint64_t)i, ch));
        CHECK_IS(0, leat_send(in, &i)); /* dropped */
        owned = i == 5 ? owned_by(s) : owned;
        CHECK(i < 5 || !leat_sim_running() || owned_by(s) == owned);
        CHECK(owned_by(s) < 60);
        CHECK_IS(0, leat_send(in, &(int){ -1 }));
        WAIT_UNTIL(receivers_of(in) == 1);
        leat_sleep(LEAT_MS); /* in the seeded world the mult surely waits again */
    }
    CHECK_IS(0, leat_close(in));
    return leat_scope_close(s);
}
ON_WORKERS(uses_topics_again);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(gives_every_item_to_every_tap),
        TESTS_ON_WORKERS(goes_on_without_those_that_leave),
        TESTS_ON_WORKERS(counts_what_lossy_taps_miss),
        TESTS_ON_WORKERS(keeps_those_that_stay),
        TESTS_ON_WORKERS(lets_go_of_channels),
        TESTS_ON_WORKERS(publishes_by_topic),
        TESTS_ON_WORKERS(mixes),
        TESTS_ON_WORKERS(switches_the_others),
        TESTS_ON_WORKERS(ends_all_subscriptions),
        TESTS_ON_WORKERS(uses_inputs_again),
        TESTS_ON_WORKERS(uses_topics_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
