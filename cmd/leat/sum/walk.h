/* walk.h: all regular files in and below a folder, in the order of the bytes of their paths.
 *
 * The walk keeps the folders above the present one, and their entries still to come, on the heap,
 * so only memory bounds the depth. It holds the descriptors of the innermost few folders only; when
 * it comes back to a folder that is closed, it opens the path to it again. The folders of files
 * under way stay open, and the walk waits when there are too many. */
#pragma once

#include "flow.h"
#include "listing.h"

/* The entry of a check list for a folder. */
struct walk_checked {
    uint64_t line;
    bool unsure;
    const unsigned char *digest; /* DIGEST_MAX bytes */
};

struct frame {
    struct dir *dir;
    char *names;    /* a listing */
    const char *at; /* the walk's place in it */
};

struct walk {
    struct flow *flow;
    size_t descriptors; /* folders open at the same time, at most; if 1, the next one as well */
    struct frame *frames;
    size_t depth, cap;
    size_t held; /* frames from this one on hold their descriptors */
    struct lister lister;
    const struct exclude *exclude; /* leave these out */
    struct named *named;           /* not NULL: only the files that are neither in it, */
    struct named *looked;          /* nor in this, to which they are added */
    bool report;                   /* report these as not listed; else digest them */
    struct named *naming;          /* not NULL: all files are added to this */
    unsigned wanted;               /* the set of digests of each file, at first that of all, */
    size_t size;                   /* and the bytes of one if there are several sizes */
};

void walk_open(struct walk *w, struct flow *f, size_t descriptors, const struct exclude *exclude);
void walk_close(struct walk *w);

/* Submits all files in and below the folder `path`. 0 or a negative errno value. */
int walk_folder(struct walk *w, const char *path);

/* The same between a SLOT_TREE and a SLOT_TREE_END. `checked` may be NULL. */
int walk_tree(struct walk *w, const char *path, const struct walk_checked *checked);
