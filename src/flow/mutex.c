#include "flow/mutex.h"

#include "chan/more.h"
#include "sched/current.h"

#include <leat/select.h>

leat_mutex *leat_mutex_open(leat_scope *scope)
{
    leat_mutex *mutex = lt_flow_make(scope, NULL, NULL, sizeof *mutex, NULL);
    if (!mutex)
        return NULL;
    const leat_chan_spec spec = { .capacity = 1, .name = "mutex" };
    mutex->turn = lt_chan_open_held(scope, &spec, &mutex->owner);
    if (!mutex->turn)
        return NULL;
    leat_try_send(mutex->turn, NULL);
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
