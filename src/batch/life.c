/* life.c: the memory of batches: allocated, kept as spares, freed. */
#include "batch/batch.h"

#include "base/alloc.h"
#include "base/config.h"
#include "chan/more.h"

/* Lays out the next piece of one allocation, aligned to 16 bytes. False: the size overflows. */
static bool lay_out(size_t *end, size_t n, size_t size, size_t *at)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || __builtin_add_overflow(*end, 15, at))
        return false;
    *at &= ~(size_t)15;
    return !__builtin_add_overflow(*at, bytes, end);
}

struct lt_store *lt_store_make(const leat_batcher *batcher, size_t room)
{
    size_t end = sizeof(struct lt_store), items, results, status, runs;
    if (!lay_out(&end, room, batcher->spec.item_size, &items) ||
        !lay_out(&end, room, batcher->spec.result_size, &results) ||
        !lay_out(&end, room, sizeof(int), &status) ||
        !lay_out(&end, room, sizeof(struct lt_run), &runs))
        return NULL;
    unsigned char *memory = lt_alloc(end);
    if (!memory)
        return NULL;
    struct lt_store *store = (struct lt_store *)(void *)memory;
    store->room = room;
    store->items = memory + items;
    store->results = memory + results;
    store->status = (int *)(void *)(memory + status);
    store->runs = (struct lt_run *)(void *)(memory + runs);
    return store;
}

struct lt_batch *lt_batch_make(leat_batcher *batcher)
{
    struct lt_batch *batch = lt_alloc(sizeof *batch);
    if (!batch)
        return NULL;
    batch->turn =
        leat_chan_open(NULL, &(leat_chan_spec){ .capacity = 1, .name = batcher->spec.name });
    if (!batch->turn) {
        lt_free(batch);
        return NULL;
    }
    batch->batcher = batcher;
    lt_list_init(&batch->lingerer);
    return batch;
}

void lt_batch_destroy(struct lt_batch *batch)
{
    leat_chan_unref(batch->turn);
    if (batch->done)
        leat_chan_unref(batch->done);
    lt_free(batch->store);
    lt_free(batch);
}

static void destroy_list(struct lt_node *list)
{
    for (struct lt_batch *batch; (batch = LT_FIRST(list, struct lt_batch, node));) {
        lt_list_remove(&batch->node);
        lt_batch_destroy(batch);
    }
}

void lt_batch_destroy_all(leat_batcher *batcher)
{
    destroy_list(&batcher->forming);
    destroy_list(&batcher->held);
    destroy_list(&batcher->spares);
}

/* With the lock held: keeps a batch that is on no list as a spare. False: there are enough. */
static bool keep(struct lt_batch *batch)
{
    leat_batcher *batcher = batch->batcher;
    if (!LT_KEEP_SPARES || batcher->spares_kept == LT_BATCH_SPARES)
        return false;
    batcher->spares_kept++;
    lt_list_append(&batcher->spares, &batch->node);
    return true;
}

void lt_batch_drop(struct lt_batch *batch)
{
    leat_batcher *batcher = batch->batcher;
    lt_lock(&batcher->lock);
    bool last = --batch->holders == 0, kept = false;
    if (last) {
        batcher->counts.ran += batch->ran;
        lt_list_remove(&batch->node);
        lt_chan_renew(batch->turn);
        if (batch->done)
            lt_chan_renew(batch->done);
        kept = keep(batch);
    }
    lt_unlock(&batcher->lock);
    if (last && !kept)
        lt_batch_destroy(batch);
}
