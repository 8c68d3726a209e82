/* cache.c: the cache in memory. */
#include "cache.h"

#include "cache_lines.h"

#include <stdlib.h>
#include <string.h>

/* The line for this digest, up to the digest itself. */
static struct line_key key_of(const struct algorithm *a, size_t size, const struct stamp *s)
{
    struct line_key key;
    line_key_of(&key, a, size, s);
    return key;
}

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

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_digest(const char *hex, unsigned char *digest, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        int high = hex_value(hex[2 * i]), low = high < 0 ? -1 : hex_value(hex[2 * i + 1]);
        if (low < 0)
            return false;
        digest[i] = (unsigned char)(high << 4 | low);
    }
    return hex[2 * size] == ' ';
}

bool cache_recall(const struct cache *c, const struct slot *s)
{
    unsigned char *digest = s->digest;
    for (unsigned i = 0; i < c->selection->count; i++) {
        if (!(s->wanted >> i & 1))
            continue;
        const struct algorithm *a = c->selection->at[i];
        size_t place, size = digest_size(a, s->size);
        struct line_key key = key_of(a, size, s->stamp);
        const char *hex = digest_in(find(c, &key, &place), &key);
        if (!hex || !read_digest(hex, digest, size))
            return false;
        digest += size;
    }
    return true;
}

static bool is_contradicted(const struct cache *c, const struct algorithm *a, const struct slot *s,
                            const unsigned char *digest)
{
    unsigned char kept[DIGEST_MAX];
    size_t place, size = digest_size(a, s->size);
    struct line_key key = key_of(a, size, s->stamp);
    const char *hex = digest_in(find(c, &key, &place), &key);
    return hex && (!read_digest(hex, kept, size) || memcmp(kept, digest, size) != 0);
}

static void remember(struct cache *c, const struct algorithm *a, const struct slot *s,
                     const unsigned char *digest)
{
    size_t place, size = digest_size(a, s->size);
    struct line_key key = key_of(a, size, s->stamp);
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
    text_hex(&c->fresh, digest, size);
    text_char(&c->fresh, ' ');
    text_number(&c->fresh, c->today);
    text_char(&c->fresh, '\n');
    c->changed = true;
}

bool cache_remember(struct cache *c, const struct slot *s)
{
    if (!s->stamp->known)
        return true;
    for (int storing = 0; storing < 2; storing++) {
        const unsigned char *digest = s->digest;
        for (unsigned i = 0; i < c->selection->count; i++) {
            if (!(s->wanted >> i & 1))
                continue;
            const struct algorithm *a = c->selection->at[i];
            if (storing)
                remember(c, a, s, digest);
            else if (is_contradicted(c, a, s, digest))
                return false;
            digest += digest_size(a, s->size);
        }
    }
    return true;
}

void cache_free(struct cache *c)
{
    text_free(&c->loaded);
    text_free(&c->fresh);
    free(c->lines);
    free(c->met);
}
