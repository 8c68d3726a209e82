/* test_batch_text.c: the classic programs of cooperative batching: producers ask for a number plus
 * one, and a worker that was never started serves many of them at once. */
#include "support.h"

#include <leat/batch.h>

/* Naps are as long as in the classic programs: a producer's up to half a second, the worker's up to
 * a second. They are a thousandth of that where the clock does not jump. */
enum { PRODUCERS = 20, COUNT = 5 };

struct worker {
    leat_batcher *batcher;
    uint64_t chance;
    bool busy;
    /* beyond: items of the largest batches, without the first LEAT_BATCH_SIZES - 1 of each */
    uint64_t sizes[LEAT_BATCH_SIZES], beyond;
};

struct producer {
    struct worker *worker;
    int idx;
    uint64_t chance;
};

static int doze(uint64_t *chance, int64_t most)
{
    int64_t unit = IN_SIM ? LEAT_MS : LEAT_US;
    return leat_sleep(unit * below(chance, (unsigned)(most / LEAT_MS)));
}

static int add_1_to_all(void *arg, leat_batch_view *view)
{
    struct worker *worker = arg;
    CHECK(!worker->busy);
    worker->busy = true;
    CHECK_IS(0, view->key);
    size_t size = view->n < LEAT_BATCH_SIZES ? view->n : LEAT_BATCH_SIZES - 1;
    worker->sizes[size]++;
    worker->beyond += view->n - size;
    CHECK_IS(0, doze(&worker->chance, LEAT_S));
    const int *items = view->items;
    int *results = view->results;
    for (size_t i = 0; i < view->n; i++)
        results[i] = items[i] + 1;
    worker->busy = false;
    return leat_batch_all_done(view);
}

static int add_1(struct worker *worker, int value)
{
    int result = -1;
    CHECK_IS(0, leat_batch(worker->batcher, &value, &result));
    return result;
}

static int produce_scalars(void *arg)
{
    struct producer *p = arg;
    for (int i = 0; i < COUNT; i++) {
        CHECK_IS(0, doze(&p->chance, LEAT_S / 2));
        CHECK_IS(p->idx + 1, add_1(p->worker, p->idx));
    }
    return 0;
}

/* Producer i puts lists of i numbers: from none to PRODUCERS - 1. */
static int produce_lists(void *arg)
{
    struct producer *p = arg;
    int list[PRODUCERS], results[PRODUCERS], statuses[PRODUCERS];
    size_t n = (size_t)p->idx;
    for (int i = 0; i < COUNT; i++) {
        CHECK_IS(0, doze(&p->chance, LEAT_S / 2));
        for (size_t j = 0; j < n; j++) {
            list[j] = p->idx * 100 + (int)j;
            results[j] = statuses[j] = -1;
        }
        CHECK_IS(0, leat_batch_many(p->worker->batcher, list, n, results, statuses, LEAT_NEVER));
        for (size_t j = 0; j < n; j++) {
            CHECK_IS(list[j] + 1, results[j]);
            CHECK_IS(0, statuses[j]);
        }
    }
    return 0;
}

/* The batcher's counts are the worker's. Returns the number of batches. */
static uint64_t check_counts(const struct worker *worker, uint64_t items)
{
    leat_batcher_counts counts;
    CHECK_IS(0, leat_batcher_count(worker->batcher, &counts));
    uint64_t batches = 0, sum = 0;
    for (unsigned i = 0; i < LEAT_BATCH_SIZES; i++) {
        CHECK_IS(worker->sizes[i], counts.sizes[i]);
        batches += counts.sizes[i];
        sum += i * counts.sizes[i];
    }
    CHECK_IS(batches, counts.batches);
    CHECK_IS(items, counts.items);
    CHECK_IS(items, sum + worker->beyond);
    CHECK_IS(0, counts.left);
    CHECK(counts.ran > 0);
    return batches;
}

static uint64_t produce(leat_fn *fn, uint64_t items)
{
    struct crew crew;
    crew_open(&crew);
    uint64_t chance = seed_of_test();
    struct worker worker = { .chance = lt_rng_next(&chance) };
    worker.batcher = leat_batcher_open(crew.scope, &(leat_batcher_spec){ .item_size = sizeof(int),
                                                                         .result_size = sizeof(int),
                                                                         .run = add_1_to_all,
                                                                         .arg = &worker });
    CHECK(worker.batcher);
    struct producer producers[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){ &worker, i, lt_rng_next(&chance) };
        crew_go(&crew, kind_of(i), fn, &producers[i]);
    }
    for (int i = 0; i < crew.foreigners; i++)
        CHECK_IS(0, foreign_join(&crew.foreign[i]));
    crew.foreigners = 0;
    WAIT_UNTIL(leat_scope_tasks(crew.scope) == 0);
    uint64_t batches = check_counts(&worker, items);
    crew_close(&crew);
    return batches;
}

static int adds_one_to_scalars(void *arg)
{
    (void)arg;
    uint64_t batches = produce(produce_scalars, PRODUCERS * COUNT);
    /* The worker naps twice as long as a producer, so about all producers wait when it wakes. */
    CHECK(!IN_SIM || batches <= PRODUCERS * COUNT / 2);
    return 0;
}
ON_WORKERS(adds_one_to_scalars);

static int adds_one_to_lists(void *arg)
{
    (void)arg;
    uint64_t batches = produce(produce_lists, COUNT * PRODUCERS * (PRODUCERS - 1) / 2);
    CHECK(!IN_SIM || batches <= PRODUCERS * COUNT / 2);
    return 0;
}
ON_WORKERS(adds_one_to_lists);

/* Without naps: a caller that is alone is served at once, in its own batch. */
static int serves_a_lone_caller_at_once(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct worker worker = { .chance = 1 };
    worker.batcher = leat_batcher_open(s, &(leat_batcher_spec){ .item_size = sizeof(int),
                                                                .result_size = sizeof(int),
                                                                .run = add_1_to_all,
                                                                .arg = &worker });
    for (int i = 0; i < 3; i++) {
        int64_t since = leat_now();
        CHECK_IS(i + 1, add_1(&worker, i));
        CHECK(leat_now() - since < 2 * LEAT_S || !IN_SIM);
    }
    CHECK_IS(3, check_counts(&worker, 3));
    CHECK_IS(3, worker.sizes[1]);
    return leat_scope_close(s);
}
ON_WORKERS(serves_a_lone_caller_at_once);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(adds_one_to_scalars),
        TESTS_ON_WORKERS(adds_one_to_lists),
        TESTS_ON_WORKERS(serves_a_lone_caller_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
