/* magazine.h: the stacks that a worker keeps at hand, and its credits for more (arch/stack.h).
 *
 * A task that ends leaves its stack to the next task that starts. Only the worker uses its
 * magazine.
 *
 * Invariant: count + credits >= tasks without a stack in the worker's local queue and in its
 * `pending`. So each of them can be started. */
#pragma once

#include "arch/stack.h"
#include "base/config.h"

struct lt_magazine {
    struct lt_stack *stacks[LT_STACK_MAGAZINE];
    unsigned count;
    unsigned oldest;     /* index in the full magazine */
    unsigned fetch_next; /* stacks to redeem when there is none */
    size_t credits;
    struct lt_stack_batch returned; /* stacks that did not fit */
};

/* Redeems credits when the magazine is empty, more each time until a stack comes back. */
void lt_magazine_redeem(struct lt_magazine *magazine);

/* Takes a stack for a task that starts. By the invariant there is one. */
static inline struct lt_stack *lt_magazine_take(struct lt_magazine *magazine)
{
    if (!magazine->count)
        lt_magazine_redeem(magazine);
    return magazine->stacks[--magazine->count];
}

/* Keeps a pooled stack that its task is about to leave for good. A full magazine returns its oldest
 * stack instead: this one is still in use, and the oldest is known early enough to prefetch it. */
static inline void lt_magazine_keep(struct lt_magazine *magazine, struct lt_stack *stack)
{
    enum { AHEAD = 4 };
    magazine->fetch_next = 1;
    if (magazine->count < LT_STACK_MAGAZINE) {
        magazine->stacks[magazine->count++] = stack;
        return;
    }
    unsigned oldest = magazine->oldest++ % LT_STACK_MAGAZINE;
    struct lt_stack *left = magazine->stacks[oldest];
    magazine->stacks[oldest] = stack;
    lt_stack_return(&magazine->returned, left,
                    magazine->stacks[(oldest + AHEAD) % LT_STACK_MAGAZINE]);
}

/* The stacks in it that belong to no task. */
static inline size_t lt_magazine_stacks(const struct lt_magazine *magazine)
{
    return magazine->count + magazine->returned.count;
}

/* How many tasks without a stack it could start. */
static inline size_t lt_magazine_tasks(const struct lt_magazine *magazine)
{
    return magazine->count + magazine->credits;
}

/* Returns all stacks and credits to the pool. */
void lt_magazine_close(struct lt_magazine *magazine);
