#include "flow/mutex.h"

#include "sched/current.h"

#include <leat/select.h>

static void see_mutex(struct lt_owned *owned, struct lt_sight *sight)
{
    const leat_mutex *mutex = LT_CONTAINER(owned, leat_mutex, flow.owned);
    if (!lt_flow_sight(owned, sight))
        return;
    sight->kind = LT_SEES_MUTEX;
    sight->self = mutex->turn;
    sight->holder = atomic_load_explicit(&mutex->owner, memory_order_relaxed);
}

static const struct lt_owned_kind owned_kind = { .free = lt_flow_free, .see = see_mutex };

leat_mutex *leat_mutex_open(leat_scope *scope)
{
    const leat_chan_spec spec = { .capacity = 1, .name = "mutex" };
    /* The channel comes first, so that a look records it before the mutex (scope/sight.h). */
    leat_chan *turn = scope ? leat_chan_open(scope, &spec) : NULL;
    leat_mutex *mutex = turn ? lt_flow_make(scope, NULL, NULL, sizeof *mutex, &owned_kind) : NULL;
    if (!mutex)
        return NULL;
    mutex->turn = turn;
    leat_try_send(turn, NULL);
    lt_flow_sees(&mutex->flow, turn, NULL);
    lt_flow_show(&mutex->flow, "mutex");
    return mutex;
}

static void set_owner(leat_mutex *mutex, struct lt_party *owner)
{
    atomic_store_explicit(&mutex->owner, owner, memory_order_relaxed);
}

bool lt_mutex_held(const leat_mutex *mutex)
{
    return atomic_load_explicit(&mutex->owner, memory_order_relaxed) == lt_current_party();
}

struct lt_party *lt_mutex_pass(leat_mutex *mutex, struct lt_party *to)
{
    struct lt_party *from = atomic_load_explicit(&mutex->owner, memory_order_relaxed);
    set_owner(mutex, to);
    return from;
}

static int lock(leat_mutex *mutex, int64_t deadline, bool waits)
{
    if (!mutex || deadline < 0)
        return -EINVAL;
    if (lt_mutex_held(mutex))
        return -EDEADLK;
    int error =
        waits ? leat_recv_until(mutex->turn, NULL, deadline) : leat_try_recv(mutex->turn, NULL);
    /* The scope that closes has closed `turn`. Only drop functions run now, one at a time. */
    if (error == -EPIPE)
        error = 0;
    if (!error)
        set_owner(mutex, lt_current_party());
    return error;
}

int leat_mutex_lock_until(leat_mutex *mutex, int64_t deadline)
{
    return lock(mutex, deadline, true);
}

int lt_mutex_lock_or_stop(leat_mutex *mutex, leat_chan *stop)
{
    leat_case cases[] = { LEAT_RECV(mutex->turn, NULL), LEAT_RECV(stop, NULL) };
    int chosen = leat_select(cases, 2, LEAT_NEVER);
    if (chosen == 0)
        set_owner(mutex, lt_current_party());
    return chosen == 1 ? -EPIPE : chosen;
}

int leat_mutex_lock(leat_mutex *mutex)
{
    return lock(mutex, LEAT_NEVER, true);
}

int leat_mutex_try_lock(leat_mutex *mutex)
{
    return lock(mutex, LEAT_NOW, false);
}

int leat_mutex_unlock(leat_mutex *mutex)
{
    if (!mutex)
        return -EINVAL;
    if (!lt_mutex_held(mutex))
        return -EPERM;
    set_owner(mutex, NULL);
    leat_try_send(mutex->turn, NULL);
    return 0;
}
