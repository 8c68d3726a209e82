#include "look/index.h"

#include <stdlib.h>
#include <string.h>

/* A number without zeros before it is greater if it is longer. */
int index_compare(const char *id, const char *other)
{
    if (*id != *other)
        return (unsigned char)*id < (unsigned char)*other ? -1 : 1;
    size_t len = strlen(id), length = strlen(other);
    return len != length ? (len < length ? -1 : 1) : strcmp(id, other);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return index_compare(x->id, y->id);
}

static void add(struct document *d, const char *id, enum thing thing, const void *at)
{
    d->index[d->index_count++] = (struct entry){ id, thing, at };
}

const struct entry *document_entry(const struct document *d, const char *id)
{
    if (!d || !id || !d->index_count)
        return NULL;
    const struct entry key = { .id = id };
    return bsearch(&key, d->index, d->index_count, sizeof key, compare_entries);
}

const void *document_find(const struct document *d, const char *id, enum thing thing)
{
    const struct entry *e = document_entry(d, id);
    return e && e->thing == thing ? e->at : NULL;
}

/* A scope comes after the one around it. If it does not, it counts as outermost. */
static void measure_depths(struct document *d)
{
    for (size_t i = 0; i < d->scope_count; i++) {
        const struct scope *around = document_find(d, d->scopes[i].around, A_SCOPE);
        if (around && around < &d->scopes[i])
            d->scopes[i].depth = around->depth + 1;
    }
}

void index_make(struct document *d)
{
    for (size_t i = 0; i < d->party_count; i++)
        add(d, d->parties[i].id, A_PARTY, &d->parties[i]);
    for (size_t i = 0; i < d->channel_count; i++)
        add(d, d->channels[i].id, A_CHANNEL, &d->channels[i]);
    for (size_t i = 0; i < d->scope_count; i++)
        add(d, d->scopes[i].id, A_SCOPE, &d->scopes[i]);
    for (size_t i = 0; i < d->descriptor_count; i++)
        add(d, d->descriptors[i].id, A_DESCRIPTOR, &d->descriptors[i]);
    for (size_t i = 0; i < d->batcher_count; i++)
        add(d, d->batchers[i].id, A_BATCHER, &d->batchers[i]);
    for (size_t i = 0; i < d->stage_count; i++)
        add(d, d->stages[i].id, A_STAGE, &d->stages[i]);
    if (d->index_count)
        qsort(d->index, d->index_count, sizeof *d->index, compare_entries);
    measure_depths(d);
}
