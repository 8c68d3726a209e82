/* selection.h: the digests that are wanted of files, in the order in which they are printed.
 *
 * A set of them is a number with bit i for the i-th; the digests of a set lie one after the other. */
#ifndef LEAT_CMD_SELECTION_H
#define LEAT_CMD_SELECTION_H

#include "digest.h"

enum { SELECTION_MAX = 16 };

struct selection {
    const struct algorithm *at[SELECTION_MAX];
    unsigned count;
};

/* Where it does not yet stand there. */
void selection_add(struct selection *s, const struct algorithm *a);
bool selection_has(const struct selection *s, const struct algorithm *a);

/* All of them, as a set. */
static inline unsigned selection_all(const struct selection *s)
{
    return (1u << s->count) - 1;
}

/* The bytes of a digest, `size` being how many it has where it may have any number. */
static inline size_t digest_size(const struct algorithm *a, size_t size)
{
    return a->any_size ? size : a->size;
}

#endif
