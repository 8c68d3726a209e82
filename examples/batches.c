/* batches [N]: how large batches become when no caller waits for company. Twenty callers have N
 * numbers each (20,000 by default), and a function adds one to every number in a batch. Like a
 * query, each call of the function takes a while, and each number a little. A caller pauses before
 * each of its numbers. A batch is made of the numbers that came while the batch before it ran.
 *
 * Fails if a number is not answered or not counted. */
#include <leat/leat.h>

#include <stdio.h>
#include <stdlib.h>

enum { CALLERS = 20, ITEMS = 20000, WIDTH = 60 };

static const int64_t per_call = 40 * LEAT_US, per_item = 5 * LEAT_US, between = 300 * LEAT_US;

static int add_one(void *arg, leat_batch_view *batch)
{
    (void)arg;
    const int *in = batch->items;
    int *out = batch->results;
    for (size_t i = 0; i < batch->n; i++)
        out[i] = in[i] + 1;
    leat_sleep(per_call + (int64_t)batch->n * per_item);
    return leat_batch_all_done(batch);
}

struct caller {
    leat_batcher *batcher;
    int first, n;
};

static int call(void *arg)
{
    const struct caller *caller = arg;
    unsigned chance = (unsigned)caller->first;
    int error = 0;
    for (int x = caller->first; x < caller->first + caller->n && !error; x++) {
        leat_sleep(between * rand_r(&chance) / RAND_MAX);
        int y;
        error = leat_batch(caller->batcher, &x, &y);
        if (!error && y != x + 1)
            error = -EIO;
    }
    return error;
}

/* Returns 0 if the counts agree with each other and with `wanted`. */
static int print(const leat_batcher_counts *counts, uint64_t wanted)
{
    uint64_t most = 1, batches = 0, items = 0;
    for (unsigned n = 1; n <= CALLERS; n++) {
        batches += counts->sizes[n];
        items += n * counts->sizes[n];
        if (most < counts->sizes[n])
            most = counts->sizes[n];
    }
    puts("items  batches");
    for (unsigned n = 1; n <= CALLERS; n++) {
        printf("%5u %8llu ", n, (unsigned long long)counts->sizes[n]);
        for (uint64_t i = 0; i < counts->sizes[n] * WIDTH / most; i++)
            putchar('#');
        putchar('\n');
    }
    printf("%llu items in %llu batches, %.1f each\n", (unsigned long long)items,
           (unsigned long long)batches, (double)items / (double)batches);
    return items == wanted && batches == counts->batches ? 0 : -EIO;
}

/* `arg` points to the number of items for each caller. */
static int run(void *arg)
{
    const int n = *(int *)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_batcher *batcher = leat_batcher_open(s, &(leat_batcher_spec){ .item_size = sizeof(int),
                                                                       .result_size = sizeof(int),
                                                                       .run = add_one,
                                                                       .name = "add one" });
    struct caller callers[CALLERS];
    leat_scope *calling = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){ batcher, i * n, n };
        leat_go(calling, call, &callers[i]);
    }
    int error = leat_scope_close(calling);
    leat_batcher_counts counts;
    if (!error)
        error = leat_batcher_count(batcher, &counts);
    if (!error)
        error = print(&counts, (uint64_t)n * CALLERS);
    int result = leat_scope_close(s);
    return error ? error : result;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : ITEMS;
    return n < 1 || n > ITEMS || leat_main(run, &n) != 0;
}
