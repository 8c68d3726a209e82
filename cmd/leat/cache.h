/* cache.h: digests kept from run to run, so that what has not changed need not be read again.
 *
 * They are kept as they stand in their file, as lines, and found through a table of where these begin.
 * A line is
 *
 *     ALGORITHM DEVICE INODE SIZE MTIME CTIME DIGEST DAY
 *
 * of which the first three say whose digest it is, one line for each; with the next three it is believed
 * where they are those of the file, to the nanosecond. DAY, counted from 1970, is when a run last met it.
 * docs/leat-sum.md tells of the file as a whole.
 *
 * What was loaded stands until all is over, and digesters look into it without a lock. All else, which of
 * it was met and what is new, is the collector's alone. */
#ifndef LEAT_CMD_CACHE_H
#define LEAT_CMD_CACHE_H

#include "selection.h"
#include "slot.h"
#include "text.h"

struct cache {
    const char *path;
    const struct selection *selection;
    uint64_t today;
    struct text loaded; /* lines */
    size_t *lines;      /* where in it each begins, by hash; cap of them, NO_LINE: free */
    unsigned char *met; /* of each of these: enum met */
    size_t cap, count;
    struct text fresh; /* further lines */
    bool changed;      /* it is to be saved */
};

enum met {
    NOT_MET,
    MET,      /* it still holds */
    REPLACED, /* it does not */
};

/* Gets the cache that the file holds. When it is of no use *remark or *error says why, and then false means
 * that it must not be written either. Never fails for a file that is not there yet. */
bool cache_load(struct cache *c, const char *path, const struct selection *selection,
                const char **remark, int *error);

/* Puts the cache in the file's place, if it has changed. 0 or what the system said. */
int cache_save(struct cache *c);
void cache_free(struct cache *c);

/* Gets all digests that are wanted of the slot's file by its stamp. False when they are not all there. */
bool cache_recall(const struct cache *c, const struct slot *s);

/* For the collector: the slot's file has these digests. False when one that is kept says otherwise, though
 * the file's stamp is still the same; nothing is changed then. */
bool cache_remember(struct cache *c, const struct slot *s);

#endif
