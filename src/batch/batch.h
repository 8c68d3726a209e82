/* batch.h: batchers from the inside: batches form and run, and their holders leave them.
 *
 * A batch goes through these states in this order, and may skip some of them:
 *  - Forming: the batch is on its batcher's list, oldest first, and has at least one run of items
 *    whose holder has not left. Of the batches of one key, items join only the youngest.
 *  - Begun: the leader holds the execution lock and owns the batch's store; no other party looks
 *    into the store. The number of holders can only shrink. So a leader that is the only holder has
 *    no other party to wake at the end.
 *  - Done: the store does not change any more.
 *  - Dead: all holders left before the batch began. No party will lead it.
 *
 * The right to lead is in one place at a time: with a party, or as the only item in the channel
 * `turn`. A party that waits for the batch receives from `turn`: with an item, it becomes the
 * leader; -EPIPE means that the batch has run. Only a party that creates a batch in order to wait
 * for it has the right from the start. Until the batch has begun, its leader can give up: it puts
 * the right back. Blocks and callbacks cannot lead. They wait on the channel `done` instead, which
 * is only ever closed, and one task of the batcher's scope, their stand-in, waits on `turn` like
 * any other party. When a batch dies, `turn` is closed as well.
 *
 * Holders are the tickets that are not spent, and the stand-ins. The last holder frees the batch or
 * keeps it as a spare. The batch's channels and store exist until then.
 *
 * Locking. The batcher's lock guards everything except the stores of batches that have begun, and
 * the channels, which are set once and renewed while a batch has no holder. No user's function runs
 * and nothing is allocated under that lock. The execution lock comes before it. */
#pragma once

#include "base/list.h"
#include "base/lock.h"
#include "scope/owned.h"

#include <leat/batch.h>

struct lt_party;

/* Spare batches that a batcher keeps: one forms, one runs, and one or two have unread results. */
enum { LT_BATCH_SPARES = 4 };

struct lt_claim_check;

/* The items of one put. */
struct lt_run {
    size_t from, n;
    size_t bytes; /* their size by the spec's `bytes` */
    /* Valid while the batch forms. NULL: has left, and the items are not in the batch. */
    struct lt_claim_check *holder;
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
    int64_t first;   /* while it forms, when it was created; once it has begun, when it began */
    int64_t ran;     /* nanoseconds for which it ran, until they are added to the counts */
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

/* The contents of a ticket's private words. */
struct lt_claim_check {
    struct lt_batch *batch; /* NULL: spent */
    size_t run;             /* the index of its run in the store */
    void *result;           /* of a block: where the result goes */
};

static inline struct lt_claim_check *lt_ticket(leat_ticket *ticket)
{
    return (struct lt_claim_check *)(void *)ticket;
}

/* ---- life.c: the memory of batches ---- */

/* NULL: there is no memory, or the size overflows. */
struct lt_batch *lt_batch_make(leat_batcher *batcher);
struct lt_store *lt_store_make(const leat_batcher *batcher, size_t room);

void lt_batch_destroy(struct lt_batch *batch);

/* Takes one holder away. The batch may be gone afterwards. */
void lt_batch_drop(struct lt_batch *batch);

/* Frees all batches of a batcher that has no users any more. */
void lt_batch_destroy_all(leat_batcher *batcher);

/* ---- form.c: how batches form, and how their holders leave them ---- */

/* Puts items into a batch. 0, with a ticket; or -EPIPE, -ENOMEM, -EINVAL. Before the call *leads is
 * whether the caller wants to lead a batch that it creates; afterwards, whether the caller
 * leads. */
int lt_batch_join(leat_batcher *batcher, const void *items, size_t n, leat_ticket *ticket,
                  bool *leads);

/* Spends a ticket without reading the results. A caller that `leads` gives the right back. */
void lt_batch_leave(leat_ticket *ticket, bool leads);

/* With the lock held: takes the runs whose holders have left out of a forming batch's store. */
void lt_batch_close_gaps(struct lt_batch *batch);

/* Gives the right to lead to the next party that waits for it. */
void lt_batch_pass_on(struct lt_batch *batch);

/* With the lock held: whether the leader need not linger for the batch any longer. */
bool lt_batch_is_enough(const struct lt_batch *batch);

/* With the lock held: if the batch is enough, adds the lingering leader to the chain of the
 * woken. */
void lt_batch_wake(struct lt_batch *batch, struct lt_party **woken);

/* ---- lead.c: how a leader runs its batch ---- */

enum lt_leader {
    LT_BEGINNER, /* created the batch just now */
    LT_LEADER,   /* received the right to lead from `turn` */
    LT_STAND_IN  /* has no item in the batch: so the batch may die meanwhile */
};

/* Runs the batch, as its leader. 0: the batch has run, or is dead. -EAGAIN, -ETIMEDOUT or
 * -ECANCELED: the batch has not begun, and the caller still has the right to lead. */
int lt_batch_lead(struct lt_batch *batch, enum lt_leader leader, int64_t deadline);

/* The same with the execution lock held, without waiting. 0, -EAGAIN or -ECANCELED. */
int lt_batch_lead_now(struct lt_batch *batch);

/* ---- batcher.c: the steps of all kinds of parties before a put and after their wait ---- */

bool lt_batch_is_done(struct lt_batch *batch);

/* When the batch is done: spends the ticket for its results, by the rules of leat_batch_get. */
int lt_batch_collect(leat_ticket *ticket, void *results, int *status);
