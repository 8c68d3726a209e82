/* test_flow_rules.c: exact rules of operators: alignment, muted inputs, closed outputs, order. */
#include "flows.h"

#include <leat/pace.h>
#include <leat/time.h>
#include <leat/timeout.h>
#include <leat/transform.h>

/* ---- items that need 16 bytes of alignment ---- */

typedef struct wide {
    _Alignas(16) int x, rest[3];
} wide;

static _Atomic int dropped;

static void drop_aligned(void *item)
{
    CHECK_IS(0, (uintptr_t)item % 16);
    atomic_fetch_add(&dropped, ((wide *)item)->x);
}

static int same_tens(void *arg, const void *before, const void *item)
{
    (void)arg;
    CHECK_IS(0, (uintptr_t)before % 16);
    CHECK_IS(0, (uintptr_t)item % 16);
    return ((const wide *)before)->x / 10 == ((const wide *)item)->x / 10;
}

static leat_chan *wide_chan(leat_scope *s)
{
    leat_chan *ch = leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(wide), .capacity = 8, .drop = drop_aligned });
    CHECK(ch);
    return ch;
}

static void send_wide(leat_chan *ch, int x)
{
    CHECK_IS(0, leat_send(ch, &(wide){ .x = x }));
}

static int keeps_items_aligned(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = wide_chan(s);
    leat_chan *runs =
        leat_through(s, in, leat_partition_by(sizeof(wide), 4, same_tens, NULL), 8, NULL);
    int xs[] = { 1, 2, 11, 12, 13, 21 };
    for (size_t i = 0; i < sizeof xs / sizeof *xs; i++)
        send_wide(in, xs[i]);
    CHECK_IS(0, leat_close(in));
    struct {
        leat_run run;
        unsigned char items[4 * sizeof(wide)];
    } run;
    for (size_t n = 2; leat_recv(runs, &run) == 0; n = n == 2 ? 3 : 1)
        CHECK_IS(n, run.run.count);
    return leat_scope_close(s);
}
ON_WORKERS(keeps_items_aligned);

static int drops_aligned_items(void *arg)
{
    (void)arg;
    atomic_store(&dropped, 0);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = wide_chan(s), *pair[] = { leat_chan_of(s, int, 8), wide_chan(s) };
    CHECK(leat_window(s, in, 8, LEAT_S, 0, NULL));
    CHECK(leat_combine(s, pair, 2, NULL, NULL, &(leat_chan_spec){ .capacity = 0 }));
    for (int i = 1; i <= 3; i++) {
        send_wide(in, i);
        send_wide(pair[1], 10 * i);
    }
    CHECK_IS(0, leat_send(pair[0], &(int){ 1 }));
    WAIT_UNTIL(leat_chan_len(in) == 0);
    leat_scope_cancel(s);
    leat_scope_close(s);
    CHECK_IS(66, atomic_load(&dropped));
    return 0;
}
ON_WORKERS(drops_aligned_items);

/* ---- mix: an item of an input that is muted all the time ---- */

static int send_some(void *arg)
{
    for (int i = 1; i <= 3; i++)
        if (leat_send(arg, &i) != 0)
            break;
    return 0;
}

static int mutes(void *arg)
{
    (void)arg;
    for (int way = 0; way < 4; way++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_chan_of(s, int, 0), *other = leat_chan_of(s, int, 0),
                  *out = leat_chan_of(s, int, 10);
        leat_mix *mix = leat_mix_open(s, out, way == 2 ? LEAT_MIX_MUTE : LEAT_MIX_PAUSE);
        CHECK_IS(0, leat_admix(mix, in, way == 2 ? 0 : LEAT_MIX_MUTE));
        if (way == 2)
            CHECK_IS(0, leat_admix(mix, other, LEAT_MIX_SOLO));
        leat_sleep(100 * LEAT_US);
        CHECK_IS(0, leat_go(s, send_some, in));
        leat_yield();
        switch (way) {
        case 0: CHECK_IS(0, leat_admix(mix, in, LEAT_MIX_MUTE | LEAT_MIX_PAUSE)); break;
        case 1: CHECK_IS(0, leat_admix(mix, other, LEAT_MIX_SOLO)); break;
        case 2: CHECK_IS(0, leat_mix_others(mix, LEAT_MIX_PAUSE)); break;
        default: CHECK_IS(0, leat_unmix(mix, in));
        }
        leat_sleep(100 * LEAT_US);
        CHECK_IS(0, leat_chan_len(out));
        leat_scope_cancel(s);
        leat_scope_close(s);
    }
    return 0;
}
ON_WORKERS(mutes);

/* ---- mult: a tap that is added again while the mult ends its taps ---- */

static void add_tap_again(int taps, int pauses)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0), *last = leat_chan_of(s, int, 4);
    leat_mult *m = leat_mult_open(s, in, NULL);
    for (int i = 0; i < taps; i++)
        CHECK_IS(0, leat_tap(m, leat_chan_of(s, int, 4), 0, LEAT_ENDS_CLOSED));
    CHECK_IS(0, leat_chan_senders(last, 2)); /* the mult, and this party */
    CHECK_IS(0, leat_tap(m, last, 0, LEAT_ENDS_DONE));
    CHECK_IS(0, leat_close(in));
    for (volatile int i = 0; i < pauses; i++)
        continue;
    CHECK_IS(0, leat_tap(m, last, 0, LEAT_ENDS_DONE));
    bool was_tap = leat_tap_missed(m, last) >= 0;
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    if (was_tap)
        CHECK_IS(0, leat_send(last, &taps));
    leat_scope_close(s);
}

static int a_tap_ends_once(void *arg)
{
    (void)arg;
    for (int round = 0; round < (leat_sim_running() ? 2 : 60); round++)
        add_tap_again(leat_sim_running() ? 3 : 1500, round * 1000);
    return 0;
}
ON_WORKERS(a_tap_ends_once);

/* ---- outputs ---- */

/* An endless source, and both outputs are closed after an item each. */
static int next_number(void *arg, void *item)
{
    memcpy(item, arg, sizeof(int));
    ++*(int *)arg;
    return 0;
}

static int is_not_first(void *arg, const void *item)
{
    (void)arg;
    return *(const int *)item != 0;
}

static int a_split_ends_without_outputs(void *arg)
{
    (void)arg;
    int number = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_generate(s, next_number, &number,
                                  &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 1 }),
              *yes, *no;
    CHECK_IS(0, leat_split(s, in, is_not_first, NULL, &yes, &no, 0));
    expect(no, 0);
    expect(yes, 1);
    CHECK_IS(0, leat_close(no));
    CHECK_IS(0, leat_close(yes));
    WAIT_UNTIL(leat_scope_tasks(s) == 1); /* the source waits */
    CHECK_IS(0, leat_close(in));
    return leat_scope_close(s);
}
ON_WORKERS(a_split_ends_without_outputs);

static int balances_what_has_room(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *in = leat_chan_of(s, int, 0);
        leat_chan *outs[] = { leat_chan_of(s, int, 1), leat_chan_of(s, int, 8),
                              leat_chan_of(s, int, 8) };
        for (int k = 0; k < 9; k++)
            CHECK_IS(0, leat_send(outs[k == 0 ? 0 : k < 3 ? 1 : 2], &k));
        CHECK_IS(0, leat_balance(s, in, outs, 3, LEAT_ENDS_CLOSED));
        CHECK_IS(0, leat_send(in, &i));
        WAIT_UNTIL(leat_chan_len(outs[1]) == 3);
        /* One output is closed: the others are not complete. */
        CHECK_IS(0, leat_close(outs[0]));
        CHECK_IS(0, leat_send(in, &i));
        for (int k = 0; k < 3; k++)
            CHECK_IS(0, leat_recv(outs[1], NULL));
        CHECK_IS(-ECANCELED, leat_recv(outs[1], NULL));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(balances_what_has_room);

/* ---- combine ---- */

static int send_to_the_last_first(void *arg)
{
    leat_chan **ins = arg;
    for (int i = 0; i < 10; i++)
        for (int k = 2; k >= 0; k--)
            CHECK_IS(0, leat_send(ins[(k + i) % 3], &i));
    for (int k = 0; k < 3; k++)
        CHECK_IS(0, leat_close(ins[k]));
    return 0;
}

static int combines_in_any_order(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ins[3];
    for (int i = 0; i < 3; i++)
        ins[i] = leat_chan_of(s, int, 0);
    leat_chan *out = leat_combine(s, ins, 3, NULL, NULL, &(leat_chan_spec){ .capacity = 0 });
    CHECK_IS(0, leat_go(s, send_to_the_last_first, ins));
    int three[3], rounds = 0;
    for (; leat_recv(out, three) == 0; rounds++)
        for (int i = 0; i < 3; i++)
            CHECK_IS(rounds, three[i]);
    CHECK_IS(10, rounds);
    return leat_scope_close(s);
}
ON_WORKERS(combines_in_any_order);

/* ---- the end of a composition, and a throttle ---- */

static int emit_until_three(void *arg, const void *in, leat_emit *emit)
{
    (void)arg;
    (void)leat_emit_item(emit, in);
    return *(const int *)in == 3 ? LEAT_ENOUGH : 0;
}

static int fail_on_three(void *arg, const void *in, void *out)
{
    (void)arg;
    memcpy(out, in, sizeof(int));
    return *(const int *)in == 3 ? -EIO : 0;
}

static int enough_is_enough(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 10);
    for (int i = 1; i <= 6; i++)
        CHECK_IS(0, leat_send(in, &i));
    leat_chan *out =
        leat_through(s, in,
                     leat_compose(leat_mapcat(sizeof(int), sizeof(int), 1, emit_until_three, NULL),
                                  leat_map(sizeof(int), sizeof(int), fail_on_three, NULL)),
                     10, NULL);
    expect(out, 1);
    expect(out, 2);
    CHECK_IS(-EPIPE, leat_recv(out, NULL));
    CHECK_IS(3, leat_chan_len(in));
    return leat_scope_close(s);
}
ON_WORKERS(enough_is_enough);

static int send_often(void *arg)
{
    for (int i = 0; i < 30; i++) {
        CHECK_IS(0, leat_send(arg, &i));
        leat_sleep(2 * LEAT_MS);
    }
    return leat_close(arg);
}

/* The receiver is slow: the interval is from one send to the next. */
static int throttles_behind_a_slow_receiver(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *in = leat_chan_of(s, int, 0), *out = leat_throttle(s, in, 10 * LEAT_MS, 0);
    CHECK_IS(0, leat_go(s, send_often, in));
    int x;
    CHECK_IS(0, leat_recv(out, &x));
    leat_sleep(30 * LEAT_MS);
    CHECK_IS(0, leat_recv(out, &x));
    int64_t before = leat_now();
    if (leat_recv(out, &x) == 0)
        CHECK(leat_now() - before >= 9 * LEAT_MS);
    while (leat_recv(out, &x) == 0)
        continue;
    return leat_scope_close(s);
}
ON_WORKERS(throttles_behind_a_slow_receiver);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(keeps_items_aligned),
        TESTS_ON_WORKERS(drops_aligned_items),
        TESTS_ON_WORKERS(mutes),
        TESTS_ON_WORKERS(a_tap_ends_once),
        TESTS_ON_WORKERS(a_split_ends_without_outputs),
        TESTS_ON_WORKERS(balances_what_has_room),
        TESTS_ON_WORKERS(combines_in_any_order),
        TESTS_ON_WORKERS(enough_is_enough),
        TESTS_ON_WORKERS(throttles_behind_a_slow_receiver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
