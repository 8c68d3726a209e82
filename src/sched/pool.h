/* pool.h: OS threads for work that blocks, one for each piece of work, kept for a while for the
 * next piece. Also starts leat's other threads.
 *
 * Each accepted piece of work has a thread at once, so pieces may wait for one another. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* A piece of work. The caller keeps it until `run` is called with it. */
struct lt_work {
    struct lt_work *next;
    void (*run)(struct lt_work *work);
};

/* Hands the work to a thread. 0, or -ENOMEM if no thread can be started. */
int lt_pool_submit(struct lt_work *work);

/* Reports the number of threads, and how many of them have nothing to do. */
void lt_pool_count(unsigned *threads, unsigned *idle);

/* Lets the threads that have nothing to do end now. Each counts against the user's limit of
 * processes. */
void lt_pool_shrink(void);

/* Whether the calling thread is one of the pool's, or lives in a seeded world. */
bool lt_pool_is_mine(void);

/* Ends and joins all threads, when no work is left. */
void lt_pool_close(void);

/* Starts one of the runtime's own threads, which leaves signals to the program's. 0 or -ENOMEM. */
int lt_thread_start(pthread_t *thread, void *(*fn)(void *), void *argument);
