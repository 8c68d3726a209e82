/* runtime.h: what all workers share. One runtime a process; it is there from leat_start to leat_stop. */
#ifndef LT_SCHED_RUNTIME_H
#define LT_SCHED_RUNTIME_H

#include "base/lock.h"
#include "sched/probe.h"
#include "sched/worker.h"

#include <leat/runtime.h>

#include <signal.h>

struct lt_runtime {
    struct lt_worker **workers;
    unsigned worker_count;
    unsigned processors; /* that the process may use */
    size_t stack_size; /* default, whole pages */
    bool pinned;       /* no task moves */
    sigset_t signals;  /* those that were blocked where it was started */
    bool alone;        /* a seeded world's */
    _Atomic bool stopping;
    _Atomic unsigned next_worker; /* where the next task from outside goes; a counter */
};

extern struct lt_runtime lt_runtime;

/* What a higher floor does when the workers have ended and before they are taken apart. Set once. */
extern void (*lt_runtime_ended)(void);

/* What the room for people who look, src/watch, does when the runtime has been started, before anybody
 * knows: it reads its options and the environment, and may start a thread. -EINVAL for what it does not
 * understand, -ENOMEM. And when the workers have been stopped. (Calls upwards, so that it
 * is always linked.) */
int lt_watch_begin(const leat_options *options);
void lt_watch_end(void);

/* Whether the runtime is there. */
bool lt_running(void);

/* Keeps the runtime from being stopped; false when it is not running. And lets go. A bell may do the same. */
bool lt_runtime_hold(void);
void lt_runtime_release(void);

/* Who looks at the workers from outside does it between these two: leat_stop waits for it. One at a time.
 * 0; -EBUSY while somebody else looks; -EINVAL when the runtime is not running. */
int lt_runtime_look(void);
void lt_runtime_look_away(void);

/* For the seeded world: a runtime whose workers the calling thread is, in turn, and which is there for no
 * other. 0 or as leat_start. Whether somebody holds it; and its end, when nobody does. */
int lt_runtime_open_alone(unsigned workers, size_t stack_size);
bool lt_runtime_is_held(void);
void lt_runtime_close_alone(void);

/* Some worker, each in its turn: for what comes from threads that are none. */
struct lt_worker *lt_any_worker(void);

/* Rounds a stack size up to whole pages; -EINVAL when it is out of range. */
int lt_stack_size_round(size_t *size);

#endif
