/* batch.c: 64 callers each want one added to numbers: through a batcher, and, to compare, under
 * a mutex and by a task that serves them. */
#include "rows.h"

enum { CALLERS = 64 };

/* Calls with 0 … each-1, and adds up the results. */
struct caller {
    int (*call)(int64_t item, int64_t *result);
    int64_t each, sum;
};

static leat_batcher *batcher;
static leat_mutex *mutex;
static int64_t served;

static int add_one(void *arg, leat_batch_view *batch)
{
    (void)arg;
    const int64_t *items = batch->items;
    int64_t *results = batch->results;
    for (size_t i = 0; i < batch->n; i++)
        results[i] = items[i] + 1;
    served += (int64_t)batch->n;
    return leat_batch_all_done(batch);
}

static int call_batcher(int64_t item, int64_t *result)
{
    return leat_batch(batcher, &item, result);
}

static int call_with_mutex(int64_t item, int64_t *result)
{
    int status;
    leat_batch_view one = { .n = 1, .items = &item, .results = result, .status = &status };
    leat_mutex_lock(mutex);
    add_one(NULL, &one);
    leat_mutex_unlock(mutex);
    return status;
}

struct request {
    int64_t item;
    leat_chan *back;
};

static leat_chan *requests;

static int serve(void *arg)
{
    (void)arg;
    for (struct request r; leat_recv(requests, &r) == 0;) {
        int64_t result;
        int status;
        leat_batch_view one = { .n = 1, .items = &r.item, .results = &result, .status = &status };
        add_one(NULL, &one);
        leat_send(r.back, &result);
    }
    return 0;
}

static int caller(void *arg)
{
    struct caller *c = arg;
    for (int64_t i = 0, result = 0; i < c->each; i++) {
        bench_check("batch", c->call(i, &result), 0);
        c->sum += result;
    }
    return 0;
}

static int caller_of_task(void *arg)
{
    struct caller *c = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct request r = { .back = leat_chan_of(s, int64_t, 1) };
    for (int64_t result; r.item < c->each; r.item++) {
        leat_send(requests, &r);
        leat_recv(r.back, &result);
        c->sum += result;
    }
    return leat_scope_close(s);
}

static uint64_t measure(leat_scope *s, leat_fn *fn, int (*call)(int64_t, int64_t *), int64_t n)
{
    struct caller callers[CALLERS];
    served = 0;
    uint64_t start = bench_now();
    leat_scope *crowd = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){ .call = call, .each = n / CALLERS };
        leat_go(crowd, fn, &callers[i]);
    }
    leat_scope_close(crowd);
    uint64_t time = bench_now() - start;
    leat_close(requests);
    leat_scope_close(s);
    requests = NULL;
    int64_t sum = 0;
    for (int i = 0; i < CALLERS; i++)
        sum += callers[i].sum;
    bench_check("batch: served", served, n);
    bench_check("batch: sum", sum, CALLERS * bench_sum(n / CALLERS + 1));
    return time;
}

uint64_t batch(int64_t n)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    batcher = leat_batcher_open(s, &(leat_batcher_spec){ .item_size = sizeof(int64_t),
                                                         .result_size = sizeof(int64_t),
                                                         .run = add_one });
    return measure(s, caller, call_batcher, n);
}

uint64_t batch_mutex(int64_t n)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    mutex = leat_mutex_open(s);
    return measure(s, caller, call_with_mutex, n);
}

uint64_t batch_task(int64_t n)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    requests = leat_chan_of(s, struct request, CALLERS);
    leat_go(s, serve, NULL);
    return measure(s, caller_of_task, NULL, n);
}
