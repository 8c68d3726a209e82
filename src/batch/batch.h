/* batch.h: batchers from the inside: batches that form, run, and are left by their holders.
 *
 * A batch is forming, begun, done or dead, in this order, leaving out what does not happen to it:
 *  - Forming: it is on its batcher's list, oldest first, and has at least one run of items whose holder has not
 *    left. Of a key, only the youngest is joined.
 *  - Begun: its leader, who holds the execution lock, owns its store, and nobody else looks into it. Holders
 *    can only become fewer: a leader that is the only one knows that nobody is to be told.
 *  - Done: the store does not change any more.
 *  - Dead: all have left before it began. Nobody will lead it.
 *
 * The right to lead is one thing, and in one place: with a party, or as the only item in the channel `turn`. So
 * who waits receives from it: an item makes it the leader, -EPIPE tells that the batch has run. Only who begins
 * a batch in order to wait for it has the right from the start. A leader that gives up, which it can until
 * the batch has begun, puts it back. Blocks and callbacks, who cannot lead, wait for the channel `done`
 * instead, which is only ever closed; for them all, a task of the batcher's scope, their stand-in, waits in
 * `turn`, as everybody else. When a batch dies, `turn` is closed as well.
 *
 * Holders are the tickets that are not spent, and those tasks. The last frees the batch, or keeps it as a spare:
 * until then its channels and its store stay.
 *
 * Locking. The batcher's lock guards everything but the stores of batches that have begun, and the channels,
 * which are set once and renewed where a batch has no holder. No user's function runs and nothing is allocated
 * under it. The execution lock comes before it. */
#ifndef LT_BATCH_BATCH_H
#define LT_BATCH_BATCH_H

#include "base/list.h"
#include "base/lock.h"
#include "scope/scope.h"

#include <leat/batch.h>

/* Spare batches that a batcher keeps: one forms, one runs, and of one or two the results are being got. */
enum { LT_BATCH_SPARES = 4 };

/* Items that were put together. */
struct lt_run {
    size_t from, n;
    size_t bytes; /* that they stand for */
    bool left;    /* before the batch began: they are not in it */
};

/* One piece of memory for `room` items and all that goes with them. The runs are `used` at the most, too. */
struct lt_store {
    size_t room;
    size_t used, runs_used;
    unsigned char *items, *results;
    int *status;
    struct lt_run *runs;
};

enum lt_batch_state { LT_FORMING, LT_BEGUN, LT_BATCH_DONE, LT_DEAD };

struct lt_batch {
    struct lt_node node; /* in the batcher's list `forming`, `held` or `spares` */
    leat_batcher *batcher;
    struct lt_store *store;
    leat_chan *turn, *done; /* `done`: NULL before somebody first wanted one */
    uint64_t key;
    size_t n, bytes; /* of the runs that have not left */
    int64_t first;   /* when it was begun; once it has begun, when that was */
    int64_t ran;     /* nanoseconds that are not in the counts yet */
    unsigned holders;
    enum lt_batch_state state;
    bool passed;             /* forming: its key has a younger one, so it will not grow */
    bool has_stand_in;       /* for those who cannot lead */
    int error;               /* done: what the function returned */
    struct lt_node lingerer; /* a list with the leader, while it lingers */
};

struct leat_batcher {
    struct lt_owned owned;
    leat_scope *scope;
    leat_batcher_spec spec; /* its lock is never NULL */
    struct lt_lock lock;
    bool closed;
    unsigned spares_kept;
    struct lt_node forming, held, spares;
    leat_batcher_counts counts;
};

/* What a ticket's private words hold. */
struct lt_claim_check {
    struct lt_batch *batch; /* NULL: spent */
    size_t run;             /* its number in the store */
    void *result;           /* a block's: where it goes */
};

static inline struct lt_claim_check *lt_ticket(leat_ticket *ticket)
{
    return (struct lt_claim_check *)(void *)ticket;
}

/* ---- life.c ---- */

/* NULL: there is no memory, or it would be too much. */
struct lt_batch *lt_batch_make(leat_batcher *batcher);
struct lt_store *lt_store_make(const leat_batcher *batcher, size_t room);

void lt_batch_destroy(struct lt_batch *batch);

/* One holder fewer; the batch may be gone then. */
void lt_batch_drop(struct lt_batch *batch);

/* All that a batcher has; nobody is in it any more. */
void lt_batch_destroy_all(leat_batcher *batcher);

/* ---- form.c ---- */

/* Puts items into a batch. 0, with a ticket, or -EPIPE, -ENOMEM, -EINVAL. *leads: whether the caller wants to
 * lead a batch that it begins; then, whether it does. If it is `locked`, 0 means that the execution lock is
 * held as well, since before the items were put; or it is also -EAGAIN or -ECANCELED. */
int lt_batch_join(leat_batcher *batcher, const void *items, size_t n, leat_ticket *ticket,
                  bool *leads, bool locked);

/* Spends a ticket without a look at the results. Who has the right to lead gives it back. */
void lt_batch_leave(leat_ticket *ticket, bool leads);

/* Gives the right to lead to whoever waits next. */
void lt_batch_pass_on(struct lt_batch *batch);

/* With the lock held: whether nobody lingers for it, or not any longer. */
bool lt_batch_is_enough(const struct lt_batch *batch);
/* With the lock held: if so, adds who lingers to the chain of the woken. */
void lt_batch_wake(struct lt_batch *batch, struct lt_party **woken);

/* ---- lead.c ---- */

enum lt_leader {
    LT_BEGINNER, /* has begun the batch, just now */
    LT_LEADER,   /* has waited, or come, for it */
    LT_STAND_IN  /* has no item in it, so it may die meanwhile */
};

/* Runs the batch, as its leader. 0: it has run, or is dead. -EAGAIN, -ETIMEDOUT or -ECANCELED: it has not
 * begun, and the caller still has the right to lead. */
int lt_batch_lead(struct lt_batch *batch, enum lt_leader leader, int64_t deadline);

/* The same with the execution lock held, without waiting: 0, and it is given back; or -EAGAIN or -ECANCELED. */
int lt_batch_lead_now(struct lt_batch *batch);

/* ---- batcher.c ---- */

/* Before a put: 0, or what is wrong with it. */
int lt_batch_check(const leat_batcher *batcher, const void *items, size_t n);

bool lt_batch_is_done(struct lt_batch *batch);

/* Of a batch that is done: spends the ticket for its results. The rules of leat_batch_get. */
int lt_batch_collect(leat_ticket *ticket, void *results, int *status);

#endif
