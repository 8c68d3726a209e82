/* within.c: tasks that each hold a permit while they run. */
#include "base/alloc.h"

#include <leat/sync.h>
#include <leat/task.h>

struct permitted {
    leat_semaphore *permits;
    leat_fn *fn;
    void *arg;
};

static int run(void *arg)
{
    struct permitted p = *(struct permitted *)arg;
    lt_free(arg);
    int verdict = p.fn(p.arg);
    leat_release(p.permits, 1);
    return verdict;
}

int leat_go_within_named(leat_scope *scope, leat_semaphore *permits, int64_t deadline, leat_fn *fn,
                         void *arg, const char *name)
{
    if (!scope || !fn)
        return -EINVAL;
    int error = leat_acquire_until(permits, 1, deadline);
    if (error)
        return error;
    struct permitted *p = lt_alloc(sizeof *p);
    if (p)
        *p = (struct permitted){ permits, fn, arg };
    error = p ? leat_go_named(scope, run, p, name, 0) : -ENOMEM;
    if (!error)
        return 0;
    lt_free(p);
    leat_release(permits, 1);
    return error;
}
