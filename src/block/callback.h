/* callback.h: callbacks, for the rooms above. */
#pragma once

#include "base/lock.h"
#include "block/machine.h"
#include "chan/chan.h"

#include <leat/callback.h>

/* The mode of an operation (struct lt_waiter). */
enum {
    LT_PLAIN,
    LT_TOLD, /* its function is called with LT_WITHDRAWN, too */
    LT_TRIES /* a struct lt_trial's mode, until it is over */
};

/* Whether the operation is under way: it has a function to call. */
static inline bool lt_callback_is_busy(const leat_op *op)
{
    return op->leat_fn;
}

/* Calls the function of a ready operation. */
void lt_callback_run(struct lt_party *party);

/* A status with which no leat_recv_then ends. */
enum { LT_WITHDRAWN = LT_UNDECIDED };

/* As leat_recv_then without an item. If leat_withdraw takes the operation back, it calls fn with
 * LT_WITHDRAWN before it returns. */
int lt_callback_await(leat_op *op, leat_chan *ch, leat_op_fn *fn);

/* An operation that is tried, waits for a channel, and is tried again, until it is over.
 *
 * Between the end of a wait and the next wait no party can claim the operation. There leat_withdraw
 * leaves a mark, which the operation finds before it waits again. The lock is held while the
 * operation begins to wait. Every party that ends a wait takes it before it touches the operation,
 * which may be gone then. */
struct lt_trial {
    leat_op op;
    const struct lt_trial_kind *kind;
    struct lt_lock lock;
    bool withdrawn; /* under the lock */
};

struct lt_trial_kind {
    /* Tries, as the operation itself. Returns the status for the user's function; -EAGAIN: not now;
     * or -EDEADLK: only a call can do it. */
    int (*attempt)(struct lt_trial *trial);
    /* Creates the call that tries (lt_machine_call). NULL when memory has run out. */
    struct lt_call *(*call)(struct lt_trial *trial);
    /* After -EAGAIN: a channel from which a receive succeeds when another try may succeed. */
    leat_chan *(*channel)(struct lt_trial *trial);
};

/* As leat_recv_then. The caller has set `kind` and the fields that `attempt` needs; `op` is the
 * user's. */
int lt_trial_begin(struct lt_trial *trial, leat_op_fn *fn);
