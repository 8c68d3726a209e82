/* cache_lines.h: the lines of a cache, and the table that finds them. For the cache's own sources. */
#ifndef LEAT_CMD_CACHE_LINES_H
#define LEAT_CMD_CACHE_LINES_H

#include "cache.h"

#define NO_LINE SIZE_MAX

/* The beginning of a line: its first fields, each with its space. */
struct line_key {
    char text[192];
    size_t whose; /* of it: the fields that say whose digest it is */
    size_t len;
};

void line_key_of(struct line_key *key, const struct algorithm *a, size_t size,
                 const struct stamp *s);

/* The last field. */
uint64_t line_day(const char *line);

/* How long the fields are that say whose digest it is; 0 when it is no line of a cache. */
size_t line_whose(const char *line, size_t len);

/* Where the line with these first fields stands in the table, or would. There is a free place. */
size_t lines_place(const struct cache *c, const char *whose, size_t len);

#endif
