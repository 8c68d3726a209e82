/* blocking.c: runs functions that block on threads of the pool: for a task that waits for the
 * result, or as a task of a scope with its own thread. */
#include "base/alloc.h"
#include "sched/pool.h"
#include "scope/scope.h"
#include "scope/wait.h"

#include <leat/task.h>

#include <errno.h>

/* ---- leat_blocking ---- */

struct call {
    struct lt_work work;
    struct lt_wait wait;
    leat_fn *fn;
    void *arg;
    int result;
};

static void run_call(struct lt_work *work)
{
    struct call *call = LT_CONTAINER(work, struct call, work);
    call->result = call->fn(call->arg);
    if (lt_current_party()->scope)
        lt_die("leat: a function run by leat_blocking returned with a scope still open: "
               "leat_scope_close is missing");
    lt_ready(call->wait.party);
}

static void describe(const struct lt_wait *wait, struct lt_listener *listener)
{
    /* POSIX lets a function pointer become an object pointer, ISO C does not. */
    leat_fn *fn = LT_CONTAINER(wait, struct call, wait)->fn;
    listener->hear(listener, LT_FOR_CALL, (const void *)(uintptr_t)fn);
}

static const struct lt_wait_kind calls = { .describe = describe };

int leat_blocking(leat_fn *fn, void *arg)
{
    if (!fn)
        return -EINVAL;
    struct lt_party *self = lt_current_party();
    int error = lt_wait_prepare(self);
    if (error)
        return error;
    if (self->kind != LT_TASK)
        return fn(arg);
    struct call call = { .work.run = run_call, .fn = fn, .arg = arg };
    lt_wait_begin(&call.wait, self, &calls);
    error = lt_pool_submit(&call.work);
    if (error)
        return error;
    lt_wait_park(&call.wait, LEAT_NEVER);
    return call.result;
}

/* ---- leat_go_blocking ---- */

struct threaded {
    struct lt_work work;
    leat_scope *scope;
    leat_fn *fn;
    void *arg;
    const char *name;
};

/* The thread is a party of the scope until leave_scope. */
static void join_scope(struct lt_thread *thread, leat_scope *scope, const char *name)
{
    thread->party.scope = scope;
    thread->party.shields = 0;
    thread->name = name;
    lt_lock(&scope->lock);
    lt_list_append(&scope->threads, &thread->member);
    lt_unlock(&scope->lock);
}

static void leave_scope(struct lt_thread *thread, leat_scope *scope)
{
    lt_lock(&scope->lock);
    lt_list_remove(&thread->member);
    lt_unlock(&scope->lock);
    /* Acquire pairs with the canceller's release: the canceller is done with the thread. Until then
     * it makes at most one system call. */
    for (unsigned i = 0; atomic_load_explicit(&thread->pinned, memory_order_acquire); i++)
        lt_lock_await(i);
    thread->party.scope = NULL;
    thread->name = NULL;
}

static void run_threaded(struct lt_work *work)
{
    struct threaded task = *LT_CONTAINER(work, struct threaded, work);
    lt_free(LT_CONTAINER(work, struct threaded, work));
    struct lt_thread *thread = lt_this_thread();
    join_scope(thread, task.scope, task.name);
    int result = task.fn(task.arg);
    lt_scope_check_closed(&thread->party, task.name);
    leave_scope(thread, task.scope);
    lt_scope_leave(task.scope, result);
}

int leat_go_blocking_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name)
{
    if (!scope || !fn)
        return -EINVAL;
    struct threaded *task = lt_alloc(sizeof *task);
    if (!task)
        return -ENOMEM;
    *task = (struct threaded){
        .work.run = run_threaded, .scope = scope, .fn = fn, .arg = arg, .name = name
    };
    lt_scope_enter(scope);
    int error = lt_pool_submit(&task->work);
    if (error) {
        lt_free(task);
        lt_scope_leave(scope, 0);
    }
    lt_point();
    return error;
}
