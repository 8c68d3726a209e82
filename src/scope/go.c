/* go.c: starts tasks in scopes. */
#include "scope/scope.h"

#include "base/util.h"
#include "sched/current.h"
#include "sched/runtime.h"
#include "scope/wait.h"

#include <leat/task.h>

void lt_scope_check_closed(const struct lt_party *party, const char *name)
{
    if (LT_UNLIKELY(party->scope->opener == party))
        lt_die("leat: task %s returned with a scope still open: leat_scope_close is missing",
               name ? name : "without a name");
}

/* Whether no nudge is on its way. No new one comes: a canceller nudges under the lock of a list
 * that the task has left, or under a pin on a scope that the task opened and has closed. If a nudge
 * is on its way, its worker finds LT_ENDED_NUDGED and gives the descriptor back. */
static bool is_free(struct lt_task *task)
{
    /* Acquire and release: all that was done to the descriptor comes before it is given back. */
    return !atomic_load_explicit(&task->nudged, memory_order_acquire) ||
           !atomic_exchange_explicit(&task->nudged, LT_ENDED_NUDGED, memory_order_acq_rel);
}

bool lt_scope_task_ended(struct lt_task *task, int result)
{
    leat_scope *scope = task->party.scope;
    lt_scope_check_closed(&task->party, task->name);
    if (task->party.enlisted) {
        lt_lock(&scope->lock);
        lt_list_remove(&task->member);
        lt_unlock(&scope->lock);
    }
    bool free = is_free(task);
    lt_scope_leave_here(scope, result);
    return free;
}

/* The task's wait is over: its timer is removed. The timers of scopes that it opened move with
 * it. */
void lt_scope_task_moves(struct lt_party *party, struct lt_worker *from, struct lt_worker *to)
{
    if (party->wait)
        lt_wheel_remove(&from->wheel, &party->wait->timer);
    for (leat_scope *s = party->scope; s && s->opener == party; s = s->around)
        if (lt_wheel_remove(&from->wheel, &s->timer.timer))
            lt_worker_add_timer(to, &s->timer.timer);
}

/* `worker` NULL: the task begins where it may. */
LT_INLINE int go(struct lt_worker *worker, leat_scope *scope, leat_fn *fn, void *arg,
                 const char *name, size_t stack_size, bool pinned)
{
    if (!scope || !fn || (stack_size && lt_stack_size_round(&stack_size) != 0))
        return -EINVAL;
    struct lt_task *task = lt_task_new(fn, arg, name, stack_size);
    if (!task)
        return -ENOMEM;
    task->party.scope = scope;
    task->stays = pinned;
    lt_scope_enter_here(scope);
    if (worker)
        lt_launch_at(worker, &task->party);
    else
        lt_launch(&task->party);
    lt_point();
    return 0;
}

int leat_go_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name, size_t stack_size)
{
    return go(NULL, scope, fn, arg, name, stack_size, false);
}

int leat_go_pinned_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                         size_t stack_size)
{
    return go(NULL, scope, fn, arg, name, stack_size, true);
}

int lt_go_at(struct lt_worker *worker, leat_scope *scope, leat_fn *fn, void *arg, const char *name,
             size_t stack_size)
{
    return go(worker, scope, fn, arg, name, stack_size, false);
}

int leat_go_spread_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name,
                         size_t stack_size)
{
    /* Without a scope there may be no worker. */
    return lt_go_at(scope ? lt_worker_with_fewest() : NULL, scope, fn, arg, name, stack_size);
}
