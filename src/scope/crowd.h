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

/* With the lock held, after lt_wait_prepare: puts the caller on the list. Once it has released the
 * lock, it must call lt_wait_park, which returns 0 after lt_crowd_take. */
void lt_crowd_join(struct lt_lock *lock, struct lt_node *list, struct lt_crowd_waiter *waiter,
                   enum lt_aim aim, const void *object);

/* With the lock held: takes the first waiter off the list and puts its party at the head of *woken.
 * NULL: the list is empty. */
struct lt_crowd_waiter *lt_crowd_take(struct lt_node *list, struct lt_party **woken);
