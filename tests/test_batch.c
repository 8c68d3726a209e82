/* test_batch.c: batchers: what calls return, which batches form, and calls that are refused. */
#include "batchers.h"

/* ---- many callers ---- */

static int call_often(void *arg)
{
    struct adder *a = arg;
    for (int i = 0; i < 200 / SCALE; i++) {
        int y = 0;
        CHECK_IS(0, leat_batch(a->batcher, &i, &y));
        CHECK_IS(i + 1, y);
    }
    return 0;
}

static int serves_tasks_and_threads(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < 12; i++)
        crew_go(&crew, kind_of(i), call_often, &a);
    crew_close(&crew);
    leat_batcher_counts counts = counts_of(a.batcher);
    CHECK_IS(12 * (200 / SCALE), counts.items);
    uint64_t batches = 0, items = 0;
    for (unsigned i = 0; i < LEAT_BATCH_SIZES; i++) {
        batches += counts.sizes[i];
        items += i * counts.sizes[i];
    }
    CHECK_IS(counts.batches, batches);
    CHECK_IS(counts.items, items);
    CHECK_IS(0, counts.left);
    CHECK_IS(0, batches_held(a.batcher));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(serves_tasks_and_threads);

static int items_put_during_a_run_share_a_batch(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a;
    struct caller first;
    adder_begin(&a, s, &first);
    struct caller others[5];
    for (int i = 0; i < 5; i++)
        others[i] = caller_of(&a, i + 1, LEAT_NEVER);
    callers_go(s, others, 5);
    adder_let_go(&a);
    adder_wait_for_entry(&a);
    CHECK_IS(5, a.n);
    for (int i = 0; i < 5; i++)
        CHECK_IS(i + 1, a.items[i]); /* in the order in which they were put */
    adder_let_go(&a);
    leat_batcher *batcher = a.batcher;
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    leat_batcher_counts counts = counts_of(batcher);
    CHECK_IS(2, counts.batches);
    CHECK_IS(6, counts.items);
    CHECK_IS(1, counts.sizes[1]);
    CHECK_IS(1, counts.sizes[5]);
    CHECK(counts.waited >= 0 && counts.ran >= 0);
    caller_was_served(&first);
    for (int i = 0; i < 5; i++)
        caller_was_served(&others[i]);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(items_put_during_a_run_share_a_batch);

/* ---- statuses and results ---- */

static int each_item_has_its_own_status(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    int items[4] = { 1, -1, 2000, 4 }, results[4] = { -7, -7, -7, -7 }, status[4] = { 7, 7, 7, 7 };
    CHECK_IS(-EDOM, leat_batch_many(a.batcher, items, 4, results, status, LEAT_NEVER));
    const int wanted[4] = { 0, -EDOM, LEAT_NOT_DONE, 0 }, got[4] = { 2, -7, -7, 5 };
    for (int i = 0; i < 4; i++) {
        CHECK_IS(wanted[i], status[i]);
        CHECK_IS(got[i], results[i]);
    }
    CHECK_IS(LEAT_NOT_DONE, leat_batch_many(a.batcher, items + 2, 2, results, NULL, LEAT_NEVER));
    CHECK_IS(0, leat_batch_many(a.batcher, items + 3, 1, NULL, NULL, LEAT_NEVER));
    int y = -7;
    CHECK_IS(-EDOM, leat_batch(a.batcher, &items[1], &y));
    CHECK_IS(-7, y);
    CHECK_IS(0, leat_batch(a.batcher, &items[0], NULL));
    /* An error that the function returns replaces all statuses of its batch, and of no other. */
    a.error = -EIO;
    CHECK_IS(-EIO, leat_batch_many(a.batcher, items, 4, results, status, LEAT_NEVER));
    for (int i = 0; i < 4; i++)
        CHECK_IS(-EIO, status[i]);
    CHECK_IS(-EIO, leat_batch(a.batcher, &items[0], &y));
    CHECK_IS(-7, y);
    a.error = 0;
    CHECK_IS(0, leat_batch(a.batcher, &items[0], &y));
    CHECK_IS(2, y);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(each_item_has_its_own_status);

static int each_caller_gets_its_own_results(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    leat_ticket tickets[8];
    int items[8], n = 0;
    for (int i = 0; i < 8; i++)
        items[i] = i;
    for (int i = 0; i < 8; i++, n += i)
        CHECK_IS(0, leat_batch_put(a.batcher, items, (size_t)i + 1, &tickets[i]));
    for (int i = 7; i >= 0; i--) {
        int results[8] = { 0 }, status[8];
        CHECK_IS(0, leat_batch_get(&tickets[i], results, status, LEAT_NEVER));
        for (int k = 0; k <= i; k++)
            CHECK_IS(k + 1, results[k]);
    }
    CHECK_IS(1, counts_of(a.batcher).batches);
    CHECK_IS(36, n);
    CHECK_IS(36, a.n);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(each_caller_gets_its_own_results);

static int count_nothing(void *arg, leat_batch_view *batch)
{
    *(size_t *)arg += batch->n;
    return leat_batch_all_done(batch);
}

static int items_may_have_no_bytes(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    size_t n = 0;
    leat_batcher *b = leat_batcher_open(s, &(leat_batcher_spec){ .run = count_nothing, .arg = &n });
    CHECK_IS(0, leat_batch(b, NULL, NULL));
    CHECK_IS(0, leat_batch_many(b, NULL, 5, NULL, NULL, LEAT_NEVER));
    CHECK_IS(6, n);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(items_may_have_no_bytes);

/* ---- tickets ---- */

static int puts_now_and_gets_later(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    leat_ticket one, two, three;
    int x = 1, y = 0;
    CHECK_IS(0, leat_batch_put(a.batcher, &x, 1, &one));
    x = 2;
    CHECK_IS(0, leat_batch_put(a.batcher, &x, 1, &two));
    x = 3;
    CHECK_IS(0, leat_batch_put(a.batcher, &x, 1, &three));
    CHECK_IS(0, leat_batch_forget(&two));
    CHECK_IS(-EINVAL, leat_batch_forget(&two));
    CHECK_IS(-EINVAL, leat_batch_get(&two, &y, NULL, LEAT_NEVER));
    CHECK_IS(0, leat_batch_get(&three, &y, NULL, LEAT_NOW)); /* leads at once */
    CHECK_IS(4, y);
    CHECK_IS(2, a.n);
    CHECK_IS(1, a.items[0]);
    CHECK_IS(3, a.items[1]);
    CHECK_IS(0, leat_batch_get(&one, &y, NULL, LEAT_NOW));
    CHECK_IS(2, y);
    CHECK_IS(-EINVAL, leat_batch_get(&one, &y, NULL, LEAT_NOW));
    CHECK_IS(1, counts_of(a.batcher).left);
    CHECK_IS(0, batches_held(a.batcher));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(puts_now_and_gets_later);

static int does_not_wait_with_now(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a;
    struct caller first;
    adder_begin(&a, s, &first);
    int x = 5, y = -7;
    leat_ticket ticket;
    CHECK_IS(-EAGAIN, leat_batch_until(a.batcher, &x, &y, LEAT_NOW));
    CHECK_IS(0, forming(a.batcher));
    CHECK_IS(0, leat_batch_put(a.batcher, &x, 1, &ticket));
    CHECK_IS(-EAGAIN, leat_batch_get(&ticket, &y, NULL, LEAT_NOW));
    CHECK_IS(-EAGAIN, leat_batch_get(&ticket, &y, NULL, LEAT_NOW)); /* the ticket is still valid */
    CHECK_IS(1, forming(a.batcher));
    adder_let_go(&a);
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    a.entered = NULL;
    CHECK_IS(0, leat_batch_get(&ticket, &y, NULL, LEAT_NOW));
    CHECK_IS(6, y);
    CHECK_IS(0, leat_batch_until(a.batcher, &x, &y, LEAT_NOW));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(does_not_wait_with_now);

static int closes(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    leat_ticket ticket, other;
    int x = 1, y = 0;
    CHECK_IS(0, leat_batch_put(a.batcher, &x, 1, &ticket));
    CHECK_IS(0, leat_batcher_close(a.batcher));
    CHECK_IS(0, leat_batcher_close(a.batcher));
    CHECK_IS(-EPIPE, leat_batch(a.batcher, &x, &y));
    CHECK_IS(-EPIPE, leat_batch_put(a.batcher, &x, 1, &other));
    CHECK_IS(-EINVAL, leat_batch_get(&other, &y, NULL, LEAT_NEVER));
    CHECK_IS(0, leat_batch_get(&ticket, &y, NULL, LEAT_NEVER));
    CHECK_IS(2, y);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(closes);

/* ---- which items share a batch ---- */

static uint64_t tens(void *arg, const void *item)
{
    (void)arg;
    return (uint64_t)(*(const int *)item / 10);
}

static int keeps_keys_apart(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    leat_batcher_spec spec = adds(&a);
    spec.key = tens;
    adder_open_with(&a, s, spec);
    const int items[6] = { 10, 20, 11, 30, 21, 12 };
    leat_ticket tickets[6];
    for (int i = 0; i < 6; i++)
        CHECK_IS(0, leat_batch_put(a.batcher, &items[i], 1, &tickets[i]));
    const size_t sizes[6] = { 3, 2, 0, 1, 0, 0 };
    for (int i = 0; i < 6; i++) {
        int y = 0;
        a.n = 0;
        CHECK_IS(0, leat_batch_get(&tickets[i], &y, NULL, LEAT_NEVER));
        CHECK_IS(items[i] + 1, y);
        CHECK_IS(sizes[i], a.n);
        CHECK(!a.n || a.key == tens(NULL, &items[i]));
    }
    CHECK_IS(-EINVAL, leat_batch_many(a.batcher, items, 2, NULL, NULL, LEAT_NEVER));
    CHECK_IS(0, forming(a.batcher));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(keeps_keys_apart);

static size_t itself(void *arg, const void *item)
{
    (void)arg;
    return (size_t) * (const int *)item;
}

/* Puts runs of these lengths. Getting the results of run i must run sizes[i] items. */
static void check_sizes(leat_batcher *b, const size_t *runs, size_t n, const size_t *sizes)
{
    int items[8] = { 0 };
    leat_ticket tickets[8];
    leat_batcher_counts before = counts_of(b), after;
    for (size_t i = 0; i < n; i++)
        CHECK_IS(0, leat_batch_put(b, items, runs[i], &tickets[i]));
    for (size_t i = 0; i < n; i++) {
        CHECK_IS(0, leat_batch_get(&tickets[i], NULL, NULL, LEAT_NEVER));
        after = counts_of(b);
        CHECK_IS(sizes[i], after.items - before.items);
        before = after;
    }
}

/* An empty list makes no batch. It succeeds in a closed batcher, and fails in a cancelled scope. */
static int accepts_empty_lists(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open_with(&a, s, adds(&a));
    int x = 1, y = 5, status = 5;
    CHECK_IS(0, leat_batch_many(a.batcher, &x, 0, &y, &status, LEAT_NEVER));
    CHECK_IS(0, leat_batch_many(a.batcher, NULL, 0, NULL, NULL, LEAT_NOW));
    CHECK_IS(0, leat_batch(a.batcher, &x, &y));
    CHECK_IS(2, y);
    CHECK_IS(5, status);
    CHECK_IS(0, leat_batcher_close(a.batcher));
    CHECK_IS(0, leat_batch_many(a.batcher, &x, 0, NULL, NULL, LEAT_NEVER));
    leat_batcher_counts counts;
    CHECK_IS(0, leat_batcher_count(a.batcher, &counts));
    CHECK_IS(1, counts.batches);
    CHECK_IS(0, leat_scope_cancel(s));
    CHECK_IS(-ECANCELED, leat_batch_many(a.batcher, &x, 0, NULL, NULL, LEAT_NEVER));
    return leat_scope_close(s);
}
ON_WORKERS(accepts_empty_lists);

static int keeps_batches_in_bounds(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    leat_batcher_spec spec = adds(&a);
    spec.most = 3;
    adder_open_with(&a, s, spec);
    check_sizes(a.batcher, (size_t[]){ 1, 1, 1, 1 }, 4, (size_t[]){ 3, 0, 0, 1 });
    check_sizes(a.batcher, (size_t[]){ 2, 2, 1, 3 }, 4, (size_t[]){ 2, 3, 0, 3 });
    int items[4] = { 0 };
    CHECK_IS(-EINVAL, leat_batch_many(a.batcher, items, 4, NULL, NULL, LEAT_NEVER));
    spec.most = 0;
    spec.most_bytes = 10;
    adder_open_with(&a, s, spec); /* four bytes per item */
    check_sizes(a.batcher, (size_t[]){ 1, 1, 1, 5, 1 }, 5, (size_t[]){ 2, 0, 1, 5, 1 });
    spec.bytes = itself;
    adder_open_with(&a, s, spec);
    const int bytes[5] = { 4, 6, 100, 0, 10 };
    const size_t sizes[5] = { 2, 0, 1, 2, 0 };
    leat_ticket tickets[5];
    for (int i = 0; i < 5; i++)
        CHECK_IS(0, leat_batch_put(a.batcher, &bytes[i], 1, &tickets[i]));
    for (int i = 0; i < 5; i++) {
        a.n = 0;
        CHECK_IS(0, leat_batch_get(&tickets[i], NULL, NULL, LEAT_NEVER));
        CHECK_IS(sizes[i], a.n);
    }
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(keeps_batches_in_bounds);

/* ---- calls that are refused ---- */

struct meddler {
    leat_batcher *batcher, *other;
    leat_mutex *lock;
    leat_ticket before;
    int scope_of_leader;
};

static int meddle(void *arg, leat_batch_view *batch)
{
    struct meddler *m = arg;
    int x = 0;
    leat_ticket ticket;
    CHECK_IS(-EDEADLK, leat_batch(m->batcher, &x, NULL));
    CHECK_IS(-EDEADLK, leat_batch(m->other, &x, NULL));
    CHECK_IS(-EDEADLK, leat_batch_until(m->other, &x, NULL, LEAT_NOW));
    CHECK_IS(-EDEADLK, leat_batch_put(m->batcher, &x, 1, &ticket));
    CHECK_IS(-EDEADLK, leat_batch_get(&m->before, NULL, NULL, LEAT_NEVER));
    CHECK_IS(-EDEADLK, leat_mutex_lock(m->lock));
    return leat_batch_all_done(batch);
}

static int refuses_calls_from_its_function(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct meddler m = { .lock = leat_mutex_open(s) };
    for (int blocking = 0; blocking < 2; blocking++) {
        leat_batcher_spec spec = {
            .item_size = sizeof(int), .run = meddle, .arg = &m, .lock = m.lock, .blocking = blocking
        };
        m.batcher = leat_batcher_open(s, &spec);
        m.other = leat_batcher_open(s, &spec);
        int x = 0;
        CHECK_IS(0, leat_batch_put(m.other, &x, 1, &m.before));
        CHECK_IS(0, leat_batch(m.batcher, &x, NULL));
        CHECK_IS(0, leat_mutex_lock(m.lock));
        CHECK_IS(-EDEADLK, leat_batch(m.batcher, &x, NULL));
        CHECK_IS(-EDEADLK, leat_batch_get(&m.before, NULL, NULL, LEAT_NOW));
        CHECK_IS(0, leat_mutex_unlock(m.lock));
        CHECK_IS(0, leat_batch_forget(&m.before));
    }
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(refuses_calls_from_its_function);

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct adder a = { .error = 0 };
    adder_open(&a, s);
    leat_batcher_spec spec = adds(&a);
    CHECK(!leat_batcher_open(NULL, &spec));
    CHECK(!leat_batcher_open(s, NULL));
    spec.run = NULL;
    CHECK(!leat_batcher_open(s, &spec));
    spec = adds(&a);
    spec.item_size = (1 << 20) + 1;
    CHECK(!leat_batcher_open(s, &spec));
    spec = adds(&a);
    spec.linger = -1;
    CHECK(!leat_batcher_open(s, &spec));
    int x = 1;
    leat_ticket ticket = { { NULL } };
    leat_batcher_counts counts;
    CHECK_IS(-EINVAL, leat_batch(NULL, &x, NULL));
    CHECK_IS(-EINVAL, leat_batch(a.batcher, NULL, NULL));
    CHECK_IS(-EINVAL, leat_batch_until(a.batcher, &x, NULL, -1));
    CHECK_IS(-EINVAL, leat_batch_many(NULL, &x, 0, NULL, NULL, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_batch_many(a.batcher, &x, 0, NULL, NULL, -1));
    CHECK_IS(-EINVAL, leat_batch_put(a.batcher, &x, 0, &ticket));
    CHECK_IS(-EINVAL, leat_batch_put(a.batcher, &x, 1, NULL));
    CHECK_IS(-EINVAL, leat_batch_put(NULL, &x, 1, &ticket));
    CHECK_IS(-EINVAL, leat_batch_get(NULL, NULL, NULL, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_batch_get(&ticket, NULL, NULL, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_batch_forget(NULL));
    CHECK_IS(-EINVAL, leat_batcher_close(NULL));
    CHECK_IS(-EINVAL, leat_batcher_count(NULL, &counts));
    CHECK_IS(-EINVAL, leat_batcher_count(a.batcher, NULL));
    CHECK_IS(0, leat_batch_put(a.batcher, &x, 1, &ticket));
    CHECK_IS(-EINVAL, leat_batch_get(&ticket, NULL, NULL, -1));
    CHECK_IS(0, leat_batch_get(&ticket, NULL, NULL, LEAT_NEVER));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(refuses_wrong_arguments);

static int refuses_more_items_than_can_be_counted(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    size_t n = 0;
    leat_batcher *b = leat_batcher_open(s, &(leat_batcher_spec){ .run = count_nothing, .arg = &n });
    leat_ticket one, all;
    CHECK_IS(-ENOMEM, leat_batch_put(b, NULL, SIZE_MAX, &all));
    CHECK_IS(0, leat_batch_put(b, NULL, 1, &one));
    CHECK_IS(-ENOMEM, leat_batch_put(b, NULL, SIZE_MAX, &all));
    CHECK_IS(-ENOMEM, leat_batch_put(b, NULL, SIZE_MAX - 1, &all));
    CHECK_IS(0, leat_batch_get(&one, NULL, NULL, LEAT_NEVER));
    CHECK_IS(1, n);
    return leat_scope_close(s);
}
ON_WORKERS(refuses_more_items_than_can_be_counted);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(serves_tasks_and_threads),
        TESTS_ON_WORKERS(items_put_during_a_run_share_a_batch),
        TESTS_ON_WORKERS(each_item_has_its_own_status),
        TESTS_ON_WORKERS(each_caller_gets_its_own_results),
        TESTS_ON_WORKERS(items_may_have_no_bytes),
        TESTS_ON_WORKERS(puts_now_and_gets_later),
        TESTS_ON_WORKERS(does_not_wait_with_now),
        TESTS_ON_WORKERS(closes),
        TESTS_ON_WORKERS(keeps_keys_apart),
        TESTS_ON_WORKERS(accepts_empty_lists),
        TESTS_ON_WORKERS(keeps_batches_in_bounds),
        TESTS_ON_WORKERS(refuses_calls_from_its_function),
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(refuses_more_items_than_can_be_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
