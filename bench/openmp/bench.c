/* OpenMP's program of the benchmark: loops. It has as many threads as the process has cores. */
#include "../common/loops.h"

int64_t bench_turns_an_item;

static int64_t loop(void)
{
    int64_t sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (int64_t i = 0; i < BENCH_ROUNDS; i++)
        sum += i + bench_compute();
    return sum;
}

static void parallel_for(const char *row)
{
    bench_loops_run(row, loop);
}

static const struct bench_row rows[] = {
    { "parallel_for_1ms", 1, NULL, parallel_for, 0 },
    { "parallel_for_10ms", 1, NULL, parallel_for, 0 },
    { "parallel_for_100ms", 1, NULL, parallel_for, 0 },
    { NULL, 0, NULL, NULL, 0 },
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, rows, bench_run);
}
