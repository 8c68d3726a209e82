#include "selection.h"

bool selection_has(const struct selection *s, const struct algorithm *a)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->at[i] == a)
            return true;
    return false;
}

void selection_add(struct selection *s, const struct algorithm *a)
{
    if (s->count < SELECTION_MAX && !selection_has(s, a))
        s->at[s->count++] = a;
}

bool selection_next(const struct selection *s, unsigned set, size_t size, struct part *p)
{
    while (p->next < s->count && !(set >> p->next & 1))
        p->next++;
    if (p->next == s->count)
        return false;
    p->index = p->next++;
    p->algorithm = s->at[p->index];
    p->at += p->size;
    p->size = digest_size(p->algorithm, size);
    return true;
}
