/* go.c: tasks that belong to scopes; and the program as the first of them. */
#include "base/util.h"
#include "sched/here.h"
#include "sched/pool.h"
#include "sched/runtime.h"
#include "scope/roster.h"

#include <leat/runtime.h>
#include <leat/task.h>

void lt_scope_check_closed(const struct lt_party *party, const char *name)
{
    if (LT_UNLIKELY(party->scope->opener == party))
        lt_die("leat: task %s returned with a scope still open: leat_scope_close is missing",
               name ? name : "without a name");
}

static void ended(struct lt_task *task, int result)
{
    leat_scope *scope = task->party.scope;
    lt_scope_check_closed(&task->party, task->name);
    if (task->party.enlisted)
        lt_scope_delist(task);
    /* Who nudges it holds the scope, or a pin on the one it has closed: so none is on the way any more,
     * and one that has come is taken from the list before the descriptor is used again. */
    while (LT_UNLIKELY(atomic_load_explicit(&task->nudged, memory_order_acquire)))
        lt_worker_look_at_nudges(task->home);
    lt_scope_leave_here(scope, result);
}

__attribute__((constructor)) static void introduce(void)
{
    lt_task_ended = ended;
    lt_task_look = lt_scope_look;
}

int leat_go_named(leat_scope *scope, leat_fn *fn, void *arg, const char *name, size_t stack_size)
{
    if (!scope || !fn || (stack_size && lt_stack_size_round(&stack_size) != 0))
        return -EINVAL;
    struct lt_task *task = lt_task_new(fn, arg, name, stack_size);
    if (!task)
        return -ENOMEM;
    task->party.scope = scope;
    lt_scope_enter_here(scope);
    lt_launch(&task->party);
    lt_point();
    return 0;
}

int leat_main_with(leat_fn *fn, void *arg, const leat_options *options)
{
    if (!fn)
        return -EINVAL;
    int error = leat_start(options);
    if (error)
        return error;
    int result = -ENOMEM;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    if (scope) {
        error = leat_go_named(scope, fn, arg, "main", 0);
        result = leat_scope_close(scope);
    }
    int stopped = leat_stop();
    return error ? error : result ? result : stopped;
}

int leat_main(leat_fn *fn, void *arg)
{
    return leat_main_with(fn, arg, NULL);
}
