/* timers.c: timers that hardly ever fire: timeout channels, and timers stopped in time. */
#include "rows.h"

#include <string.h>

/* Makes timeouts of 1,000 to 2,000 seconds, with `times` different times. */
static void make_timeouts(const char *row, int64_t times)
{
    int64_t n = bench_crowd(1000000), made = 0;
    uint64_t state = 1;
    leat_chan **timeouts = malloc((size_t)n * sizeof(leat_chan *));
    memset(timeouts, 1, (size_t)n * sizeof(leat_chan *)); /* touches its pages now */
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i++) {
        int64_t at = (int64_t)(bench_random(&state) % (uint64_t)times);
        timeouts[i] = leat_timeout(1000 * LEAT_S + at * (1000 * LEAT_S / times));
    }
    uint64_t ns = bench_now() - start;
    for (int64_t i = 0; i < n; i++) {
        made += !leat_chan_closed(timeouts[i]);
        leat_chan_unref(timeouts[i]);
    }
    free(timeouts);
    bench_check(row, made, n);
    bench_sample(row, "ns/op", (double)ns / (double)n);
}

void timeout_channel(const char *row)
{
    make_timeouts(row, 1000);
}

void timeout_channel_spread(const char *row)
{
    make_timeouts(row, 1000000);
}

void timeout_channel_exact(const char *row)
{
    bench_check("leat_timeout_resolution", leat_timeout_resolution(0), 0);
    make_timeouts(row, 1000000);
    leat_timeout_resolution(LEAT_TIMEOUT_RESOLUTION);
}

static void too_late(leat_timer *unused, int status)
{
    (void)unused;
    bench_check("a timer of an hour was called", status, 1);
}

uint64_t timer(int64_t n)
{
    int64_t stopped = 0;
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i++) {
        leat_timer t;
        leat_timer_init(&t, NULL);
        leat_after_func(&t, 3600 * LEAT_S, too_late);
        stopped += leat_timer_stop(&t) == 0;
    }
    uint64_t ns = bench_now() - start;
    bench_check("timer", stopped, n);
    return ns;
}
