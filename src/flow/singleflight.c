/* singleflight.c: calls for the same key at the same time share one run of the function.
 *
 * A flight is on the list from the first call for its key until its function has returned, or until
 * it is forgotten. Other callers for the key wait with it meanwhile. The task that runs the
 * function takes the flight off the list, hands out the result and frees the flight. So a caller
 * may leave early.
 *
 * Locking. One lock guards the list and all waiters; it is not held while the function runs. */
#include "flow/flow.h"

#include "base/alloc.h"
#include "scope/crowd.h"

#include <leat/sync.h>
#include <leat/task.h>

struct leat_singleflight {
    struct lt_flow flow; /* has no block */
    leat_singleflight_spec spec;
    struct lt_lock lock;
    struct lt_node flights;
};

struct flight {
    struct lt_node node, callers;
    leat_singleflight *group;
    bool starts; /* its first caller starts the task, and frees a flight that has landed by then */
    bool landed;
    int status;
    unsigned char *value;
    _Alignas(16) unsigned char key[]; /* and after it the value */
};

struct caller {
    struct lt_crowd_waiter waiter;
    void *value;
    int status;
};

leat_singleflight *leat_singleflight_open(leat_scope *scope, const leat_singleflight_spec *spec)
{
    if (!spec || !spec->run || spec->key_size > LT_ITEM_MAX || spec->value_size > LT_ITEM_MAX)
        return NULL;
    leat_singleflight *group = lt_flow_make(scope, NULL, NULL, sizeof *group, NULL);
    if (!group)
        return NULL;
    group->spec = *spec;
    lt_list_init(&group->flights);
    return group;
}

static void land(struct flight *flight, int status)
{
    leat_singleflight *group = flight->group;
    struct lt_party *woken = NULL;
    lt_lock(&group->lock);
    if (lt_listed(&flight->node))
        lt_list_remove(&flight->node);
    for (struct lt_crowd_waiter *waiter; (waiter = lt_crowd_take(&flight->callers, &woken));) {
        struct caller *caller = LT_CONTAINER(waiter, struct caller, waiter);
        if (!status)
            lt_item_copy(caller->value, flight->value, group->spec.value_size);
        caller->status = status;
    }
    bool starts = flight->starts;
    flight->landed = true;
    flight->status = status;
    lt_unlock(&group->lock);
    if (!starts)
        lt_free(flight);
    lt_ready_all(woken);
}

static int fly(void *arg)
{
    struct flight *flight = arg;
    const leat_singleflight_spec *spec = &flight->group->spec;
    land(flight, spec->run(spec->arg, flight->key, flight->value));
    return 0;
}

/* With the lock held. */
static struct flight *find(const leat_singleflight *group, const void *key)
{
    for (struct lt_node *node = group->flights.next; node != &group->flights; node = node->next) {
        struct flight *flight = LT_CONTAINER(node, struct flight, node);
        if (!group->spec.key_size || memcmp(flight->key, key, group->spec.key_size) == 0)
            return flight;
    }
    return NULL;
}

static struct flight *make(leat_singleflight *group, const void *key)
{
    size_t key_size = lt_flow_aligned(group->spec.key_size);
    struct flight *flight = lt_alloc(sizeof *flight + key_size + group->spec.value_size);
    if (!flight)
        return NULL;
    flight->group = group;
    flight->value = flight->key + key_size;
    lt_item_copy(flight->key, key, group->spec.key_size);
    lt_list_init(&flight->callers);
    return flight;
}

static void join(leat_singleflight *group, struct flight *flight, struct caller *caller)
{
    lt_crowd_join(&group->lock, &flight->callers, &caller->waiter, LT_FOR_CALL,
                  (const void *)(uintptr_t)group->spec.run);
}

/* Starts the flight, and joins it only then: no other party may run between a join and its wait.
 * False: the flight has landed already, and the caller has its result. */
static bool start(leat_singleflight *group, struct flight *flight, struct caller *caller)
{
    int error = leat_go(group->flow.scope, fly, flight);
    if (error)
        land(flight, error);
    lt_lock(&group->lock);
    bool landed = flight->landed;
    flight->starts = false;
    if (!landed)
        join(group, flight, caller);
    lt_unlock(&group->lock);
    if (!landed)
        return true;
    caller->status = flight->status;
    if (!caller->status)
        lt_item_copy(caller->value, flight->value, group->spec.value_size);
    lt_free(flight);
    return false;
}

int leat_singleflight_do(leat_singleflight *group, const void *key, void *value, int64_t deadline)
{
    if (!group || deadline < 0 || (!key && group->spec.key_size) ||
        (!value && group->spec.value_size))
        return -EINVAL;
    int error = deadline == LEAT_NOW ? -EAGAIN : lt_wait_prepare(lt_current_party());
    /* Allocated before it is known to be needed, since no memory is allocated under a lock. */
    struct flight *made = error ? NULL : make(group, key);
    if (!made)
        return error ? error : -ENOMEM;
    struct caller caller = { .value = value };
    lt_lock(&group->lock);
    struct flight *flight = find(group, key);
    if (flight) {
        join(group, flight, &caller);
    } else {
        made->starts = true;
        lt_list_append(&group->flights, &made->node);
    }
    lt_unlock(&group->lock);
    bool waits = true;
    if (flight)
        lt_free(made);
    else
        waits = start(group, made, &caller);
    error = waits ? lt_wait_park(&caller.waiter.wait, deadline) : 0;
    return error ? error : caller.status;
}

int leat_singleflight_forget(leat_singleflight *group, const void *key)
{
    if (!group || (!key && group->spec.key_size))
        return -EINVAL;
    lt_lock(&group->lock);
    struct flight *flight = find(group, key);
    if (flight)
        lt_list_remove(&flight->node);
    lt_unlock(&group->lock);
    return flight ? 0 : -ENOENT;
}
