/* named.h: the files in check lists, as entries of folders.
 *
 * An entry is a folder's device and inode, and a name in the folder. So it does not matter how a
 * list spells a path, through which links the path leads, or what the working folder is called.
 * Another hard link to a listed file is another entry.
 *
 * Only a hash of each entry is kept, with a random key for each run: 32 bytes an entry at most.
 * With n names, an unlisted file is taken for a listed one with probability n/2^64.
 *
 * It belongs to the producer's thread. */
#pragma once

#include "shared/text.h"

#include <sys/types.h>

struct named {
    uint64_t *hashes; /* 0: free */
    size_t count, cap;
    uint64_t key;
    struct text folder; /* of the last path */
    bool folder_is_there;
    dev_t device; /* the folder's */
    ino_t inode;
    int error; /* why entries may be missing, or 0 */
};

/* 0 or a negative errno value. */
int named_open(struct named *n);
void named_close(struct named *n);

/* 0 or -ENOMEM. A path in a folder that does not exist names nothing. If the system does not say
 * whether the folder exists, sets `error`: all can go on except a search for unlisted files. */
int named_add(struct named *n, const char *path);
int named_add_entry(struct named *n, dev_t device, ino_t inode, const char *name);
bool named_has(const struct named *n, dev_t device, ino_t inode, const char *name);

/* 1 if the path is that of an entry, otherwise 0, or a negative errno value. */
int named_has_path(struct named *n, const char *path);
