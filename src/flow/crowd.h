/* crowd.h: tasks and threads that wait, in a list under a lock of somebody's, until he lets them go.
 *
 * Who ends the wait takes them off the list, with the lock held, and makes them ready when it has given the lock
 * back. Taking off is the claim, as for a channel's waiters: deadline and scope act at the waiter's home, and
 * find it there or not. */
#ifndef LT_FLOW_CROWD_H
#define LT_FLOW_CROWD_H

#include "base/lock.h"
#include "scope/wait.h"

struct lt_crowd_waiter {
    struct lt_wait wait;
    struct lt_node node;
    struct lt_lock *lock;
    enum lt_aim aim; /* what it waits for, for people who look */
    const void *object;
};

/* Before the lock is taken: whether the caller may wait. 0, -ECANCELED, -EDEADLK. */
static inline int lt_crowd_may_wait(void)
{
    return lt_wait_prepare(lt_current_party());
}

/* With the lock held: the caller joins the list, and is to park as soon as it has given the lock back. */
void lt_crowd_join(struct lt_lock *lock, struct lt_node *list, struct lt_crowd_waiter *waiter,
                   enum lt_aim aim, const void *object);

/* Waits; not with LEAT_NOW. 0 when it was let go, -ETIMEDOUT, -ECANCELED. */
static inline int lt_crowd_park(struct lt_crowd_waiter *waiter, int64_t deadline)
{
    return lt_wait_park(&waiter->wait, deadline);
}

/* With the lock held: takes the first off the list and puts its party at the head of the chain of the woken.
 * NULL: there is none. */
struct lt_crowd_waiter *lt_crowd_take(struct lt_node *list, struct lt_party **woken);

#endif
