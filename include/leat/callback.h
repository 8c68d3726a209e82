/* leat/callback.h: callbacks: operations that call a function when they are done.
 *
 * They are core.async's take! and put!. The caller starts an operation with a struct of its own,
 * and does not wait. When the operation is done, leat calls a function of the caller's, exactly
 * once. Nothing is allocated, and any number of operations may wait on one channel. So an event
 * loop or a library with callbacks of its own can use channels without a task or a thread.
 *
 *     static void got(leat_op *op, int status) { … }
 *     leat_op op = LEAT_OP(scope, 0);
 *     leat_recv_then(&op, ch, &item, got);
 *
 * Where the function runs. If the operation is done at once, the function runs in the caller,
 * before the call that starts the operation returns. (Such calls nest up to 16 deep; beyond that, a
 * worker calls the function.) If the operation is done later, a worker calls the function. With
 * LEAT_ON_WORKER a worker always calls it. On a worker the function must not wait: functions that
 * wait return -EDEADLK there.
 *
 * Owning. The struct and the item must stay where they are until the function is called, or until
 * leat_withdraw has returned 0. The function may free them or use them again.
 *
 * The runtime must be running. If an operation has a scope, only a party that may call leat_go for
 * that scope may start the operation. */
#ifndef LEAT_CALLBACK_H
#define LEAT_CALLBACK_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>
#include <leat/select.h>

typedef struct leat_op leat_op;

/* Called with the result of an operation: `status` is what leat_send, leat_recv or leat_select
 * would have returned. */
typedef void leat_op_fn(leat_op *op, int status);

/* A flag of operations: a worker always calls the function. */
enum { LEAT_ON_WORKER = 1 };

/* Memory for an operation, set by LEAT_OP. */
struct leat_op {
    void *leat_private[9];
    int leat_status;
    unsigned leat_more;
    leat_op_fn *leat_fn;
    /* Cancelling this scope ends the operation with -ECANCELED, and closing it waits for the
     * operation. NULL: no scope; then leat_stop returns -EBUSY until the operation is done. */
    leat_scope *scope;
    unsigned flags; /* 0 or LEAT_ON_WORKER */
    int leat_fd;
    int leat_result;
};

/* Initialises a leat_op. `in_scope` is its scope, or NULL for none; `with_flags` is 0 or
 * LEAT_ON_WORKER. */
/* clang-format off */
#define LEAT_OP(in_scope, with_flags) { { NULL }, 0, 0, NULL, (in_scope), (with_flags), -1, 0 }
/* clang-format on */

/* Starts sending or receiving one item; leat calls fn(op, status) when that is done. `item` is as
 * for leat_send and leat_recv. Never waits.
 * Returns 0 when fn has been or will be called, once. When it will not: -EBUSY while the operation
 * is under way already; -EINVAL for a NULL op or fn, for a NULL that leat_send or leat_recv would
 * refuse, or when no runtime runs. */
LEAT_API int leat_send_then(leat_op *op, leat_chan *ch, const void *item, leat_op_fn *fn);
LEAT_API int leat_recv_then(leat_op *op, leat_chan *ch, void *item, leat_op_fn *fn);

/* The same for a select over `n` cases, 1 to INT_MAX; the status is the index of the case that
 * happened, or an error. The cases must stay where they are until fn is called.
 * Returns 0, -EBUSY or -EINVAL, as leat_recv_then. */
LEAT_API int leat_select_then(leat_op *op, leat_case *cases, size_t n, leat_op_fn *fn);

/* Takes an operation back. Any party may call it, after the call that started the operation has
 * returned. Never waits.
 * Returns 0 when the call was in time: nothing was sent or received, and fn will not be called.
 * Returns -EALREADY when the operation is done: fn has been, is being or will be called. Returns
 * -EINVAL for NULL. The struct must exist during the call. If fn frees the struct, hold a lock that
 * fn takes, too; else keep the struct at least until the operation's scope is closed. */
LEAT_API int leat_withdraw(leat_op *op);

/* Start sending or receiving one item, for the event loop of another library. When that is done,
 * leat writes the number 1 to the eventfd `fd`, which the loop watches, and calls no function. The
 * fd is the caller's. It must stay open until it has been signalled for each of the operations, or
 * until their scope is closed. Several operations may share one eventfd: leat_op_status, which is
 * set before the signal, tells which are done.
 * Returns 0 when fd has been or will be signalled, once; or -EBUSY or -EINVAL, as leat_recv_then;
 * -EINVAL for a negative fd, too. */
LEAT_API int leat_send_signal(leat_op *op, leat_chan *ch, const void *item, int fd);
LEAT_API int leat_recv_signal(leat_op *op, leat_chan *ch, void *item, int fd);

/* Reads the result of an operation that signals an eventfd. Never waits.
 * Returns what leat_send or leat_recv would have returned; -EAGAIN while the operation is under
 * way; -EINVAL for NULL. */
LEAT_API int leat_op_status(const leat_op *op);

#endif
