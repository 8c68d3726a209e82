/* leat/callback.h: callbacks: operations that call a function when they are done.
 *
 * core.async's take! and put!. The caller owns an operation struct, hands it in, and goes on; when the
 * item has been sent or received, the function is called, exactly once. Nothing is allocated, and any
 * number may wait on one channel. So an event loop, a signal-driven program or a library with callbacks of
 * its own takes part without a task or a thread.
 *
 *     static void got(leat_op *op, int status) { … }
 *     leat_op op = LEAT_OP(scope, 0);
 *     leat_recv_then(&op, ch, &item, got);
 *
 * Where it is called. If the operation can be done at once, the function is called by the caller, before
 * the call returns (so many deep: functions that start operations that are done at once are sent to a
 * worker from the sixteenth on), or, with LEAT_ON_WORKER, always by a worker. If it is done later, by the
 * worker that did it. On a worker the function must not wait: functions that wait return -EDEADLK there.
 *
 * Owning. The struct and the item stay where they are until the function is called, and may be gone or used
 * again from within it; or until leat_withdraw has returned 0.
 *
 * The runtime must be running. With a scope, who may start an operation is as for leat_go. */
#ifndef LEAT_CALLBACK_H
#define LEAT_CALLBACK_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>
#include <leat/select.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_op leat_op;

/* What is called. `status` is what leat_send, leat_recv or leat_select would have returned. */
typedef void leat_op_fn(leat_op *op, int status);

/* A flag of operations: the function is always called by a worker. */
enum { LEAT_ON_WORKER = 1 };

/* Memory for an operation. LEAT_OP fills it in. */
struct leat_op {
    void *leat_private[9];
    int leat_status;
    unsigned leat_more;
    leat_op_fn *leat_fn;
    /* Ends the operation with -ECANCELED when cancelled, and waits for it when closed. NULL: none; then
     * leat_stop is -EBUSY while the operation is under way. */
    leat_scope *scope;
    unsigned flags; /* LEAT_ON_WORKER */
    int leat_fd;
    int leat_result;
};

/* Initialises a leat_op that belongs to the scope, or with NULL to none; flags: LEAT_ON_WORKER or 0. */
/* clang-format off */
#define LEAT_OP(in_scope, with_flags) { { NULL }, 0, 0, NULL, (in_scope), (with_flags), -1, 0 }
/* clang-format on */

/* Sends or receives, and then calls fn(op, status). Never waits.
 * Returns 0: fn has been or will be called, once; or -EINVAL, for a NULL where leat_send or leat_recv would not have
 * it, a NULL op or fn, or when no runtime runs: it will not. */
LEAT_API int leat_send_then(leat_op *op, leat_chan *ch, const void *item, leat_op_fn *fn);
LEAT_API int leat_recv_then(leat_op *op, leat_chan *ch, void *item, leat_op_fn *fn);

/* The same for one of n cases, 1 to INT_MAX; status is its index. The cases stay where they are meanwhile.
 * Returns 0 or -EINVAL, as leat_recv_then. */
LEAT_API int leat_select_then(leat_op *op, leat_case *cases, size_t n, leat_op_fn *fn);

/* Takes an operation back; anybody may, and it never waits. The call that started it must have returned.
 * Returns 0 when that was in time: nothing was sent or received, and fn will not
 * be called. Else -EALREADY: it is done, and fn has been, is being or will be called. (So the struct must
 * be known to exist still: with an operation that may be done at any moment, from within its own scope or
 * under a lock that fn takes too.) -EINVAL for NULL. */
LEAT_API int leat_withdraw(leat_op *op);

/* Send or receive for an event loop of somebody else's: instead of a call, the number 1 is written to the eventfd
 * `fd`, which the loop watches. The fd is the caller's, and stays open until it has been signalled for each
 * operation, or the operations' scope is closed: the status is there before the signal. One eventfd may serve many
 * operations: leat_op_status tells which are done.
 * Returns 0: it has been or will be signalled, once; or -EINVAL, as leat_recv_then, and for a negative fd. */
LEAT_API int leat_send_signal(leat_op *op, leat_chan *ch, const void *item, int fd);
LEAT_API int leat_recv_signal(leat_op *op, leat_chan *ch, void *item, int fd);

/* Tells what came of an operation with a signal; never waits.
 * Returns what leat_send or leat_recv would have returned; -EAGAIN while it is under way; -EINVAL for NULL. */
LEAT_API int leat_op_status(const leat_op *op);

#ifdef __cplusplus
}
#endif

#endif
