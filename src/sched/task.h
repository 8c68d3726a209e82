/* task.h: tasks, as the scheduler sees them.
 *
 * A task that has not started is a descriptor in a queue and may start on any worker. Starting gives
 * it a stack and a home, for life. A stack hosts tasks one after another: where a task ends and the
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
    struct lt_worker *home; /* from the start on */
    void *sp;               /* where it was left, while it is not running; NULL before the start */
    struct lt_stack *stack; /* from the start on; before, only if it has a size of its own */
    leat_fn *fn;
    void *arg;
    const char *name;
    struct lt_node member; /* in a list of its scope's, when enlisted */
    struct lt_task *nudge_next;
    _Atomic bool nudged; /* is in its home's list of nudges, or on the way there */
    bool rostered;       /* that list is its home's roster: see scope/roster.h */
    uint32_t number;     /* by which people know it */
    /* Here ends what is cleared for a new one. */
    int64_t left; /* when it last left its worker, if that is noted: LT_NOTE_WAITS */
};

/* What a higher floor does with a task that has ended (on the task's stack, as its last act, before the
 * descriptor is used again), with one that was nudged (on its home worker), and with the units of a scope that a
 * worker has, before it runs what does not belong there. Set once. */
extern void (*lt_task_ended)(struct lt_task *task, int result);
extern void (*lt_task_look)(struct lt_task *task);
extern void (*lt_units_return)(struct lt_worker *worker);

_Static_assert(sizeof(struct lt_task) == 2 * LT_CACHE_LINE, "shared with no other task");

/* A new task, not yet queued. stack_size 0 is the default. NULL when memory has run out. */
struct lt_task *lt_task_new(leat_fn *fn, void *arg, const char *name, size_t stack_size);

/* Queues a new task, or block, to be started; from any thread. */
void lt_launch(struct lt_party *party);

/* Parks the running task until lt_ready. Its waker may already have come. Keeps errno. */
void lt_task_park(struct lt_task *task);

/* Lets others run first. */
void lt_task_yield(struct lt_task *task);

/* When it has been spent: a task yields. For lt_task_spend in sched/here.h. */
void lt_budget_renew(struct lt_worker *worker, struct lt_party *self);

/* The running task; NULL when the caller is no task. */
struct lt_task *lt_task_self(void);

#endif
