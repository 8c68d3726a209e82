/* reading.h: a file to digest, from its first byte to its last.
 *
 * A small file costs four system calls: open, read, read again until there is nothing, close. Asking
 * what a file is would be a fifth; it is asked where the user named it, and where something about it
 * is odd for the regular file that the walk saw; and with a cache, before and after. */
#ifndef LEAT_CMD_READING_H
#define LEAT_CMD_READING_H

#include "device.h"
#include "flow.h"

#include <errno.h>
#include <sys/types.h>

struct reading {
    struct slot *slot;
    int fd;
    bool patient; /* the next bytes may be long in coming: from a terminal, a pipe, a FIFO */
    bool begun;   /* something was read already */
    bool missed;  /* something had to come from the disk */
    struct device *device; /* whose readers may be bounded; else NULL */
    struct turn *turn;     /* the reader's, */
    bool has_turn;         /* and whether this file is among those it is for */
};

enum {
    READING_KNOWN = 1,            /* there is nothing to read: the cache had the slot's digests */
    READING_LATER = -EINPROGRESS, /* the disk has been asked for the first bytes */
};

/* Opens the slot's file. 0, READING_KNOWN or the error; closed in any case by reading_close, any number of
 * times. */
int reading_open(struct reading *r, const struct flow *f, struct slot *s, struct turn *turn);

typedef ssize_t reading_fn(struct reading *r, void *to, size_t len);

/* The next bytes, `len` at most: how many; the error, -ECANCELED being that of waiting; 0 at the end,
 * and also where it is a regular file no longer: then the slot says so. */
ssize_t reading_next(struct reading *r, void *to, size_t len);

/* As reading_next, for the first bytes; READING_LATER instead of waiting for a disk that has no turns. */
ssize_t reading_begin(struct reading *r, void *to, size_t len);

void reading_close(struct reading *r);

#endif
