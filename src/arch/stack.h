/* stack.h: the stacks that tasks run on.
 *
 * Stacks of the default size come from a pool that all workers share; they are mapped by the region, given guards by the
 * chunk, and touched only when used. Other sizes are mapped one by one. Below every stack lie
 * guard pages: MADV_GUARD_INSTALL where the kernel has it (Linux 6.13), which costs no mapping of its own, else
 * PROT_NONE for the first LT_GUARD_LIMIT stacks.
 *
 * Credits. A task that has not started needs no stack yet, but must be sure of one: creating it is the
 * only moment at which memory may run out. So its creator holds a credit, the right to one stack of the
 * pool. Invariant: the pool never promises more credits than it has free stacks.
 *
 * The pool has one lock, taken by workers a batch at a time. A stack that comes back and looks as if
 * more than its topmost page had been used is given back to the kernel but for that page. */
#ifndef LT_ARCH_STACK_H
#define LT_ARCH_STACK_H

#include "arch/fiber.h"

#include <stdbool.h>
#include <stddef.h>

/* Lies at the upper end of the memory it describes. */
struct lt_stack {
    struct lt_stack *next; /* in a pool */
    char *base;            /* of the mapping or slot: the guard */
    size_t size;           /* of all of it: guard, stack, this */
    bool guard_mapped;     /* its guard is a mapping of its own, of which there is a limit */
    struct lt_fiber fiber;
};

/* Sets the default stack size (whole pages, guard not counted). Before any stack is made. */
void lt_stack_pool_open(size_t stack_size);

/* Unmaps all pooled stacks; every one has come back. */
void lt_stack_pool_close(void);

/* Gets `n` credits; false when memory has run out. Gives `n` back. */
bool lt_stack_credits_get(size_t n);
void lt_stack_credits_return(size_t n);

/* Whether memory has run out, when credits were last asked for that the pool did not have. */
bool lt_stack_is_short(void);

/* Turns n credits, at most LT_STACK_AHEAD, into as many stacks. Cannot fail. */
void lt_stack_redeem(struct lt_stack **stacks, size_t n);

/* Stacks on their way back to the pool, at most LT_STACK_TOGETHER; zero: none. */
struct lt_stack_batch {
    struct lt_stack *first, *last;
    size_t count;
};

/* Adds a stack to those that are given back, which happens when there are as many as fit; and has fetched what that will
 * look at of `next`, or NULL, which is to follow it after a while and may be far away. */
void lt_stack_return(struct lt_stack_batch *batch, struct lt_stack *stack, struct lt_stack *next);

/* Gives back all that are on their way. */
void lt_stack_return_now(struct lt_stack_batch *batch);

/* A stack of a size of its own (whole pages, not the default size), NULL when memory has run out; and
 * its end. */
struct lt_stack *lt_stack_map(size_t stack_size);
void lt_stack_unmap(struct lt_stack *stack);

/* How many stacks the pool has room for, and how many of these it has at hand. */
void lt_stack_count(size_t *all, size_t *at_hand);

/* Whether the stack is one of the pool's. */
bool lt_stack_pooled(const struct lt_stack *stack);

/* The highest address of the stack, where its first frame begins; 16-byte aligned. */
static inline void *lt_stack_top(struct lt_stack *stack)
{
    return stack;
}

/* Whether `address` lies in the stack's guard. */
bool lt_stack_guards(const struct lt_stack *stack, const void *address);

#endif
