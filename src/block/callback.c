/* callback.c: operations that call a function when they are done. */
#include "block/callback.h"

#include "block/machine.h"
#include "sched/current.h"
#include "sched/runtime.h"

#include <leat/callback.h>

#include <unistd.h>

/* How deep the functions of operations that complete at once may nest. */
enum { DEEPEST = 16 };

_Static_assert(offsetof(leat_op, leat_status) == offsetof(leat_block, status),
               "the public struct begins with a machine");

static struct lt_machine *machine_of(leat_op *op)
{
    return (struct lt_machine *)(void *)op;
}

/* ---- completing ---- */

/* A scope waits for its operations. An operation without a scope holds the runtime. */
static bool enter(leat_scope *scope)
{
    if (!scope)
        return lt_runtime_hold();
    lt_scope_enter(scope);
    return true;
}

static void leave(leat_scope *scope)
{
    if (scope)
        lt_scope_leave(scope, 0);
    else
        lt_runtime_release();
}

/* Calls the function, after which the operation may be gone. The scope waits for this. */
static void call(leat_op *op)
{
    struct lt_machine *machine = machine_of(op);
    leat_scope *scope = machine->stackless.party.scope;
    if (scope)
        lt_scope_delist_stackless(&machine->stackless);
    op->leat_fn(op, op->leat_status);
    leave(scope);
}

void lt_callback_run(struct lt_party *party)
{
    leat_op *op = (leat_op *)(void *)party;
    lt_machine_settle(machine_of(op));
    call(op);
}

static int complete(leat_op *op, enum lt_attempt attempt)
{
    if (attempt == LT_WAITING)
        return 0;
    struct lt_party *self = lt_current_party();
    if (op->flags & LEAT_ON_WORKER || self->operation >= DEEPEST) {
        lt_ready(&machine_of(op)->stackless.party);
        return 0;
    }
    /* Of the party, not the thread: a task may wait in the function. (A block may not, so its
     * `operation` is free.) */
    self->operation++;
    call(op);
    self->operation--;
    return 0;
}

/* ---- starting ---- */

static int begin(leat_op *op, leat_op_fn *fn)
{
    if (!op || !fn || !lt_running() || !enter(op->scope))
        return -EINVAL;
    lt_machine_init(machine_of(op), LT_CALLBACK, op->scope);
    op->leat_fn = fn;
    return 0;
}

static int operate(leat_op *op, leat_chan *ch, enum lt_side side, void *item, leat_op_fn *fn,
                   bool told)
{
    lt_current_party();
    int error = lt_chan_check(ch, side, item);
    if (!error)
        error = begin(op, fn);
    if (error)
        return error;
    machine_of(op)->waiter.told = told;
    return complete(op, lt_machine_operate(machine_of(op), ch, side, item, LEAT_NEVER, NULL));
}

int leat_send_then(leat_op *op, leat_chan *ch, const void *item, leat_op_fn *fn)
{
    return operate(op, ch, LT_SEND, (void *)(uintptr_t)item, fn, false);
}

int leat_recv_then(leat_op *op, leat_chan *ch, void *item, leat_op_fn *fn)
{
    return operate(op, ch, LT_RECEIVE, item, fn, false);
}

int lt_callback_await(leat_op *op, leat_chan *ch, leat_op_fn *fn)
{
    return operate(op, ch, LT_RECEIVE, NULL, fn, true);
}

int leat_select_then(leat_op *op, leat_case *cases, size_t n, leat_op_fn *fn)
{
    lt_current_party();
    struct lt_selection s;
    lt_select_begin(&s, cases, false);
    int error = n ? lt_select_check(&s, n, LEAT_NEVER) : -EINVAL;
    if (!error)
        error = begin(op, fn);
    if (error)
        return error;
    return complete(op, lt_machine_select(machine_of(op), &s, n, LEAT_NEVER, NULL));
}

int leat_withdraw(leat_op *op)
{
    if (!op)
        return -EINVAL;
    struct lt_machine *machine = machine_of(op);
    leat_scope *scope = machine->stackless.party.scope;
    if (!lt_machine_end(&machine->stackless.party, -ECANCELED))
        return -EALREADY;
    lt_machine_settle(machine);
    if (scope)
        lt_scope_delist_stackless(&machine->stackless);
    if (machine->waiter.told)
        op->leat_fn(op, LT_WITHDRAWN);
    leave(scope);
    return 0;
}

/* ---- signals ---- */

static void write_signal(leat_op *op, int status)
{
    int fd = op->leat_fd;
    /* Release: a reader of the status sees the item. After this the operation may be reused. */
    __atomic_store_n(&op->leat_result, status, __ATOMIC_RELEASE);
    uint64_t one = 1;
    ssize_t ignored = write(fd, &one, sizeof one); /* if the counter is full, fd is readable */
    (void)ignored;
}

static int operate_signal(leat_op *op, leat_chan *ch, enum lt_side side, void *item, int fd)
{
    if (!op || fd < 0)
        return -EINVAL;
    op->leat_fd = fd;
    op->leat_result = -EAGAIN;
    return operate(op, ch, side, item, write_signal, false);
}

int leat_send_signal(leat_op *op, leat_chan *ch, const void *item, int fd)
{
    return operate_signal(op, ch, LT_SEND, (void *)(uintptr_t)item, fd);
}

int leat_recv_signal(leat_op *op, leat_chan *ch, void *item, int fd)
{
    return operate_signal(op, ch, LT_RECEIVE, item, fd);
}

int leat_op_status(const leat_op *op)
{
    return op ? __atomic_load_n(&op->leat_result, __ATOMIC_ACQUIRE) : -EINVAL;
}
