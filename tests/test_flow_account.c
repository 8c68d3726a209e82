/* test_flow_account.c: operators that move items account for every item, however they end. */
#include "flows.h"

enum op {
    PIPE,
    THROUGH,
    MERGE,
    SPLIT,
    COMBINE,
    BALANCE,
    MULT,
    LOSSY_MULT,
    PUB,
    MIX,
    GENERATE,
    OPS
};
enum event { INPUT_ENDS, CLOSE_OUT, CANCEL, UNTAP, EVENTS };

static const char *const op_names[] = { "pipe",    "through", "merge",   "split",
                                        "combine", "balance", "mult",    "lossy mult",
                                        "pub",     "mix",     "generate" };

enum { MOST = 4000, ROUNDS = IN_SIM ? OPS : 1500 / SCALE };

struct account {
    enum op op;
    enum event event;
    uint64_t chance;
    leat_scope *scope;
    leat_chan *ins[2], *outs[2];
    leat_mult *mult;
    leat_pub *pub;
    leat_mix *mix;
    int ends_after;
    _Atomic int next;
    _Atomic int made[MOST], gone[MOST]; /* references made and used up */
};

static struct account *account;

static void use_up(int item)
{
    CHECK(item >= 0 && item < MOST);
    CHECK(atomic_fetch_add(&account->gone[item], 1) + 1 <= atomic_load(&account->made[item]));
}

static void drop_item(void *item)
{
    use_up(*(int *)item);
}

static void share_item(void *item)
{
    atomic_fetch_add(&account->made[*(int *)item], 1);
}

static int sender(void *arg)
{
    leat_chan *ch = arg;
    for (int i = 0; i < account->ends_after; i++) {
        int item = atomic_fetch_add(&account->next, 1);
        if (item >= MOST)
            break;
        atomic_store(&account->made[item], 1);
        if (leat_send(ch, &item) != 0) {
            use_up(item); /* a failed send leaves it with us */
            break;
        }
    }
    leat_close(ch);
    return 0;
}

static int receiver(void *arg)
{
    int items[2];
    while (leat_recv(arg, items) == 0)
        for (int i = 0; i < (account->op == COMBINE ? 2 : 1); i++)
            use_up(items[i]);
    return 0;
}

static int make_item(void *arg, void *item)
{
    (void)arg;
    int made = atomic_fetch_add(&account->next, 1);
    if (made >= account->ends_after)
        return 1;
    atomic_store(&account->made[made], 1);
    memcpy(item, &made, sizeof made);
    return 0;
}

static uint64_t parity(void *arg, const void *item)
{
    (void)arg;
    return (uint64_t)(*(const int *)item % 3);
}

static leat_chan *counted_chan(leat_scope *s, size_t capacity)
{
    return leat_chan_open(
        s, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = capacity, .drop = drop_item });
}

static void set_up(struct account *a)
{
    leat_scope *s = a->scope;
    size_t capacity = below(&a->chance, 3);
    for (int i = 0; i < 2; i++) {
        a->ins[i] = counted_chan(s, below(&a->chance, 3));
        a->outs[i] = counted_chan(s, capacity);
    }
    bool two_in = false, two_out = false;
    switch (a->op) {
    case PIPE: leat_pipe(s, a->ins[0], a->outs[0], LEAT_ENDS_CLOSED); break;
    case THROUGH:
        a->outs[0] = leat_through(s, a->ins[0], leat_take(sizeof(int), 1000000), 1, drop_item);
        break;
    case MERGE:
        a->outs[0] = leat_merge(s, a->ins, 2, capacity);
        two_in = true;
        break;
    case SPLIT:
        CHECK_IS(0, leat_split(s, a->ins[0], is_odd, NULL, &a->outs[0], &a->outs[1], capacity));
        two_out = true;
        break;
    case COMBINE:
        a->outs[0] = leat_combine(s, a->ins, 2, NULL, NULL, &(leat_chan_spec){ 0 });
        two_in = true;
        break;
    case BALANCE:
        CHECK_IS(0, leat_balance(s, a->ins[0], a->outs, 2, LEAT_ENDS_CLOSED));
        two_out = true;
        break;
    case LOSSY_MULT:
    case MULT:
        a->mult = leat_mult_open(s, a->ins[0], share_item);
        for (int i = 0; i < 2; i++)
            CHECK_IS(0, leat_tap(a->mult, a->outs[i], a->op == LOSSY_MULT && i ? LEAT_TAP_LOSSY : 0,
                                 LEAT_ENDS_CLOSED));
        two_out = true;
        break;
    case PUB:
        a->pub = leat_pub_open(
            s, a->ins[0],
            &(leat_pub_spec){ .topic = parity, .capacity = capacity, .share = share_item });
        for (int i = 0; i < 2; i++)
            CHECK_IS(0, leat_sub(a->pub, (uint64_t)i, a->outs[i], 0, LEAT_ENDS_CLOSED));
        two_out = true;
        break;
    case MIX:
        a->mix = leat_mix_open(s, a->outs[0], LEAT_MIX_MUTE);
        for (int i = 0; i < 2; i++)
            CHECK_IS(0, leat_admix(a->mix, a->ins[i], below(&a->chance, 8) & ~2u));
        two_in = true;
        break;
    default:
        a->outs[0] = leat_generate(
            s, make_item, NULL, &(leat_chan_spec){ .item_size = sizeof(int), .drop = drop_item });
    }
    for (int i = 0; i <= two_in && a->op != GENERATE; i++)
        CHECK_IS(0, leat_go(s, sender, a->ins[i]));
    for (int i = 0; i <= two_out; i++)
        CHECK_IS(0, leat_go(s, receiver, a->outs[i]));
}

static void throw_event(struct account *a)
{
    leat_sleep((int64_t)below(&a->chance, 200) * LEAT_US);
    if (a->event == CLOSE_OUT)
        CHECK_IS(0, leat_close(a->outs[0]));
    if (a->event == UNTAP && a->mult)
        CHECK_IS(0, leat_untap(a->mult, a->outs[below(&a->chance, 2)]) % ENOENT);
    if (a->event == UNTAP && a->pub)
        CHECK_IS(0, leat_unsub(a->pub, 1, a->outs[1]) % ENOENT);
    if (a->event == UNTAP && a->mix)
        CHECK_IS(0, leat_unmix(a->mix, a->ins[below(&a->chance, 2)]) % ENOENT);
    if (a->event == CANCEL)
        CHECK_IS(0, leat_scope_cancel(a->scope));
    leat_sleep(100 * LEAT_US);
    if (a->event != INPUT_ENDS) /* the remaining parties wait for each other */
        CHECK_IS(0, leat_scope_cancel(a->scope));
    /* These outputs do not close by themselves. */
    if (a->event == INPUT_ENDS && a->op == MIX) {
        WAIT_UNTIL(leat_scope_tasks(a->scope) == 1);
        CHECK_IS(0, leat_close(a->outs[0]));
    }
    if (a->op == COMBINE)
        CHECK_IS(0, leat_close(a->ins[0]) + leat_close(a->ins[1]));
}

static int accounts_for_every_item(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    struct account *a = malloc(sizeof *a);
    for (int round = 0; round < ROUNDS; round++) {
        memset(a, 0, sizeof *a);
        account = a;
        a->op = (enum op)(round % OPS);
        a->event = (enum event)below(&chance, EVENTS);
        a->chance = chance + 1;
        a->ends_after = a->event == INPUT_ENDS ? 60 : MOST / 2;
        a->scope = leat_scope_open(LEAT_NEVER);
        set_up(a);
        throw_event(a);
        CHECK_IS(0, leat_scope_close(a->scope));
        for (int i = 0; i < MOST; i++)
            if (a->made[i] != a->gone[i])
                check_failed(__FILE__, __LINE__, "%s, event %d: item %d of %d: %d made, %d gone",
                             op_names[a->op], a->event, i, a->next, a->made[i], a->gone[i]);
    }
    free(a);
    return 0;
}
ON_WORKERS(accounts_for_every_item);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(accounts_for_every_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
