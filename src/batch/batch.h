/* batch.h: batchers from the inside: batches form, run, and are left by their holders.
 *
 * A batch goes through these states in this order, and may skip some of them:
 *  - Forming: the batch is on its batcher's list, oldest first, and has at least one run of items
 *    whose holder has not left. Of the batches of one key, items join only the youngest.
 *  - Begun: the leader holds the execution lock and owns the batch's store; no other party looks
 *    into the store. The number of holders can only shrink. So a leader that is the only holder has
 *    nobody to tell of the end.
 *  - Done: the store does not change any more.
 *  - Dead: all holders left before the batch began. No party will lead it.
 *
 * The right to lead is in one place at a time: with a party, or as the only item in the channel
 * `turn`. A party that waits for the batch receives from `turn`: with an item, it becomes the
 * leader; -EPIPE tells it that the batch has run. Only a party that creates a batch in order to
 * wait for it has the right from the start. Until the batch has begun, its leader can give up: it
 * puts the right back. Blocks and callbacks cannot lead. They wait on the channel `done` instead,
 * which is only ever closed, and one task of the batcher's scope, their stand-in, waits on `turn`
 * like any other party. When a batch dies, `turn` is closed as well.
 *
 * Holders are the tickets that are not spent, and the stand-ins. The last holder frees the batch or
 * keeps it as a spare. Until then the batch's channels and store stay.
 *
 * Locking. The batcher's lock guards everything except the stores of batches that have begun, and
 * the channels, which are set once and renewed while a batch has no holder. No user's function runs
 * and nothing is allocated under that lock. The execution lock comes before it. */
#ifndef LT_BATCH_BATCH_H
#define LT_BATCH_BATCH_H

#include "base/list.h"
#include "base/lock.h"
#include "scope/owned.h"

#include <leat/batch.h>

/* Spare batches that a batcher keeps: one forms, one runs, and one or two have unread results. */
enum { LT_BATCH_SPARES = 4 };

/* The items of one put. */
struct lt_run {
    size_t from, n;
    size_t bytes; /* what they count for, by the spec's `bytes` */
    bool left;    /* the holder left before the batch began: the items are not in it */
};

/* One piece of memory for `room` items, with as many results, statuses and runs. */
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
    leat_chan *turn, *done; /* `done`: NULL until a block or a callback first waits */
    uint64_t key;
    size_t n, bytes; /* of the runs that have not left */
    int64_t first;   /* when it was created; from its beginning on, when it began */
    int64_t ran;     /* nanoseconds for which it ran, if they are not in the counts yet */
    unsigned holders;
    enum lt_batch_state state;
    bool passed;             /* forming: its key has a younger batch, so it will not grow */
    bool has_stand_in;       /* a task leads for blocks and callbacks */
    int error;               /* done: what the function returned */
    struct lt_node lingerer; /* the list on which the leader lingers */
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
    size_t run;             /* the index of its run in the store */
    void *result;           /* of a block: where the result goes */
};

static inline struct lt_claim_check *lt_ticket(leat_ticket *ticket)
{
    return (struct lt_claim_check *)(void *)ticket;
}

#endif
