/* crowd.h: a list of tasks and threads that wait, under a lock of what they wait for.
 *
 * To end a wait, a party takes the waiter off the list with the lock held, and makes it ready after
 * it has released the lock. Taking off is the claim, as for a channel's waiters: deadline and scope
 * act at the waiter's home, and find it on the list or not. */
#pragma once

#include "base/lock.h"
#include "scope/wait.h"

struct lt_crowd_waiter {
    struct lt_wait wait;
    struct lt_node node;
    struct lt_lock *lock;
    enum lt_aim aim; /* what it waits for, for dumps */
    const void *object;
};

/* Called before the lock is taken: whether the caller may wait. 0, -ECANCELED, or -EDEADLK. */
static inline int lt_crowd_may_wait(void)
{
    return lt_wait_prepare(lt_current_party());
}

/* With the lock held: puts the caller on the list. It must park once it has released the lock. */
void lt_crowd_join(struct lt_lock *lock, struct lt_node *list, struct lt_crowd_waiter *waiter,
                   enum lt_aim aim, const void *object);

/* Waits; `deadline` is not LEAT_NOW. Returns 0 after lt_crowd_take, -ETIMEDOUT or -ECANCELED. */
static inline int lt_crowd_park(struct lt_crowd_waiter *waiter, int64_t deadline)
{
    return lt_wait_park(&waiter->wait, deadline);
}

/* With the lock held: takes the first waiter off the list and puts its party at the head of *woken.
 * NULL: the list is empty. */
struct lt_crowd_waiter *lt_crowd_take(struct lt_node *list, struct lt_party **woken);
