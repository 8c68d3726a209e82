/* dir.h: the folders of a walk, as a tree of counted nodes with descriptors that open and close.
 *
 * Files are opened relative to their folder's descriptor, so neither a long path nor the renaming
 * of a folder above matters. A node lives while it has references: from its children, from the
 * walk, and from every file on its way to the output, since the nodes spell its path. A node's
 * descriptor is open while it is held: by the walk, and by every file that is not open yet.
 *
 * Only the walk's thread takes holds; any thread drops them. So a node that the walk finds closed
 * stays closed until the walk opens it again, by its name in the parent. */
#pragma once

#include "shared/text.h"

#include <leat/chan.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct device;

struct dir {
    struct dir *parent; /* NULL for a PATH of the command line */
    atomic_uint refs;   /* references to the node */
    atomic_uint holds;  /* holds on the descriptor */
    int fd;             /* valid while there are holds */
    bool follow;        /* a link may lead to it */
    dev_t device;       /* with `inode`: identifies the folder */
    ino_t inode;
    struct device *disk; /* the disk if its readers are bounded (device.h), else NULL */
    size_t path_len;     /* of the path with a '/' at its end */
    size_t name_len;
    char name[]; /* the name in the parent, or the PATH */
};

/* A node with one reference, not open. NULL if memory has run out. */
struct dir *dir_new(struct dir *parent, const char *name, size_t len, bool follow);
void dir_ref(struct dir *d);
void dir_unref(struct dir *d);

/* Takes a hold if the folder is open; false if it is not. */
bool dir_hold_open(struct dir *d);

/* Takes a hold, and opens the folder if it is closed; the parent must be held. 0 or openat's
 * error. */
int dir_hold(struct dir *d);
void dir_drop(struct dir *d);

/* Sets `to` to the folder's path with a '/' at its end. */
void dir_path(const struct dir *d, struct text *to);

/* For the walk: from now on a drop that leaves just `few` folders open sends an item of no bytes on
 * `wakeup`; with NULL, drops send none. Afterwards the walk checks whether no more than that are
 * open already: only the walk opens folders. */
void dirs_notify(leat_chan *wakeup, size_t few);

/* The number of open folders, and that of all nodes. */
size_t dirs_open(void);
size_t dirs_alive(void);
