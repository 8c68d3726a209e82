/* task.h: tasks, as the scheduler sees them.
 *
 * A task that has not started is a descriptor in a queue, and may start on any worker. At its start
 * it gets a stack and a home. Its home changes only while it is ready and does not run
 * (sched/steal.h): a task that waits or runs is where `home` says. When a task ends and the next
 * one to run has not started, that one starts on the same stack, without a switch.
 *
 * Descriptors come from slabs that live as long as the runtime; each worker keeps some free
 * ones. */
#pragma once

#include "arch/stack.h"
#include "sched/party.h"

#include <leat/base.h>

struct lt_task {
    _Alignas(LT_CACHE_LINE) struct lt_party party;
    _Atomic(struct lt_worker *) home; /* from its start; see lt_task_home */
    void *sp; /* where it left its stack, while it does not run; NULL before the start */
    struct lt_stack *stack; /* from its start; before, only if its size is not the default */
    leat_fn *fn;
    void *arg;
    const char *name;
    struct lt_node member; /* in a list of its scope's, when enlisted */
    struct lt_task *nudge_next;
    _Atomic uint8_t nudged; /* enum lt_nudged */
    uint16_t pins;          /* leat_pin calls in force */
    uint32_t number;        /* names it to the user */
    bool stays;             /* pinned for life */
    /* All above is cleared for a new task. */
    int64_t left; /* when it last left its worker, while LT_PROBE_WAITS is set */
};

/* Whether a task is in a list of nudges, or on its way there. A task that ends meanwhile records
 * that: the worker that finds it in the list then gives the descriptor back. */
enum lt_nudged { LT_NOT_NUDGED, LT_IS_NUDGED, LT_ENDED_NUDGED };

/* Relaxed: a caller that must be certain is inside that worker's lock, or is the task, or has
 * claimed its wait. */
static inline struct lt_worker *lt_task_home(const struct lt_task *task)
{
    return atomic_load_explicit(&task->home, memory_order_relaxed);
}

static inline void lt_task_set_home(struct lt_task *task, struct lt_worker *home)
{
    atomic_store_explicit(&task->home, home, memory_order_relaxed);
}

_Static_assert(sizeof(struct lt_task) == 2 * LT_CACHE_LINE, "shared with no other task");

/* A new task, not yet queued. stack_size 0 is the default. NULL when memory has run out. */
struct lt_task *lt_task_new(leat_fn *fn, void *arg, const char *name, size_t stack_size);

/* For lt_task_spend in sched/current.h, when the budget is spent: a task yields. Returns 0, for the
 * caller's tail call. */
int lt_budget_renew(struct lt_worker *worker);

/* The running task; NULL when the caller is no task. */
struct lt_task *lt_task_self(void);
