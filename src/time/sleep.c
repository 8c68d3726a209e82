#include "base/clock.h"
#include "scope/wait.h"

#include <leat/time.h>

#include <errno.h>

int64_t leat_now(void)
{
    return lt_clock_now();
}

int64_t leat_after(int64_t ns)
{
    int64_t now = lt_clock_now(), deadline;
    if (ns <= 0)
        return now;
    return __builtin_add_overflow(now, ns, &deadline) ? LEAT_NEVER : deadline;
}

/* No partner looks for a sleeper, so it can always be withdrawn. */
static bool withdraw(struct lt_wait *wait)
{
    (void)wait;
    return true;
}

int leat_sleep_until(int64_t deadline)
{
    if (deadline < 0)
        return -EINVAL;
    struct lt_party *self = lt_self();
    if (deadline == LEAT_NEVER && !self->scope)
        return -EDEADLK;
    int error = lt_wait_prepare(self);
    if (error)
        return error;
    if (deadline <= lt_clock_now())
        return 0;
    struct lt_wait wait;
    lt_wait_begin(&wait, self, withdraw);
    error = lt_wait_park(&wait, deadline);
    return error == -ETIMEDOUT ? 0 : error;
}

int leat_sleep(int64_t ns)
{
    return leat_sleep_until(leat_after(ns));
}
