/* loops.h: runs a parallel loop of a thousand rounds again and again, for the programs that divide
 * a loop among cores. */
#pragma once

#include "work.h"

enum { BENCH_ROUNDS = 1000 };

/* Runs a loop whose rounds each do an item's work, and returns the sum of their numbers. */
typedef int64_t bench_loop_fn(void);

/* The row's name says how long all rounds compute on one core: parallel_for_10ms. Before the first
 * loop the process has computed, but not yet divided a loop among cores. */
static inline void bench_loops_run(const char *row, bench_loop_fn *loop)
{
    double total = 1e6 * bench_number_in(row);
    bench_turns_an_item = bench_turns_in(total / BENCH_ROUNDS, bench_turns_a_ns(row));
    int64_t loops = (int64_t)(4e6 / 3 * (double)bench_env("BENCH_MIN_MS", 150) / total);
    loops = loops < 5 ? 5 : loops;
    uint64_t *times = (uint64_t *)calloc((size_t)loops, sizeof *times);
    int64_t cpu = bench_cpu_ns();
    for (int64_t i = 0; i < loops; i++) {
        uint64_t start = bench_now();
        int64_t sum = loop();
        times[i] = bench_now() - start;
        bench_check(row, sum, bench_sum(BENCH_ROUNDS));
    }
    cpu = bench_cpu_ns() - cpu;
    bench_sample(row, "first ns", (double)times[0]);
    bench_sample(row, "median ns", bench_percentile(times, loops, 50));
    bench_sample(row, "CPU ns", (double)cpu / (double)loops);
    free(times);
}
