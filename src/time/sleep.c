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
    return lt_clock_after(lt_clock_now(), ns);
}

/* A sleep has no partner, so it can always be withdrawn. */
static bool withdraw(struct lt_wait *wait)
{
    (void)wait;
    return true;
}

static const struct lt_wait_kind sleeps = { .withdraw = withdraw };

static int sleep_from(int64_t deadline, int64_t now)
{
    struct lt_party *self = lt_current_party();
    if (deadline == LEAT_NEVER && !self->scope)
        return -EDEADLK;
    int error = lt_wait_prepare(self);
    if (error)
        return error;
    if (deadline <= now)
        return 0;
    struct lt_wait wait;
    lt_wait_begin(&wait, self, &sleeps);
    error = lt_wait_park(&wait, deadline);
    return error == -ETIMEDOUT ? 0 : error;
}

int leat_sleep_until(int64_t deadline)
{
    return deadline < 0 ? -EINVAL : sleep_from(deadline, lt_clock_now());
}

int leat_sleep(int64_t ns)
{
    int64_t now = lt_clock_now();
    return sleep_from(lt_clock_after(now, ns), now);
}
