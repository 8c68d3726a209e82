/* walk.h: all regular files in and below a folder, in the order of the bytes of their paths.
 *
 * The walk keeps the folders above the present one with what is still to come in each, on the heap,
 * so depth is bounded by memory alone. Of their descriptors it holds only the innermost few; when it
 * comes back to one whose descriptor is gone, it opens the way to it again. The folders of files
 * under way keep theirs, and the walk waits when these have become too many. */
#ifndef LEAT_CMD_WALK_H
#define LEAT_CMD_WALK_H

#include "flow.h"
#include "listing.h"

struct frame {
    struct dir *dir;
    char *names;    /* a listing, */
    const char *at; /* and where in it the walk is */
};

struct walk {
    struct flow *flow;
    size_t descriptors; /* folders open at the same time, at most; with 1, also the next one */
    struct frame *frames;
    size_t depth, cap;
    size_t held; /* the frames from this one on hold their descriptors */
    struct lister lister;
    const struct named *named; /* NULL; or no file is digested, but told of where it is not in it */
};

void walk_open(struct walk *w, struct flow *f, size_t descriptors);
void walk_close(struct walk *w);

/* Submits all of `path`, a folder. 0, -ECANCELED or -ENOMEM. */
int walk_folder(struct walk *w, const char *path);

#endif
