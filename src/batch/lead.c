/* lead.c: a leader lingers, takes the execution lock, begins the batch, and runs it. */
#include "batch/batch.h"

#include "base/clock.h"
#include "flow/mutex.h"
#include "scope/crowd.h"

#include <leat/chan.h>
#include <leat/task.h>

/* ---- before it has begun ---- */

/* 0: it has lingered long enough, or the batch is dead. Or -EAGAIN, -ETIMEDOUT, -ECANCELED. */
static int linger(struct lt_batch *batch, int64_t deadline)
{
    leat_batcher *batcher = batch->batcher;
    if (!batcher->spec.linger)
        return 0;
    int64_t end = lt_clock_after(batch->first, batcher->spec.linger), now = lt_clock_now();
    if (end <= now)
        return 0;
    int error = deadline == LEAT_NOW ? -EAGAIN : lt_wait_prepare(lt_current_party());
    struct lt_crowd_waiter waiter;
    lt_lock(&batcher->lock);
    bool enough = lt_batch_is_enough(batch);
    if (!enough && !error)
        lt_crowd_join(&batcher->lock, &batch->lingerer, &waiter, LT_FOR_CALL,
                      (const void *)(uintptr_t)batcher->spec.run);
    lt_unlock(&batcher->lock);
    if (enough || error)
        return enough && error == -EAGAIN ? 0 : error;
    error = lt_wait_park(&waiter.wait, end < deadline ? end : deadline);
    return error == -ETIMEDOUT && end <= deadline ? 0 : error;
}

/* As `linger`; or -EPIPE: the batch is dead. *waited: the lock was not free. */
static int take_lock(struct lt_batch *batch, enum lt_leader leader, int64_t deadline, bool *waited)
{
    leat_mutex *lock = batch->batcher->spec.lock;
    int error = leat_mutex_lock_until(lock, LEAT_NOW);
    *waited = error == -EAGAIN;
    if (!*waited)
        return error;
    return leader == LT_STAND_IN ? lt_mutex_lock_or_stop(lock, batch->turn)
                                 : leat_mutex_lock_until(lock, deadline);
}

/* False: the batch is dead. *alone: the leader is the only holder, and stays so. */
static bool begin(struct lt_batch *batch, int64_t now, bool *alone)
{
    leat_batcher *batcher = batch->batcher;
    leat_batcher_counts *counts = &batcher->counts;
    lt_lock(&batcher->lock);
    bool forming = batch->state == LT_FORMING;
    if (forming) {
        if (batch->store->used != batch->n)
            lt_batch_close_gaps(batch);
        lt_list_remove(&batch->node);
        lt_list_append(&batcher->held, &batch->node);
        batch->state = LT_BEGUN;
        counts->batches++;
        counts->items += batch->n;
        counts->sizes[batch->n < LEAT_BATCH_SIZES ? batch->n : LEAT_BATCH_SIZES - 1]++;
        counts->waited += now - batch->first;
        batch->first = now;
        *alone = batch->holders == 1;
    }
    lt_unlock(&batcher->lock);
    return forming;
}

/* ---- after it has begun ---- */

struct call {
    const leat_batcher_spec *spec;
    leat_batch_view view;
};

static int call_elsewhere(void *arg)
{
    struct call *call = arg;
    struct lt_party *leader = lt_mutex_pass(call->spec->lock, lt_current_party());
    int error = call->spec->run(call->spec->arg, &call->view);
    lt_mutex_pass(call->spec->lock, leader);
    return error;
}

static int run(struct lt_batch *batch)
{
    const leat_batcher_spec *spec = &batch->batcher->spec;
    struct lt_store *store = batch->store;
    if (spec->result_size)
        memset(store->results, 0, batch->n * spec->result_size);
    for (size_t i = 0; i < batch->n; i++)
        store->status[i] = LEAT_NOT_DONE;
    struct call c = { .spec = spec,
                      .view = { .n = batch->n,
                                .items = store->items,
                                .results = store->results,
                                .status = store->status,
                                .key = batch->key } };
    /* The call is for all holders: cancelling the leader must end no wait in it. */
    bool shielded = leat_shield() == 0;
    int error = spec->blocking ? leat_blocking(call_elsewhere, &c) : spec->run(spec->arg, &c.view);
    if (shielded)
        leat_unshield();
    return error < 0 ? error : 0;
}

static void finish(struct lt_batch *batch, int error)
{
    leat_batcher *batcher = batch->batcher;
    lt_lock(&batcher->lock);
    batch->error = error;
    batch->state = LT_BATCH_DONE;
    batcher->counts.ran += batch->ran;
    batch->ran = 0;
    leat_chan *done = batch->done;
    lt_unlock(&batcher->lock);
    leat_close(batch->turn);
    if (done)
        leat_close(done);
}

/* No other party knows the batch. */
static void finish_alone(struct lt_batch *batch, int error)
{
    batch->error = error;
    /* Relaxed: a look may count the batch as one that runs, or not. */
    __atomic_store_n(&batch->state, LT_BATCH_DONE, __ATOMIC_RELAXED);
}

/* With the execution lock held. The parties that waited for this batch become ready before the next
 * leader does, so the items that they put next are in that leader's batch. */
static void run_unless_dead(struct lt_batch *batch, int64_t now)
{
    bool alone;
    if (!begin(batch, now, &alone))
        return;
    int error = run(batch);
    batch->ran = lt_clock_now() - now;
    if (alone)
        finish_alone(batch, error);
    else
        finish(batch, error);
}

int lt_batch_lead(struct lt_batch *batch, enum lt_leader leader, int64_t deadline)
{
    bool waited;
    int error = linger(batch, deadline);
    if (!error)
        error = take_lock(batch, leader, deadline, &waited);
    if (error)
        return error == -EPIPE ? 0 : error;
    /* A batch that was created just now needs no second reading of the clock. */
    bool fresh = leader == LT_BEGINNER && !waited && !batch->batcher->spec.linger;
    run_unless_dead(batch, fresh ? batch->first : lt_clock_now());
    leat_mutex_unlock(batch->batcher->spec.lock);
    return 0;
}

int lt_batch_lead_now(struct lt_batch *batch)
{
    int error = linger(batch, LEAT_NOW);
    if (!error)
        run_unless_dead(batch, lt_clock_now());
    return error;
}
