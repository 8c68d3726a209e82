/* memory.c: what a stack costs before anything runs on it: a page, a guard. */
#define _GNU_SOURCE
#include "limits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef PIDFD_SELF_PROCESS
#define PIDFD_SELF_PROCESS (-10000 - 1)
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

enum { STACK = 64 * 1024, PAGE = 4096, AT_ONCE = 4096, CROWD = 65536, BATCH = 32 };

static char *stacks_map(size_t n)
{
    void *stacks = mmap(NULL, n * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bench_check("mmap", stacks != MAP_FAILED, 1);
    madvise(stacks, n * STACK, MADV_NOHUGEPAGE);
    return stacks;
}

static uint64_t with_stacks(int64_t n, void (*touch)(char *stack))
{
    uint64_t ns = 0;
    for (int64_t done = 0; done < n; done += AT_ONCE) {
        char *stacks = stacks_map(AT_ONCE);
        uint64_t start = bench_now();
        for (size_t i = 0; i < AT_ONCE; i++)
            touch(stacks + i * STACK);
        ns += bench_now() - start;
        munmap(stacks, (size_t)AT_ONCE * STACK);
    }
    return ns;
}

static void top(char *stack)
{
    *(volatile char *)(stack + STACK - 1) = 1;
}

static void guard(char *stack)
{
    bench_check("MADV_GUARD_INSTALL", madvise(stack, PAGE, MADV_GUARD_INSTALL), 0);
}

uint64_t limit_page(int64_t n)
{
    return with_stacks(n, top);
}

uint64_t limit_guard(int64_t n)
{
    return with_stacks(n, guard);
}

/* ---- pages as a pool of stacks gets them ---- */

static char *crowd;
static unsigned cores;
static _Atomic unsigned there;

/* Waits for all threads, then backs this core's batches with pages. Returns the time of that. */
static uint64_t populate(unsigned core)
{
    limits_stay_on(core);
    atomic_fetch_add(&there, 1);
    while (atomic_load(&there) < cores) {
    }
    uint64_t start = bench_now();
    for (size_t batch = core; batch < CROWD / BATCH; batch += cores) {
        struct iovec pages[BATCH];
        for (size_t i = 0; i < BATCH; i++) {
            char *end = crowd + (batch * BATCH + i + 1) * STACK;
            pages[i] = (struct iovec){ end - PAGE, PAGE };
        }
        bench_check(
            "MADV_POPULATE_WRITE",
            syscall(SYS_process_madvise, PIDFD_SELF_PROCESS, pages, BATCH, MADV_POPULATE_WRITE, 0),
            BATCH * PAGE);
    }
    return bench_now() - start;
}

static void *populate_too(void *ns)
{
    *(uint64_t *)ns = populate(1);
    return NULL;
}

static uint64_t pages(int64_t n, unsigned on)
{
    uint64_t ns = 0;
    for (int64_t done = 0; done < n; done += CROWD) {
        uint64_t theirs = 0;
        pthread_t thread;
        crowd = stacks_map(CROWD);
        cores = on;
        there = 0;
        if (on > 1)
            bench_check("pthread_create", pthread_create(&thread, NULL, populate_too, &theirs), 0);
        ns += populate(0);
        if (on > 1)
            pthread_join(thread, NULL);
        ns += theirs;
        munmap(crowd, (size_t)CROWD * STACK);
    }
    return ns;
}

uint64_t limit_pages_one_core(int64_t n)
{
    return pages(n, 1);
}

uint64_t limit_pages_two_cores(int64_t n)
{
    return pages(n, 2);
}

/* ---- a stack that is in no cache, as after a long wait ---- */

enum { LINES = 7, LINE = 64, AHEAD = 8 };

/* The lowest line in use: 7 to 30 lines below the stack's end, different from stack to stack. */
static char *left_at(size_t i)
{
    return crowd + (i + 1) * STACK - (LINES + i * LINES % 24) * LINE;
}

static void touch_lines(char *at)
{
    for (int line = 0; line < LINES; line++)
        ++*(volatile char *)(at + line * LINE);
}

static uint64_t visit_all(void)
{
    uint64_t start = bench_now();
    for (size_t i = 0; i < CROWD; i++) {
        for (int line = 0; line < LINES && i + AHEAD < CROWD; line++)
            __builtin_prefetch(left_at(i + AHEAD) + line * LINE, 1);
        touch_lines(left_at(i));
    }
    return bench_now() - start;
}

uint64_t limit_far_stack(int64_t n)
{
    uint64_t ns = 0;
    crowd = stacks_map(CROWD);
    visit_all();
    for (int64_t done = 0; done < n; done += CROWD)
        ns += visit_all();
    munmap(crowd, (size_t)CROWD * STACK);
    return ns;
}
