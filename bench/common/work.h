/* work.h: items that compute for a while, for the programs in C and C++.
 *
 * The work is a chain of multiplications. Each needs the result of the one before, so a turn takes
 * the same time in every language. A turn has four: a loop of one takes up to 15 % longer where it
 * crosses the end of a cache line, on some processors only while another core is busy. Each program
 * first measures how many turns a nanosecond has. */
#pragma once

#include "bench.h"

/* The turns of an item's work. The program defines it, and the row that runs sets it. */
extern int64_t bench_turns_an_item;

/* With an addition in place of the xor, two steps would become one multiplication; and the shift
 * keeps the compiler from knowing that the result is odd. */
static inline uint64_t bench_step(uint64_t x)
{
    return (x * 6364136223846793005u) ^ (x >> 32);
}

static inline uint64_t bench_turns(int64_t n)
{
    uint64_t x = 1;
    for (int64_t i = 0; i < n; i++)
        x = bench_step(bench_step(bench_step(bench_step(x))));
    return x;
}

/* Does `turns` turns. Returns 0, but the compiler cannot know that. */
static inline int64_t bench_spend(int64_t turns)
{
    return bench_turns(turns) == 0;
}

static inline int64_t bench_compute(void)
{
    return bench_spend(bench_turns_an_item);
}

/* Takes the best of 200 runs, the one that was disturbed least. */
static inline double bench_turns_a_ns(const char *row)
{
    const int64_t turns = 25000;
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

/* The number of turns that last `ns`, at least 1. */
static inline int64_t bench_turns_in(double ns, double turns_a_ns)
{
    double turns = ns * turns_a_ns;
    return turns < 1 ? 1 : (int64_t)turns;
}

/* The first number in a row's name: 20 in work_fan_20us. */
static inline double bench_number_in(const char *row)
{
    const char *digits = strpbrk(row, "0123456789");
    return digits ? (double)atoll(digits) : 0;
}

/* The number of items for a sample: they keep one core busy for 4/3 of BENCH_MIN_MS, and two cores
 * for 2/3. At least 160, so that the beginning and the end count for little. */
static inline int64_t bench_items(double ns_an_item, int64_t multiple)
{
    double n = (double)bench_env("BENCH_OPS", 0);
    if (n == 0) {
        n = 4e6 / 3 * (double)bench_env("BENCH_MIN_MS", 150) / ns_an_item;
        n = n < 160 ? 160 : n;
    }
    return bench_up(n, multiple);
}

/* The count for rows without items: a thousand, or in proportion to BENCH_MIN_MS if it is set. */
static inline int64_t bench_about_a_thousand(void)
{
    return bench_env("BENCH_OPS", bench_env("BENCH_MIN_MS", 150) * 20 / 3);
}

/* Samples of the time and CPU time of n items, after a warm-up with a tenth of them. */
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

/* Runs a shape that works on every item `times` times, each time for the microseconds that the
 * row's name says. */
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

/* Sorts the times and returns the percentile. */
static inline double bench_percentile(uint64_t *times, int64_t n, int percent)
{
    bench_check("times that were measured", n > 0, 1);
    qsort(times, (size_t)n, sizeof *times, bench_compare);
    int64_t at = n * percent / 100;
    return (double)times[at < n ? at : n - 1];
}
