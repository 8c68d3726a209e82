/* watchdog.c: which parties keep a worker.
 *
 * While a worker runs nothing else, two numbers stay as they are: its count of switches, and how
 * many direct switches it has left. The second is the worker's own, and is read as in watch/peek.h.
 * The monitor reads both four times within the limit. */
#include "watch/watchdog.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "watch/fleeting.h"
#include "watch/peek.h"
#include "watch/text.h"

#include <errno.h>

struct hold {
    const struct lt_task *running;
    uint64_t switches;
    unsigned direct_left;
    int64_t since; /* 0: not read yet */
    bool reported;
    uint32_t number; /* 0: not known */
    char name[160];
};

static struct hold *holds;

int lt_watchdog_reset(unsigned workers)
{
    lt_free(holds);
    holds = workers ? lt_alloc(workers * sizeof *holds) : NULL;
    return workers && !holds ? -ENOMEM : 0;
}

static void report(const struct hold *hold, unsigned worker, const char *how, int64_t held)
{
    long long ms = (long long)(held / LEAT_MS);
    if (hold->number)
        lt_say("leat: task %u %s %s worker %u for %lld ms", hold->number, hold->name, how, worker,
               ms);
    else
        lt_say("leat: a %s %s worker %u for %lld ms", hold->running ? "task" : "block or callback",
               how, worker, ms);
}

static void check(unsigned i, int64_t limit, int64_t now)
{
    struct hold *hold = &holds[i];
    struct lt_worker *worker = lt_runtime.workers[i];
    struct hold seen = {
        .running = lt_worker_running(worker),
        .switches = atomic_load_explicit(&worker->tally.switches, memory_order_relaxed),
        .since = now,
    };
    /* Where the kernel forbids this, tasks that slowly switch to one another may pass for one. */
    if (!lt_peek(&seen.direct_left, &worker->direct_left, sizeof seen.direct_left))
        seen.direct_left = 0;
    if (atomic_load_explicit(&worker->asleep, memory_order_relaxed) || !hold->since ||
        seen.running != hold->running || seen.switches != hold->switches ||
        seen.direct_left != hold->direct_left) {
        if (hold->reported)
            report(hold, i, "held", now - hold->since);
        *hold = seen;
    } else if (!hold->reported && now - hold->since >= limit) {
        hold->reported = true;
        if (!lt_look_at_running(worker, hold->running, &hold->number, hold->name,
                                sizeof hold->name))
            hold->number = 0;
        report(hold, i, "has held", now - hold->since);
    }
}

void lt_watchdog_check(int64_t limit)
{
    int64_t now = lt_clock_now();
    for (unsigned i = 0; i < lt_runtime.worker_count; i++)
        check(i, limit, now);
}
