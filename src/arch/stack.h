/* stack.h: the stacks that tasks run on.
 *
 * Stacks of the default size come from a pool that all workers share. They are mapped by the
 * region, get guards by the chunk, and are touched only when used. Stacks of other sizes are mapped
 * one by one. Guard pages lie below every stack: by MADV_GUARD_INSTALL (Linux 6.13), which needs no
 * separate mapping, or else by PROT_NONE for the first LT_GUARD_LIMIT stacks.
 *
 * Credits. A task that has not started needs no stack yet, but must be sure of one: memory may only
 * run out where the task is created. So its creator gets a credit, the right to one stack of the
 * pool. Invariant: the pool never promises more credits than it has free stacks.
 *
 * The pool has one lock. Workers take it for a batch of stacks at a time. If a stack that is
 * returned seems to have used more than its topmost page, the kernel gets the other pages back. */
#pragma once

#include "arch/fiber.h"

#include <stdbool.h>
#include <stddef.h>

/* Lies at the upper end of the memory it describes. */
struct lt_stack {
    struct lt_stack *next; /* in a pool */
    char *base;            /* of the mapping or slot, which begins with the guard */
    size_t size;           /* of all of it: guard, stack, this */
    bool guard_mapped;     /* outside the pool: the guard is a mapping; their number is limited */
    struct lt_fiber fiber;
};

/* Opens the pool. `stack_size` is the default size in bytes: whole pages, without the guard. Called
 * before any stack is made. */
void lt_stack_pool_open(size_t stack_size);

/* Unmaps all pooled stacks, all of which have been returned. */
void lt_stack_pool_close(void);

/* Gets `n` credits; false when memory has run out. lt_stack_credits_return gives `n` back. */
bool lt_stack_credits_get(size_t n);
void lt_stack_credits_return(size_t n);

/* Whether memory had run out when the pool last tried to grow. */
bool lt_stack_is_short(void);

/* Turns `n` credits, at most LT_STACK_AHEAD, into stacks. Cannot fail. */
void lt_stack_redeem(struct lt_stack **stacks, size_t n);

/* Stacks to be returned to the pool together, at most LT_STACK_TOGETHER. Zero: none. */
struct lt_stack_batch {
    struct lt_stack *first, *last;
    size_t count;
};

/* Adds a stack to the batch, and returns the batch to the pool when it is full. `next`, or NULL, is
 * the stack that will follow a little later: prefetches what its return will read. */
void lt_stack_return(struct lt_stack_batch *batch, struct lt_stack *stack, struct lt_stack *next);

/* Returns the batch to the pool as it is. */
void lt_stack_return_now(struct lt_stack_batch *batch);

/* Maps a stack that is not of the default size (whole pages); NULL when memory has run out.
 * lt_stack_unmap unmaps it. */
struct lt_stack *lt_stack_map(size_t stack_size);
void lt_stack_unmap(struct lt_stack *stack);

/* The number of stacks that the pool has room for, and of those that it has at hand. */
void lt_stack_count(size_t *all, size_t *at_hand);

bool lt_stack_pooled(const struct lt_stack *stack);

/* The end of the stack, where its first frame begins; 16-byte aligned. */
static inline void *lt_stack_top(struct lt_stack *stack)
{
    return stack;
}

/* Whether `address` lies in the stack's guard. */
bool lt_stack_guards(const struct lt_stack *stack, const void *address);
