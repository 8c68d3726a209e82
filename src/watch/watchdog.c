/* watchdog.c: who keeps a worker.
 *
 * A worker that has had no look at anything else leaves two numbers as they are: what it has counted, and
 * what it has left of direct switches, which is its own and is read as fleeting things are. Each is looked at
 * four times within the limit. */
#include "base/alloc.h"
#include "base/clock.h"
#include "watch/look.h"
#include "watch/monitor.h"
#include "watch/peek.h"
#include "watch/text.h"

#include <errno.h>

struct watched {
    const struct lt_task *running;
    uint64_t switches;
    unsigned direct_left;
    int64_t since; /* 0: not looked at yet */
    bool told;
    uint32_t number; /* 0: not known */
    char name[160];
};

static struct watched *all;

int lt_watchdog_reset(unsigned workers)
{
    lt_free(all);
    all = workers ? lt_alloc(workers * sizeof *all) : NULL;
    return workers && !all ? -ENOMEM : 0;
}

static void tell(const struct watched *it, unsigned worker, const char *how, int64_t held)
{
    long long ms = (long long)(held / LEAT_MS);
    if (it->number)
        lt_say("leat: task %u %s %s worker %u for %lld ms", it->number, it->name, how, worker, ms);
    else
        lt_say("leat: a %s %s worker %u for %lld ms", it->running ? "task" : "block or callback",
               how, worker, ms);
}

static void check(unsigned i, int64_t limit, int64_t now)
{
    struct watched *it = &all[i];
    struct lt_worker *worker = lt_runtime.workers[i];
    struct watched seen = {
        .running = lt_worker_running(worker),
        .switches = atomic_load_explicit(&worker->tally.switches, memory_order_relaxed),
        .since = now,
    };
    /* Where that is forbidden, tasks that hand over to one another slowly may pass for one. */
    if (!lt_peek(&seen.direct_left, &worker->direct_left, sizeof seen.direct_left))
        seen.direct_left = 0;
    if (atomic_load_explicit(&worker->asleep, memory_order_relaxed) || !it->since ||
        seen.running != it->running || seen.switches != it->switches ||
        seen.direct_left != it->direct_left) {
        if (it->told)
            tell(it, i, "held", now - it->since);
        *it = seen;
    } else if (!it->told && now - it->since >= limit) {
        it->told = true;
        if (!lt_look_at_running(worker, it->running, &it->number, it->name, sizeof it->name))
            it->number = 0;
        tell(it, i, "has held", now - it->since);
    }
}

void lt_watchdog_check(int64_t limit)
{
    int64_t now = lt_clock_now();
    for (unsigned i = 0; i < lt_runtime.worker_count; i++)
        check(i, limit, now);
}
