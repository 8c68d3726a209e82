/* test_move_thread.c: what the C library keeps for each thread, in a task that has moved to another
 * one: the stack protector's canary, the guard of jump buffers, the signal mask, rseq.
 *
 * This file is compiled with -fstack-protector-all, so each function here that is left in another
 * thread than it was entered in compares the canaries of both. */
#define _GNU_SOURCE /* sched_getcpu */
#include "moves.h"

#include <sched.h>
#include <signal.h>

enum { MOVES = 20 / SCALE + 2 };

/* A buffer, so that the frame has a canary with any choice of functions to protect. */
__attribute__((noinline)) static int moves_with_a_buffer(int depth)
{
    volatile char buffer[64];
    for (size_t i = 0; i < sizeof buffer; i++)
        buffer[i] = (char)depth;
    int below = depth ? moves_with_a_buffer(depth - 1) : 0;
    move_on();
    CHECK_IS(depth, buffer[depth]);
    return below + 1;
}

static int frames_are_left_in_other_threads(void *arg)
{
    (void)arg;
    CHECK_IS(MOVES + 1, moves_with_a_buffer(MOVES));
    return 0;
}
ON_MOVING_WORKERS(frames_are_left_in_other_threads);

static int jumps_back_from_another_thread(void *arg)
{
    (void)arg;
    jmp_buf here;
    volatile int jumps = 0;
    if (setjmp(here) < MOVES) {
        jumps++;
        move_on();
        longjmp(here, jumps);
    }
    CHECK_IS(MOVES, jumps);
    return 0;
}
ON_MOVING_WORKERS(jumps_back_from_another_thread);

static int has_the_workers_signal_mask(void *arg)
{
    (void)arg;
    sigset_t before, now;
    CHECK_IS(0, pthread_sigmask(SIG_BLOCK, NULL, &before));
    for (int i = 0; i < MOVES; i++) {
        move_on();
        CHECK_IS(0, pthread_sigmask(SIG_BLOCK, NULL, &now));
        for (int signal = 1; signal < NSIG; signal++)
            CHECK_IS(sigismember(&before, signal), sigismember(&now, signal));
    }
    return 0;
}
ON_MOVING_WORKERS(has_the_workers_signal_mask);

/* glibc reads the number from the thread's rseq area. */
static int knows_its_processor(void *arg)
{
    (void)arg;
    cpu_set_t allowed;
    CHECK_IS(0, sched_getaffinity(0, sizeof allowed, &allowed));
    for (int i = 0; i < MOVES; i++) {
        move_on();
        CHECK(CPU_ISSET((size_t)sched_getcpu(), &allowed));
    }
    return 0;
}
ON_MOVING_WORKERS(knows_its_processor);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_MOVING_WORKERS(frames_are_left_in_other_threads),
        TESTS_ON_MOVING_WORKERS(jumps_back_from_another_thread),
        TESTS_ON_MOVING_WORKERS(has_the_workers_signal_mask),
        TESTS_ON_MOVING_WORKERS(knows_its_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
