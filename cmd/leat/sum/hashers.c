#include "hashers.h"

#include <errno.h>

void hashers_close(struct hashers *h)
{
    for (unsigned i = 0; i < SELECTION_MAX; i++)
        if (h->states[i])
            h->selection->at[i]->hashing->close(h->states[i]);
}

int hashers_begin(struct hashers *h, unsigned wanted, size_t size)
{
    h->wanted = wanted;
    h->size = size;
    int err = 0;
    for (struct part p = { 0 }; !err && selection_next(h->selection, wanted, size, &p);) {
        const struct hashing *its = p.algorithm->hashing;
        void **state = &h->states[p.index];
        if (!*state)
            *state = its->open(p.algorithm);
        err = *state ? its->begin(*state, p.size) : -ENOMEM;
    }
    return err;
}

int hashers_add(struct hashers *h, const void *bytes, size_t len)
{
    int err = 0;
    for (struct part p = { 0 }; !err && selection_next(h->selection, h->wanted, h->size, &p);)
        err = p.algorithm->hashing->add(h->states[p.index], bytes, len);
    return err;
}

int hashers_end(struct hashers *h, unsigned char *digests)
{
    int err = 0;
    for (struct part p = { 0 }; !err && selection_next(h->selection, h->wanted, h->size, &p);)
        err = p.algorithm->hashing->end(h->states[p.index], digests + p.at);
    return err;
}

struct blake3 *hashers_tree(const struct hashers *h)
{
    unsigned index = (unsigned)__builtin_ctz(h->wanted);
    bool alone = h->wanted == 1u << index;
    return alone && algorithm_is_tree(h->selection->at[index]) ? h->states[index] : NULL;
}
