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

static void add(struct document *d, const char *id, enum thing thing, size_t at)
{
    d->index[d->index_count++] = (struct entry){ id, thing, at };
}

static const struct entry *find(const struct document *d, const char *id, enum thing thing)
{
    if (!d || !id || !d->index_count)
        return NULL;
    const struct entry key = { .id = id };
    const struct entry *e = bsearch(&key, d->index, d->index_count, sizeof *e, compare_entries);
    return e && e->thing == thing ? e : NULL;
}

/* A scope comes after the one around it. If it does not, it counts as outermost. */
static void measure_depths(struct document *d)
{
    for (size_t i = 0; i < d->scope_count; i++) {
        const struct entry *around = find(d, d->scopes[i].around, A_SCOPE);
        if (around && around->at < i)
            d->scopes[i].depth = d->scopes[around->at].depth + 1;
    }
}

void index_make(struct document *d)
{
    for (size_t i = 0; i < d->party_count; i++)
        add(d, d->parties[i].id, A_PARTY, i);
    for (size_t i = 0; i < d->channel_count; i++)
        add(d, d->channels[i].id, A_CHANNEL, i);
    for (size_t i = 0; i < d->scope_count; i++)
        add(d, d->scopes[i].id, A_SCOPE, i);
    for (size_t i = 0; i < d->descriptor_count; i++)
        add(d, d->descriptors[i].id, A_DESCRIPTOR, i);
    for (size_t i = 0; i < d->batcher_count; i++)
        add(d, d->batchers[i].id, A_BATCHER, i);
    for (size_t i = 0; i < d->stage_count; i++)
        add(d, d->stages[i].id, A_STAGE, i);
    if (d->index_count)
        qsort(d->index, d->index_count, sizeof *d->index, compare_entries);
    measure_depths(d);
}

const struct party *document_party(const struct document *d, const char *id)
{
    const struct entry *e = find(d, id, A_PARTY);
    return e ? &d->parties[e->at] : NULL;
}

const struct channel *document_channel(const struct document *d, const char *id)
{
    const struct entry *e = find(d, id, A_CHANNEL);
    return e ? &d->channels[e->at] : NULL;
}

const struct scope *document_scope(const struct document *d, const char *id)
{
    const struct entry *e = find(d, id, A_SCOPE);
    return e ? &d->scopes[e->at] : NULL;
}

const struct descriptor *document_descriptor(const struct document *d, const char *id)
{
    const struct entry *e = find(d, id, A_DESCRIPTOR);
    return e ? &d->descriptors[e->at] : NULL;
}

const struct batcher *document_batcher(const struct document *d, const char *id)
{
    const struct entry *e = find(d, id, A_BATCHER);
    return e ? &d->batchers[e->at] : NULL;
}

const struct stage *document_stage(const struct document *d, const char *id)
{
    const struct entry *e = find(d, id, A_STAGE);
    return e ? &d->stages[e->at] : NULL;
}
