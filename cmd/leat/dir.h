/* dir.h: the folders of a walk, as a tree of counted nodes with descriptors that come and go.
 *
 * Files are opened relative to their folder's descriptor, so the length of the path does not matter
 * and nothing that is renamed above leads astray. A node lives while anybody has a reference: its
 * children, the walk, and every file on its way to the output, whose path is put together from the
 * nodes. Its descriptor is open while anybody holds it: the walk, and every file not opened yet.
 *
 * Only the walk's thread takes holds; any thread drops them. So a node that the walk finds closed
 * stays closed until the walk itself opens it again, through the parent, by name. */
#ifndef LEAT_CMD_DIR_H
#define LEAT_CMD_DIR_H

#include "text.h"

#include <leat/chan.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct device;

struct dir {
    struct dir *parent; /* NULL for a PATH of the command line */
    atomic_uint refs;   /* who needs the node */
    atomic_uint holds;  /* who needs the descriptor */
    int fd;             /* stands while there are holds */
    bool follow;        /* a link may lead to it */
    dev_t device;       /* for seeing loops, when links are followed */
    ino_t inode;
    struct device *disk; /* whose readers are bounded (device.h); else NULL */
    size_t path_len;     /* of the path with a '/' at its end */
    size_t name_len;
    char name[]; /* in the parent, or the PATH */
};

/* A node with one reference, not open. NULL when memory has run out. */
struct dir *dir_new(struct dir *parent, const char *name, size_t len, bool follow);
void dir_ref(struct dir *d);
void dir_unref(struct dir *d);

/* A further hold on a folder that the caller holds, or that is still open: false when it is not. */
bool dir_hold_open(struct dir *d);

/* A hold, opening the folder when it is closed; the parent must be held. 0, or what openat said. */
int dir_hold(struct dir *d);
void dir_drop(struct dir *d);

/* Puts the folder's path with a '/' at its end into `to`, in place of what it holds. */
void dir_path(const struct dir *d, struct text *to);

/* From now on, as soon as a drop leaves no more than `few` folders open, an item of no bytes is sent on
 * `bell`; NULL: none is. For the walk, which then looks whether it has come to that already: nobody else
 * opens any. */
void dirs_tell(leat_chan *bell, size_t few);

/* How many descriptors and nodes there are in all. */
size_t dirs_open(void);
size_t dirs_alive(void);

#endif
