/* rows.h: what the files of this program share. main.c names the rows. */
#pragma once

#include <leat/leat.h>

#include "../common/bench.h"

/* Moves items. A sender sends first … last-1; a receiver keeps the sum and count of its items. */
struct party {
    leat_chan *in, *out;
    int64_t first, last;
    int64_t sum, count;
};

/* The i-th of `parts` senders, which send 0 … n-1 together. */
static inline struct party party_sender(leat_chan *out, int64_t n, int i, int parts)
{
    int64_t each = n / parts;
    return (struct party){ .out = out, .first = each * i, .last = each * (i + 1) };
}

/* Checks, by sum and count, that the receivers together got each of 0 … n-1 once. */
static inline void party_check(const char *what, const struct party *receivers, int parts,
                               int64_t n)
{
    int64_t sum = 0, count = 0;
    for (int i = 0; i < parts; i++) {
        sum += receivers[i].sum;
        count += receivers[i].count;
    }
    bench_check(what, count, n);
    bench_check(what, sum, bench_sum(n));
}

enum { CAPACITY = 128, MOST_PARTIES = 4, RING = 1000 };
enum { AT_A_TIME = 64, LEAST_REQUESTS = 2 * AT_A_TIME };

/* Functions for tasks and for threads; the argument is a party. */
leat_fn party_send, party_recv, party_echo;
/* Makes n round trips over two unbuffered channels; `echo` is at their other ends. */
int64_t pingpong_loop(leat_chan *there, leat_chan *back, int64_t n);

bench_fn yield, yield_blocks, spawn_1, spawn_1_blocks, spawn_1000, spawn_1000_blocks;
bench_fn pingpong, pingpong_blocks;
bench_fn unbuffered_1to1, unbuffered_1to1_blocks, unbuffered_4to4, unbuffered_4to4_blocks;
bench_fn buffered_1to1, buffered_1to1_blocks, buffered_1to1_many;
bench_fn buffered_4to4, buffered_4to4_blocks, buffered_4to4_many;
bench_fn select_4, poll_1, poll_4;
bench_fn server, server_blocks, ring, ring_blocks, pipeline, ordered_map, timer;
bench_fn batch, batch_mutex, batch_task;
bench_fn thread_pingpong, thread_buffered_1to1, thread_buffered_4to4, thread_select;
bench_fn thread_to_task, task_to_thread, thread_task_pingpong, thread_task_pingpong_one;
bench_once_fn sieve, parked, parked_blocks, sleepers, sleepers_blocks, cancel, cancel_blocks;
bench_once_fn timeout_channel, timeout_channel_spread, timeout_channel_exact;
