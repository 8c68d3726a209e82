/* bench.h: timing, calibration and reporting, for the programs in C and C++.
 *
 * A program without arguments lists its rows; with the names of rows, or with "all", it runs them.
 * It prints lines with SAMPLE, row, metric and value, separated by tabs. If a row's own check
 * fails, the program ends with status 3. The environment sets:
 *   BENCH_MIN_MS   milliseconds that a sample lasts at least (150)
 *   BENCH_REPEATS  samples (1)
 *   BENCH_OPS      operations of a sample; without it, the program finds how many last long enough
 *   BENCH_CROWD    size of the crowd, in rows that have one (as the row says) */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Does n operations, checks their results, and returns the nanoseconds that they took. */
typedef uint64_t bench_fn(int64_t n);
/* For rows that are not a loop of operations: prints its samples itself. */
typedef void bench_once_fn(const char *row);

struct bench_row {
    const char *name;
    int64_t multiple; /* n is a multiple of this */
    bench_fn *run;
    bench_once_fn *once; /* instead of `run` */
    int where;           /* for the program's own use */
};

static inline uint64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int64_t bench_env(const char *name, int64_t otherwise)
{
    const char *value = getenv(name);
    return value && *value ? atoll(value) : otherwise;
}

static inline int64_t bench_crowd(int64_t n)
{
    return bench_env("BENCH_CROWD", n);
}

static inline void bench_sample(const char *row, const char *metric, double value)
{
    printf("SAMPLE\t%s\t%s\t%.5g\n", row, metric, value);
    fflush(stdout);
}

static inline void bench_check(const char *what, int64_t got, int64_t want)
{
    if (got != want) {
        fprintf(stderr, "%s: got %lld instead of %lld\n", what, (long long)got, (long long)want);
        exit(3);
    }
}

/* 0 + 1 + … + n-1 */
static inline int64_t bench_sum(int64_t n)
{
    return n * (n - 1) / 2;
}

/* The bytes that a field of /proc/self/status, which is in kB, stands for. */
static inline int64_t bench_status(const char *field)
{
    char line[256];
    size_t length = strlen(field);
    int64_t bytes = 0;
    FILE *f = fopen("/proc/self/status", "r");
    if (!f)
        return 0;
    while (!bytes && fgets(line, sizeof line, f))
        if (strncmp(line, field, length) == 0 && line[length] == ':')
            bytes = atoll(line + length + 1) * 1024;
    fclose(f);
    return bytes;
}

static inline int64_t bench_cpu_ns(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
           ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* splitmix64 */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline int64_t bench_up(double n, int64_t multiple)
{
    return ((int64_t)n + multiple - 1) / multiple * multiple;
}

/* The number of operations for a sample. Tries more and more until they last a quarter of
 * BENCH_MIN_MS, then scales up and adds a fifth. These runs are the warm-up, too. */
static inline int64_t bench_calibrate(const struct bench_row *row)
{
    double enough = (double)bench_env("BENCH_MIN_MS", 150) * 1e6;
    int64_t n = bench_up(1000, row->multiple);
    for (;;) {
        double ns = (double)row->run(n), factor = 20;
        if (ns >= enough / 4)
            return bench_up((double)n * 1.2 * enough / ns, row->multiple);
        if (ns > 1e6 && 1.25 * enough / 4 / ns < factor)
            factor = 1.25 * enough / 4 / ns;
        n = bench_up((double)n * (factor < 1.1 ? 1.1 : factor), row->multiple);
    }
}

static inline void bench_run(const struct bench_row *row)
{
    if (row->once) {
        row->once(row->name);
        return;
    }
    int64_t n = bench_up((double)bench_env("BENCH_OPS", 0), row->multiple);
    if (!n)
        n = bench_calibrate(row);
    for (int64_t i = bench_env("BENCH_REPEATS", 1); i > 0; i--)
        bench_sample(row->name, "ns/op", (double)row->run(n) / (double)n);
}

/* `call`: calls bench_run() in the program's own setting, for example in a task. */
static inline int bench_main(int argc, char **argv, const struct bench_row *rows,
                             void (*call)(const struct bench_row *))
{
    int found = 0;
    for (const struct bench_row *row = rows; row->name; row++) {
        if (argc < 2)
            puts(row->name);
        for (int i = 1; i < argc; i++)
            if (strcmp(argv[i], row->name) == 0 || strcmp(argv[i], "all") == 0) {
                call(row);
                found = 1;
            }
    }
    if (argc < 2 || found)
        return 0;
    fprintf(stderr, "%s: no such row: %s\n", argv[0], argv[1]);
    return 2;
}
