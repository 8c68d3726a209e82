/* late.c: how late the system runs a thread while another one computes, at worst. */
#define _GNU_SOURCE
#include "limits.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAP_NS = 1000000, WAKES = 1000 };

static void nap(long ns)
{
    struct timespec t = { .tv_nsec = ns };
    nanosleep(&t, NULL);
}

static void compute_until(uint64_t end)
{
    while (bench_now() < end)
        continue;
}

static void *compute_for_a_second(void *end)
{
    compute_until(*(const uint64_t *)end);
    return NULL;
}

/* A thread sleeps 1 ms at a time beside one that computes for a second. */
void limit_late_sleeper(const char *row)
{
    pthread_t thread;
    uint64_t now = bench_now(), end = now + 1000 * (uint64_t)NAP_NS, worst = 0;
    bench_check("pthread_create", pthread_create(&thread, NULL, compute_for_a_second, &end), 0);
    while (now < end) {
        uint64_t due = now + NAP_NS;
        nap(NAP_NS);
        now = bench_now();
        if (now > due && now - due > worst)
            worst = now - due;
    }
    pthread_join(thread, NULL);
    bench_sample(row, "ns/op", (double)worst);
}

static _Atomic uint32_t calls;
static _Atomic uint64_t begun;

static void *answer(void *arg)
{
    for (uint32_t i = 0; i < WAKES; i++) {
        while (atomic_load(&calls) == i)
            syscall(SYS_futex, &calls, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
        atomic_store(&begun, bench_now());
    }
    return arg;
}

/* A thread wakes another one, and then computes for 2 ms; a thousand times. */
void limit_late_partner(const char *row)
{
    pthread_t thread;
    uint64_t worst = 0;
    calls = 0;
    bench_check("pthread_create", pthread_create(&thread, NULL, answer, NULL), 0);
    for (uint32_t i = 1; i <= WAKES; i++) {
        nap(NAP_NS / 5); /* so that the other core has been idle for a while */
        begun = 0;
        uint64_t ready = bench_now(), from;
        atomic_store(&calls, i);
        syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        compute_until(ready + 2 * (uint64_t)NAP_NS);
        while (!(from = atomic_load(&begun)))
            nap(NAP_NS / 100); /* now the other thread may have this core */
        if (from - ready > worst)
            worst = from - ready;
    }
    pthread_join(thread, NULL);
    bench_sample(row, "ns/op", (double)worst);
}
