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
