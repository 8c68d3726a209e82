/* start.c: how a program starts the runtime, with the observer that src/watch provides. This room
 * stands on top of the library, so that no lower room has to know the observer. */
#include "start/start.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/futex.h"
#include "sched/runtime.h"

#include <leat/scope.h>
#include <leat/task.h>

#include <errno.h>

int leat_start(const leat_options *options)
{
    return lt_runtime_start(options, false, &lt_start_kinds, &lt_watch_observer);
}

/* A function called by a timer or an operation without a scope may be about to return on another
 * worker, after it has done the work that the program waited for. So this waits a moment. */
static int stop(void)
{
    int64_t until = lt_clock_now() + LT_STOP_PATIENCE_MS * LEAT_MS;
    int error;
    while ((error = leat_stop()) == -EBUSY && lt_clock_now() < until)
        lt_nap(50 * LEAT_US);
    return error;
}

static int run_program(leat_fn *fn, void *arg, const leat_options *options)
{
    int error = leat_start(options);
    if (error)
        return error;
    int result = -ENOMEM;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    if (scope) {
        error = leat_go_named(scope, fn, arg, "main", 0);
        result = leat_scope_close(scope);
    }
    int stopped = stop();
    return error ? error : result ? result : stopped;
}

int leat_main_with(leat_fn *fn, void *arg, const leat_options *options)
{
    if (!fn)
        return -EINVAL;
    int cancel = lt_cancel_put_off(), result = run_program(fn, arg, options);
    lt_cancel_restore(cancel);
    return result;
}

int leat_main(leat_fn *fn, void *arg)
{
    return leat_main_with(fn, arg, NULL);
}
