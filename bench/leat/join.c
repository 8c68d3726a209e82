/* join.c: how soon another core runs a task that is ready after one that computes.
 *
 * A task sends to a waiting task, and then computes for two milliseconds. A pair counts only if
 * both were on one worker before: otherwise the receiver would not have to wait. */
#define _GNU_SOURCE
#include "work.h"

#include <sys/syscall.h>
#include <unistd.h>

struct pair {
    leat_chan *here, *items;
    long thread; /* of the receiver, while it waits */
    uint64_t begun;
};

static long my_thread(void)
{
    return syscall(SYS_gettid);
}

static int receive_one(void *arg)
{
    struct pair *p = arg;
    int64_t item = 1;
    p->thread = my_thread();
    leat_send(p->here, &item);
    leat_recv(p->items, &item);
    p->begun = bench_now();
    return 0;
}

/* Returns how long the receiver waited for another core; -1 if it was on another core already. */
static int64_t compute_before(int64_t turns)
{
    int64_t item, took = -1;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct pair p = { .here = leat_chan_of(s, int64_t, 0), .items = leat_chan_of(s, int64_t, 0) };
    leat_go(s, receive_one, &p);
    leat_recv(p.here, &item);
    leat_sleep(LEAT_MS / 5); /* so that the other core has been idle for a while */
    int together = p.thread == my_thread();
    uint64_t ready = bench_now();
    leat_send(p.items, &item);
    if (together)
        bench_check("join", bench_spend(turns), 0);
    leat_scope_close(s);
    if (together)
        took = (int64_t)(p.begun - ready);
    return took;
}

void join(const char *row)
{
    int64_t pairs = bench_about_a_thousand(), n = 0;
    int64_t turns = bench_turns_in(2e6, bench_turns_a_ns(row));
    uint64_t *times = calloc((size_t)pairs, sizeof *times);
    for (int64_t i = 0; i < 10 * pairs && n < pairs; i++) {
        int64_t ns = compute_before(turns);
        if (ns >= 0)
            times[n++] = (uint64_t)ns;
    }
    bench_sample(row, "pairs", (double)n);
    if (n > 0) {
        bench_sample(row, "median ns", bench_percentile(times, n, 50));
        bench_sample(row, "worst ns", bench_percentile(times, n, 100));
    }
    free(times);
}
