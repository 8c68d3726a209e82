/* test_batch_stackless.c: blocks and callbacks in batches, alone and beside tasks and threads. */
#include "batchers.h"

/* ---- blocks ---- */

struct asker {
    leat_block block;
    struct adder *adder;
    leat_ticket ticket;
    int item, result, rounds;
    _Atomic int status;
};

static int ask(leat_block *b)
{
    struct asker *me = (struct asker *)b;
    LEAT_BEGIN(b);
    while (me->rounds-- > 0) {
        LEAT_AWAIT_BATCH(b, &me->ticket, me->adder->batcher, &me->item, &me->result);
        atomic_store(&me->status, b->status);
        if (b->status)
            break;
        CHECK_IS(me->item + 1, me->result);
        me->item++;
    }
    LEAT_END(b);
}

static struct asker asker_of(struct adder *a, int item, int rounds)
{
    return (struct asker){ .adder = a, .item = item, .rounds = rounds, .result = -7, .status = 1 };
}

static int serves_blocks(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    struct asker askers[10];
    for (int i = 0; i < 10; i++) {
        askers[i] = asker_of(&a, i, 20);
        CHECK_IS(0, leat_go_block(s, &askers[i].block, ask));
    }
    for (int i = 0; i < 10; i++)
        CHECK_IS(0, leat_block_join(&askers[i].block));
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    for (int i = 0; i < 10; i++) {
        CHECK_IS(0, askers[i].status);
        CHECK_IS(i + 20, askers[i].item);
    }
    CHECK_IS(200, counts_of(a.batcher).items);
    CHECK_IS(0, batches_held(a.batcher));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(serves_blocks);

/* ---- callbacks ---- */

struct op {
    leat_batch_op op;
    struct adder *adder;
    int item, result, rounds;
    _Atomic int status, calls;
};

static void answered(leat_batch_op *public, int status);

static struct op op_of(struct adder *a, leat_scope *scope, int item, int rounds)
{
    return (struct op){ .op = LEAT_BATCH_OP(scope, 0),
                        .adder = a,
                        .item = item,
                        .rounds = rounds,
                        .result = -7,
                        .status = 1 };
}

static void op_begin(struct op *op)
{
    CHECK_IS(0, leat_batch_then(&op->op, op->adder->batcher, &op->item, &op->result, answered));
}

static void answered(leat_batch_op *public, int status)
{
    struct op *op = LT_CONTAINER(public, struct op, op);
    if (!status)
        CHECK_IS(op->item + 1, op->result);
    atomic_store(&op->status, status);
    if (!status && --op->rounds > 0) {
        op->item++;
        op_begin(op); /* its function may use the struct again */
    }
    atomic_fetch_add(&op->calls, 1);
}

static int serves_callbacks(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    struct op ops[10];
    for (int i = 0; i < 10; i++) {
        ops[i] = op_of(&a, s, i, 20);
        op_begin(&ops[i]);
    }
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    for (int i = 0; i < 10; i++) {
        CHECK_IS(0, ops[i].status);
        CHECK_IS(20, ops[i].calls);
    }
    CHECK_IS(200, counts_of(a.batcher).items);
    CHECK_IS(0, batches_held(a.batcher));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(serves_callbacks);

/* ---- all parties in one batch ---- */

static int call_often(void *arg)
{
    struct adder *a = arg;
    for (int i = 0; i < 100 / SCALE; i++) {
        int y = 0;
        CHECK_IS(0, leat_batch(a->batcher, &i, &y));
        CHECK_IS(i + 1, y);
    }
    return 0;
}

static int serves_all_parties(void *arg)
{
    (void)arg;
    struct adder a = { .error = 0 };
    struct crew crew;
    crew_open(&crew);
    leat_batcher_spec spec = adds(&a);
    spec.most = 5;
    adder_open_with(&a, crew.scope, spec);
    struct asker askers[4];
    struct op ops[4];
    for (int i = 0; i < 4; i++) {
        askers[i] = asker_of(&a, i, 100 / SCALE);
        CHECK_IS(0, leat_go_block(crew.scope, &askers[i].block, ask));
        ops[i] = op_of(&a, crew.scope, i, 100 / SCALE);
        op_begin(&ops[i]);
    }
    for (int i = 0; i < 6; i++)
        crew_go(&crew, kind_of(i), call_often, &a);
    WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0);
    for (int i = 0; i < crew.foreigners; i++)
        WAIT_UNTIL(atomic_load(&crew.foreign[i].ended));
    for (int i = 0; i < 4; i++) {
        CHECK_IS(0, askers[i].status);
        CHECK_IS(0, ops[i].status);
    }
    CHECK_IS(14 * (100 / SCALE), counts_of(a.batcher).items);
    CHECK_IS(0, batches_held(a.batcher));
    crew_close(&crew);
    return 0;
}
ON_WORKERS(serves_all_parties);

static int all_parties_form_one_batch(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a;
    struct caller first;
    adder_begin(&a, s, &first);
    struct caller other = caller_of(&a, 3, LEAT_NEVER);
    struct op op = op_of(&a, s, 1, 1);
    op_begin(&op);
    struct asker asker = asker_of(&a, 2, 1);
    CHECK_IS(0, leat_go_block(s, &asker.block, ask));
    WAIT_UNTIL(forming(a.batcher) == 2);
    callers_go(s, &other, 1);
    adder_let_go(&a);
    adder_wait_for_entry(&a);
    CHECK_IS(3, a.n);
    for (int i = 0; i < 3; i++)
        CHECK_IS(i + 1, a.items[i]);
    CHECK_IS(1, op.status);
    adder_let_go(&a);
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    CHECK_IS(0, op.status);
    CHECK_IS(0, asker.status);
    caller_was_served(&other);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(all_parties_form_one_batch);

static int begin_op(void *arg)
{
    op_begin(arg);
    return 0;
}

/* Between an operation's put and its wait, another caller may have led the batch to its end. */
static int operations_may_complete_at_once(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    for (int i = 0; i < 40 / SCALE; i++) {
        struct op op = op_of(&a, s, i, 1);
        struct caller caller = caller_of(&a, i, LEAT_NEVER);
        leat_scope *both = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_go(both, begin_op, &op));
        CHECK_IS(0, leat_go(both, call, &caller));
        CHECK_IS(0, leat_scope_close(both));
        WAIT_UNTIL(atomic_load(&op.calls) == 1);
        caller_was_served(&caller);
    }
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(operations_may_complete_at_once);

/* ---- leaving ---- */

static int can_be_withdrawn(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a;
    struct caller first;
    adder_begin(&a, s, &first);
    struct op withdrawn = op_of(&a, s, 1, 1), stays = op_of(&a, s, 2, 1);
    op_begin(&withdrawn);
    op_begin(&stays);
    CHECK_IS(2, forming(a.batcher));
    CHECK_IS(0, leat_withdraw(&withdrawn.op.op));
    memset(&withdrawn.op, 0xee, sizeof withdrawn.op); /* it is no longer used */
    CHECK_IS(1, forming(a.batcher));
    adder_let_go(&a);
    adder_wait_for_entry(&a);
    CHECK_IS(1, a.n);
    CHECK_IS(2, a.items[0]);
    adder_let_go(&a);
    WAIT_UNTIL(atomic_load(&stays.calls) == 1);
    CHECK_IS(0, stays.status);
    CHECK_IS(0, withdrawn.calls);
    CHECK_IS(1, counts_of(a.batcher).left);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(can_be_withdrawn);

/* All callers of a batch leave while another party holds the lock: so must their stand-in. */
static int stand_ins_end_with_their_callers(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_mutex *lock = leat_mutex_open(s);
    CHECK_IS(0, leat_mutex_lock(lock));
    for (int way = 0; way < 3; way++) {
        leat_scope *inner = leat_scope_open(LEAT_NEVER);
        struct adder a = { .error = 0 };
        leat_batcher_spec spec = adds(&a);
        spec.lock = lock;
        if (way == 2)
            spec.linger = 3600 * LEAT_S;
        adder_open_with(&a, inner, spec);
        struct asker asker = asker_of(&a, 2, 1);
        CHECK_IS(0, leat_go_block(inner, &asker.block, ask));
        WAIT_UNTIL(way == 2 ? lingers(a.batcher) : receivers_of(lock->turn) == 1);
        struct asker other = asker_of(&a, 3, 1);
        CHECK_IS(0, leat_go_block(inner, &other.block, ask));
        if (way == 1)
            WAIT_UNTIL(forming(a.batcher) == 2);
        CHECK_IS(0, leat_scope_cancel(inner));
        CHECK_IS(0, leat_scope_close(inner));
        CHECK_IS(-ECANCELED, asker.status);
        CHECK_IS(-ECANCELED, other.status);
        CHECK_IS(0, receivers_of(lock->turn));
    }
    CHECK_IS(0, leat_mutex_unlock(lock));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(stand_ins_end_with_their_callers);

/* The batcher's scope is cancelled. A caller that waits in another scope is still served. */
static int serves_after_the_batchers_scope_is_cancelled(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER), *inner = leat_scope_open(LEAT_NEVER);
    leat_mutex *lock = leat_mutex_open(s);
    CHECK_IS(0, leat_mutex_lock(lock));
    struct adder a = { .error = 0 };
    leat_batcher_spec spec = adds(&a);
    spec.lock = lock;
    adder_open_with(&a, inner, spec);
    struct asker asker = asker_of(&a, 1, 1);
    CHECK_IS(0, leat_go_block(s, &asker.block, ask));
    WAIT_UNTIL(receivers_of(lock->turn) == 1);
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(0, leat_mutex_unlock(lock));
    CHECK_IS(0, leat_block_join(&asker.block));
    CHECK_IS(0, asker.status);
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(serves_after_the_batchers_scope_is_cancelled);

/* Operations begin, and are withdrawn at random, while others lead. */
struct flurry {
    struct adder *adder;
    leat_scope *scope;
    uint64_t chance;
};

static int flurry(void *arg)
{
    struct flurry *f = arg;
    for (int i = 0; i < 100 / SCALE; i++) {
        struct op op = op_of(f->adder, f->scope, i, 1);
        op_begin(&op);
        for (unsigned n = below(&f->chance, 4); n; n--)
            leat_yield();
        if (leat_withdraw(&op.op.op) == 0)
            CHECK_IS(0, op.calls);
        else
            WAIT_UNTIL(atomic_load(&op.calls) == 1);
        CHECK(op.calls == 0 || op.status == 0);
    }
    return 0;
}

static int withdrawing_may_be_late(void *arg)
{
    (void)arg;
    struct adder a = { .error = 0 };
    struct crew crew;
    crew_open(&crew);
    adder_open(&a, crew.scope);
    leat_scope *ops = leat_scope_open(LEAT_NEVER);
    struct flurry flurries[4];
    uint64_t seed = seed_of_test();
    for (unsigned i = 0; i < 4; i++) {
        flurries[i] = (struct flurry){ &a, ops, seed + i };
        crew_go(&crew, TASK, flurry, &flurries[i]);
    }
    crew_go(&crew, FOREIGN, call_often, &a);
    WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0);
    CHECK_IS(0, leat_scope_close(ops));
    WAIT_UNTIL(atomic_load(&crew.foreign[0].ended));
    CHECK_IS(0, batches_held(a.batcher));
    crew_close(&crew);
    return 0;
}
ON_WORKERS(withdrawing_may_be_late);

/* ---- calls that are refused ---- */

struct prober {
    leat_block block;
    struct adder *adder;
    leat_ticket ticket;
};

static int probe(leat_block *b)
{
    struct prober *me = (struct prober *)b;
    LEAT_BEGIN(b);
    int x = 1, y = 0;
    CHECK_IS(-EDEADLK, leat_batch(me->adder->batcher, &x, &y));
    CHECK_IS(-EDEADLK, leat_batch_until(me->adder->batcher, &x, &y, LEAT_NOW));
    CHECK_IS(0, leat_batch_put(me->adder->batcher, &x, 1, &me->ticket));
    CHECK_IS(-EDEADLK, leat_batch_get(&me->ticket, &y, NULL, LEAT_NEVER));
    CHECK_IS(-EAGAIN, leat_batch_get(&me->ticket, &y, NULL, LEAT_NOW));
    LEAT_END(b);
}

static int collect(leat_block *b)
{
    struct prober *me = (struct prober *)b;
    LEAT_BEGIN(b);
    int y = 0;
    CHECK_IS(0, leat_batch_get(&me->ticket, &y, NULL, LEAT_NEVER));
    CHECK_IS(2, y);
    LEAT_END(b);
}

static int blocks_put_and_get_without_waiting(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    struct prober prober = { .adder = &a };
    CHECK_IS(0, leat_go_block(s, &prober.block, probe));
    CHECK_IS(0, leat_block_join(&prober.block));
    int x = 5;
    CHECK_IS(0, leat_batch(a.batcher, &x, NULL));
    CHECK_IS(2, a.n);
    CHECK_IS(0, leat_go_block(s, &prober.block, collect));
    CHECK_IS(0, leat_block_join(&prober.block));
    CHECK_IS(0, batches_held(a.batcher));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(blocks_put_and_get_without_waiting);

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    struct op op = op_of(&a, s, 1, 1);
    CHECK_IS(-EINVAL, leat_batch_then(NULL, a.batcher, &op.item, &op.result, answered));
    CHECK_IS(-EINVAL, leat_batch_then(&op.op, NULL, &op.item, &op.result, answered));
    CHECK_IS(-EINVAL, leat_batch_then(&op.op, a.batcher, NULL, &op.result, answered));
    CHECK_IS(-EINVAL, leat_batch_then(&op.op, a.batcher, &op.item, &op.result, NULL));
    CHECK_IS(0, leat_batcher_close(a.batcher));
    CHECK_IS(-EPIPE, leat_batch_then(&op.op, a.batcher, &op.item, &op.result, answered));
    struct asker asker = asker_of(&a, 1, 1);
    CHECK_IS(0, leat_go_block(s, &asker.block, ask));
    CHECK_IS(0, leat_block_join(&asker.block));
    CHECK_IS(-EPIPE, asker.status);
    CHECK_IS(0, op.calls);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(refuses_wrong_arguments);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(serves_blocks),
        TESTS_ON_WORKERS(serves_callbacks),
        TESTS_ON_WORKERS(serves_all_parties),
        TESTS_ON_WORKERS(all_parties_form_one_batch),
        TESTS_ON_WORKERS(operations_may_complete_at_once),
        TESTS_ON_WORKERS(can_be_withdrawn),
        TESTS_ON_WORKERS(stand_ins_end_with_their_callers),
        TESTS_ON_WORKERS(serves_after_the_batchers_scope_is_cancelled),
        TESTS_ON_WORKERS(withdrawing_may_be_late),
        TESTS_ON_WORKERS(blocks_put_and_get_without_waiting),
        TESTS_ON_WORKERS(refuses_wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
