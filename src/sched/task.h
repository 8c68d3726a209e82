/* task.h: tasks, as the scheduler sees them.
 *
 * A task that has not started is a descriptor in a queue and may start on any worker. Starting gives
 * it a stack and a home. The home changes only while the task is ready and does not run (sched/steal.h): so while it
 * waits, and while it runs, it is where `home` says. A stack hosts tasks one after another: where a task ends and the
 * next to run has not started, it starts right there, without a switch.
 *
 * Descriptors come from slabs that live as long as the runtime; each worker keeps some free ones. */
#ifndef LT_SCHED_TASK_H
#define LT_SCHED_TASK_H

#include "arch/stack.h"
#include "sched/party.h"

#include <leat/base.h>

struct lt_task {
    _Alignas(LT_CACHE_LINE) struct lt_party party;
    _Atomic(struct lt_worker *) home; /* from the start on; see lt_task_home */
    void *sp;               /* where it was left, while it is not running; NULL before the start */
    struct lt_stack *stack; /* from the start on; before, only if it has a size of its own */
    leat_fn *fn;
    void *arg;
    const char *name;
    struct lt_node member; /* in a list of its scope's, when enlisted */
    struct lt_task *nudge_next;
    _Atomic uint8_t nudged; /* enum lt_nudged */
    uint8_t wait_list;      /* on which list of its scope's it is: see scope/wait_list.h */
    uint16_t pins;          /* leat_pin calls that hold */
    uint32_t number;        /* by which people know it */
    bool stays;             /* pinned for life */
    /* Here ends what is cleared for a new one. */
    int64_t left; /* when it last left its worker, if that is noted: LT_PROBE_WAITS */
};

/* Whether a task is in a list of nudges, or on the way there. One that ends meanwhile says so: then who finds it in the
 * list gives the descriptor back. */
enum lt_nudged { LT_NOT_NUDGED, LT_IS_NUDGED, LT_ENDED_NUDGED };

/* Relaxed: those who need to be certain are inside that worker's lock, or are the task, or have claimed its wait. */
static inline struct lt_worker *lt_task_home(const struct lt_task *task)
{
    return atomic_load_explicit(&task->home, memory_order_relaxed);
}

static inline void lt_task_set_home(struct lt_task *task, struct lt_worker *home)
{
    atomic_store_explicit(&task->home, home, memory_order_relaxed);
}

/* What a higher floor does with a task that has ended (on the task's stack, as its last act; false: the descriptor is
 * not to be given back), with one that was nudged (inside its home), and with the units of a scope that a
 * worker has, before it runs what does not belong there. Set once. */
extern bool (*lt_task_ended)(struct lt_task *task, int result);
extern void (*lt_task_look)(struct lt_task *task);
extern void (*lt_units_return)(struct lt_worker *worker);

_Static_assert(sizeof(struct lt_task) == 2 * LT_CACHE_LINE, "shared with no other task");

/* A new task, not yet queued. stack_size 0 is the default. NULL when memory has run out. */
struct lt_task *lt_task_new(leat_fn *fn, void *arg, const char *name, size_t stack_size);

/* Queues a new task, or block, to be started; from any thread. The second with the worker that has the fewest tasks,
 * which is woken. */
void lt_launch(struct lt_party *party);
void lt_launch_spread(struct lt_party *party);

/* Inside: parks the running task until lt_ready. Its waker may already have come. The task returns inside as well, but
 * its home may be another. Keeps errno. */
void lt_task_park_inside(struct lt_task *task);

/* The same from outside, to outside. */
void lt_task_park(struct lt_task *task);

/* Lets others run first. */
void lt_task_yield(struct lt_task *task);

/* When it has been spent: a task yields. For lt_task_spend in sched/current.h. */
void lt_budget_renew(struct lt_worker *worker, struct lt_party *self);

/* The running task; NULL when the caller is no task. */
struct lt_task *lt_task_self(void);

#endif
