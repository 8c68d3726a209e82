/* runtime.h: what all workers share. A process has one runtime, from leat_start to leat_stop. */
#pragma once

#include "sched/kinds.h"
#include "sched/probe.h"
#include "sched/worker.h"

#include <leat/runtime.h>

#include <signal.h>

struct lt_runtime {
    struct lt_worker **workers;
    unsigned worker_count;
    unsigned processors; /* those that the process may run on, whatever its quota */
    size_t stack_size;   /* default, whole pages */
    bool pinned;         /* no task moves */
    sigset_t signals;    /* the mask of the thread that started it */
    bool alone;          /* it is a seeded world's */
    int64_t started;     /* the time of its start */
    _Atomic bool stopping;
    _Atomic unsigned next_worker; /* a counter: see lt_any_worker */
};

extern struct lt_runtime lt_runtime;

/* leat_start, with the functions of higher rooms. `alone`: for the seeded world, a runtime for the
 * calling thread alone, which is each of its workers in turn. It calls only the observer's probes
 * and its `end`. lt_runtime_close_alone ends it, when nothing holds it. */
int lt_runtime_start(const leat_options *options, bool alone, const struct lt_kinds *kinds,
                     const struct lt_observer *observer);
bool lt_runtime_is_held(void);
void lt_runtime_close_alone(void);

/* Whether the runtime runs, or the calling thread lives in a seeded world. */
bool lt_running(void);

/* Keeps the runtime from being stopped until lt_runtime_release; false if it does not run. A shared
 * timer may hold it, too. */
bool lt_runtime_hold(void);
void lt_runtime_release(void);

/* A thread that is no worker reads the workers between these two calls, one thread at a time:
 * leat_stop waits for it. 0; -EBUSY while another thread does; -EINVAL if the runtime does not
 * run. */
int lt_runtime_look(void);
void lt_runtime_look_away(void);

/* A worker, another one each time: for threads that are not workers. */
struct lt_worker *lt_any_worker(void);

/* Rounds a stack size up to whole pages; -EINVAL when it is out of range. */
int lt_stack_size_round(size_t *size);
