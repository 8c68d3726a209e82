/* support.h: what all tests share.
 *
 * The body of most tests runs as the first task of leat_main_with. cmocka's assertions leave by
 * longjmp, which only the test's own thread may do. So tests check with CHECK and CHECK_IS, which
 * work in any task and thread: a failure prints one line and ends the program.
 *
 * A file that is compiled with TESTS_IN_SIM=n runs each body in the seeded world instead: with n
 * seeds, or with n / 10 without LEAT_LONG in the environment. LEAT_SIM=from:to (without `to`) or
 * LEAT_SEED in the environment chooses the seeds. */
#pragma once

#include "base/rng.h"
#include "chan/chan.h"
#include "sched/pool.h"

#include <leat/leat.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Tests do less where everything is slow or where they run very often. */
#if defined(TESTS_IN_SIM)
enum { IN_SIM = 1, UNDER_TSAN = 0, SCALE = 20 };
#elif defined(LT_TSAN) || defined(__SANITIZE_THREAD__)
enum { IN_SIM = 0, UNDER_TSAN = 1, SCALE = 10 };
#elif defined(LT_ASAN) || defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
enum { IN_SIM = 0, UNDER_TSAN = 0, SCALE = 4 };
#else
enum { IN_SIM = 0, UNDER_TSAN = 0, SCALE = 1 };
#endif

/* Under qemu-user a process cannot start itself again, nor read its memory by process_vm_readv. */
__attribute__((unused)) static inline void skip_under_emulation(void)
{
    if (getenv("LEAT_EMULATED"))
        skip();
}

#define CHECK(condition) \
    ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, "%s", #condition))
#define CHECK_IS(expected, actual) \
    check_is(__FILE__, __LINE__, #actual, (long long)(expected), (long long)(actual))

/* True in the long run (.ci/run), which may take all the time it needs. */
__attribute__((unused)) static inline bool in_long_run(void)
{
    const char *text = getenv("LEAT_LONG");
    return text && *text;
}

/* True where a seeded world tries more seeds. ThreadSanitizer finds nothing more in a world, which
 * has one thread. */
__attribute__((unused)) static inline bool tries_more_seeds(void)
{
    return in_long_run() && !UNDER_TSAN;
}

/* How often to repeat what takes long: less in a short run, and less where everything is slow. */
__attribute__((unused)) static inline int often(int times)
{
    return times / SCALE / (in_long_run() ? 1 : 8);
}

/* When a part of a stress test ends that begins now and gets 1 / `shares` of the test's time. */
__attribute__((unused)) static inline int64_t stress_end(int shares)
{
    const char *text = getenv("LEAT_STRESS_SECONDS");
    return leat_after((text && *text ? atoll(text) : 2) * LEAT_S / shares);
}

/* Printed with each failure: the test's seed, for example. */
__attribute__((unused)) static char check_note[128];

_Noreturn __attribute__((format(printf, 3, 4))) static inline void
check_failed(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    flockfile(stderr);
    fprintf(stderr, "%s:%d: failed: ", file, line);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "%s%s\n", *check_note ? "; " : "", check_note);
    funlockfile(stderr);
    va_end(arguments);
    abort();
}

static inline void check_is(const char *file, int line, const char *what, long long expected,
                            long long actual)
{
    if (expected != actual)
        check_failed(file, line, "%s is %lld, not %lld", what, actual, expected);
}

/* What this process has used: time in ns, memory in bytes. */
__attribute__((unused)) static inline int64_t processor_time(void)
{
    struct timespec time;
    CHECK_IS(0, clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time));
    return time.tv_sec * LEAT_S + time.tv_nsec;
}

__attribute__((unused)) static inline int64_t resident(void)
{
    long long all, pages;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file);
    CHECK_IS(2, fscanf(file, "%lld %lld", &all, &pages));
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* LEAT_SEED from the environment, or a new seed; check_note keeps it for failures. */
static inline uint64_t seed_of_test(void)
{
    if (leat_sim_running())
        return lt_rng_next(lt_chance()); /* depends on the world's seed only */
    const char *given = getenv("LEAT_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)leat_now() % 1000000007;
    snprintf(check_note, sizeof check_note, "LEAT_SEED=%llu", (unsigned long long)seed);
    return seed;
}

/* At least 0, less than `bound`. */
static inline unsigned below(uint64_t *chance, unsigned bound)
{
    return lt_rng_below(chance, bound);
}

/* Lets others run: other threads, or in the seeded world all parties. */
static inline void nap(void)
{
    if (leat_sim_running())
        leat_yield();
    else
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

/* Lets others run until the condition holds. Fails after a minute, or after ten million turns. */
#define WAIT_UNTIL(condition) \
    do { \
        int64_t since_ = leat_now(), turns_ = 0; \
        while (!(condition)) \
            wait_a_little(since_, turns_++, __FILE__, __LINE__, #condition); \
    } while (0)

static inline void wait_a_little(int64_t since, int64_t turns, const char *file, int line,
                                 const char *condition)
{
    leat_yield();
    if (leat_sim_running()) {
        if (turns > 10000000)
            check_failed(file, line, "waited ten million turns for %s", condition);
        return;
    }
    if (turns % 64 != 63)
        return;
    nap(); /* the condition may depend on a thread that needs this core */
    if (leat_now() - since > 60 * LEAT_S)
        check_failed(file, line, "waited a minute for %s", condition);
}

/* How many parties wait in a channel's queues: a party that waits cannot say so itself. */
static inline unsigned receivers_of(leat_chan *ch)
{
    return atomic_load(&ch->receivers_waiting);
}

static inline unsigned senders_of(leat_chan *ch)
{
    return atomic_load(&ch->senders_waiting);
}

/* ON_WORKERS(body) defines three tests: they run the body as the first task on 1, 2 and 4 workers.
 * TESTS_ON_WORKERS(body) lists them for cmocka. */
#define ON_WORKERS(body) \
    static void body##_on_1(void **state) \
    { \
        (void)state; \
        run_on(1, body); \
    } \
    static void body##_on_2(void **state) \
    { \
        (void)state; \
        run_on(2, body); \
    } \
    static void body##_on_4(void **state) \
    { \
        (void)state; \
        run_on(4, body); \
    } \
    static int body(void *)
#define TESTS_ON_WORKERS(body) \
    cmocka_unit_test(body##_on_1), cmocka_unit_test(body##_on_2), cmocka_unit_test(body##_on_4)

#ifdef TESTS_IN_SIM
/* Each test takes a third of the seeds. In the last third a turn takes up to 1 us. */
static inline void run_on(unsigned workers, leat_fn *body)
{
    unsigned long long from = 0, to = in_long_run() ? TESTS_IN_SIM : (TESTS_IN_SIM + 9) / 10;
    const char *range = getenv("LEAT_SIM");
    if (range)
        CHECK_IS(2, sscanf(range, "%llu:%llu", &from, &to));
    unsigned third = workers / 2;
    unsigned long long begin = from + (to - from) * third / 3,
                       end = from + (to - from) * (third + 1) / 3;
    const leat_sim_options options = { .slip = third == 2 ? LEAT_US : 0 };
    if (begin < end)
        CHECK_IS(0, leat_sim_each_with(&options, begin, end, body, NULL));
}
#else
static inline void run_on(unsigned workers, leat_fn *body)
{
    CHECK_IS(0, leat_main_with(body, NULL, &(leat_options){ .workers = workers }));
    CHECK_IS(0, leat_workers());
}
#endif

/* A thread that leat did not start. The seeded world simulates one instead; that one closes `gone`
 * when it ends. */
struct foreign {
    struct lt_work work;
    leat_fn *fn;
    void *arg;
    int result;
    _Atomic bool ended;
    pthread_t thread;
    leat_chan *gone;
};

static inline void *foreign_run(void *arg)
{
    struct foreign *foreign = arg;
    foreign->result = foreign->fn(foreign->arg);
    atomic_store(&foreign->ended, true);
    return NULL;
}

static inline void foreign_simulate(struct lt_work *work)
{
    struct foreign *foreign = LT_CONTAINER(work, struct foreign, work);
    foreign_run(foreign);
    leat_close(foreign->gone);
}

static inline void foreign_start(struct foreign *foreign, leat_fn *fn, void *arg)
{
    foreign->fn = fn;
    foreign->arg = arg;
    atomic_store(&foreign->ended, false);
    if (!leat_sim_running()) {
        CHECK_IS(0, pthread_create(&foreign->thread, NULL, foreign_run, foreign));
        return;
    }
    foreign->work.run = foreign_simulate;
    foreign->gone = leat_chan_make(NULL, 0, 0);
    CHECK_IS(0, lt_pool_submit(&foreign->work));
}

static inline void foreign_join_simulated(struct foreign *foreign)
{
    CHECK_IS(0, leat_shield());
    CHECK_IS(-EPIPE, leat_recv(foreign->gone, NULL));
    CHECK_IS(0, leat_unshield());
    CHECK_IS(0, leat_chan_unref(foreign->gone));
}

/* Waits until the thread has ended, and yields meanwhile: the thread may need this worker. */
static inline int foreign_join(struct foreign *foreign)
{
    if (leat_sim_running()) {
        foreign_join_simulated(foreign);
        return foreign->result;
    }
    WAIT_UNTIL(atomic_load(&foreign->ended));
    CHECK_IS(0, pthread_join(foreign->thread, NULL));
    return foreign->result;
}

/* The kinds of party, and a crew of parties that work together. */
enum kind { TASK, BLOCKING, FOREIGN, KINDS };

/* All kinds in turn. */
static inline enum kind kind_of(int number)
{
    return (enum kind)(number % KINDS);
}

struct crew {
    leat_scope *scope;
    int foreigners;
    struct foreign foreign[32];
};

static inline void crew_open(struct crew *crew)
{
    crew->foreigners = 0;
    crew->scope = leat_scope_open(LEAT_NEVER);
    CHECK(crew->scope);
}

static inline void crew_go(struct crew *crew, enum kind kind, leat_fn *fn, void *arg)
{
    switch (kind) {
    case TASK: CHECK_IS(0, leat_go(crew->scope, fn, arg)); break;
    case BLOCKING: CHECK_IS(0, leat_go_blocking(crew->scope, fn, arg)); break;
    default:
        CHECK(crew->foreigners < 32);
        foreign_start(&crew->foreign[crew->foreigners++], fn, arg);
    }
}

/* Joins all parties; each must have returned 0. */
static inline void crew_close(struct crew *crew)
{
    for (int i = 0; i < crew->foreigners; i++)
        CHECK_IS(0, foreign_join(&crew->foreign[i]));
    CHECK_IS(0, leat_scope_close(crew->scope));
}
