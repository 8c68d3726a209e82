/* selection.h: the wanted digests, in the order in which they are printed.
 *
 * A set of them is a number whose bit i stands for the i-th; the digests of a set are
 * contiguous. */
#pragma once

#include "digest.h"

enum { SELECTION_MAX = 24 };

struct selection {
    const struct algorithm *at[SELECTION_MAX];
    unsigned count;
};

/* Adds the algorithm if it is not selected yet. */
void selection_add(struct selection *s, const struct algorithm *a);
bool selection_has(const struct selection *s, const struct algorithm *a);

/* The set of all. */
static inline unsigned selection_all(const struct selection *s)
{
    return (1u << s->count) - 1;
}

/* The bytes of a digest: `size` if the algorithm has several sizes. */
static inline size_t digest_size(const struct algorithm *a, size_t size)
{
    return a->any_size ? size : a->size;
}

/* One digest of a set: its algorithm, which is the `index`-th of the selection; its bytes, and
 * their place among those of the set. */
struct part {
    const struct algorithm *algorithm;
    unsigned index, next; /* `next`: where the search goes on */
    size_t at, size;
};

/* Goes from a zeroed part to the set's first digest, and from each to the next. `size`: bytes of
 * one whose algorithm has several sizes. False: there are no more. */
bool selection_next(const struct selection *s, unsigned set, size_t size, struct part *p);
