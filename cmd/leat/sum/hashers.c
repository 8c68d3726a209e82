#include "hashers.h"

#include <errno.h>

void hashers_close(struct hashers *h)
{
    for (unsigned i = 0; i < SELECTION_MAX; i++)
        hasher_close(h->each[i]);
}

int hashers_begin(struct hashers *h, unsigned wanted, size_t size)
{
    h->wanted = wanted;
    h->size = size;
    int err = 0;
    for (struct part p = { 0 }; !err && selection_next(h->selection, wanted, size, &p);) {
        struct hasher **each = &h->each[p.index];
        if (!*each)
            *each = hasher_open(p.algorithm);
        err = *each ? hasher_begin(*each, p.size) : -ENOMEM;
    }
    return err;
}

int hashers_add(struct hashers *h, const void *bytes, size_t len)
{
    int err = 0;
    for (struct part p = { 0 }; !err && selection_next(h->selection, h->wanted, h->size, &p);)
        err = hasher_add(h->each[p.index], bytes, len);
    return err;
}

int hashers_end(struct hashers *h, unsigned char *digests)
{
    int err = 0;
    for (struct part p = { 0 }; !err && selection_next(h->selection, h->wanted, h->size, &p);)
        err = hasher_end(h->each[p.index], digests + p.at);
    return err;
}

struct blake3 *hashers_tree(const struct hashers *h)
{
    if (h->wanted & (h->wanted - 1))
        return NULL;
    return hasher_tree(h->each[__builtin_ctz(h->wanted)]);
}
