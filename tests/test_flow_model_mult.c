/* test_flow_model_mult.c: random programs compare what each tap, subscriber and mix gets with what
 * it may expect, while taps and inputs come, go, close and change their state. */
#include "flow_model.h"

static void share_item(void *item)
{
    item_made(*(const int *)item);
}

/* ---- taps ---- */

enum { TOPICS = 3 };
enum tap { PLAIN, LOSSY, DROPPING, SLIDING, REMOVED, CLOSED, LATE, TAPS };

struct tapping {
    struct world w;
    leat_mult *mult;
    leat_pub *pub; /* used instead of `mult`: an item's topic is the item modulo TOPICS */
    enum tap kind[SINKS];
    int topic[SINKS];
};

static int add_tap(struct tapping *t, int i)
{
    unsigned flags = t->kind[i] == LOSSY ? LEAT_TAP_LOSSY : 0;
    leat_chan *ch = t->w.sink[i].ch;
    return t->pub ? leat_sub(t->pub, (uint64_t)t->topic[i], ch, flags, LEAT_ENDS_CLOSED)
                  : leat_tap(t->mult, ch, flags, LEAT_ENDS_CLOSED);
}

static int remove_tap(struct tapping *t, int i)
{
    leat_chan *ch = t->w.sink[i].ch;
    return t->pub ? leat_unsub(t->pub, (uint64_t)t->topic[i], ch) : leat_untap(t->mult, ch);
}

/* Adds, removes or closes each tap at some moment. The mult leaves a removed tap open. */
static int change_taps(void *arg)
{
    struct tapping *t = arg;
    uint64_t chance = t->w.seed + 1;
    for (int i = 0; i < t->w.sinks; i++) {
        wait_for_the_moment(&chance);
        int error = 0;
        switch (t->kind[i]) {
        case REMOVED:
            error = remove_tap(t, i);
            CHECK_IS(0, leat_close(t->w.sink[i].ch));
            break;
        case CLOSED: CHECK_IS(0, leat_close(t->w.sink[i].ch)); break;
        case LATE:
            error = add_tap(t, i);
            if (error)
                leat_close(t->w.sink[i].ch);
            break;
        default: break;
        }
        CHECK(error == 0 || error == -ENOENT);
    }
    return 0;
}

static leat_chan *tap_chan(struct tapping *t, enum tap kind)
{
    uint64_t *chance = &t->w.chance;
    bool lossy = kind == DROPPING || kind == SLIDING;
    leat_chan *ch = leat_chan_open(
        t->w.s, &(leat_chan_spec){ .item_size = sizeof(int),
                                   .capacity = lossy ? 1 + below(chance, 4) : below(chance, 4),
                                   .buffer = kind == DROPPING  ? LEAT_DROPPING
                                             : kind == SLIDING ? LEAT_SLIDING
                                                               : LEAT_FIXED,
                                   .drop = drop_item });
    CHECK(ch);
    return ch;
}

static uint64_t topic_of(void *arg, const void *item)
{
    (void)arg;
    return (uint64_t)(*(const int *)item % TOPICS);
}

static void tapping_open(struct tapping *t, bool pub, uint64_t *chance)
{
    struct world *w = &t->w;
    memset(t, 0, sizeof *t);
    world_open(w, pub ? "pub" : "mult", chance, 1, 1 + (int)below(chance, SINKS));
    leat_pub_spec spec = { .topic = topic_of,
                           .capacity = below(&w->chance, 3),
                           .share = share_item };
    if (pub)
        CHECK(t->pub = leat_pub_open(w->s, w->source[0].ch, &spec));
    else
        CHECK(t->mult = leat_mult_open(w->s, w->source[0].ch, share_item));
    for (int i = 0; i < w->sinks; i++) {
        t->kind[i] = (enum tap)below(&w->chance, TAPS);
        t->topic[i] = (int)below(&w->chance, TOPICS);
        w->sink[i].ch = tap_chan(t, t->kind[i]);
        if (t->kind[i] != LATE)
            CHECK_IS(0, add_tap(t, i));
    }
}

/* A tap may get: items in order, none twice; without a gap, unless it loses items; all, if it
 * was there all the time. Of a tap that loses items, the first or the last item is known. */
static void check_tap(const struct tapping *t, int k)
{
    const struct sink *sink = &t->w.sink[k];
    const struct source *source = &t->w.source[0];
    int step = t->pub ? TOPICS : 1, first = t->pub ? t->topic[k] : 0;
    enum tap kind = t->kind[k];
    bool gaps = kind == LOSSY || kind == DROPPING || kind == SLIDING;
    for (int i = 0; i < sink->n; i++) {
        int before = i ? sink->got[i - 1] : first - step, next = sink->got[i];
        CHECK(next > before && (next - before) % step == 0);
        CHECK(gaps || (kind == LATE && i == 0) || next == before + step);
    }
    int all = (source->length - first + step - 1) / step, last = first + (all - 1) * step;
    if (t->w.whole && kind == PLAIN)
        CHECK_IS(all, sink->n);
    if (t->w.whole && kind == SLIDING && all)
        CHECK_IS(last, sink->got[sink->n - 1]);
    if (t->w.whole && kind == DROPPING && all)
        CHECK_IS(first, sink->got[0]);
    if (t->w.whole && kind == LATE && sink->n)
        CHECK_IS(last, sink->got[sink->n - 1]);
}

static void hand_out_to_taps(bool pub, uint64_t *chance)
{
    struct tapping t;
    tapping_open(&t, pub, chance);
    world_go(&t.w, change_taps, &t);
    world_run(&t.w);
    world_close(&t.w);
    for (int i = 0; i < t.w.sinks; i++)
        check_tap(&t, i);
}

static void mults(uint64_t *chance)
{
    hand_out_to_taps(false, chance);
}

static void pubs(uint64_t *chance)
{
    hand_out_to_taps(true, chance);
}

/* A lossy tap has missed each item that it has not got. */
static void counts_lag(uint64_t *chance)
{
    struct world w;
    world_open(&w, "lag", chance, 1, 1);
    w.early = REGULARLY;
    w.whole = true;
    leat_chan *ch = item_chan(&w);
    leat_mult *mult = leat_mult_open(w.s, w.source[0].ch, share_item);
    CHECK_IS(0, leat_tap(mult, ch, LEAT_TAP_LOSSY, LEAT_ENDS_OPEN));
    w.sinks = 0;
    w.sink[0].ch = ch;
    world_go(&w, send_items, &w.source[0]);
    for (int had = -1; (had = w.source[0].sent) < w.source[0].length && !leat_cancelled(w.s);) {
        int item;
        int status = leat_recv_until(ch, &item, leat_after(LEAT_US));
        if (status == -ECANCELED)
            break;
        if (status == 0)
            note_item(&w.sink[0], &item);
    }
    WAIT_UNTIL(leat_cancelled(w.s) || receivers_of(w.source[0].ch) == 1 ||
               leat_scope_tasks(w.s) == 0);
    w.left = leat_latch(NULL, 0);
    if (!leat_cancelled(w.s) && leat_scope_tasks(w.s) > 0) {
        int64_t missed = leat_tap_missed(mult, ch);
        if (missed != -ENOENT)
            CHECK_IS(w.source[0].sent, w.sink[0].n + missed + (int)leat_chan_len(ch));
    }
    w.early = DEADLINE; /* its scope may have a deadline */
    world_close(&w);
}

/* Without a share function an item that no tap got is dropped once. */
static void without_share(uint64_t *chance)
{
    struct world w;
    world_open(&w, "mult without share", chance, 1, 1);
    leat_mult *mult = leat_mult_open(w.s, w.source[0].ch, NULL);
    w.sink[0].ch = item_chan(&w);
    CHECK_IS(0, leat_tap(mult, w.sink[0].ch, 0, LEAT_ENDS_CLOSED));
    world_run(&w);
    world_close(&w);
    check_same(&w.sink[0], w.source[0].items, w.source[0].length);
}

/* ---- mix ---- */

struct mixing {
    struct world w;
    leat_mix *mix;
    _Atomic unsigned last[SOURCES]; /* the last state set; 8: removed */
    bool muted;                     /* at any time */
};

/* The mix takes no more items from a paused or removed input, except those it was taking. */
static void check_standstill(struct mixing *m, uint64_t *chance, int i)
{
    leat_chan *ch = m->w.source[i].ch;
    if (leat_chan_cap(ch) || leat_chan_closed(ch))
        return;
    int before = m->w.source[i].sent;
    wait_for_the_moment(chance);
    CHECK(m->w.source[i].sent <= before + 2); /* one being taken, one not counted yet */
}

static int switch_inputs(void *arg)
{
    struct mixing *m = arg;
    uint64_t chance = m->w.seed + 1;
    for (unsigned n = below(&chance, 8); n; n--) {
        wait_for_the_moment(&chance);
        int i = (int)below(&chance, (unsigned)m->w.sources);
        leat_chan *ch = m->w.source[i].ch;
        unsigned state = below(&chance, 9);
        if (m->last[i] == 8)
            continue;
        m->last[i] = state;
        m->muted |= state != 0;
        if (state < 8) {
            CHECK_IS(0, leat_admix(m->mix, ch, state));
        } else {
            int error = leat_unmix(m->mix, ch);
            CHECK(error == 0 || error == -ENOENT);
        }
        if (state == 8 || (state & LEAT_MIX_PAUSE))
            check_standstill(m, &chance, i);
    }
    /* So that all end: inputs in the mix play, and the others are closed. */
    for (int i = 0; i < m->w.sources; i++) {
        if (m->last[i] == 8)
            leat_close(m->w.source[i].ch);
        else
            CHECK_IS(0, leat_admix(m->mix, m->w.source[i].ch, 0));
    }
    return 0;
}

/* Closes the output, since the mix does not. */
static int close_when_idle(void *arg)
{
    struct mixing *m = arg;
    /* Waits until the sources have ended and the mix has taken all that they sent. */
    for (int i = 0; i < m->w.sources; i++)
        while (!leat_chan_closed(m->w.source[i].ch) || leat_chan_len(m->w.source[i].ch)) {
            if (leat_chan_closed(m->w.sink[0].ch) || leat_sleep(LEAT_US) != 0)
                break;
            if (m->last[i] == 8 && leat_chan_closed(m->w.source[i].ch))
                break;
        }
    for (int i = 0; i < 50; i++)
        leat_sleep(LEAT_US);
    return leat_close(m->w.sink[0].ch);
}

static void mixes(uint64_t *chance)
{
    struct mixing m = { .muted = false };
    struct world *w = &m.w;
    world_open(w, "mix", chance, 1 + (int)below(chance, SOURCES), 1);
    w->sink[0].ch = item_chan(w);
    m.mix =
        leat_mix_open(w->s, w->sink[0].ch, below(&w->chance, 2) ? LEAT_MIX_MUTE : LEAT_MIX_PAUSE);
    CHECK(m.mix);
    for (int i = 0; i < w->sources; i++)
        CHECK_IS(0, leat_admix(m.mix, w->source[i].ch, 0));
    world_go(w, switch_inputs, &m);
    world_go(w, close_when_idle, &m);
    world_run(w);
    world_close(w);
    w->whole &= !m.muted && leat_sim_running();
    check_per_source(w, 0, 1);
}

static int gives_all_what_they_may_expect(void *arg)
{
    (void)arg;
    static operator_fn *const operators[] = { mults, pubs, counts_lag, without_share, mixes };
    return run_operators(operators, sizeof operators / sizeof *operators);
}
ON_WORKERS(gives_all_what_they_may_expect);

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS_ON_WORKERS(gives_all_what_they_may_expect) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
