/* hog.h: how late sleepers wake beside a task that computes, for the programs in C and C++. One
 * task computes for a second, and a hundred sleep for a millisecond again and again. */
#pragma once

#include "work.h"

enum { BENCH_SLEEPERS = 100, BENCH_NAP_NS = 1000000 };

struct bench_sleeper {
    uint64_t due, end; /* begins no nap after `end` */
    uint64_t *late;
    int64_t naps;
};

static inline void bench_sleepers_begin(struct bench_sleeper *all)
{
    int64_t ms = bench_about_a_thousand();
    uint64_t now = bench_now(), end = now + (uint64_t)ms * 1000000u;
    for (int i = 0; i < BENCH_SLEEPERS; i++) {
        all[i].due = now + BENCH_NAP_NS;
        all[i].end = end;
        all[i].late = (uint64_t *)calloc((size_t)ms + 1, sizeof *all[i].late);
        all[i].naps = 0;
    }
}

static inline void bench_hog(uint64_t end)
{
    while (bench_now() < end)
        bench_check("hog", bench_spend(1000), 0);
}

/* Notes how late the sleeper woke. Returns whether there is time for another nap. */
static inline int bench_sleeper_woke(struct bench_sleeper *me)
{
    uint64_t now = bench_now();
    me->late[me->naps++] = now > me->due ? now - me->due : 0;
    me->due = now + BENCH_NAP_NS;
    return now < me->end;
}

static inline void bench_sleepers_end(const char *row, struct bench_sleeper *all)
{
    int64_t naps = 0, n = 0;
    for (int i = 0; i < BENCH_SLEEPERS; i++)
        naps += all[i].naps;
    uint64_t *late = (uint64_t *)calloc((size_t)naps, sizeof *late);
    for (int i = 0; i < BENCH_SLEEPERS; i++) {
        bench_check("hog: naps of each", all[i].naps > 0, 1);
        for (int64_t k = 0; k < all[i].naps; k++)
            late[n++] = all[i].late[k];
        free(all[i].late);
    }
    bench_sample(row, "sleeps", (double)naps);
    bench_sample(row, "late median ns", bench_percentile(late, n, 50));
    bench_sample(row, "late worst ns", bench_percentile(late, n, 100));
    free(late);
}
