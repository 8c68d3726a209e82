/* runtime.h: what all workers share. One runtime a process; it is there from leat_start to leat_stop. */
#ifndef LT_SCHED_RUNTIME_H
#define LT_SCHED_RUNTIME_H

#include "base/lock.h"
#include "sched/worker.h"

struct lt_runtime {
    struct lt_worker **workers;
    unsigned worker_count;
    size_t stack_size; /* default, whole pages */
    _Atomic bool stopping;
    _Atomic unsigned next_worker; /* where the next task from outside goes; a counter */
};

extern struct lt_runtime lt_runtime;

/* What a higher floor does when the workers have ended and before they are taken apart. Set once. */
extern void (*lt_runtime_ended)(void);

/* Whether the runtime is there. */
bool lt_running(void);

/* Keeps the runtime from being stopped; false when it is not running. And lets go. */
bool lt_runtime_hold(void);
void lt_runtime_release(void);

/* Some worker, each in its turn: for what comes from threads that are none. */
struct lt_worker *lt_any_worker(void);

/* Rounds a stack size up to whole pages; -EINVAL when it is out of range. */
int lt_stack_size_round(size_t *size);

#endif
