/* guard.h: ends the program when the stack of a task or of a thread of the pool overflows, with one
 * line that names the task, the stack's size and how to raise it.
 *
 * The handler for SIGSEGV runs on its own stack, one for each worker and thread of the pool. A
 * fault that is no overflow goes to the handler that was installed before. */
#pragma once

#include "sched/worker.h"

/* Installs the handler, and puts the former one back. */
void lt_guard_install(void);
void lt_guard_uninstall(void);

/* On the worker's thread: gives the handler its stack, and takes it away. */
void lt_guard_worker_begin(struct lt_worker *worker);
void lt_guard_worker_end(void);

/* The same on a thread of the pool. */
void lt_guard_thread_begin(void);
void lt_guard_thread_end(void);

/* In a seeded world: the thread that the caller simulates runs on this stack of a task; NULL: the
 * caller simulates none. */
void lt_guard_lend(const struct lt_stack *stack);
