/* leat/batch.h: cooperative batching: many callers share one call.
 *
 * Some work costs little more for a hundred items than for one: an fsync, a query, a matrix
 * product. A batcher collects the items of all callers that come at about the same time. One of
 * these callers, the leader, runs a function for the whole batch; meanwhile the next batch forms. A
 * batcher keeps no idle thread or task, never polls, and makes no caller wait for others unless
 * `linger` says so:
 *
 *     static int add_one(void *arg, leat_batch_view *batch) { … }
 *
 *     leat_batcher *b = leat_batcher_open(scope, &(leat_batcher_spec){
 *         .item_size = sizeof(int), .result_size = sizeof(int), .run = add_one });
 *     int y, error = leat_batch(b, &x, &y);
 *
 * Who leads. A caller puts its items into a batch and then waits. The first caller that waits
 * leads: it waits for its turn at the execution lock, takes the whole batch as it is by then, and
 * runs the function. If a leader is cancelled, or its deadline passes, before it has begun, then
 * only the leader leaves, and the next caller that waits leads. Blocks and callbacks cannot lead:
 * when the first block or callback joins a batch, the batcher starts a task in its own scope that
 * leads for them.
 *
 * Whose memory. Items are copied when they are put, and results when a caller gets them. The
 * function works on arrays of the batcher and never on the memory of a caller. If a caller leaves
 * before its batch has begun, its items are taken out of the batch. If it leaves later, its items
 * are served all the same.
 *
 * Status. Each item has a status: LEAT_NOT_DONE until the function sets it, so a caller sees
 * success only if the function has reported success. If the function returns an error, each item of
 * that batch has this error as its status. Other batches are not affected.
 *
 * Fairness. Batches run in the order in which their leaders ask for the execution lock. Items
 * that are put while the function runs go into the next batch of their key. So a caller waits for
 * at most two executions of its own key, the one that runs and its own, and for one of each other
 * key. `most`, `most_bytes` and a leader that lingers can add to that.
 *
 * Deadlock. Putting or getting within the function, or while the caller holds the execution lock,
 * could never end and returns -EDEADLK. */
#ifndef LEAT_BATCH_H
#define LEAT_BATCH_H

#include <leat/base.h>
#include <leat/block.h>
#include <leat/callback.h>
#include <leat/scope.h>
#include <leat/sync.h>

#include <errno.h>

typedef struct leat_batcher leat_batcher;

/* The status of an item that the function has not set. */
#define LEAT_NOT_DONE (-ENODATA)

/* The batch as the function sees it. The arrays are aligned as by malloc, and valid until the
 * function returns. */
typedef struct leat_batch_view {
    size_t n;          /* items in the batch, 1 or more */
    const void *items; /* n items without gaps, in the order in which they were put */
    void *results;     /* room for n results without gaps; all bytes are 0 */
    int *status;       /* n statuses, each LEAT_NOT_DONE; set them to 0 or a negative errno value */
    uint64_t key;      /* the key of all items; 0 without a key function */
} leat_batch_view;

/* Serves a batch. The leader calls it, or, with `blocking`, a thread for blocking calls. It may
 * wait. The call is shielded (leat/scope.h): it works for all callers, so cancelling the leader
 * ends none of its waits. Batchers that share an execution lock run one such call at a time.
 * Returns 0, and then each item's status counts; or a negative errno value, which every item of
 * the batch gets instead. */
typedef int leat_batch_fn(void *arg, leat_batch_view *batch);

/* Sets every status to 0: for the end of a leat_batch_fn.
 * Returns 0. */
static inline int leat_batch_all_done(leat_batch_view *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        batch->status[i] = 0;
    return 0;
}

/* Describes a batcher. A field that is 0 has its default. */
typedef struct leat_batcher_spec {
    size_t item_size, result_size; /* bytes, 0 to 1 MiB each */
    leat_batch_fn *run;
    void *arg;        /* given to `run`, `key` and `bytes` */
    const char *name; /* for dumps; not copied; NULL is allowed */
    /* Returns an item's key: items with different keys never share a batch. NULL: all may. It is
     * called by the party that puts the item, with no lock held. */
    uint64_t (*key)(void *arg, const void *item);
    /* Returns how many bytes an item counts for. NULL: item_size. Called like `key`. */
    size_t (*bytes)(void *arg, const void *item);
    /* How long a leader waits for more items, in nanoseconds from its batch's first item on: until
     * there are `least` items or `least_bytes` bytes, or for the whole time if both are 0. The
     * leader of a full batch does not wait. Not negative; 0: no wait. */
    int64_t linger;
    size_t least, least_bytes;
    /* The most items and bytes in a batch; 0: no limit. Items that do not fit go into the next
     * batch. A run that alone counts for more than `most_bytes` has a batch to itself. */
    size_t most, most_bytes;
    /* The execution lock: batchers and other code that use the same resource share one. It must
     * live as long as the batcher. NULL: the batcher has its own lock. */
    leat_mutex *lock;
    int blocking; /* not 0: `run` blocks in the system, and is called by leat_blocking */
} leat_batcher_spec;

/* Makes a batcher that belongs to `scope`. `spec` is copied. The batcher is freed when the scope
 * has closed: by then no party outside of the scope may still wait in it.
 * Returns NULL when memory has run out, or an argument is wrong. */
LEAT_API leat_batcher *leat_batcher_open(leat_scope *scope, const leat_batcher_spec *spec);

/* Closes a batcher: from now on a put returns -EPIPE, and leaders no longer linger. Items that were
 * put before are served as usual. Never waits.
 * Returns 0, also when it was closed before; -EINVAL for NULL. */
LEAT_API int leat_batcher_close(leat_batcher *batcher);

/* ---- tasks and threads ---- */

/* Puts an item and waits for its result. `item` has item_size bytes (NULL is allowed if that is
 * 0). `result` has room for result_size bytes, and is written only if the status is 0; NULL: the
 * result is not wanted. leat_batch_until gives up when the deadline passes, unless the caller leads
 * a batch that has begun. For tasks and threads.
 * Returns the item's status; -EPIPE when the batcher is closed; -ECANCELED; -ETIMEDOUT; -EAGAIN
 * with LEAT_NOW when it would have to wait; -EDEADLK within the function, with the execution lock
 * held, or where the caller cannot wait; -ENOMEM; -EINVAL for a NULL batcher, for a NULL item of
 * some bytes, or for a negative deadline. After -ECANCELED or -ETIMEDOUT, the item may be served
 * all the same if its batch had begun. After any other error of the call itself, the item is in no
 * batch. */
LEAT_API int leat_batch(leat_batcher *batcher, const void *item, void *result);
LEAT_API int leat_batch_until(leat_batcher *batcher, const void *item, void *result,
                              int64_t deadline);

/* The same for a run of n items, which stay together and in order in one batch. `items` and
 * `results` are arrays without gaps. `status` has room for n statuses, one for each item; NULL:
 * not wanted. A result counts only if its item's status is 0. All items of a run must have the
 * same key, and n must not exceed `most`: else -EINVAL. With n = 0 nothing is put and nothing
 * waits: it returns 0 even when the batcher is closed, but -ECANCELED in a cancelled scope.
 * Returns 0 when all statuses are 0; else the first status that is not 0; or an error of
 * leat_batch, and then neither array is written. */
LEAT_API int leat_batch_many(leat_batcher *batcher, const void *items, size_t n, void *results,
                             int *status, int64_t deadline);

/* ---- put now, get later ---- */

/* The right to the results of a run of items. The memory is the caller's. After leat_batch_put has
 * returned 0, the memory must not be moved or changed until the ticket is spent. */
typedef struct leat_ticket {
    void *leat_private[4];
} leat_ticket;

/* Puts a run of n items, 1 or more, and never waits, so any party may call it. The run waits in
 * its batch until a party waits for that batch, in leat_batch_get for example. Makes `ticket`.
 * Returns 0; -EPIPE when the batcher is closed; -ECANCELED; -EDEADLK within the function, or with
 * the execution lock held; -ENOMEM; -EINVAL as leat_batch_many, for n = 0 and for a NULL ticket.
 * After an error there is no ticket. */
LEAT_API int leat_batch_put(leat_batcher *batcher, const void *items, size_t n,
                            leat_ticket *ticket);

/* Waits until a run has been served, and takes its results as leat_batch_many does. The caller may
 * lead. A block or callback, which cannot wait, gets the results if the batch has run already,
 * also in a cancelled scope. Spends the ticket, unless it returns -EAGAIN, -EDEADLK or -EINVAL.
 * Returns 0 when all statuses are 0, else the first status that is not 0; -ECANCELED and -ETIMEDOUT
 * as leat_batch; -EAGAIN with LEAT_NOW when it would have to wait; -EDEADLK as leat_batch; -EINVAL
 * for NULL, a ticket that is spent, or a negative deadline. */
LEAT_API int leat_batch_get(leat_ticket *ticket, void *results, int *status, int64_t deadline);

/* Gives up a run without waiting, and spends its ticket.
 * Returns 0; -EINVAL for NULL or a ticket that is spent. */
LEAT_API int leat_batch_forget(leat_ticket *ticket);

/* ---- blocks ---- */

/* Puts an item, which is copied, and waits for its result. Then b->status is what leat_batch would
 * have returned. `ticket` (a leat_ticket *) and `result` point into the block's struct. `ticket`
 * is evaluated once more after the wait. Only a block that may call leat_go for the batcher's scope
 * may use this, because a task may be started there. */
#define LEAT_AWAIT_BATCH(b, ticket, batcher, item, result) \
    do { \
        LEAT_AWAIT_(b, leat_block_batch(b, batcher, item, result, ticket)); \
        leat_block_batch_end(b, ticket); \
    } while (0)

/* For LEAT_AWAIT_BATCH only.
 * Returns LEAT_DONE_ or LEAT_PARKED_, as leat_block_send. */
LEAT_API int leat_block_batch(leat_block *b, leat_batcher *batcher, const void *item, void *result,
                              leat_ticket *ticket);
LEAT_API void leat_block_batch_end(leat_block *b, leat_ticket *ticket);

/* ---- callbacks ---- */

typedef struct leat_batch_op leat_batch_op;

/* Called with the operation's result: `status` is what leat_batch would have returned. */
typedef void leat_batch_op_fn(leat_batch_op *op, int status);

/* Memory for an operation, set by LEAT_BATCH_OP. It is leat's until its function is called; the
 * rules of leat/callback.h hold. leat_withdraw(&batch_op.op) takes the operation back: the caller
 * leaves the batch. */
struct leat_batch_op {
    leat_op op;
    leat_ticket leat_claim;
    void *leat_result;
    leat_batch_op_fn *leat_fn;
};

/* Initialises a leat_batch_op. The arguments are those of LEAT_OP. */
/* clang-format off */
#define LEAT_BATCH_OP(in_scope, with_flags) \
    { LEAT_OP(in_scope, with_flags), { { NULL } }, NULL, NULL }
/* clang-format on */

/* Puts an item, which is copied, and calls fn(op, status) when its result is at `result`. Never
 * waits. Only a party that may call leat_go for the batcher's scope may call this.
 * Returns 0 when fn has been or will be called, once. When it will not: -EBUSY while the operation
 * is under way already; -EINVAL for a NULL op or fn; or an error of leat_batch_put. */
LEAT_API int leat_batch_then(leat_batch_op *op, leat_batcher *batcher, const void *item,
                             void *result, leat_batch_op_fn *fn);

/* ---- counts ---- */

/* The number of counters in `sizes`. */
enum { LEAT_BATCH_SIZES = 66 };

/* What a batcher has counted since it was made. */
typedef struct leat_batcher_counts {
    uint64_t batches, items; /* that have begun */
    uint64_t left;           /* items of callers that left before their batch began */
    int64_t waited; /* nanoseconds between a batch's first item and its beginning, in all */
    int64_t ran;    /* nanoseconds in the function, in all */
    uint64_t sizes[LEAT_BATCH_SIZES]; /* [n]: batches of n items; the last: of 65 and more */
} leat_batcher_counts;

/* Copies a batcher's counts to `counts`. Never waits.
 * Returns 0; -EINVAL for NULL. */
LEAT_API int leat_batcher_count(leat_batcher *batcher, leat_batcher_counts *counts);

#endif
