/* cache.c: the cache in memory. */
#include "cache.h"

#include "cache_lines.h"

#include <stdlib.h>
#include <string.h>

/* The line for this digest of the file, whatever stamp it has, or NULL. */
static const char *find(const struct cache *c, const struct line_key *key, size_t *place)
{
    if (c->cap == 0)
        return NULL;
    *place = lines_place(c, key->text, key->whose);
    return c->lines[*place] == NO_LINE ? NULL : c->loaded.bytes + c->lines[*place];
}

/* Where the digest begins in the line; NULL if the line has another stamp, or is NULL. */
static const char *digest_in(const char *line, const struct line_key *key)
{
    return line && strncmp(line, key->text, key->len) == 0 ? line + key->len : NULL;
}

static bool read_digest(const char *hex, unsigned char *digest, size_t size)
{
    return text_read_hex(hex, digest, size) && hex[2 * size] == ' ';
}

/* Where the cache has the digest of the file with this stamp; NULL if it has none. */
static const char *recall(const struct cache *c, const struct part *p, const struct stamp *s)
{
    size_t place;
    struct line_key key;
    line_key_of(&key, p->algorithm, p->size, s);
    return digest_in(find(c, &key, &place), &key);
}

bool cache_recall(const struct cache *c, const struct slot *s)
{
    for (struct part p = { 0 }; selection_next(c->selection, s->wanted, s->size, &p);) {
        const char *hex = recall(c, &p, s->stamp);
        if (!hex || !read_digest(hex, s->digest + p.at, p.size))
            return false;
    }
    return true;
}

static bool is_contradicted(const struct cache *c, const struct part *p, const struct slot *s)
{
    unsigned char kept[DIGEST_MAX];
    const char *hex = recall(c, p, s->stamp);
    return hex && (!read_digest(hex, kept, p->size) || memcmp(kept, s->digest + p->at, p->size));
}

static void remember(struct cache *c, const struct part *p, const struct slot *s)
{
    size_t place;
    struct line_key key;
    line_key_of(&key, p->algorithm, p->size, s->stamp);
    const char *line = find(c, &key, &place);
    if (digest_in(line, &key)) {
        c->met[place] = MET;
        c->changed = c->changed || line_day(line) != c->today;
        return;
    }
    if (!s->stamp->settled)
        return;
    if (line)
        c->met[place] = REPLACED;
    text_add(&c->fresh, key.text, key.len);
    text_hex(&c->fresh, s->digest + p->at, p->size);
    text_char(&c->fresh, ' ');
    text_number(&c->fresh, c->today);
    text_char(&c->fresh, '\n');
    c->changed = true;
}

bool cache_remember(struct cache *c, const struct slot *s)
{
    if (!s->stamp->known)
        return true;
    for (struct part p = { 0 }; selection_next(c->selection, s->wanted, s->size, &p);)
        if (is_contradicted(c, &p, s))
            return false;
    for (struct part p = { 0 }; selection_next(c->selection, s->wanted, s->size, &p);)
        remember(c, &p, s);
    return true;
}

void cache_free(struct cache *c)
{
    text_free(&c->loaded);
    text_free(&c->fresh);
    free(c->lines);
    free(c->met);
}
