/* cache_lines.h: a cache's lines and the table that finds them; for the cache's own sources. */
#ifndef LEAT_CMD_CACHE_LINES_H
#define LEAT_CMD_CACHE_LINES_H

#include "cache.h"

#define NO_LINE SIZE_MAX

/* The beginning of a line: all fields before the digest, each with the space after it. */
struct line_key {
    char text[192];
    size_t whose; /* length of the fields that say whose digest it is */
    size_t len;   /* length of them all */
};

/* Fills in the key of a digest of `size` bytes. */
void line_key_of(struct line_key *key, const struct algorithm *a, size_t size,
                 const struct stamp *s);

/* The line's last field. */
uint64_t line_day(const char *line);

/* The length of the fields that say whose digest it is; 0 if this is no line of a cache. */
size_t line_whose(const char *line, size_t len);

/* The place in the table of the line that begins with these bytes, or the free place where it would
 * go. The table must not be empty; it always has a free place. */
size_t lines_place(const struct cache *c, const char *whose, size_t len);

#endif
