/* flatten: lists of different lengths, flattened into batches. Twenty callers have five lists
 * each and ask for one more than each number of a list. The lists of the first caller are empty,
 * those of the next have one number, those of the last nineteen. The function sees one array:
 * the numbers of all lists that came while the batch before it ran. Each caller gets its own
 * results back. An empty list comes back empty, at once. */
#include <leat/leat.h>

#include <stdio.h>

enum { CALLERS = 20, ROUNDS = 5 };

static int add_one(void *arg, leat_batch_view *batch)
{
    (void)arg;
    const int *in = batch->items;
    int *out = batch->results;
    for (size_t i = 0; i < batch->n; i++)
        out[i] = in[i] + 1;
    leat_sleep(LEAT_MS);
    return leat_batch_all_done(batch);
}

struct caller {
    leat_batcher *batcher;
    int number;
    int right; /* lists with the right results */
};

static int call(void *arg)
{
    struct caller *me = arg;
    int list[CALLERS], answer[CALLERS], error = 0;
    for (int i = 0; i < me->number; i++)
        list[i] = me->number;
    for (int round = 0; round < ROUNDS && !error; round++) {
        error = leat_batch_many(me->batcher, list, (size_t)me->number, answer, NULL, LEAT_NEVER);
        int right = 0;
        while (right < me->number && answer[right] == list[right] + 1)
            right++;
        me->right += !error && right == me->number;
    }
    return error;
}

static int run(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_batcher *batcher = leat_batcher_open(s, &(leat_batcher_spec){ .item_size = sizeof(int),
                                                                       .result_size = sizeof(int),
                                                                       .run = add_one });
    struct caller callers[CALLERS];
    leat_scope *calling = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){ batcher, i, 0 };
        leat_go(calling, call, &callers[i]);
    }
    int error = leat_scope_close(calling);
    leat_batcher_counts counts = { 0 };
    leat_batcher_count(batcher, &counts);
    for (int i = 0; i < CALLERS; i++)
        printf("%d lists of %d: %d right\n", ROUNDS, i, callers[i].right);
    printf("%llu numbers in batches, %llu in batches of none\n", (unsigned long long)counts.items,
           (unsigned long long)counts.sizes[0]);
    int result = leat_scope_close(s);
    return error ? error : result;
}

int main(void)
{
    return leat_main(run, NULL) != 0;
}
