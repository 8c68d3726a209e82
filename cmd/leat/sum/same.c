#include "same.h"

#include "hashers.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { BYTES_LEAST = 8 }; /* bytes of a digest that distinguishes files */

struct same_entry {
    size_t at;    /* in `bytes` */
    size_t next;  /* the next entry with this digest, from 1; 0: none */
    size_t last;  /* of a first entry: the last one with this digest, */
    size_t stock; /* and the first one that has not been taken, both from 1; 0: none */
    int error;
    unsigned char algorithm, size;
    bool taken;
};

void same_open(struct same *s, const struct selection *selection)
{
    *s = (struct same){ .selection = selection };
}

void same_free(struct same *s)
{
    free(s->entries);
    free(s->table);
    text_free(&s->bytes);
}

static bool is_of_nothing(struct same *s, const struct same_digest *d)
{
    if (s->nothing[d->algorithm].size != d->size) {
        struct hashers h = { .selection = s->selection };
        bool known = hashers_begin(&h, 1u << d->algorithm, d->size) == 0 &&
                     hashers_end(&h, s->nothing[d->algorithm].digest) == 0;
        hashers_close(&h);
        s->nothing[d->algorithm].size = known ? d->size : 0;
        if (!known)
            return false;
    }
    return memcmp(s->nothing[d->algorithm].digest, d->digest, d->size) == 0;
}

static bool distinguishes(struct same *s, const struct same_digest *d)
{
    return d->size >= BYTES_LEAST && !is_of_nothing(s, d);
}

static bool has(const struct same *s, size_t entry, const struct same_digest *d)
{
    const struct same_entry *e = &s->entries[entry - 1];
    return e->algorithm == d->algorithm && e->size == d->size &&
           memcmp(s->bytes.bytes + e->at, d->digest, d->size) == 0;
}

/* The digest's place in the table, or the free place where it would go. There is a free place. */
static size_t *place_of(const struct same *s, const struct same_digest *d)
{
    size_t at = XXH3_64bits_withSeed(d->digest, d->size, d->algorithm) & (s->places - 1);
    while (s->table[at] && !has(s, s->table[at], d))
        at = (at + 1) & (s->places - 1);
    return &s->table[at];
}

static bool grow_table(struct same *s)
{
    struct same more = *s;
    more.places = s->places ? 2 * s->places : 1024;
    more.table = calloc(more.places, sizeof *more.table);
    if (!more.table)
        return false;
    for (size_t i = 0; i < s->places; i++) {
        if (!s->table[i])
            continue;
        const struct same_entry *e = &s->entries[s->table[i] - 1];
        struct same_digest d = { e->algorithm, e->size,
                                 (const unsigned char *)s->bytes.bytes + e->at };
        *place_of(&more, &d) = s->table[i];
    }
    free(s->table);
    s->table = more.table;
    s->places = more.places;
    return true;
}

static bool make_room(struct same *s)
{
    if (s->count >= s->places / 4 * 3 && !grow_table(s))
        return false;
    if (s->count < s->cap)
        return true;
    size_t cap = 2 * s->cap + 256;
    struct same_entry *entries = realloc(s->entries, cap * sizeof *entries);
    if (!entries)
        return false;
    s->entries = entries;
    s->cap = cap;
    return true;
}

void same_add(struct same *s, const struct same_digest *d, const char *name, int error)
{
    size_t at = s->bytes.len;
    text_add(&s->bytes, d->digest, d->size);
    text_word(&s->bytes, name);
    if (s->bytes.broken || !make_room(s)) {
        s->broken = true;
        return;
    }
    struct same_entry *e = &s->entries[s->count++];
    *e = (struct same_entry){ .at = at,
                              .last = s->count,
                              .stock = s->count,
                              .error = error,
                              .algorithm = (unsigned char)d->algorithm,
                              .size = (unsigned char)d->size };
    if (!distinguishes(s, d))
        return;
    size_t *place = place_of(s, d);
    if (!*place) {
        *place = s->count;
        return;
    }
    struct same_entry *first = &s->entries[*place - 1];
    s->entries[first->last - 1].next = s->count;
    first->last = s->count;
    if (!first->stock)
        first->stock = s->count;
}

static struct same_entry *find(struct same *s, const struct same_digest *d)
{
    size_t entry = s->places > 0 && distinguishes(s, d) ? *place_of(s, d) : 0;
    return entry ? &s->entries[entry - 1] : NULL;
}

static const char *name_of(const struct same *s, const struct same_entry *e)
{
    return s->bytes.bytes + e->at + e->size;
}

const char *same_first(struct same *s, const struct same_digest *d)
{
    const struct same_entry *first = find(s, d);
    return first ? name_of(s, first) : NULL;
}

const char *same_take(struct same *s, const struct same_digest *d)
{
    struct same_entry *first = find(s, d);
    if (!first || !first->stock)
        return NULL;
    struct same_entry *e = &s->entries[first->stock - 1];
    e->taken = true;
    first->stock = e->next;
    return name_of(s, e);
}

const char *same_left(const struct same *s, size_t i, int *error)
{
    const struct same_entry *e = &s->entries[i];
    *error = e->error;
    return e->taken ? NULL : name_of(s, e);
}

unsigned same_algorithms(const struct same *s, size_t *size)
{
    unsigned fixed = 0, sized = 0;
    size_t before = *size;
    for (size_t i = 0; i < s->count; i++) {
        const struct same_entry *e = &s->entries[i];
        unsigned its = e->size ? 1u << e->algorithm : 0;
        if (!s->selection->at[e->algorithm]->any_size) {
            fixed |= its;
        } else if (e->size > before && (!sized || e->size <= *size)) {
            sized = e->size == *size ? sized | its : its;
            *size = e->size;
        }
    }
    return before > 0 ? sized : fixed | sized;
}
