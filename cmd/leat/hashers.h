/* hashers.h: several digests of one message at a time, each through a hasher that is opened when it is
 * first wanted. They belong to one thread. */
#ifndef LEAT_CMD_HASHERS_H
#define LEAT_CMD_HASHERS_H

#include "selection.h"

struct hashers {
    const struct selection *selection;
    struct hasher *each[SELECTION_MAX];
    unsigned wanted; /* a set: those of the present message, */
    size_t size;     /* and how many bytes they have where any number will do */
};

void hashers_close(struct hashers *h);

/* Each 0, -ENOMEM, or -EIO when a library fails. */
int hashers_begin(struct hashers *h, unsigned wanted, size_t size);
int hashers_add(struct hashers *h, const void *bytes, size_t len);
int hashers_end(struct hashers *h, unsigned char *digests);

#endif
