/* value.c: tasks that send a value. The channel has room for it: a task never waits to send. */
#include "flow/flow.h"

#include <leat/task.h>

struct valued {
    struct lt_flow flow; /* has no block */
    leat_value_fn *fn;
    void *arg;
};

static int run(void *arg)
{
    struct valued *v = arg;
    int error = v->fn(v->arg, v->flow.item);
    if (!error && leat_try_send(v->flow.out, v->flow.item) != 0) /* another party has closed it */
        lt_flow_drop_item(&v->flow);
    lt_flow_conclude(&v->flow, error, 0);
    return error;
}

static struct valued *make(leat_scope *scope, leat_value_fn *fn, void *arg,
                           const leat_chan_spec *spec)
{
    if (!scope || !fn || !spec || spec->buffer != LEAT_FIXED)
        return NULL;
    leat_chan_spec one = *spec;
    one.capacity = 1;
    leat_chan *out = leat_chan_open(scope, &one);
    struct valued *v = out ? lt_flow_make(scope, NULL, out, sizeof *v, NULL) : NULL;
    if (!v)
        return NULL;
    v->fn = fn;
    v->arg = arg;
    return v;
}

leat_chan *leat_go_value_named(leat_scope *scope, leat_value_fn *fn, void *arg,
                               const leat_chan_spec *spec, const char *name)
{
    struct valued *v = make(scope, fn, arg, spec);
    return v && leat_go_named(scope, run, v, name, 0) == 0 ? v->flow.out : NULL;
}

leat_chan *leat_go_blocking_value_named(leat_scope *scope, leat_value_fn *fn, void *arg,
                                        const leat_chan_spec *spec, const char *name)
{
    struct valued *v = make(scope, fn, arg, spec);
    return v && leat_go_blocking_named(scope, run, v, name) == 0 ? v->flow.out : NULL;
}
