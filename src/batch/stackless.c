/* stackless.c: blocks and callbacks, which wait for `done`, and their stand-in, which leads. */
#include "batch/batch.h"
#include "block/callback.h"

#include <leat/chan.h>
#include <leat/task.h>

/* Waits for the right to lead, like any other party. It works for others: it ends when they have
 * left, not when its own scope is cancelled. */
static int stand_in(void *arg)
{
    struct lt_batch *batch = arg;
    leat_shield();
    if (leat_recv(batch->turn, NULL) == 0)
        lt_batch_lead(batch, LT_STAND_IN, LEAT_NEVER);
    leat_unshield();
    lt_batch_drop(batch);
    return 0;
}

/* For a holder that cannot lead: makes `done`, and starts the stand-in. Two holders may each start
 * a task at the same time: then one of the tasks finds nothing to do. 0 or -ENOMEM. */
static int prepare(struct lt_batch *batch)
{
    leat_batcher *batcher = batch->batcher;
    lt_lock(&batcher->lock);
    bool has = batch->done;
    lt_unlock(&batcher->lock);
    leat_chan *made =
        has ? NULL : leat_chan_open(NULL, &(leat_chan_spec){ .name = batcher->spec.name });
    if (!has && !made)
        return -ENOMEM;
    lt_lock(&batcher->lock);
    bool unused = batch->done;
    if (!unused)
        batch->done = made;
    bool over = batch->state == LT_BATCH_DONE;
    bool wants_stand_in = batch->state == LT_FORMING && !batch->has_stand_in;
    batch->holders += wants_stand_in; /* it is one */
    lt_unlock(&batcher->lock);
    if (unused)
        leat_chan_unref(made);
    if (over)
        leat_close(batch->done);
    if (!wants_stand_in)
        return 0;
    int error = leat_go_named(batcher->scope, stand_in, batch, batcher->spec.name, 0);
    lt_lock(&batcher->lock);
    batch->has_stand_in |= !error;
    batch->holders -= error != 0;
    lt_unlock(&batcher->lock);
    return error;
}

/* 0, with a ticket whose holder must wait for `done`; or an error without a ticket. */
static int put(leat_batcher *batcher, const void *item, leat_ticket *ticket)
{
    int error = leat_batch_put(batcher, item, 1, ticket);
    if (error)
        return error;
    error = prepare(lt_ticket(ticket)->batch);
    if (error)
        lt_batch_leave(ticket, false);
    return error;
}

/* Called after the wait: spends the ticket. */
static int get(leat_ticket *ticket, void *result, int status)
{
    struct lt_batch *batch = lt_ticket(ticket)->batch;
    if (status == -EPIPE || (status == -ECANCELED && lt_batch_is_done(batch)))
        return lt_batch_collect(ticket, result, NULL);
    lt_batch_leave(ticket, false);
    return status;
}

/* ---- blocks ---- */

int leat_block_batch(leat_block *b, leat_batcher *batcher, const void *item, void *result,
                     leat_ticket *ticket)
{
    b->status = put(batcher, item, ticket);
    if (b->status)
        return LEAT_DONE_;
    lt_ticket(ticket)->result = result;
    return leat_block_recv(b, lt_ticket(ticket)->batch->done, NULL, LEAT_NEVER, NULL);
}

void leat_block_batch_end(leat_block *b, leat_ticket *ticket)
{
    if (ticket && lt_ticket(ticket)->batch)
        b->status = get(ticket, lt_ticket(ticket)->result, b->status);
}

/* ---- callbacks ---- */

static void got(leat_op *public, int status)
{
    leat_batch_op *op = LT_CONTAINER(public, leat_batch_op, op);
    if (status == LT_WITHDRAWN)
        lt_batch_leave(&op->leat_claim, false);
    else
        op->leat_fn(op, get(&op->leat_claim, op->leat_result, status));
}

int leat_batch_then(leat_batch_op *op, leat_batcher *batcher, const void *item, void *result,
                    leat_batch_op_fn *fn)
{
    if (!op || !fn)
        return -EINVAL;
    if (lt_callback_is_busy(&op->op))
        return -EBUSY;
    int error = put(batcher, item, &op->leat_claim);
    if (error)
        return error;
    op->leat_result = result;
    op->leat_fn = fn;
    error = lt_callback_await(&op->op, lt_ticket(&op->leat_claim)->batch->done, got);
    if (error)
        lt_batch_leave(&op->leat_claim, false);
    return error;
}
