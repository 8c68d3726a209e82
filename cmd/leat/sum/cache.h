/* cache.h: digests kept from one run to the next, so that unchanged files need not be read again.
 *
 * In memory the cache is the text of its file and a table of where each line begins. A line is
 *
 *     ALGORITHM DEVICE INODE SIZE MTIME CTIME DIGEST DAY
 *
 * The first three fields identify the digest. If the next three equal those of the file, to the
 * nanosecond, the digest is believed. DAY is the last day on which a run met the file, counted from
 * 1970. docs/leat-sum.md describes the whole file.
 *
 * `loaded` and `lines` do not change until the run ends, so digesters read them without a lock.
 * Only the collector uses `met`, `fresh` and `changed`. */
#pragma once

#include "selection.h"
#include "shared/text.h"
#include "slot.h"

struct cache {
    const char *path;
    const struct selection *selection;
    uint64_t today;
    struct text loaded; /* the file's lines */
    size_t *lines;      /* a hash table of `cap` places: a line's offset in `loaded`, or NO_LINE */
    unsigned char *met; /* for each place: enum met */
    size_t cap, count;
    struct text fresh; /* new lines */
    bool changed;      /* the file must be written */
};

/* Whether this run has met the file of a line. */
enum met {
    NOT_MET,
    MET,      /* the line holds */
    REPLACED, /* the file has changed; `fresh` has its line */
};

/* Loads the cache from the file at `path`; a file that does not exist is an empty cache. If the
 * file is unusable, *remark or *error says why. False: the file must not be written either. */
bool cache_load(struct cache *c, const char *path, const struct selection *selection,
                const char **remark, int *error);

/* Rewrites the file if the cache has changed. Returns 0 or a negative errno value. */
int cache_save(struct cache *c);
void cache_free(struct cache *c);

/* Copies all wanted digests of the file with this stamp to the slot. False if any is missing. */
bool cache_recall(const struct cache *c, const struct slot *s);

/* For the collector: stores the slot's digests. Returns false, and stores nothing, if a stored
 * digest differs although the file's stamp is still the same. */
bool cache_remember(struct cache *c, const struct slot *s);

/* ---- its lines, for cache_file.c ---- */

#define NO_LINE SIZE_MAX

/* The line's last field. */
uint64_t line_day(const char *line);

/* The length of the fields that identify the digest; 0 if this is no line of a cache. */
size_t line_whose(const char *line, size_t len);

/* The place in the table of the line that begins with these bytes, or the free place for it. The
 * table must not be empty; it always has a free place. */
size_t lines_place(const struct cache *c, const char *whose, size_t len);
