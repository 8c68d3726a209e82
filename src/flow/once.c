/* once.c: runs a function once. The lock guards everything but `over`. */
#include "scope/crowd.h"

#include <leat/sync.h>

/* The contents of a leat_once's private words. */
struct once {
    struct lt_lock lock;
    int result;
    struct lt_node waiters; /* valid once `runner` is set */
    struct lt_party *runner;
    /* Release and acquire: a party that sees it without the lock sees `result` and the function's
     * effects. */
    _Atomic bool over;
};

_Static_assert(sizeof(struct once) <= sizeof(leat_once), "fits the public struct");

static void run(struct once *once, leat_fn *fn, void *arg)
{
    int result = fn(arg);
    struct lt_party *woken = NULL;
    lt_lock(&once->lock);
    once->result = result;
    while (lt_crowd_take(&once->waiters, &woken)) {
    }
    atomic_store_explicit(&once->over, true, memory_order_release);
    lt_unlock(&once->lock);
    lt_ready_all(woken);
}

int leat_once_do(leat_once *public, leat_fn *fn, void *arg)
{
    if (!public || !fn)
        return -EINVAL;
    struct once *once = (struct once *)(void *)public;
    if (atomic_load_explicit(&once->over, memory_order_acquire))
        return once->result;
    struct lt_party *self = lt_current_party();
    int error = lt_wait_prepare(lt_current_party()); /* used only if the caller must wait */
    struct lt_crowd_waiter waiter;
    lt_lock(&once->lock);
    bool over = atomic_load_explicit(&once->over, memory_order_relaxed);
    bool first = !over && !once->runner, waits = !over && !first && !error && once->runner != self;
    if (first) {
        once->runner = self;
        lt_list_init(&once->waiters);
    }
    if (waits)
        lt_crowd_join(&once->lock, &once->waiters, &waiter, LT_FOR_CALL,
                      (const void *)(uintptr_t)fn);
    else if (!over && once->runner == self)
        error = first ? 0 : -EDEADLK;
    lt_unlock(&once->lock);
    if (first)
        run(once, fn, arg);
    else if (waits)
        error = lt_wait_park(&waiter.wait, LEAT_NEVER);
    return over || !error ? once->result : error;
}
