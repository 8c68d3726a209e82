/* deadlock.c: whether anything is left that could end a wait.
 *
 * A check does not see everything at one moment. But each worker counts its sleeps, and the number
 * of sleeping threads comes with the number of times that a thread began to sleep. So when two
 * checks find all of them asleep, with the same counts, none has been awake in between. Then all
 * were asleep together, with nothing on its way to any of them: nothing could have sent it. */
#include "watch/deadlock.h"

#include "sched/pool.h"
#include "sched/runtime.h"

#include <errno.h>
#include <sys/stat.h>

struct rest {
    bool found;
    uint64_t sleeps, threads;
};

static struct rest before;
static _Atomic unsigned bystanders;

/* How many threads the process has; 0: not known. */
static uint64_t threads_of_process(void)
{
    int saved = errno;
    struct stat tasks;
    bool known = stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2;
    errno = saved;
    return known ? (uint64_t)tasks.st_nlink - 2 : 0;
}

static bool rests(struct lt_worker *worker, uint64_t *sleeps)
{
    *sleeps += atomic_load_explicit(&worker->tally.sleeps, memory_order_relaxed);
    /* Acquire: if this sees the worker asleep, it sees what the worker published before. */
    return atomic_load_explicit(&worker->asleep, memory_order_acquire) &&
           !lt_worker_has_news(worker) &&
           !atomic_load_explicit(&worker->tally.timers, memory_order_relaxed) &&
           !lt_reactor_has_sources(&worker->reactor);
}

static struct rest sample(void)
{
    struct rest now = { .found = true };
    for (unsigned i = 0; i < lt_runtime.worker_count; i++)
        now.found &= rests(lt_runtime.workers[i], &now.sleeps);
    if (!now.found)
        return now;
    unsigned pool, idle;
    lt_pool_count(&pool, &idle);
    now.threads = atomic_load_explicit(&lt_threads_asleep, memory_order_relaxed);
    uint64_t asleep = now.threads & UINT32_MAX, monitor = 1;
    /* Relaxed: a number that is late hides a deadlock until the next check. */
    unsigned others = atomic_load_explicit(&bystanders, memory_order_relaxed);
    now.found = threads_of_process() == lt_runtime.worker_count + idle + asleep + monitor + others;
    return now;
}

void lt_deadlock_bystander(int by)
{
    /* Relaxed: see above. */
    atomic_fetch_add_explicit(&bystanders, (unsigned)by, memory_order_relaxed);
}

void lt_deadlock_reset(void)
{
    before = (struct rest){ 0 };
}

bool lt_deadlock_check(void)
{
    struct rest now = sample();
    bool same =
        now.found && before.found && now.sleeps == before.sleeps && now.threads == before.threads;
    before = now;
    return same && lt_running();
}
