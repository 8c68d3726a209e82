/* thread.h: starts the runtime's own threads: workers, the pool's threads and the monitor
 * thread. */
#ifndef LT_SCHED_THREAD_H
#define LT_SCHED_THREAD_H

#include <pthread.h>

/* Starts a thread that leaves signals to the program's own; 0 or -ENOMEM. */
int lt_thread_start(pthread_t *thread, void *(*fn)(void *), void *argument);

#endif
