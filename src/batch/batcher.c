/* batcher.c: batchers, and the tasks and threads that put items and get their results. */
#include "batch/batch.h"

#include "base/alloc.h"
#include "base/item.h"
#include "flow/mutex.h"
#include "scope/sight.h"
#include "scope/wait.h"

/* ---- the life of a batcher ---- */

/* The name of a batcher's channels if the user has given none. */
static const char no_name[] = "batcher";

static void free_batcher(struct lt_owned *owned)
{
    leat_batcher *batcher = LT_CONTAINER(owned, leat_batcher, owned);
    lt_batch_destroy_all(batcher);
    lt_free(batcher);
}

/* With the lock held: the number of batches of a list in that state. Relaxed: a leader that is the
 * only holder ends its batch without the lock. */
static size_t count_batches(const struct lt_node *list, enum lt_batch_state state, size_t *steps)
{
    size_t n = 0;
    for (const struct lt_node *node = list->next; node != list && *steps; node = node->next) {
        const struct lt_batch *batch = LT_CONTAINER(node, struct lt_batch, node);
        n += __atomic_load_n(&batch->state, __ATOMIC_RELAXED) == state;
        --*steps;
    }
    return n;
}

static void see_batcher(struct lt_owned *owned, struct lt_sight *sight)
{
    leat_batcher *batcher = LT_CONTAINER(owned, leat_batcher, owned);
    *sight = (struct lt_sight){ .kind = LT_SEES_BATCHER,
                                .self = batcher,
                                .scope = batcher->scope,
                                .name = batcher->spec.name == no_name ? NULL : batcher->spec.name,
                                .steps = sight->steps };
    lt_lock(&batcher->lock);
    sight->closed = batcher->closed;
    sight->forming = count_batches(&batcher->forming, LT_FORMING, &sight->steps);
    sight->running = count_batches(&batcher->held, LT_BEGUN, &sight->steps);
    sight->batches = batcher->counts.batches;
    sight->items = batcher->counts.items;
    lt_unlock(&batcher->lock);
}

static const struct lt_owned_kind owned_kind = { .free = free_batcher, .see = see_batcher };

leat_batcher *leat_batcher_open(leat_scope *scope, const leat_batcher_spec *spec)
{
    if (!scope || !spec || !spec->run || spec->linger < 0 || spec->item_size > LT_ITEM_MAX ||
        spec->result_size > LT_ITEM_MAX)
        return NULL;
    leat_mutex *lock = spec->lock ? spec->lock : leat_mutex_open(scope);
    leat_batcher *batcher = lock ? lt_alloc(sizeof *batcher) : NULL;
    if (!batcher)
        return NULL;
    batcher->scope = scope;
    batcher->spec = *spec;
    batcher->spec.lock = lock;
    if (!spec->name)
        batcher->spec.name = no_name;
    lt_list_init(&batcher->forming);
    lt_list_init(&batcher->held);
    lt_list_init(&batcher->spares);
    batcher->owned.kind = &owned_kind;
    lt_scope_own(scope, &batcher->owned);
    return batcher;
}

int leat_batcher_close(leat_batcher *batcher)
{
    if (!batcher)
        return -EINVAL;
    struct lt_party *woken = NULL;
    lt_lock(&batcher->lock);
    batcher->closed = true;
    for (struct lt_node *node = batcher->forming.next; node != &batcher->forming; node = node->next)
        lt_batch_wake(LT_CONTAINER(node, struct lt_batch, node), &woken);
    lt_unlock(&batcher->lock);
    lt_ready_all(woken);
    lt_point();
    return 0;
}

int leat_batcher_count(leat_batcher *batcher, leat_batcher_counts *counts)
{
    if (!batcher || !counts)
        return -EINVAL;
    lt_lock(&batcher->lock);
    *counts = batcher->counts;
    lt_unlock(&batcher->lock);
    return 0;
}

/* ---- putting ---- */

/* 0, or the error that the put returns. */
static int check(const leat_batcher *batcher, const void *items, size_t n)
{
    if (!batcher || !n || (!items && batcher->spec.item_size) ||
        (batcher->spec.most && n > batcher->spec.most))
        return -EINVAL;
    if (lt_mutex_held(batcher->spec.lock))
        return -EDEADLK;
    return lt_wait_allowed(lt_current_party());
}

int leat_batch_put(leat_batcher *batcher, const void *items, size_t n, leat_ticket *ticket)
{
    if (!ticket)
        return -EINVAL;
    lt_ticket(ticket)->batch = NULL;
    bool leads = false;
    int error = check(batcher, items, n);
    return error ? error : lt_batch_join(batcher, items, n, ticket, &leads);
}

/* ---- getting ---- */

int lt_batch_collect(leat_ticket *ticket, void *results, int *status)
{
    struct lt_claim_check *check = lt_ticket(ticket);
    struct lt_batch *batch = check->batch;
    const struct lt_store *store = batch->store;
    const struct lt_run *run = &store->runs[check->run];
    size_t size = batch->batcher->spec.result_size;
    int first = 0;
    for (size_t i = 0; i < run->n; i++) {
        int outcome = batch->error ? batch->error : store->status[run->from + i];
        if (status)
            status[i] = outcome;
        if (!first)
            first = outcome;
        if (results && size && !outcome)
            lt_item_copy((unsigned char *)results + i * size,
                         store->results + (run->from + i) * size, size);
    }
    check->batch = NULL;
    lt_batch_drop(batch);
    return first;
}

bool lt_batch_is_done(struct lt_batch *batch)
{
    lt_lock(&batch->batcher->lock);
    bool done = batch->state == LT_BATCH_DONE;
    lt_unlock(&batch->batcher->lock);
    return done;
}

/* Waits for the right to lead (0), or until the batch has run: -EPIPE, even if the scope was
 * cancelled meanwhile, since there is a result. */
static int wait_for_turn(struct lt_batch *batch, int64_t deadline)
{
    int error = lt_wait_allowed(lt_current_party());
    if (error)
        return error;
    error = leat_recv_until(batch->turn, NULL, deadline);
    return error == -ECANCELED && lt_batch_is_done(batch) ? -EPIPE : error;
}

/* Waits in a batch until the batch has run. On an error other than -EAGAIN it leaves the batch. */
static int wait_in(leat_ticket *ticket, bool leads, void *results, int *status, int64_t deadline)
{
    struct lt_batch *batch = lt_ticket(ticket)->batch;
    enum lt_leader leader = leads ? LT_BEGINNER : LT_LEADER;
    int error = leads ? 0 : wait_for_turn(batch, deadline);
    leads = !error;
    if (leads)
        error = lt_batch_lead(batch, leader, deadline);
    if (!error || error == -EPIPE)
        return lt_batch_collect(ticket, results, status);
    if (error != -EAGAIN)
        lt_batch_leave(ticket, leads);
    else if (leads)
        lt_batch_pass_on(batch);
    return error;
}

/* With the execution lock held: no batch can begin, so the items can still leave theirs. */
static int join_and_lead(leat_batcher *batcher, const void *items, size_t n, leat_ticket *ticket)
{
    bool leads = true;
    int error = lt_batch_join(batcher, items, n, ticket, &leads);
    if (error)
        return error;
    struct lt_batch *batch = lt_ticket(ticket)->batch;
    if (!leads)
        error = leat_recv_until(batch->turn, NULL, LEAT_NOW);
    leads = !error;
    if (leads)
        error = lt_batch_lead_now(batch);
    if (error)
        lt_batch_leave(ticket, leads);
    return error;
}

static bool is_closed(leat_batcher *batcher)
{
    lt_lock(&batcher->lock);
    bool closed = batcher->closed;
    lt_unlock(&batcher->lock);
    return closed;
}

static int call_now(leat_batcher *batcher, const void *items, size_t n, void *results, int *status)
{
    leat_ticket ticket;
    int error = leat_mutex_lock_until(batcher->spec.lock, LEAT_NOW);
    if (error) /* with a closed batcher there is nothing to wait for */
        return error == -EAGAIN && is_closed(batcher) ? -EPIPE : error;
    error = join_and_lead(batcher, items, n, &ticket);
    leat_mutex_unlock(batcher->spec.lock);
    return error ? error : lt_batch_collect(&ticket, results, status);
}

int leat_batch_many(leat_batcher *batcher, const void *items, size_t n, void *results, int *status,
                    int64_t deadline)
{
    leat_ticket ticket;
    bool leads = true;
    if (batcher && !n && deadline >= 0)
        return lt_wait_allowed(lt_current_party());
    int error = deadline < 0 ? -EINVAL : check(batcher, items, n);
    if (!error)
        error = lt_wait_prepare(lt_current_party());
    if (!error && deadline == LEAT_NOW)
        return call_now(batcher, items, n, results, status);
    if (!error)
        error = lt_batch_join(batcher, items, n, &ticket, &leads);
    return error ? error : wait_in(&ticket, leads, results, status, deadline);
}

int leat_batch_until(leat_batcher *batcher, const void *item, void *result, int64_t deadline)
{
    return leat_batch_many(batcher, item, 1, result, NULL, deadline);
}

int leat_batch(leat_batcher *batcher, const void *item, void *result)
{
    return leat_batch_many(batcher, item, 1, result, NULL, LEAT_NEVER);
}

int leat_batch_get(leat_ticket *ticket, void *results, int *status, int64_t deadline)
{
    struct lt_batch *batch = ticket ? lt_ticket(ticket)->batch : NULL;
    if (!batch || deadline < 0)
        return -EINVAL;
    if (lt_mutex_held(batch->batcher->spec.lock))
        return -EDEADLK;
    if (lt_wait_prepare(lt_current_party()) != -EDEADLK)
        return wait_in(ticket, false, results, status, deadline);
    /* A party that cannot wait cannot lead. */
    if (lt_batch_is_done(batch))
        return lt_batch_collect(ticket, results, status);
    return deadline == LEAT_NOW ? -EAGAIN : -EDEADLK;
}

int leat_batch_forget(leat_ticket *ticket)
{
    if (!ticket || !lt_ticket(ticket)->batch)
        return -EINVAL;
    lt_batch_leave(ticket, false);
    return 0;
}
