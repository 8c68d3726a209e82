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
    for (unsigned i = 0; i < h->selection->count && !err; i++) {
        if (!(wanted >> i & 1))
            continue;
        const struct algorithm *a = h->selection->at[i];
        if (!h->each[i])
            h->each[i] = hasher_open(a);
        err = h->each[i] ? hasher_begin(h->each[i], digest_size(a, size)) : -ENOMEM;
    }
    return err;
}

int hashers_add(struct hashers *h, const void *bytes, size_t len)
{
    int err = 0;
    for (unsigned i = 0; i < h->selection->count && !err; i++)
        if (h->wanted >> i & 1)
            err = hasher_add(h->each[i], bytes, len);
    return err;
}

int hashers_end(struct hashers *h, unsigned char *digests)
{
    int err = 0;
    for (unsigned i = 0; i < h->selection->count && !err; i++) {
        if (!(h->wanted >> i & 1))
            continue;
        err = hasher_end(h->each[i], digests);
        digests += digest_size(h->selection->at[i], h->size);
    }
    return err;
}

struct blake3 *hashers_tree(const struct hashers *h)
{
    if (h->wanted & (h->wanted - 1))
        return NULL;
    return hasher_tree(h->each[__builtin_ctz(h->wanted)]);
}
