/* hashers.h: several digests of one message at a time. Each has its own state, which is opened when
 * the digest is first wanted. They belong to one thread. */
#pragma once

#include "selection.h"

struct hashers {
    const struct selection *selection;
    void *states[SELECTION_MAX]; /* see struct hashing; NULL: not open */
    unsigned wanted;             /* the set of digests of the present message */
    size_t size;                 /* bytes of a digest whose algorithm has several sizes */
};

void hashers_close(struct hashers *h);

/* Each returns 0, -ENOMEM, or -EIO if a library fails. */
int hashers_begin(struct hashers *h, unsigned wanted, size_t size);
int hashers_add(struct hashers *h, const void *bytes, size_t len);
int hashers_end(struct hashers *h, unsigned char *digests);

/* After hashers_begin: the state of the only digest if that is BLAKE3, else NULL. */
struct blake3 *hashers_tree(const struct hashers *h);
