/* enough.h: tasks that go on until a party which they might keep waiting says that it is enough. */
#pragma once

#include "support.h"

static _Atomic bool enough;

/* True until a test sets `enough`. Fails after a minute. */
static inline bool go_on(int64_t since)
{
    if (atomic_load(&enough))
        return false;
    if (leat_now() - since > 60 * LEAT_S)
        check_failed(__FILE__, __LINE__, "a task has been kept waiting for a minute");
    return true;
}

static inline int say_enough(void *arg)
{
    (void)arg;
    atomic_store(&enough, true);
    return 0;
}

static inline int yield_on(void *arg)
{
    (void)arg;
    for (int64_t since = leat_now(); go_on(since);)
        leat_yield();
    return 0;
}
