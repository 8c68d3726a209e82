/* test_batch_exact.c: batchers beside a reference that says exactly what they do. The test lets one
 * party after another act: tasks, threads, blocks and callbacks call, with and without deadlines;
 * calls are cancelled and withdrawn, tickets put, got and forgotten, batchers closed, and their
 * locks held. After each act, when no party can run, all executions of the function, all results
 * with their moments, and all counts must be those of the reference, see batch_reference.h. (In
 * test_batch_model.c all parties act at the same time, and the model knows less.)
 *
 * LEAT_SIM=from:to tries other seeds, LEAT_SEED=n repeats one. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
#define TESTS_IN_SIM 3000
#else
#define TESTS_IN_SIM 30000
#endif

#include "batch_orders.h"

enum happening { SERVED, LATE, CANCELLED, NOT_NOW, TOO_LATE, STOOD_IN, SHARED, LEFT, HAPPENINGS };
static const char *const happening_names[] = {
    "served", "late", "cancelled", "not now", "put too late", "stood in", "shared", "left",
};
static unsigned long long happenings[HAPPENINGS], rounds;

/* ---- comparing ---- */

static void check_executions(void)
{
    CHECK_IS(ref.executed, test.executed);
    for (; test.checked < test.executed; test.checked++) {
        const struct execution *is = &test.executions[test.checked],
                               *should = &ref.executions[test.checked];
        CHECK_IS(should->batcher, is->batcher);
        CHECK_IS(should->key, is->key);
        CHECK_IS(should->n, is->n);
        for (int i = 0; i < is->n; i++)
            CHECK_IS(should->items[i], is->items[i]);
        if (is->leader != UNKNOWN)
            CHECK_IS(should->leader, is->leader);
        if (!test.solo)
            CHECK_IS(should->begin, is->begin);
        happenings[STOOD_IN] += is->leader == STAND_IN;
        happenings[SHARED] += is->items[0] / LONGEST != is->items[is->n - 1] / LONGEST;
    }
}

/* What a call has written: all statuses and the results of success, or nothing. */
static void check_written(const struct caller *c, bool served)
{
    bool many = c->way == MANY || c->way == GET;
    for (int i = 0; i < LONGEST; i++) {
        int id = c->run * LONGEST + i, status = LEAT_NOT_DONE;
        if (served && i < c->n)
            status = item_status(id);
        bool counts = served && i < c->n;
        CHECK_IS(counts && many ? status : UNTOUCHED, c->statuses[i]);
        if (counts && status == 0)
            CHECK_IS(result_of(id), c->results[i]);
        else if (!counts || !many)
            CHECK_IS(UNTOUCHED, c->results[i]);
    }
}

static void check_ticket(struct held *held, int status)
{
    held->is_awaited = false;
    if (status == -EAGAIN)
        return;
    CHECK_IS(-EINVAL, leat_batch_forget(&held->ticket));
    CHECK_IS(-EINVAL, leat_batch_get(&held->ticket, NULL, NULL, LEAT_NOW));
    held->is_held = false;
}

static void check_caller(int i)
{
    struct ref_caller *should = &ref.callers[i];
    struct caller *c = &test.callers[i];
    if (should->run != NO_RUN) {
        CHECK(atomic_load(&c->at_work) && !atomic_load(&c->returned));
        memset(c->items, 0xee, sizeof c->items); /* they have been copied */
        return;
    }
    CHECK(!atomic_load(&c->at_work));
    CHECK_IS(should->returned, atomic_load(&c->returned));
    if (!should->returned)
        return;
    CHECK_IS(should->status, c->status);
    if (!test.solo)
        CHECK_IS(should->at, c->at);
    check_written(c, should->served);
    if (c->way == GET)
        check_ticket(c->held, c->status);
    happenings[should->served            ? SERVED
               : c->status == -ETIMEDOUT ? LATE
               : c->status == -ECANCELED ? CANCELLED
               : c->status == -EAGAIN    ? NOT_NOW
                                         : TOO_LATE]++;
    should->returned = false;
    atomic_store(&c->returned, false);
}

static void check_counts(int batcher)
{
    leat_batcher_counts counts;
    const leat_batcher_counts *should = &ref.counts[batcher];
    CHECK_IS(0, leat_batcher_count(test.batchers[batcher], &counts));
    CHECK_IS(should->batches, counts.batches);
    CHECK_IS(should->items, counts.items);
    CHECK_IS(should->left, counts.left);
    CHECK_IS(0, memcmp(should->sizes, counts.sizes, sizeof counts.sizes));
    if (test.solo)
        return;
    CHECK_IS(should->waited, counts.waited);
    const struct ref_batch *running = ref.lock[batcher]->holder;
    if (!running || running->batcher != batcher)
        CHECK_IS(should->ran, counts.ran);
}

static void check_all(void)
{
    check_executions();
    for (int i = 0; i < test.used; i++)
        check_caller(i);
    for (int i = 0; i < BATCHERS; i++)
        check_counts(i);
}

/* Lets the others do what they can: the clock stands still until no party can run. */
static void sleep_until(int64_t time)
{
    if (!test.solo) {
        CHECK_IS(0, leat_sleep_until(time));
        ref_until(time);
    }
    check_all();
}

/* ---- orders ---- */

/* Each number of a deadline that can pass belongs to one step. */
static int64_t moment(int kind)
{
    return ref.now - ref.now % LEAT_US + (1 + below(&test.chance, 100)) * LEAT_US + kind +
           test.step;
}

static int64_t some_deadline(void)
{
    switch (below(&test.chance, test.solo ? 2 : 6)) {
    case 0: return LEAT_NOW;
    case 2: return 1; /* long ago */
    case 3:
    case 4: return moment(200);
    default: return LEAT_NEVER;
    }
}

static int new_run(int batcher, int n)
{
    CHECK(test.runs < STEPS);
    int run = test.runs++;
    const leat_batcher_spec *spec = &ref.spec[batcher];
    ref.runs[run].batcher = batcher;
    ref.runs[run].n = spec->most && (size_t)n > spec->most ? (int)spec->most : n;
    ref.runs[run].batch = NULL;
    return run;
}

static void pack(int *items, int run)
{
    for (int i = 0; i < LONGEST; i++)
        items[i] = run * LONGEST + i;
}

static void send_order(struct caller *c, enum way way, int run)
{
    c->way = way;
    c->run = run;
    c->batcher = ref.runs[run].batcher;
    c->n = ref.runs[run].n;
    c->flags = below(&test.chance, 2) ? LEAT_ON_WORKER : 0;
    pack(c->items, run);
    for (int i = 0; i < LONGEST; i++)
        c->results[i] = c->statuses[i] = UNTOUCHED;
    atomic_store(&c->at_work, true);
    if (!test.solo) {
        CHECK_IS(0, leat_send(c->orders, NULL));
        return;
    }
    obey(c);
    WAIT_UNTIL(leat_scope_tasks(test.scope) ==
               0); /* a stand-in unlocks after its callers' return */
}

static void order_call(int i, int batcher, enum way way)
{
    struct caller *c = &test.callers[i];
    int run = new_run(batcher, way == MANY ? 1 + (int)below(&test.chance, LONGEST) : 1);
    bool stands_aside = way >= BLOCK;
    c->deadline = stands_aside ? LEAT_NEVER : some_deadline();
    c->scope_deadline = test.solo || below(&test.chance, 4) ? LEAT_NEVER : moment(400);
    if (test.solo && ref.spec[batcher].linger && !ref.closed[batcher]) {
        if (stands_aside)
            return; /* nothing else would end the wait */
        c->deadline = LEAT_NOW;
    }
    if (test.solo && ref.lock[batcher]->kept)
        return;
    if (leaves_order_open(run, c->deadline <= ref.now))
        return;
    ref_call(i, run, stands_aside, c->deadline, c->scope_deadline);
    send_order(c, way, run);
}

static struct held *some_ticket(bool is_held)
{
    struct held *held = &test.held[below(&test.chance, TICKETS)];
    return held->is_held == is_held && !held->is_awaited ? held : NULL;
}

static void order_get(int i)
{
    struct caller *c = &test.callers[i];
    struct held *held = some_ticket(true);
    if (!held)
        return;
    int batcher = ref.runs[held->run].batcher;
    if (test.solo && ref.lock[batcher]->kept)
        return;
    c->held = held;
    c->deadline = test.solo && ref.spec[batcher].linger ? LEAT_NOW : some_deadline();
    c->scope_deadline = test.solo || below(&test.chance, 4) ? LEAT_NEVER : moment(400);
    held->is_awaited = true;
    ref_await(i, held->run, false, true, c->deadline, c->scope_deadline);
    send_order(c, GET, held->run);
}

/* ---- what the test does itself ---- */

static void put_ticket(int batcher)
{
    struct held *held = some_ticket(false);
    if (!held)
        return;
    int items[LONGEST];
    held->run = new_run(batcher, 1 + (int)below(&test.chance, LONGEST));
    pack(items, held->run);
    leat_batcher *b = test.batchers[batcher];
    size_t n = (size_t)ref.runs[held->run].n;
    int error = leat_batch_put(b, items, n, &held->ticket);
    memset(items, 0xee, sizeof items);
    if (ref.lock[batcher]->kept) {
        CHECK(error == -EDEADLK || (error == -EPIPE && ref.closed[batcher]));
    } else if (ref.closed[batcher]) {
        CHECK_IS(-EPIPE, error);
    } else {
        CHECK_IS(0, error);
        held->is_held = true;
        ref_put(held->run);
    }
}

static void forget_ticket(void)
{
    struct held *held = some_ticket(true);
    if (!held)
        return;
    CHECK_IS(0, leat_batch_forget(&held->ticket));
    take_out(held->run);
    held->is_held = false;
}

static void cancel_or_withdraw(int i)
{
    struct caller *c = &test.callers[i];
    if (ref.callers[i].run == NO_RUN)
        return;
    if (c->way == CALLBACK && below(&test.chance, 2)) {
        CHECK_IS(0, leat_withdraw(&c->op.op));
        CHECK(ref_leave(i, 0));
        ref.callers[i].returned = false;
        happenings[LEFT]++;
    } else {
        CHECK_IS(0, leat_scope_cancel(c->scope));
        happenings[LEFT] += ref_leave(i, -ECANCELED);
    }
}

static void take_or_leave_lock(int batcher)
{
    struct ref_lock *lock = ref.lock[batcher];
    leat_mutex *mutex = test.mutex[lock - ref.locks];
    if (!mutex)
        return;
    if (lock->kept) {
        lock->kept = false;
        CHECK_IS(0, leat_mutex_unlock(mutex));
        let_in(lock);
    } else {
        CHECK_IS(is_free(lock) ? 0 : -EAGAIN, leat_mutex_try_lock(mutex));
        lock->kept = is_free(lock);
    }
}

static void close_batcher(int batcher)
{
    if (lingering(batcher) > 1) /* two leaders would ask for the lock at the same moment */
        return;
    CHECK_IS(0, leat_batcher_close(test.batchers[batcher]));
    ref_close(batcher);
}

static void do_something(void)
{
    int batcher = (int)below(&test.chance, BATCHERS);
    int i = (int)below(&test.chance, (unsigned)test.used);
    unsigned what = below(&test.chance, 64);
    if (what < 12)
        put_ticket(batcher);
    else if (what < 15)
        forget_ticket();
    else if (what < 18)
        take_or_leave_lock(batcher);
    else if (what == 18 && below(&test.chance, 3) == 0)
        close_batcher(batcher);
    else if (ref.callers[i].run != NO_RUN)
        what < 32 ? cancel_or_withdraw(i) : (void)0;
    else if (what < 30)
        order_get(i);
    else
        order_call(i, batcher, what < 40 ? ONE : what < 50 ? MANY : what < 57 ? BLOCK : CALLBACK);
}

/* ---- a round ---- */

static void open_batcher(int i)
{
    uint64_t *chance = &test.chance;
    int64_t linger = test.solo ? 3600 * LEAT_S : (1 + below(chance, 100)) * LEAT_US;
    leat_batcher_spec *spec = &ref.spec[i];
    *spec = (leat_batcher_spec){ .item_size = sizeof(int),
                                 .result_size = sizeof(int64_t),
                                 .run = serve,
                                 .arg = spec,
                                 .key = below(chance, 2) ? key_fn : NULL,
                                 .bytes = below(chance, 2) ? bytes_fn : NULL,
                                 .linger = below(chance, 2) ? linger : 0,
                                 .most = below(chance, 2) ? 1 + below(chance, 6) : 0,
                                 .most_bytes = below(chance, 3) ? 0 : 1 + below(chance, 20),
                                 .lock = test.mutex[ref.lock[i] - ref.locks],
                                 .blocking = below(chance, 4) == 0 };
    if (spec->linger && below(chance, 2))
        spec->least = 1 + below(chance, 5);
    if (spec->linger && below(chance, 3) == 0)
        spec->least_bytes = 1 + below(chance, 20);
    CHECK(test.batchers[i] = leat_batcher_open(test.scope, spec));
}

static void start_caller(int i)
{
    struct caller *c = &test.callers[i];
    ref.callers[i].run = NO_RUN;
    snprintf(c->name, sizeof c->name, "party %d", i);
    if (test.solo)
        return;
    CHECK(c->orders = leat_chan_make(test.scope, 0, 0));
    CHECK_IS(0, below(&test.chance, 3)
                    ? leat_go_named(test.scope, follow_orders, c, c->name, 0)
                    : leat_go_blocking_named(test.scope, follow_orders, c, c->name));
}

/* Unlocks and lets all calls end. Half of the time tickets stay unspent. */
static void end_round(void)
{
    for (int i = 0; i < BATCHERS; i++) {
        sleep_until(ref.now - ref.now % LEAT_US + LEAT_US);
        if (ref.lock[i]->kept)
            take_or_leave_lock(i);
    }
    sleep_until(ref.now + LEAT_S);
    for (int i = 0; i < test.used; i++)
        CHECK_IS(NO_RUN, ref.callers[i].run);
    if (below(&test.chance, 2))
        for (int i = 0; i < TICKETS; i++)
            if (test.held[i].is_held)
                CHECK_IS(0, leat_batch_forget(&test.held[i].ticket));
    for (int i = 0; i < test.used && !test.solo; i++)
        CHECK_IS(0, leat_close(test.callers[i].orders));
    CHECK_IS(0, leat_scope_close(test.scope));
}

static void run_round(bool solo, uint64_t seed)
{
    memset(&ref, 0, sizeof ref);
    memset(&test, 0, sizeof test);
    ref.seed = test.chance = seed;
    ref.at_once = test.solo = solo;
    ref.now = solo ? LEAT_S : leat_now();
    CHECK(test.scope = leat_scope_open(LEAT_NEVER));
    bool one_lock = below(&test.chance, 3) == 0;
    for (int i = 0; i < BATCHERS; i++) {
        ref.lock[i] = &ref.locks[one_lock ? 0 : i];
        if (one_lock ? i == 0 : below(&test.chance, 2))
            CHECK(test.mutex[i] = leat_mutex_open(test.scope));
    }
    for (int i = 0; i < BATCHERS; i++)
        open_batcher(i);
    test.used = solo ? 1 : 1 + (int)below(&test.chance, CALLERS);
    for (int i = 0; i < CALLERS; i++)
        ref.callers[i].run = NO_RUN;
    for (int i = 0; i < test.used; i++)
        start_caller(i);
    int steps = 1 + (int)below(&test.chance, STEPS);
    for (test.step = 1; test.step < steps; test.step++) {
        int64_t pause = below(&test.chance, 2) ? below(&test.chance, 40) : 0;
        sleep_until(ref.now - ref.now % LEAT_US + (1 + pause) * LEAT_US + test.step);
        do_something();
    }
    test.step = 0;
    end_round();
    rounds++;
}

/* ---- the tests ---- */

static int round_of_seed(void *arg)
{
    (void)arg;
    run_round(false, seed_of_test());
    return 0;
}

/* The test's own party is a thread, instead of a task. */
static int round_by_a_thread(void *arg)
{
    (void)arg;
    return leat_blocking(round_of_seed, NULL);
}

static int solo_round(void *arg)
{
    (void)arg;
    run_round(true, seed_of_test());
    return 0;
}

static void parties_by_order_of_a_task(void **state)
{
    (void)state;
    run_on(1, round_of_seed);
}

static void parties_by_order_of_a_thread(void **state)
{
    (void)state;
    run_on(2, round_by_a_thread);
}

/* Here each turn takes time. */
static void one_party_in_the_seeded_world(void **state)
{
    (void)state;
    run_on(4, solo_round);
}

static int solo_rounds(void *arg)
{
    (void)arg;
    uint64_t seed = seed_of_test();
    int64_t end = leat_now() + (in_long_run() ? 5 : 1) * LEAT_S / 4;
    do {
        snprintf(check_note, sizeof check_note, "LEAT_SEED=%llu", (unsigned long long)seed);
        run_round(true, seed++);
    } while (leat_now() < end);
    *check_note = 0;
    return 0;
}

static void one_party_on_real_workers(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers *= 2)
        CHECK_IS(0, leat_main_with(solo_rounds, NULL, &(leat_options){ .workers = workers }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parties_by_order_of_a_task),
        cmocka_unit_test(parties_by_order_of_a_thread),
        cmocka_unit_test(one_party_in_the_seeded_world),
        cmocka_unit_test(one_party_on_real_workers),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fprintf(stderr, "  %llu rounds:", rounds);
    for (int i = 0; i < HAPPENINGS; i++) {
        fprintf(stderr, " %s %llu%c", happening_names[i], happenings[i],
                i + 1 < HAPPENINGS ? ',' : '\n');
        CHECK(happenings[i] > 0 || rounds < 1000 || getenv("LEAT_SEED"));
    }
    return failed;
}
