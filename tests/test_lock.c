/* test_lock.c: the lock for short sections: one thread at a time has it, and none waits long. */
#define _GNU_SOURCE
#include "base/lock.h"
#include "support.h"

#include <sched.h>
#include <unistd.h>

static struct lt_lock lock;

/* ---- one at a time ---- */

enum { THREADS = 4, ROUNDS = 100000 / SCALE };

static long counter, shadow; /* guarded by `lock`; `shadow` differs while it changes */

static void count(void)
{
    long before = counter++;
    CHECK_IS(before, shadow);
    shadow++;
    lt_unlock(&lock);
}

static void take(void)
{
    lt_lock(&lock);
}

static void take_soon(void)
{
    lt_lock_soon(&lock);
}

static void try_to_take(void)
{
    while (!lt_try_lock(&lock))
        lt_pause();
}

typedef void take_fn(void);

static take_fn *const ways[THREADS] = { take, take_soon, take_soon, try_to_take };

static void *count_on(void *arg)
{
    take_fn *const *way = arg;
    for (int i = 0; i < ROUNDS; i++) {
        (*way)();
        count();
        if (i % 1024 == 0)
            usleep(10);
    }
    return NULL;
}

static void lets_one_in_at_a_time(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    counter = shadow = 0;
    for (int i = 0; i < THREADS; i++)
        CHECK_IS(0, pthread_create(&threads[i], NULL, count_on, (void *)&ways[i]));
    for (int i = 0; i < THREADS; i++)
        CHECK_IS(0, pthread_join(threads[i], NULL));
    CHECK_IS(THREADS * ROUNDS, counter);
}

/* ---- a thread that uses the lock all the time lets others have it ---- */

enum { TRIALS = 21, SOON = 64 };

static _Atomic bool had;
static int error_after;

static void *take_once(void *arg)
{
    take_fn *const *way = arg;
    errno = EBADF;
    (*way)();
    error_after = errno;
    atomic_store(&had, true);
    lt_unlock(&lock);
    return NULL;
}

static void stay_on_one_processor(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    CHECK_IS(0, sched_getaffinity(0, sizeof all, &all));
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    CHECK_IS(0, sched_setaffinity(0, sizeof one, &one));
}

/* How often a thread that uses the lock all the time takes it while another one waits. */
static int times_taken(take_fn *const *way, bool sleeps)
{
    pthread_t thread;
    int times = 0;
    atomic_store(&had, false);
    lt_lock(&lock);
    CHECK_IS(0, pthread_create(&thread, NULL, take_once, (void *)way));
    while (!atomic_load(&lock.wanted))
        sched_yield();
    if (sleeps)
        usleep(2000); /* the other thread sleeps by now */
    for (; !atomic_load(&had); times++) {
        lt_unlock(&lock);
        lt_lock(&lock);
    }
    lt_unlock(&lock);
    CHECK_IS(0, pthread_join(thread, NULL));
    CHECK_IS(EBADF, error_after);
    return times;
}

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* On one processor, a thread that never gave it away would take the lock thousands of times. A
 * loaded machine may spoil a few trials, so the median counts. */
static void *try_all(void *arg)
{
    (void)arg;
    stay_on_one_processor();
    for (int kind = 0; kind < 4; kind++) {
        int times[TRIALS];
        for (int i = 0; i < TRIALS; i++)
            times[i] = times_taken(&ways[kind / 2], kind % 2);
        qsort(times, TRIALS, sizeof *times, compare);
        CHECK(times[TRIALS / 2] <= SOON);
    }
    return NULL;
}

static void no_thread_waits_long(void **state)
{
    (void)state;
    pthread_t thread;
    skip_under_emulation();
    CHECK_IS(0, pthread_create(&thread, NULL, try_all, NULL));
    CHECK_IS(0, pthread_join(thread, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_one_in_at_a_time),
        cmocka_unit_test(no_thread_waits_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
