/* parallel.c: a loop whose rounds run at once: in parts of the size that leat chooses, or one by
 * one. */
#include "../common/loops.h"
#include "work.h"

#include <stdatomic.h>

static int add_rounds(void *arg, size_t begin, size_t end)
{
    int64_t sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += (int64_t)i + bench_compute();
    atomic_fetch_add_explicit((_Atomic int64_t *)arg, sum, memory_order_relaxed);
    return 0;
}

static int64_t loop_as(const leat_parallel *how)
{
    _Atomic int64_t sum = 0;
    bench_check("leat_parallel_for", leat_parallel_for(0, BENCH_ROUNDS, add_rounds, &sum, how), 0);
    return sum;
}

static int64_t loop_as_leat_likes(void)
{
    return loop_as(NULL);
}

static int64_t loop_singly(void)
{
    return loop_as(&(leat_parallel){ .grain = 1 });
}

void parallel_for(const char *row)
{
    bench_loops_run(row, loop_as_leat_likes);
}

void parallel_for_singly(const char *row)
{
    bench_loops_run(row, loop_singly);
}
