/* work.h: items that compute for a while, for the programs in C and C++.
 *
 * The work is a chain of multiplications, each of which needs the one before, so that its turns take the same time
 * in every language. Each program counts how many fit into a nanosecond before it measures. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include "bench.h"

/* How many turns an item's work has. The program has it, and the row that runs sets it. */
extern int64_t bench_turns_an_item;

static inline uint64_t bench_turns(int64_t n)
{
    uint64_t x = 1;
    for (int64_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1;
        __asm__("" : "+r"(x)); /* or two turns would become one multiplication */
    }
    return x;
}

/* Does so many turns. Nobody knows that it is always 0. */
static inline int64_t bench_spend(int64_t turns)
{
    return bench_turns(turns) == 0;
}

/* Does an item's work. */
static inline int64_t bench_compute(void)
{
    return bench_spend(bench_turns_an_item);
}

/* The best of 200: what disturbed the others is no part of the loop. */
static inline double bench_turns_a_ns(const char *row)
{
    const int64_t turns = 100000;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 200; i++) {
        uint64_t start = bench_now();
        bench_check(row, bench_spend(turns), 0);
        uint64_t ns = bench_now() - start;
        best = ns < best ? ns : best;
    }
    bench_sample(row, "turns/us", 1e3 * (double)turns / (double)best);
    return (double)turns / (double)best;
}

/* How many turns last so long, at least one. */
static inline int64_t bench_turns_in(double ns, double turns_a_ns)
{
    double turns = ns * turns_a_ns;
    return turns < 1 ? 1 : (int64_t)turns;
}

/* The first number in a row's name: of work_fan_20us 20. */
static inline double bench_number_in(const char *row)
{
    const char *digits = strpbrk(row, "0123456789");
    return digits ? (double)atoll(digits) : 0;
}

/* So many items that they keep one core busy for 4/3 of the time that a sample has to last, and two cores for 2/3; but
 * at least 160, so that beginning and end count for little. */
static inline int64_t bench_items(double ns_an_item, int64_t multiple)
{
    double n = (double)bench_env("BENCH_OPS", 0);
    if (n == 0) {
        n = 4e6 / 3 * (double)bench_env("BENCH_MIN_MS", 150) / ns_an_item;
        n = n < 160 ? 160 : n;
    }
    return bench_up(n, multiple);
}

/* For rows that no item counts: a thousand, and fewer where a sample need not last as long as it does by itself. */
static inline int64_t bench_about_a_thousand(void)
{
    return bench_env("BENCH_OPS", bench_env("BENCH_MIN_MS", 150) * 20 / 3);
}

/* A sample of n items, with what they cost in CPU time, after a tenth of them to warm up. */
static inline void bench_items_run(const char *row, bench_fn *shape, int64_t n, int64_t multiple)
{
    shape(bench_up((double)n / 10, multiple));
    for (int64_t i = bench_env("BENCH_REPEATS", 1); i > 0; i--) {
        int64_t cpu = bench_cpu_ns();
        uint64_t ns = shape(n);
        cpu = bench_cpu_ns() - cpu;
        bench_sample(row, "ns/op", (double)ns / (double)n);
        bench_sample(row, "CPU ns", (double)cpu / (double)n);
    }
}

/* A shape in which every item, of as many microseconds as the row's name says, is worked on so many `times`. */
static inline void bench_work(const char *row, bench_fn *shape, int times, int64_t multiple)
{
    double ns = 1e3 * bench_number_in(row);
    bench_turns_an_item = bench_turns_in(ns, bench_turns_a_ns(row));
    bench_items_run(row, shape, bench_items(ns * times, multiple), multiple);
}

static inline int bench_compare(const void *a, const void *b)
{
    const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
    return (*x > *y) - (*x < *y);
}

/* Sorts the times, and returns the one below which are so many percent of them. */
static inline double bench_percentile(uint64_t *times, int64_t n, int percent)
{
    bench_check("times that were measured", n > 0, 1);
    qsort(times, (size_t)n, sizeof *times, bench_compare);
    int64_t at = n * percent / 100;
    return (double)times[at < n ? at : n - 1];
}

#endif
