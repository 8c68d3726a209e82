#define _GNU_SOURCE
#include "cache_lines.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FIELDS = 8, FIELDS_WHOSE = 3 };

/* Writes the number, padded with zeros to `digits`, and then `next`. printf would take most of the
 * time that an unchanged file costs. */
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

void line_key_of(struct line_key *key, const struct algorithm *a, size_t size,
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
