/* leat/batch.h: cooperative batching: many callers, one call for all of them.
 *
 * Some work costs little more for a hundred items than for one: an fsync, a query, a matrix product. A
 * batcher collects the items of all who call at about the same time, and one of the callers, the leader,
 * runs a function for all of them, while the next batch forms. No thread or task is kept for it, nothing
 * polls, and nobody waits for company unless asked to:
 *
 *     static int add_one(void *arg, leat_batch_view *batch) { … }
 *
 *     leat_batcher *b = leat_batcher_open(scope, &(leat_batcher_spec){
 *         .item_size = sizeof(int), .result_size = sizeof(int), .run = add_one });
 *     int y, error = leat_batch(b, &x, &y);
 *
 * Who leads. A batch's items are put first and waited for then; the first who waits leads. It takes the
 * execution lock, in its turn, and the whole batch as it is by then, and runs the function. A leader that
 * is cancelled, or whose deadline passes, before it has begun leaves alone, and the next who waits leads.
 * Blocks and callbacks cannot lead: with the first of them in a batch, a task of the batcher's scope begins to wait
 * for it like any other, and leads in its turn.
 *
 * Whose memory. Items are copied when they are put, results when they are got: the function works on
 * arrays of the batcher's, and a caller that has left is out of its reach. An item whose caller has left
 * before its batch began is not in it; later, it is served all the same.
 *
 * What is told. Each item has a status, LEAT_NOT_DONE until the function has said otherwise, so nobody is told
 * of a success that did not happen. What the function returns, if it is an error, is told to each item of that
 * batch, and of no other.
 *
 * Fair. Batches run in the order in which their leaders come to the execution lock. What is put while the function
 * runs is in the next batch of its key: unless `most` or `most_bytes` holds it back, or its leader lingers, nobody
 * waits for more than two executions for its key, the one that runs and its own, and one for each other key.
 *
 * To put or to get from within the function, or while the caller holds the execution lock, could never end: -EDEADLK.
 */
#ifndef LEAT_BATCH_H
#define LEAT_BATCH_H

#include <leat/base.h>
#include <leat/block.h>
#include <leat/callback.h>
#include <leat/scope.h>
#include <leat/sync.h>

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_batcher leat_batcher;

/* The status of an item of which the function has said nothing. */
#define LEAT_NOT_DONE (-ENODATA)

/* What the function sees. The arrays are aligned as malloc aligns, and gone when it returns. */
typedef struct leat_batch_view {
    size_t n;          /* items, 1 or more */
    const void *items; /* one after the other, in the order in which they were put */
    void *results;     /* room for as many results, all bytes 0 */
    int *status;       /* of each item: LEAT_NOT_DONE; to be set to 0 or a negative errno value */
    uint64_t key;      /* what they have in common; 0 without a key function */
} leat_batch_view;

/* Serves a batch. Runs in the leader, or in a thread for blocking calls, and may wait, under a shield (leat/scope.h):
 * it is there for all, so that the leader is cancelled ends none of its waits. One at a time runs, for all
 * batchers that share an execution lock. Returns 0: the statuses count; or a negative errno value, which
 * every item of the batch is told instead. */
typedef int leat_batch_fn(void *arg, leat_batch_view *batch);

/* Sets every status to 0: for the end of a leat_batch_fn.
 * Returns 0. */
static inline int leat_batch_all_done(leat_batch_view *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        batch->status[i] = 0;
    return 0;
}

/* What a batcher is. Zero means its default. */
typedef struct leat_batcher_spec {
    size_t item_size, result_size; /* bytes, 0 to 1 MiB each */
    leat_batch_fn *run;
    void *arg;        /* for all the functions here */
    const char *name; /* for dumps; not copied; NULL is allowed */
    /* Items with different keys never share a batch. NULL: all may. Called by whoever puts, with no lock held. */
    uint64_t (*key)(void *arg, const void *item);
    /* How many bytes an item stands for. NULL: item_size. Called as `key` is. */
    size_t (*bytes)(void *arg, const void *item);
    /* Nanoseconds that a leader waits, from its batch's first item on, until there are `least` items or
     * `least_bytes` bytes; when neither is given, the whole time. A batch that is full does not wait. */
    int64_t linger;
    size_t least, least_bytes;
    /* No batch has more: what does not fit goes in the next. 0: no bound. A run that alone stands for more than
     * `most_bytes` has a batch to itself. */
    size_t most, most_bytes;
    /* The execution lock, to share what the function uses with others; freed no sooner than the batcher. NULL:
     * one of its own. */
    leat_mutex *lock;
    int blocking; /* not 0: the function runs through leat_blocking */
} leat_batcher_spec;

/* Makes a batcher that belongs to `scope`. `spec` is copied. It is freed when its scope has closed; nobody may wait
 * in it by then but the scope's own.
 * Returns NULL when memory has run out, or an argument is wrong. */
LEAT_API leat_batcher *leat_batcher_open(leat_scope *scope, const leat_batcher_spec *spec);

/* Closes a batcher: no more items. Whoever puts is told -EPIPE, and nobody lingers any more. What was put before is
 * served as ever, or waits for whoever gets it. Never waits.
 * Returns 0, also when it was closed before; -EINVAL for NULL. */
LEAT_API int leat_batcher_close(leat_batcher *batcher);

/* ---- tasks and threads ---- */

/* Puts an item and waits for its result (result_size bytes; may be NULL when nobody wants it).
 * Returns the item's status; -EPIPE when closed; -ECANCELED; -ETIMEDOUT; -EAGAIN with LEAT_NOW when it
 * would have to wait; -EDEADLK from within the function, with the execution lock held, or where the caller cannot
 * wait; -ENOMEM; -EINVAL for a NULL batcher, or item of some bytes, or a negative deadline. `result` is written only
 * with 0. -ECANCELED and -ETIMEDOUT mean that the caller did not wait to see: the item may have been served, or be
 * yet, if its batch had begun. After every other error but those of the item and its batch it is in none. */
LEAT_API int leat_batch(leat_batcher *batcher, const void *item, void *result);
LEAT_API int leat_batch_until(leat_batcher *batcher, const void *item, void *result,
                              int64_t deadline);

/* The same for a run of n items, which stay together, in their order: the function sees them among
 * others in one array, and its results are cut apart again. They must have the same key, and be no more than `most`
 * (else -EINVAL), and lie one behind the other, as the n results will. `status`, if not NULL, has room for n, each
 * item's own; the results of those with 0 count. With n = 0 there is no batch, nor any wait for one, also after the
 * batcher has been closed: an empty list comes back empty.
 * Returns 0 when all are 0, and with n = 0, else the first that is not; or an error as above, and then neither array is
 * written. */
LEAT_API int leat_batch_many(leat_batcher *batcher, const void *items, size_t n, void *results,
                             int *status, int64_t deadline);

/* ---- put now, get later ---- */

/* A claim to what comes of a run of items. The caller's; leat's from a put that returned 0 until it is spent. */
typedef struct leat_ticket {
    void *leat_private[4];
} leat_ticket;

/* Puts n items, and never waits; so any party may. The run waits in its batch until somebody gets from it.
 * Returns 0; -EPIPE when closed; -ECANCELED; -EDEADLK from within the function, or with the execution lock held;
 * -ENOMEM; -EINVAL as leat_batch_many, and for an n of 0; and then there is no ticket. */
LEAT_API int leat_batch_put(leat_batcher *batcher, const void *items, size_t n,
                            leat_ticket *ticket);

/* Waits for what comes of a run, and may lead. The rules of leat_batch_many; who cannot wait gets what is there, also
 * in a scope that has been cancelled.
 * Spends the ticket, whatever it returns, but for -EAGAIN, -EDEADLK and -EINVAL.
 * Returns 0 when all statuses are 0, else the first that is not; -ECANCELED and -ETIMEDOUT as leat_batch; -EAGAIN
 * with LEAT_NOW when it would have to wait; -EDEADLK as leat_batch; -EINVAL for NULL, a ticket that is spent, or a
 * negative deadline. */
LEAT_API int leat_batch_get(leat_ticket *ticket, void *results, int *status, int64_t deadline);

/* Spends a ticket without waiting: the caller leaves.
 * Returns 0, or -EINVAL for NULL or a ticket that is spent. */
LEAT_API int leat_batch_forget(leat_ticket *ticket);

/* ---- blocks ---- */

/* Puts an item and waits for its result, as leat_batch; then b->status is that. `ticket` and `result` stand in the
 * block's struct. The item is copied. (`ticket` is evaluated once more after the wait.) The rules of leat_go say
 * which blocks may, since a task of the batcher's scope may be started. */
#define LEAT_AWAIT_BATCH(b, ticket, batcher, item, result) \
    do { \
        LEAT_AWAIT_(b, leat_block_batch(b, batcher, item, result, ticket)); \
        leat_block_batch_end(b, ticket); \
    } while (0)

/* Not to be called but by LEAT_AWAIT_BATCH.
 * Returns LEAT_DONE_ or LEAT_PARKED_, as leat_block_send. */
LEAT_API int leat_block_batch(leat_block *b, leat_batcher *batcher, const void *item, void *result,
                              leat_ticket *ticket);
LEAT_API void leat_block_batch_end(leat_block *b, leat_ticket *ticket);

/* ---- callbacks ---- */

typedef struct leat_batch_op leat_batch_op;

/* What is called. `status` is what leat_batch would have returned. */
typedef void leat_batch_op_fn(leat_batch_op *op, int status);

/* Memory for an operation: leat's until its function is called; `op` is set by LEAT_BATCH_OP, and the rules of
 * leat/callback.h hold. leat_withdraw(&batch_op.op) takes it back: the caller leaves. */
struct leat_batch_op {
    leat_op op;
    leat_ticket leat_claim;
    void *leat_result;
    leat_batch_op_fn *leat_fn;
};

/* Initialises a leat_batch_op; the arguments are LEAT_OP's. */
/* clang-format off */
#define LEAT_BATCH_OP(in_scope, with_flags) { LEAT_OP(in_scope, with_flags), { { NULL } }, NULL, NULL }
/* clang-format on */

/* Puts an item, which is copied, and calls fn(op, status) when its result stands at `result`. Never waits. The rules
 * of leat_go say who may call.
 * Returns 0: fn has been or will be called, once; or an error as leat_batch_put, or -EINVAL for a NULL op or fn: it
 * will not. */
LEAT_API int leat_batch_then(leat_batch_op *op, leat_batcher *batcher, const void *item,
                             void *result, leat_batch_op_fn *fn);

/* ---- for people who look ---- */

/* How many sizes are counted. */
enum { LEAT_BATCH_SIZES = 66 };

/* What a batcher counts. */
typedef struct leat_batcher_counts {
    uint64_t batches, items; /* that were begun */
    uint64_t left;           /* items whose callers left before their batch began */
    int64_t waited;          /* nanoseconds from a batch's first item to its beginning, in all */
    int64_t ran;             /* nanoseconds in the function, in all */
    uint64_t sizes[LEAT_BATCH_SIZES]; /* batches of so many items; the last: of 65 and more */
} leat_batcher_counts;

/* Tells a batcher's counts so far; never waits.
 * Returns 0, or -EINVAL for NULL. */
LEAT_API int leat_batcher_count(leat_batcher *batcher, leat_batcher_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
