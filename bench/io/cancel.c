/* cancel.c: what it takes to cancel 10,000 tasks that wait to read, each from a descriptor of its
 * own, and as many that wait to receive, each from a channel of its own. Prints the time for each
 * task in ns, of both and in turns: medians, with the least and the most, and their ratio. */
#define _GNU_SOURCE
#include <leat/leat.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

enum { WAITERS = 10000, ROUNDS = 15 };

static _Atomic unsigned ended;

static int read_one(void *io)
{
    char bytes[8];
    int64_t n = leat_read(io, bytes, sizeof bytes);
    atomic_fetch_add_explicit(&ended, n == -ECANCELED, memory_order_relaxed);
    return 0;
}

static int receive_one(void *ch)
{
    int error = leat_recv(ch, NULL);
    atomic_fetch_add_explicit(&ended, error == -ECANCELED, memory_order_relaxed);
    return 0;
}

/* The ns for each task; negative: an error. */
static double cancel(leat_fn *wait, void **things)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    atomic_store(&ended, 0);
    for (int i = 0; i < WAITERS; i++)
        if (leat_go(scope, wait, things[i]) != 0)
            return -1;
    leat_sleep(30 * LEAT_MS); /* all wait */
    int64_t begun = leat_now();
    leat_scope_cancel(scope);
    leat_scope_close(scope);
    int64_t took = leat_now() - begun;
    return atomic_load(&ended) == WAITERS ? (double)took / WAITERS : -1;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double report(const char *name, double *times)
{
    qsort(times, ROUNDS, sizeof *times, by_size);
    printf("cancel     %s: %.0f ns (%.0f to %.0f)\n", name, times[ROUNDS / 2], times[0],
           times[ROUNDS - 1]);
    return times[ROUNDS / 2];
}

static int run(void *arg)
{
    (void)arg;
    static void *ios[WAITERS], *channels[WAITERS];
    double readers[ROUNDS], receivers[ROUNDS];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < WAITERS; i++) {
        leat_io *io;
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0 || leat_io_adopt(scope, fd, &io) != 0)
            return -EMFILE;
        ios[i] = io;
        channels[i] = leat_chan_make(scope, 0, 0);
    }
    for (int i = -1; i < ROUNDS; i++) { /* the first time all is made that stays */
        double reading = cancel(read_one, ios), receiving = cancel(receive_one, channels);
        if (reading < 0 || receiving < 0)
            return -EIO;
        if (i >= 0) {
            readers[i] = reading;
            receivers[i] = receiving;
        }
    }
    double ratio = report("10,000 readers  ", readers) / report("10,000 receivers", receivers);
    printf("cancel     readers of receivers %.2f, bar 1.30   %s\n", ratio,
           ratio <= 1.3 ? "met" : "MISSED");
    return leat_scope_close(scope);
}

int main(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return leat_main_with(run, NULL, &(leat_options){ .workers = 1 }) != 0;
}
