/* callback.c: operations that call a function when they are done. */
#include "block/callback.h"

#include "base/bell.h"
#include "sched/current.h"
#include "sched/runtime.h"

#include <leat/callback.h>

#include <string.h>

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

/* Calls the function. Afterwards the operation may be gone. The scope waits for this. */
static void call(leat_op *op)
{
    struct lt_machine *machine = machine_of(op);
    leat_scope *scope = machine->stackless.party.scope;
    leat_op_fn *fn = op->leat_fn;
    lt_scope_delist_stackless(&machine->stackless);
    op->leat_fn = NULL;
    fn(op, op->leat_status);
    leave(scope);
}

static uint8_t mode_of(const leat_op *op)
{
    const struct lt_machine *machine = (const struct lt_machine *)(const void *)op;
    /* Relaxed: leat_withdraw may read it while the operation ends. */
    return __atomic_load_n(&machine->waiter.mode, __ATOMIC_RELAXED);
}

static void set_mode(leat_op *op, uint8_t mode)
{
    __atomic_store_n(&machine_of(op)->waiter.mode, mode, __ATOMIC_RELAXED);
}

static bool resume(struct lt_trial *trial);

void lt_callback_run(struct lt_party *party)
{
    leat_op *op = (leat_op *)(void *)party;
    if (mode_of(op) != LT_TRIES)
        lt_machine_settle(machine_of(op));
    else if (!resume((struct lt_trial *)op))
        return;
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
    /* Counted in the party, not the thread: a task may wait in the function. (A block may not, so
     * its `operation` is free.) */
    self->operation++;
    call(op);
    self->operation--;
    return 0;
}

/* ---- starting ---- */

static int begin(leat_op *op, leat_op_fn *fn, uint8_t mode)
{
    if (!op || !fn || !lt_running())
        return -EINVAL;
    if (lt_callback_is_busy(op))
        return -EBUSY;
    if (!enter(op->scope))
        return -EINVAL;
    lt_current_party(); /* a thread's first call sets its lt_chance, which a select needs */
    lt_machine_init(machine_of(op), LT_CALLBACK, op->scope);
    set_mode(op, mode);
    op->leat_fn = fn;
    return 0;
}

static int operate(leat_op *op, leat_chan *ch, enum lt_side side, void *item, leat_op_fn *fn,
                   uint8_t mode)
{
    int error = lt_chan_check(ch, side, item);
    if (!error)
        error = begin(op, fn, mode);
    if (error)
        return error;
    return complete(op, lt_machine_operate(machine_of(op), ch, side, item, LEAT_NEVER, NULL));
}

int leat_send_then(leat_op *op, leat_chan *ch, const void *item, leat_op_fn *fn)
{
    return operate(op, ch, LT_SEND, (void *)(uintptr_t)item, fn, LT_PLAIN);
}

int leat_recv_then(leat_op *op, leat_chan *ch, void *item, leat_op_fn *fn)
{
    return operate(op, ch, LT_RECEIVE, item, fn, LT_PLAIN);
}

int lt_callback_await(leat_op *op, leat_chan *ch, leat_op_fn *fn)
{
    return operate(op, ch, LT_RECEIVE, NULL, fn, LT_TOLD);
}

int leat_select_then(leat_op *op, leat_case *cases, size_t n, leat_op_fn *fn)
{
    struct lt_selection s;
    lt_select_begin(&s, cases, false);
    int error = n ? lt_select_check(&s, n, LEAT_NEVER) : -EINVAL;
    if (!error)
        error = begin(op, fn, LT_PLAIN);
    if (error)
        return error;
    return complete(op, lt_machine_select(machine_of(op), &s, n, LEAT_NEVER, NULL));
}

/* ---- operations that are tried ---- */

/* The operation is over: its function may be called. */
static bool over(struct lt_trial *trial, int status)
{
    trial->op.leat_status = status;
    set_mode(&trial->op, LT_PLAIN);
    return true;
}

/* Tries as the operation itself, so that its own scope counts, and no call waits. */
static int attempt(struct lt_trial *trial)
{
    struct lt_party *before = lt_current_party();
    lt_set_current_party(&machine_of(&trial->op)->stackless.party);
    int status = trial->kind->attempt(trial);
    lt_set_current_party(before);
    return status;
}

/* LT_DONE: leat_status is 0 if another try may succeed. After LT_WAITING the operation may be
 * gone. */
static enum lt_attempt wait_for_channel(struct lt_trial *trial)
{
    enum lt_attempt attempt = LT_DONE;
    lt_lock(&trial->lock);
    if (trial->withdrawn)
        trial->op.leat_status = -ECANCELED;
    else
        attempt = lt_machine_operate(machine_of(&trial->op), trial->kind->channel(trial),
                                     LT_RECEIVE, NULL, LEAT_NEVER, NULL);
    lt_unlock(&trial->lock);
    return attempt;
}

/* As wait_for_channel, but the status is the result. */
static enum lt_attempt wait_for_call(struct lt_trial *trial)
{
    struct lt_call *call = trial->kind->call(trial);
    if (call)
        return lt_machine_call(machine_of(&trial->op), call);
    trial->op.leat_status = -ENOMEM;
    return LT_DONE;
}

/* `status` is a result, -EAGAIN or -EDEADLK. True: the operation is over. False: it waits, and may
 * be gone. */
static bool go_on(struct lt_trial *trial, int status)
{
    for (;;) {
        if (status == -EDEADLK) {
            if (wait_for_call(trial) == LT_WAITING)
                return false;
            status = trial->op.leat_status;
        }
        if (status != -EAGAIN)
            return over(trial, status);
        if (wait_for_channel(trial) == LT_WAITING)
            return false;
        status = trial->op.leat_status;
        /* -EPIPE: the channel that it waits for was closed. The next try returns the error for
         * that. */
        if (status && status != -EPIPE)
            return over(trial, status);
        status = attempt(trial);
    }
}

/* After a wait. Returns as go_on does. */
static bool resume(struct lt_trial *trial)
{
    struct lt_machine *machine = machine_of(&trial->op);
    /* The party that began the wait has let go of it. */
    lt_lock(&trial->lock);
    lt_unlock(&trial->lock);
    bool called = machine->stackless.party.operation == LT_OP_CALL;
    lt_machine_settle(machine);
    int status = trial->op.leat_status;
    if (!called && status && status != -EPIPE)
        return over(trial, status);
    return go_on(trial, called ? status : attempt(trial));
}

int lt_trial_begin(struct lt_trial *trial, leat_op_fn *fn)
{
    int error = begin(&trial->op, fn, LT_TRIES);
    if (error)
        return error;
    memset(&trial->lock, 0, sizeof trial->lock);
    trial->withdrawn = false;
    return go_on(trial, attempt(trial)) ? complete(&trial->op, LT_DONE) : 0;
}

/* ---- taking back ---- */

/* False: the operation is over, or its last try is under way. */
static bool withdraw_trial(struct lt_trial *trial)
{
    lt_lock(&trial->lock);
    bool claimed = lt_machine_end(&machine_of(&trial->op)->stackless.party, -ECANCELED);
    trial->withdrawn = true;
    lt_unlock(&trial->lock);
    return claimed;
}

int leat_withdraw(leat_op *op)
{
    if (!op)
        return -EINVAL;
    struct lt_machine *machine = machine_of(op);
    leat_scope *scope = machine->stackless.party.scope;
    if (mode_of(op) == LT_TRIES ? !withdraw_trial((struct lt_trial *)op)
                                : !lt_machine_end(&machine->stackless.party, -ECANCELED))
        return -EALREADY;
    lt_machine_settle(machine);
    lt_scope_delist_stackless(&machine->stackless);
    leat_op_fn *fn = op->leat_fn;
    op->leat_fn = NULL;
    if (mode_of(op) == LT_TOLD)
        fn(op, LT_WITHDRAWN);
    leave(scope);
    return 0;
}

/* ---- signals ---- */

static void write_signal(leat_op *op, int status)
{
    int fd = op->leat_fd;
    /* Release: a reader of the status sees the item. After this the operation may be reused. */
    __atomic_store_n(&op->leat_result, status, __ATOMIC_RELEASE);
    lt_bell_ring(fd);
}

static int operate_signal(leat_op *op, leat_chan *ch, enum lt_side side, void *item, int fd)
{
    if (!op || fd < 0)
        return -EINVAL;
    if (lt_callback_is_busy(op))
        return -EBUSY;
    op->leat_fd = fd;
    op->leat_result = -EAGAIN;
    int error = operate(op, ch, side, item, write_signal, LT_PLAIN);
    if (error)
        op->leat_result = error;
    return error;
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
