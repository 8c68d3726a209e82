/* requests.h: the requests to a server, for the programs in C and C++. One request in ten computes
 * for as long as the row's name says, the others for a microsecond. */
#pragma once

#include "work.h"

enum {
    BENCH_CLIENTS = 64,
    BENCH_ONE_IN = 10,
    BENCH_REQUESTS_MULTIPLE = BENCH_CLIENTS * BENCH_ONE_IN
};

struct bench_requests {
    int64_t long_turns, short_turns;
    double mean_ns;
};

static inline struct bench_requests bench_requests_of(const char *row)
{
    const double ns = 1e3 * bench_number_in(row), short_ns = 1e3;
    double a_ns = bench_turns_a_ns(row);
    struct bench_requests r;
    r.long_turns = bench_turns_in(ns, a_ns);
    r.short_turns = bench_turns_in(short_ns, a_ns);
    r.mean_ns = (ns + (double)(BENCH_ONE_IN - 1) * short_ns) / (double)BENCH_ONE_IN;
    return r;
}

static inline int64_t bench_request_turns(const struct bench_requests *r, int64_t i)
{
    return i % BENCH_ONE_IN == 0 ? r->long_turns : r->short_turns;
}

/* ---- requests at a steady pace, which keep all cores busy for half of the time ---- */

struct bench_arrival {
    int64_t turns;
    uint64_t due, took;
    int64_t served; /* times that it was served */
    int is_long;
};

/* All requests of a sample, in the order in which they are due, at whole milliseconds. */
static inline struct bench_arrival *bench_arrivals(const struct bench_requests *r, int64_t *n)
{
    const int64_t pace = 1000000, bursts = bench_up((double)bench_env("BENCH_MIN_MS", 150), 1);
    double each = 0.5 * (double)bench_env("BENCH_CORES", 1) * (double)pace / r->mean_ns;
    *n = bench_up((double)bench_env("BENCH_OPS", (int64_t)(each * (double)bursts)), BENCH_ONE_IN);
    struct bench_arrival *all = (struct bench_arrival *)calloc((size_t)*n, sizeof *all);
    for (int64_t i = 0; i < *n; i++) {
        all[i].turns = bench_request_turns(r, i);
        all[i].is_long = i % BENCH_ONE_IN == 0;
        all[i].due = (uint64_t)(i * bursts / *n * pace);
    }
    return all;
}

static inline void bench_arrivals_begin(struct bench_arrival *all, int64_t n)
{
    uint64_t now = bench_now();
    for (int64_t i = 0; i < n; i++)
        all[i].due += now;
}

static inline void bench_arrival_serve(struct bench_arrival *a)
{
    a->served += 1 + bench_spend(a->turns);
    a->took = bench_now() - a->due;
}

/* Prints a sample: the time within which 99 of 100 short requests were served, counted from when
 * they were due. */
static inline void bench_arrivals_end(const char *row, struct bench_arrival *all, int64_t n)
{
    uint64_t *times = (uint64_t *)calloc((size_t)n, sizeof *times);
    int64_t shorts = 0, once = 0;
    for (int64_t i = 0; i < n; i++) {
        once += all[i].served == 1;
        if (!all[i].is_long)
            times[shorts++] = all[i].took;
    }
    bench_check(row, once, n);
    bench_sample(row, "short p99 ns", bench_percentile(times, shorts, 99));
    free(times);
    free(all);
}
