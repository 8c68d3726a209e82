/* form.c: how batches form: items come, and may leave again before their batch has begun. */
#include "batch/batch.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/item.h"
#include "scope/crowd.h"

#include <leat/chan.h>

/* A put, and memory that was allocated for it while the lock was not held. */
struct put {
    const void *items;
    size_t n, bytes;
    uint64_t key;
    bool creates; /* a batch */
    struct lt_claim_check *ticket;
    struct lt_batch *batch;
    struct lt_store *store;
};

/* ---- with the lock held ---- */

bool lt_batch_is_enough(const struct lt_batch *batch)
{
    const leat_batcher_spec *spec = &batch->batcher->spec;
    return batch->passed || batch->batcher->closed || batch->state != LT_FORMING ||
           (spec->most && batch->n >= spec->most) ||
           (spec->most_bytes && batch->bytes >= spec->most_bytes) ||
           (spec->least && batch->n >= spec->least) ||
           (spec->least_bytes && batch->bytes >= spec->least_bytes);
}

void lt_batch_wake(struct lt_batch *batch, struct lt_party **woken)
{
    if (!lt_list_empty(&batch->lingerer) && lt_batch_is_enough(batch))
        lt_crowd_take(&batch->lingerer, woken);
}

static bool fits(const leat_batcher_spec *spec, const struct lt_batch *batch, const struct put *put)
{
    if (spec->most && put->n > spec->most - batch->n)
        return false;
    return !spec->most_bytes ||
           (put->bytes <= spec->most_bytes && batch->bytes <= spec->most_bytes - put->bytes);
}

/* The youngest forming batch of the key, or NULL. */
static struct lt_batch *youngest(leat_batcher *batcher, uint64_t key)
{
    for (struct lt_node *node = batcher->forming.prev; node != &batcher->forming;
         node = node->prev) {
        struct lt_batch *batch = LT_CONTAINER(node, struct lt_batch, node);
        if (batch->key == key)
            return batch;
    }
    return NULL;
}

/* A spare batch, or the one allocated for this put, or NULL. The batch may lack room. */
static struct lt_batch *unused(leat_batcher *batcher, struct put *put)
{
    if (lt_list_empty(&batcher->spares))
        return put->batch;
    return LT_CONTAINER(batcher->spares.prev, struct lt_batch, node);
}

/* Makes room for the new items beside the `used` ones. False: this needs more memory. */
static bool make_room(struct lt_batch *batch, struct put *put, size_t used)
{
    struct lt_store *old = batch->store, *new = put->store;
    if (old && old->room - used >= put->n)
        return true;
    if (!new || new->room < used || new->room - used < put->n)
        return false;
    if (used) {
        lt_item_copy(new->items, old->items, used * batch->batcher->spec.item_size);
        memcpy(new->runs, old->runs, old->runs_used * sizeof *old->runs);
        new->used = used;
        new->runs_used = old->runs_used;
    }
    batch->store = new;
    put->store = old;
    return true;
}

static void create(leat_batcher *batcher, struct lt_batch *batch, struct put *put)
{
    if (batch == put->batch) {
        put->batch = NULL;
    } else {
        lt_list_remove(&batch->node);
        batcher->spares_kept--;
    }
    batch->store->used = batch->store->runs_used = 0;
    batch->key = put->key;
    batch->n = batch->bytes = 0;
    batch->first = lt_clock_now();
    batch->ran = 0;
    batch->holders = 0;
    batch->state = LT_FORMING;
    batch->passed = batch->has_stand_in = false;
    batch->error = 0;
    lt_list_append(&batcher->forming, &batch->node);
}

static void append(struct lt_batch *batch, const struct put *put)
{
    struct lt_store *store = batch->store;
    size_t size = batch->batcher->spec.item_size;
    if (size)
        lt_item_copy(store->items + store->used * size, put->items, put->n * size);
    *put->ticket = (struct lt_claim_check){ .batch = batch, .run = store->runs_used };
    store->runs[store->runs_used++] = (struct lt_run){
        .from = store->used, .n = put->n, .bytes = put->bytes, .holder = put->ticket
    };
    store->used += put->n;
    batch->n += put->n;
    if (__builtin_add_overflow(batch->bytes, put->bytes, &batch->bytes))
        batch->bytes = SIZE_MAX;
    batch->holders++;
}

void lt_batch_close_gaps(struct lt_batch *batch)
{
    struct lt_store *store = batch->store;
    size_t size = batch->batcher->spec.item_size, runs = 0, to = 0;
    for (size_t i = 0; i < store->runs_used; i++) {
        struct lt_run run = store->runs[i];
        if (!run.holder)
            continue;
        if (size)
            memmove(store->items + to * size, store->items + run.from * size, run.n * size);
        run.from = to;
        run.holder->run = runs;
        store->runs[runs++] = run;
        to += run.n;
    }
    store->used = to;
    store->runs_used = runs;
}

/* 0; -EPIPE; or -ENOMEM: memory is needed for *room items, and if *batch is NULL, for a batch. */
static int try_join(leat_batcher *batcher, struct put *put, struct lt_batch **batch, size_t *room,
                    struct lt_party **woken)
{
    if (batcher->closed)
        return -EPIPE;
    struct lt_batch *old = youngest(batcher, put->key);
    put->creates = !old || old->passed || !fits(&batcher->spec, old, put);
    *batch = put->creates ? unused(batcher, put) : old;
    /* Callers that come and leave while others stay must not add up. */
    if (!put->creates && old->store->used / 2 > old->n)
        lt_batch_close_gaps(old);
    size_t used = put->creates ? 0 : old->store->used;
    if (!*batch || !make_room(*batch, put, used)) {
        if (__builtin_add_overflow(used, put->n, room))
            *room = SIZE_MAX; /* too much for any allocation */
        else if (used > put->n)
            *room = 2 * used;
        return -ENOMEM;
    }
    if (put->creates && old) {
        old->passed = true;
        lt_batch_wake(old, woken);
    }
    if (put->creates)
        create(batcher, *batch, put);
    append(*batch, put);
    lt_batch_wake(*batch, woken);
    return 0;
}

/* ---- without the lock ---- */

/* Allocates the memory that try_join lacked. */
static bool allocate(leat_batcher *batcher, struct put *put, bool wants_batch, size_t room)
{
    if (wants_batch)
        put->batch = lt_batch_make(batcher);
    if (wants_batch && !put->batch)
        return false;
    lt_free(put->store);
    put->store = lt_store_make(batcher, room);
    return put->store;
}

static int join(leat_batcher *batcher, struct put *put)
{
    for (;;) {
        struct lt_party *woken = NULL;
        struct lt_batch *batch = NULL;
        size_t room = 0;
        lt_lock(&batcher->lock);
        int error = try_join(batcher, put, &batch, &room, &woken);
        lt_unlock(&batcher->lock);
        lt_ready_all(woken);
        if (error != -ENOMEM)
            return error;
        if (!allocate(batcher, put, !batch, room))
            return -ENOMEM;
    }
}

/* Finds the key of the items, and their size in bytes. False: their keys differ. */
static bool measure(const leat_batcher_spec *spec, struct put *put)
{
    if (!spec->key && !spec->bytes) {
        if (__builtin_mul_overflow(put->n, spec->item_size, &put->bytes))
            put->bytes = SIZE_MAX;
        return true;
    }
    const unsigned char *items = put->items;
    for (size_t i = 0; i < put->n; i++) {
        const void *item = spec->item_size ? items + i * spec->item_size : items;
        uint64_t key = spec->key ? spec->key(spec->arg, item) : 0;
        size_t bytes = spec->bytes ? spec->bytes(spec->arg, item) : spec->item_size;
        if (i && key != put->key)
            return false;
        put->key = key;
        if (__builtin_add_overflow(put->bytes, bytes, &put->bytes))
            put->bytes = SIZE_MAX;
    }
    return true;
}

int lt_batch_join(leat_batcher *batcher, const void *items, size_t n, leat_ticket *ticket,
                  bool *leads)
{
    struct put put = { .items = items, .n = n, .ticket = lt_ticket(ticket) };
    if (!measure(&batcher->spec, &put))
        return -EINVAL;
    int error = join(batcher, &put);
    if (put.batch)
        lt_batch_destroy(put.batch);
    lt_free(put.store);
    if (error)
        return error;
    *leads = *leads && put.creates;
    if (put.creates && !*leads)
        lt_batch_pass_on(put.ticket->batch);
    return 0;
}

void lt_batch_pass_on(struct lt_batch *batch)
{
    leat_try_send(batch->turn, NULL);
}

/* ---- leaving ---- */

/* With the lock held: takes a run's items out of a forming batch. */
static void withdraw(struct lt_batch *batch, struct lt_run *run, struct lt_party **woken)
{
    run->holder = NULL;
    batch->n -= run->n;
    batch->bytes -= batch->bytes == SIZE_MAX ? 0 : run->bytes;
    batch->batcher->counts.left += run->n;
    if (batch->n)
        return;
    lt_list_remove(&batch->node);
    lt_list_append(&batch->batcher->held, &batch->node);
    batch->state = LT_DEAD;
    lt_batch_wake(batch, woken);
}

void lt_batch_leave(leat_ticket *ticket, bool leads)
{
    struct lt_claim_check *check = lt_ticket(ticket);
    struct lt_batch *batch = check->batch;
    struct lt_party *woken = NULL;
    lt_lock(&batch->batcher->lock);
    if (batch->state == LT_FORMING)
        withdraw(batch, &batch->store->runs[check->run], &woken);
    bool dead = batch->state == LT_DEAD;
    lt_unlock(&batch->batcher->lock);
    lt_ready_all(woken);
    if (dead)
        leat_close(batch->turn);
    else if (leads)
        lt_batch_pass_on(batch);
    check->batch = NULL;
    lt_batch_drop(batch);
}
