#include "scope/crowd.h"

static bool withdraw(struct lt_wait *wait)
{
    struct lt_crowd_waiter *waiter = LT_CONTAINER(wait, struct lt_crowd_waiter, wait);
    lt_lock(waiter->lock);
    bool waits = lt_listed(&waiter->node);
    if (waits)
        lt_list_remove(&waiter->node);
    lt_unlock(waiter->lock);
    return waits;
}

static void describe(const struct lt_wait *wait, struct lt_listener *listener)
{
    const struct lt_crowd_waiter *waiter = LT_CONTAINER(wait, struct lt_crowd_waiter, wait);
    listener->hear(listener, waiter->aim, waiter->object);
}

static const struct lt_wait_kind waits_in_crowd = { .withdraw = withdraw, .describe = describe };

void lt_crowd_join(struct lt_lock *lock, struct lt_node *list, struct lt_crowd_waiter *waiter,
                   enum lt_aim aim, const void *object)
{
    waiter->lock = lock;
    waiter->aim = aim;
    waiter->object = object;
    lt_wait_begin(&waiter->wait, lt_current_party(), &waits_in_crowd);
    lt_list_append(list, &waiter->node);
}

struct lt_crowd_waiter *lt_crowd_take(struct lt_node *list, struct lt_party **woken)
{
    if (lt_list_empty(list))
        return NULL;
    struct lt_crowd_waiter *waiter = LT_CONTAINER(list->next, struct lt_crowd_waiter, node);
    lt_list_remove(&waiter->node);
    waiter->wait.party->next = *woken;
    *woken = waiter->wait.party;
    return waiter;
}
