/* dump.c: dumps and counts for the user. */
#include "arch/stack.h"
#include "base/cancel.h"
#include "sched/pool.h"
#include "watch/look.h"
#include "watch/tell.h"

#include <leat/watch.h>

#include <errno.h>
#include <stdlib.h>

/* ---- dumps ---- */

typedef void teller(FILE *to, const struct lt_look *look);

/* In one piece, and after the look: a slow reader holds nothing up. */
static int tell_whole(FILE *to, teller *tell, const struct lt_look *look)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return -ENOMEM;
    tell(file, look);
    int error = fclose(file) != 0                                      ? -ENOMEM
                : fwrite(text, 1, size, to) != size || fflush(to) != 0 ? -EIO
                                                                       : 0;
    free(text);
    return error;
}

static int look_and_tell(FILE *to, teller *tell, const void *caller)
{
    struct lt_look look;
    int saved = errno, cancel = lt_cancel_put_off();
    int error = to ? lt_look_begin(&look, caller, NULL) : -EINVAL;
    if (!error) {
        error = tell_whole(to, tell, &look);
        lt_look_end(&look);
    }
    lt_cancel_restore(cancel);
    errno = saved;
    return error;
}

/* Not inlined, as link-time optimization may do it: the address would be that of another call. */
__attribute__((noinline)) int leat_dump(FILE *to)
{
    return look_and_tell(to, lt_tell, lt_frames_wanted() ? __builtin_return_address(0) : NULL);
}

int leat_dump_graph(FILE *to)
{
    return look_and_tell(to, lt_draw, NULL);
}

/* ---- counts ---- */

static uint64_t read_count(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

void lt_count(leat_counts *counts, const struct lt_worker *worker)
{
    const struct lt_tally *tally = &worker->tally;
    counts->switches += read_count(&tally->switches);
    counts->started += read_count(&tally->started);
    counts->received += read_count(&tally->received);
    counts->stolen += read_count(&tally->stolen);
    counts->moved += read_count(&tally->moved);
    counts->sleeps += read_count(&tally->sleeps);
    counts->timers += read_count(&tally->timers);
    counts->stacks_free += read_count(&tally->magazine);
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
