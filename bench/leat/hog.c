/* hog.c: a task computes for a second and never waits, while a hundred sleep. How late do these
 * wake up? */
#include "../common/hog.h"
#include "work.h"

static int nap(void *arg)
{
    struct bench_sleeper *me = arg;
    do
        leat_sleep(BENCH_NAP_NS);
    while (bench_sleeper_woke(me));
    return 0;
}

static int compute(void *arg)
{
    struct bench_sleeper *one = arg;
    bench_hog(one->end);
    return 0;
}

void hog(const char *row)
{
    struct bench_sleeper *all = calloc(BENCH_SLEEPERS, sizeof *all);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    bench_sleepers_begin(all);
    for (int i = 0; i < BENCH_SLEEPERS; i++)
        leat_go(s, nap, &all[i]);
    leat_go(s, compute, &all[0]);
    leat_scope_close(s);
    bench_sleepers_end(row, all);
    free(all);
}
