/* counts.c: the counts of workers. */
#include "arch/stack.h"
#include "sched/pool.h"
#include "watch/ask.h"

#include <errno.h>

void lt_count(leat_counts *counts, const struct lt_worker *worker)
{
    const struct lt_tally *tally = &worker->tally;
    counts->switches += lt_tally_get(&tally->switches);
    counts->started += lt_tally_get(&tally->started);
    counts->received += lt_tally_get(&tally->received);
    counts->stolen += lt_tally_get(&tally->stolen);
    counts->moved += lt_tally_get(&tally->moved);
    counts->sleeps += lt_tally_get(&tally->sleeps);
    counts->timers += lt_tally_get(&tally->timers);
    counts->stacks_free += lt_tally_get(&tally->magazine);
}

/* The counts that belong to no worker. */
static void add_shared(leat_counts *counts)
{
    size_t all, at_hand;
    unsigned threads, idle;
    lt_stack_count(&all, &at_hand);
    counts->stacks_free += at_hand;
    counts->stacks = all > counts->stacks_free ? all - counts->stacks_free : 0;
    lt_pool_count(&threads, &idle);
    counts->threads = threads;
    counts->threads_free = idle;
}

int leat_count(leat_counts *counts)
{
    int error = counts ? lt_look_turn() : -EINVAL;
    if (error)
        return error;
    *counts = (leat_counts){ 0 };
    for (unsigned i = 0; i < lt_runtime.worker_count; i++)
        lt_count(counts, lt_runtime.workers[i]);
    add_shared(counts);
    lt_runtime_look_away();
    return 0;
}

int leat_count_worker(leat_counts *counts, unsigned worker)
{
    int error = counts ? lt_look_turn() : -EINVAL;
    if (error)
        return error;
    *counts = (leat_counts){ 0 };
    if (worker < lt_runtime.worker_count)
        lt_count(counts, lt_runtime.workers[worker]);
    else
        error = -EINVAL;
    lt_runtime_look_away();
    return error;
}
