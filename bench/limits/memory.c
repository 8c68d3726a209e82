/* memory.c: what a stack costs before anything runs on it: a page, a guard. */
#define _GNU_SOURCE
#include "limits.h"

#include <sys/mman.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

enum { STACK = 64 * 1024, PAGE = 4096, AT_ONCE = 4096 };

static char *stacks_map(void)
{
    void *stacks = mmap(NULL, (size_t)AT_ONCE * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bench_check("mmap", stacks != MAP_FAILED, 1);
    madvise(stacks, (size_t)AT_ONCE * STACK, MADV_NOHUGEPAGE);
    return stacks;
}

static uint64_t with_stacks(int64_t n, void (*touch)(char *stack))
{
    uint64_t ns = 0;
    for (int64_t done = 0; done < n; done += AT_ONCE) {
        char *stacks = stacks_map();
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
