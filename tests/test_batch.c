/* test_batch.c: batchers: tasks and threads, what each call returns, and whose memory is touched. */
#include "support.h"

/* ---- a batcher that adds one ---- */

struct adder {
    leat_batcher *batcher;
    leat_mutex *lock;
    leat_chan *entered, *go_on; /* of a slow one: it says when it runs, and waits to be let go */
    _Atomic int runs, running;
    size_t largest;
    int result; /* of the function */
};

static int add_one(void *arg, leat_batch_view *batch)
{
    struct adder *a = arg;
    CHECK_IS(0, atomic_fetch_add(&a->running, 1));
    const int *items = batch->items;
    int *results = batch->results;
    for (size_t i = 0; i < batch->n; i++) {
        CHECK_IS(LEAT_NOT_DONE, batch->status[i]);
        CHECK_IS(0, results[i]);
        results[i] = items[i] + 1;
    }
    a->largest = batch->n > a->largest ? batch->n : a->largest;
    atomic_fetch_add(&a->runs, 1);
    if (a->entered) {
        CHECK_IS(0, leat_send(a->entered, NULL));
        CHECK_IS(0, leat_recv(a->go_on, NULL));
    }
    CHECK_IS(1, atomic_fetch_sub(&a->running, 1));
    return a->result ? a->result : leat_batch_all_done(batch);
}

static leat_batcher_spec adds(struct adder *a)
{
    return (leat_batcher_spec){ .item_size = sizeof(int),
                                .result_size = sizeof(int),
                                .run = add_one,
                                .arg = a,
                                .lock = a->lock,
                                .name = "adder" };
}

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
    struct crew crew;
    crew_open(&crew);
    struct adder a = { .lock = NULL };
    leat_batcher_spec spec = adds(&a);
    a.batcher = leat_batcher_open(crew.scope, &spec);
    for (int i = 0; i < 12; i++)
        crew_go(&crew, kind_of(i), call_often, &a);
    crew_close(&crew);
    return 0;
}
ON_WORKERS(serves_tasks_and_threads);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(serves_tasks_and_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
