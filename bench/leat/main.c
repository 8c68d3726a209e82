/* main.c: leat's program of the benchmark. docs/performance.md says what each row is. */
#include "rows.h"
#include "work.h"

enum { IN_TASK, IN_THREAD };

#define WORK_ROW(name, fn) \
    { \
        name, 1, NULL, fn, IN_TASK \
    }
/* One row for each size of the items' work. `way` may be empty. */
#define WORK_ROWS(shape, way) \
    WORK_ROW(#shape "_1us" #way, shape##way), WORK_ROW(#shape "_5us" #way, shape##way), \
        WORK_ROW(#shape "_20us" #way, shape##way), WORK_ROW(#shape "_100us" #way, shape##way), \
        WORK_ROW(#shape "_1000us" #way, shape##way)

static const struct bench_row rows[] = {
    { "yield", 2, yield, NULL, IN_TASK },
    { "yield_blocks", 2, yield_blocks, NULL, IN_TASK },
    { "pingpong", 1, pingpong, NULL, IN_TASK },
    { "pingpong_blocks", 1, pingpong_blocks, NULL, IN_TASK },
    { "unbuffered_1to1", 1, unbuffered_1to1, NULL, IN_TASK },
    { "unbuffered_1to1_blocks", 1, unbuffered_1to1_blocks, NULL, IN_TASK },
    { "unbuffered_4to4", 4, unbuffered_4to4, NULL, IN_TASK },
    { "unbuffered_4to4_blocks", 4, unbuffered_4to4_blocks, NULL, IN_TASK },
    { "buffered_1to1", 1, buffered_1to1, NULL, IN_TASK },
    { "buffered_1to1_blocks", 1, buffered_1to1_blocks, NULL, IN_TASK },
    { "buffered_1to1_many", 1, buffered_1to1_many, NULL, IN_TASK },
    { "buffered_4to4", 4, buffered_4to4, NULL, IN_TASK },
    { "buffered_4to4_blocks", 4, buffered_4to4_blocks, NULL, IN_TASK },
    { "buffered_4to4_many", 4, buffered_4to4_many, NULL, IN_TASK },
    { "select_4", 4, select_4, NULL, IN_TASK },
    { "poll_1", 1, poll_1, NULL, IN_TASK },
    { "poll_4", 1, poll_4, NULL, IN_TASK },
    { "spawn_1", 1, spawn_1, NULL, IN_TASK },
    { "spawn_1_blocks", 1, spawn_1_blocks, NULL, IN_TASK },
    { "spawn_1000", 1000, spawn_1000, NULL, IN_TASK },
    { "spawn_1000_blocks", 1000, spawn_1000_blocks, NULL, IN_TASK },
    { "server", LEAST_REQUESTS, server, NULL, IN_TASK },
    { "server_blocks", LEAST_REQUESTS, server_blocks, NULL, IN_TASK },
    { "parked", 1, NULL, parked, IN_TASK },
    { "parked_blocks", 1, NULL, parked_blocks, IN_TASK },
    { "ring", 1, ring, NULL, IN_TASK },
    { "ring_blocks", 1, ring_blocks, NULL, IN_TASK },
    { "sieve", 1, NULL, sieve, IN_TASK },
    { "sleepers", 1, NULL, sleepers, IN_TASK },
    { "sleepers_blocks", 1, NULL, sleepers_blocks, IN_TASK },
    { "timeout_channel", 1, NULL, timeout_channel, IN_TASK },
    { "timeout_channel_spread", 1, NULL, timeout_channel_spread, IN_TASK },
    { "timeout_channel_exact", 1, NULL, timeout_channel_exact, IN_TASK },
    { "timer", 1, timer, NULL, IN_TASK },
    { "pipeline", 1, pipeline, NULL, IN_TASK },
    { "ordered_map", 1, ordered_map, NULL, IN_TASK },
    { "batch", 64, batch, NULL, IN_TASK },
    { "batch_mutex", 64, batch_mutex, NULL, IN_TASK },
    { "batch_task", 64, batch_task, NULL, IN_TASK },
    { "cancel", 1, NULL, cancel, IN_TASK },
    { "cancel_blocks", 1, NULL, cancel_blocks, IN_TASK },
    WORK_ROWS(work_fan, ),
    WORK_ROWS(work_crowd, ),
    WORK_ROWS(work_crowd, _blocks),
    WORK_ROWS(work_chain, ),
    WORK_ROWS(work_ordered, ),
    WORK_ROWS(work_server, ),
    { "hog", 1, NULL, hog, IN_TASK },
    { "join", 1, NULL, join, IN_TASK },
    { "parallel_for_1ms", 1, NULL, parallel_for, IN_TASK },
    { "parallel_for_1ms_singly", 1, NULL, parallel_for_singly, IN_TASK },
    { "parallel_for_10ms", 1, NULL, parallel_for, IN_TASK },
    { "parallel_for_10ms_singly", 1, NULL, parallel_for_singly, IN_TASK },
    { "parallel_for_100ms", 1, NULL, parallel_for, IN_TASK },
    { "parallel_for_100ms_singly", 1, NULL, parallel_for_singly, IN_TASK },
    { "thread_pingpong", 1, thread_pingpong, NULL, IN_THREAD },
    { "thread_buffered_1to1", 1, thread_buffered_1to1, NULL, IN_THREAD },
    { "thread_buffered_4to4", 4, thread_buffered_4to4, NULL, IN_THREAD },
    { "thread_select_4", 4, thread_select, NULL, IN_THREAD },
    { "thread_to_task", 1, thread_to_task, NULL, IN_THREAD },
    { "task_to_thread", 1, task_to_thread, NULL, IN_THREAD },
    { "thread_task_pingpong", 1, thread_task_pingpong, NULL, IN_THREAD },
    { "thread_task_pingpong_one", 1, thread_task_pingpong_one, NULL, IN_THREAD },
    { NULL, 0, NULL, NULL, 0 },
};

static int run_task(void *row)
{
    bench_run(row);
    return 0;
}

static void run(const struct bench_row *row)
{
    if (row->where == IN_THREAD) {
        bench_run(row);
        return;
    }
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_go(s, run_task, (void *)row);
    bench_check(row->name, leat_scope_close(s), 0);
}

int main(int argc, char **argv)
{
    bench_check("leat_start", leat_start(NULL), 0);
    int status = bench_main(argc, argv, rows, run);
    bench_check("leat_stop", leat_stop(), 0);
    return status;
}
