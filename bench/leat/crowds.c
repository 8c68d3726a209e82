/* crowds.c: a million waiting parties: parked, asleep, cancelled; as tasks and as blocks. */
#include "rows.h"

#include <errno.h>
#include <stdatomic.h>

static struct crowd {
    leat_chan *ch;
    _Atomic int64_t ready, sum, cancelled;
} crowd;

static void crowd_begin(leat_scope *s)
{
    crowd.ch = leat_chan_of(s, int64_t, 0);
    crowd.ready = crowd.sum = crowd.cancelled = 0;
}

/* Waits until n have counted themselves in `ready`; the last one is then about to park. */
static void crowd_gather(int64_t n)
{
    while (atomic_load_explicit(&crowd.ready, memory_order_relaxed) < n)
        leat_yield();
}

static void count(_Atomic int64_t *counter, int64_t by)
{
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static int wait_for_item(void *arg)
{
    (void)arg;
    int64_t item;
    count(&crowd.ready, 1);
    int result = leat_recv(crowd.ch, &item);
    if (result == 0)
        count(&crowd.sum, item);
    else if (result == -ECANCELED)
        count(&crowd.cancelled, 1);
    return 0;
}

static int sleep_task(void *ms)
{
    leat_sleep((int64_t)(intptr_t)ms * LEAT_MS);
    count(&crowd.ready, 1);
    return 0;
}

struct waiter {
    leat_block block;
    int64_t item;
};

static int wait_for_item_block(leat_block *b)
{
    struct waiter *me = (struct waiter *)b;
    LEAT_BEGIN(b);
    count(&crowd.ready, 1);
    LEAT_AWAIT_RECV(b, crowd.ch, &me->item);
    if (b->status == 0)
        count(&crowd.sum, me->item);
    else if (b->status == -ECANCELED)
        count(&crowd.cancelled, 1);
    LEAT_END(b);
}

struct sleeper {
    leat_block block;
    leat_alarm alarm;
    int64_t ms;
};

static int sleep_block(leat_block *b)
{
    struct sleeper *me = (struct sleeper *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_SLEEP(b, me->ms * LEAT_MS, &me->alarm);
    count(&crowd.ready, 1);
    LEAT_END(b);
}

static void *blocks_make(int64_t n, size_t size)
{
    void *blocks = calloc((size_t)n, size);
    bench_check("memory for blocks", blocks != NULL, 1);
    return blocks;
}

static void start_waiters(leat_scope *s, int64_t n, struct waiter *blocks)
{
    for (int64_t i = 0; i < n; i++) {
        if (blocks)
            leat_go_block(s, &blocks[i].block, wait_for_item_block);
        else
            leat_go(s, wait_for_item, NULL);
    }
}

static void park(const char *row, int as_blocks)
{
    int64_t n = bench_crowd(1000000);
    double each = (double)n;
    int64_t resident = bench_status("VmRSS"), tables = bench_status("VmPTE");
    struct waiter *blocks = as_blocks ? blocks_make(n, sizeof *blocks) : NULL;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    crowd_begin(s);
    uint64_t start = bench_now();
    start_waiters(s, n, blocks);
    crowd_gather(n);
    uint64_t made = bench_now();
    resident = bench_status("VmRSS") - resident;
    tables = bench_status("VmPTE") - tables;
    uint64_t again = bench_now();
    for (int64_t i = 0; i < n; i++)
        leat_send(crowd.ch, &i);
    leat_scope_close(s);
    uint64_t end = bench_now();
    free(blocks);
    bench_check(row, crowd.sum, bench_sum(n));
    bench_sample(row, "bytes", (double)resident / each);
    bench_sample(row, "page table bytes", (double)tables / each);
    bench_sample(row, "create ns", (double)(made - start) / each);
    bench_sample(row, "wake ns", (double)(end - again) / each);
}

void parked(const char *row)
{
    park(row, 0);
}

void parked_blocks(const char *row)
{
    park(row, 1);
}

static void put_to_sleep(const char *row, int as_blocks)
{
    int64_t n = bench_crowd(1000000);
    uint64_t state = 1;
    struct sleeper *blocks = as_blocks ? blocks_make(n, sizeof *blocks) : NULL;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    crowd_begin(s);
    int64_t cpu = bench_cpu_ns();
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i++) {
        int64_t ms = 1 + (int64_t)(bench_random(&state) % 1000);
        if (blocks) {
            blocks[i].ms = ms;
            leat_go_block(s, &blocks[i].block, sleep_block);
        } else {
            leat_go(s, sleep_task, (void *)(intptr_t)ms);
        }
    }
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    cpu = bench_cpu_ns() - cpu;
    free(blocks);
    bench_check(row, crowd.ready, n);
    bench_sample(row, "CPU ns", (double)cpu / (double)n);
    bench_sample(row, "wall ms", (double)ns / 1e6);
}

void sleepers(const char *row)
{
    put_to_sleep(row, 0);
}

void sleepers_blocks(const char *row)
{
    put_to_sleep(row, 1);
}

static void cancel_crowd(const char *row, int as_blocks)
{
    int64_t n = bench_env("BENCH_CROWD", 1000000) / 10;
    struct waiter *blocks = as_blocks ? blocks_make(n, sizeof *blocks) : NULL;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    crowd_begin(s);
    start_waiters(s, n, blocks);
    crowd_gather(n);
    uint64_t start = bench_now();
    leat_scope_cancel(s);
    leat_scope_close(s);
    uint64_t ns = bench_now() - start;
    free(blocks);
    bench_check(row, crowd.cancelled, n);
    bench_sample(row, "ns/op", (double)ns / (double)n);
}

void cancel(const char *row)
{
    cancel_crowd(row, 0);
}

void cancel_blocks(const char *row)
{
    cancel_crowd(row, 1);
}
