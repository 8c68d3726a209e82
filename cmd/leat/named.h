/* named.h: the files that check lists name, as entries of folders.
 *
 * An entry is a folder's device and inode and a name in it. So it does not matter how a list spells the
 * way to a file, through which links the way leads, or what the working folder is called; and one more
 * hard link to a listed file is another entry.
 *
 * Of an entry only a hash is kept, with a key of this run's own: 32 bytes at most for each. That one
 * which is not named passes for one that is has, for n names, a chance of n in 2^64.
 *
 * It belongs to the producer's thread. */
#ifndef LEAT_CMD_NAMED_H
#define LEAT_CMD_NAMED_H

#include "text.h"

#include <sys/types.h>

struct named {
    uint64_t *hashes; /* 0: free */
    size_t count, cap;
    uint64_t key;
    struct text folder; /* of the last path; */
    bool folder_is_there;
    dev_t device; /* what it is */
    ino_t inode;
};

/* 0, or what the system said. */
int named_open(struct named *n);
void named_close(struct named *n);

/* 0, -ENOMEM, or what the system said that had no descriptor to spare. A path in a folder that is not there
 * names nothing. */
int named_add(struct named *n, const char *path);
bool named_has(const struct named *n, dev_t device, ino_t inode, const char *name);

#endif
