/* cache.c: the cache in memory. */
#define _GNU_SOURCE
#include "cache.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- lines ---- */

/* The beginning of a line: all fields before the digest, each with the space after it. */
struct line_key {
    char text[192];
    size_t whose; /* length of the fields that identify the digest */
    size_t len;   /* length of all fields */
};

enum { FIELDS = 8, FIELDS_WHOSE = 3 };

/* Writes the number, padded with zeros to `digits`, and then `next`. printf would take most of the
 * time for an unchanged file. */
static char *put(char *to, uint64_t number, unsigned digits, char next)
{
    char text[20];
    unsigned at = sizeof text;
    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number || sizeof text - at < digits);
    memcpy(to, text + at, sizeof text - at);
    to += sizeof text - at;
    *to++ = next;
    return to;
}

static char *put_time(char *to, struct timespec t)
{
    bool negative = t.tv_sec < 0;
    if (negative)
        *to++ = '-';
    uint64_t seconds = negative ? -(uint64_t)t.tv_sec : (uint64_t)t.tv_sec;
    return put(put(to, seconds, 1, '.'), (uint64_t)t.tv_nsec, 9, ' ');
}

/* Fills in the key of a digest of `size` bytes. */
static void line_key_of(struct line_key *key, const struct algorithm *a, size_t size,
                        const struct stamp *s)
{
    char *to = stpcpy(key->text, a->name);
    *to++ = size < a->size ? '-' : ' ';
    if (size < a->size)
        to = put(to, 8 * size, 1, ' ');
    to = put(put(to, s->device, 1, ' '), s->inode, 1, ' ');
    key->whose = (size_t)(to - key->text);
    to = put_time(put_time(put(to, s->size, 1, ' '), s->modified), s->changed);
    *to = '\0';
    key->len = (size_t)(to - key->text);
}

uint64_t line_day(const char *line)
{
    const char *end = strchr(line, '\n');
    const char *last = memrchr(line, ' ', (size_t)(end - line));
    return strtoull(last + 1, NULL, 10);
}

size_t line_whose(const char *line, size_t len)
{
    size_t whose = 0, fields = 1;
    for (size_t i = 0; i < len; i++) {
        if (line[i] != ' ')
            continue;
        if (fields++ == FIELDS_WHOSE)
            whose = i + 1;
    }
    return fields == FIELDS ? whose : 0;
}

size_t lines_place(const struct cache *c, const char *whose, size_t len)
{
    size_t at = XXH3_64bits(whose, len) & (c->cap - 1);
    while (c->lines[at] != NO_LINE && strncmp(c->loaded.bytes + c->lines[at], whose, len) != 0)
        at = (at + 1) & (c->cap - 1);
    return at;
}

/* ---- digests ---- */

/* The line for this digest of the file, with any stamp, or NULL. */
static const char *find(const struct cache *c, const struct line_key *key, size_t *place)
{
    if (c->cap == 0)
        return NULL;
    *place = lines_place(c, key->text, key->whose);
    return c->lines[*place] == NO_LINE ? NULL : c->loaded.bytes + c->lines[*place];
}

/* The beginning of the digest in the line; NULL if the line has another stamp, or is NULL. */
static const char *digest_in(const char *line, const struct line_key *key)
{
    return line && strncmp(line, key->text, key->len) == 0 ? line + key->len : NULL;
}

static bool read_digest(const char *hex, unsigned char *digest, size_t size)
{
    return text_read_hex(hex, digest, size) && hex[2 * size] == ' ';
}

/* The cached digest of the file with this stamp; NULL if there is none. */
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
    return hex &&
           (!read_digest(hex, kept, p->size) || memcmp(kept, s->digest + p->at, p->size) != 0);
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
