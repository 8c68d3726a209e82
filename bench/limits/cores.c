/* cores.c: an atomic on one core, and messages between two: through memory, and by futexes. */
#define _GNU_SOURCE
#include "limits.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINE = 128 }; /* two cache lines, which some processors fetch together */

uint64_t limit_atomic_add(int64_t n)
{
    static _Alignas(LINE) _Atomic int64_t counter;
    counter = 0;
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i++)
        atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
    uint64_t ns = bench_now() - start;
    bench_check("atomic_add", counter, n);
    return ns;
}

uint64_t limit_clock(int64_t n)
{
    uint64_t before = bench_now(), now = before;
    for (int64_t i = 0; i < n; i++)
        now = bench_now();
    return now - before;
}

void limits_stay_on(unsigned core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    bench_check("sched_setaffinity", sched_setaffinity(0, sizeof set, &set), 0);
}

static int64_t times;
static unsigned partner_core;
static _Atomic bool partner_is_there;

static void begin_as_partner(void)
{
    limits_stay_on(partner_core);
    atomic_store(&partner_is_there, true);
}

/* Starts the partner on its core, talks from core 0, and returns how long that took. */
static uint64_t talk(int64_t n, unsigned core, void *(*partner)(void *), void (*me)(void))
{
    pthread_t thread;
    limits_stay_on(0);
    times = n;
    partner_core = core;
    atomic_store(&partner_is_there, false);
    bench_check("pthread_create", pthread_create(&thread, NULL, partner, NULL), 0);
    while (!atomic_load(&partner_is_there))
        sched_yield();
    uint64_t start = bench_now();
    me();
    uint64_t ns = bench_now() - start;
    pthread_join(thread, NULL);
    return ns;
}

static _Alignas(LINE) _Atomic int64_t line;

static void line_await(int64_t value)
{
    while (atomic_load_explicit(&line, memory_order_acquire) != value) {
    }
}

static void line_put(int64_t value)
{
    atomic_store_explicit(&line, value, memory_order_release);
}

static void *line_partner(void *arg)
{
    begin_as_partner();
    for (int64_t i = 0; i < times; i++) {
        line_await(2 * i + 1);
        line_put(2 * i + 2);
    }
    return arg;
}

static void line_me(void)
{
    for (int64_t i = 0; i < times; i++) {
        line_put(2 * i + 1);
        line_await(2 * i + 2);
    }
}

uint64_t limit_cache_line(int64_t n)
{
    line = 0;
    uint64_t ns = talk(n / 2, 1, line_partner, line_me);
    bench_check("cache_line", line, n);
    return ns;
}

static struct {
    _Alignas(LINE) _Atomic uint32_t word;
} there, back;

static void futex_await(_Atomic uint32_t *word, uint32_t value)
{
    while (atomic_load(word) != value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value - 1, NULL, NULL, 0);
}

static void futex_put(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *futex_partner(void *arg)
{
    begin_as_partner();
    for (uint32_t i = 1; i <= (uint32_t)times; i++) {
        futex_await(&there.word, i);
        futex_put(&back.word, i);
    }
    return arg;
}

static void futex_me(void)
{
    for (uint32_t i = 1; i <= (uint32_t)times; i++) {
        futex_put(&there.word, i);
        futex_await(&back.word, i);
    }
}

static uint64_t futex(int64_t n, unsigned core)
{
    there.word = back.word = 0;
    uint64_t ns = talk(n, core, futex_partner, futex_me);
    bench_check("futex", back.word, n);
    return ns;
}

uint64_t limit_futex_one_core(int64_t n)
{
    return futex(n, 0);
}

uint64_t limit_futex_two_cores(int64_t n)
{
    return futex(n, 1);
}
