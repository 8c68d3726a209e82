/* reading.h: reads a file to digest, from its first byte to its last.
 *
 * A small file costs four system calls: open, read, a read that finds the end, close. A fifth call,
 * fstat, is made only for a file that the user or a list names, for a file of the walk that does
 * not behave like a regular one, and with a cache, before and after reading. */
#pragma once

#include "device.h"
#include "flow.h"

#include <errno.h>
#include <sys/types.h>

struct reading {
    struct slot *slot;
    int fd;
    bool patient;          /* a read may wait long: a terminal, a pipe, a FIFO */
    bool begun;            /* a read has returned */
    bool missed;           /* a read has gone to the disk */
    struct device *device; /* if its readers may be bounded, else NULL */
    struct turn *turn;     /* the reader's */
    bool has_turn;         /* this file is one of the turn's files */
};

enum {
    READING_KNOWN = 1,            /* there is nothing to read: the cache had the slot's digests */
    READING_LATER = -EINPROGRESS, /* the disk has been asked for the first bytes */
};

/* Opens the slot's file. 0, READING_KNOWN or the error. After each of them reading_close must be
 * called, once or more. */
int reading_open(struct reading *r, const struct flow *f, struct slot *s, struct turn *turn);

typedef ssize_t reading_fn(struct reading *r, void *to, size_t len);

/* Reads the next bytes, at most `len`. Returns their number, or the error: -ECANCELED if a wait was
 * ended. 0 at the end, and also if the file is no longer a regular one; then the slot says so. */
ssize_t reading_next(struct reading *r, void *to, size_t len);

/* As reading_next, for the first bytes, but returns READING_LATER instead of waiting for a disk
 * that has no turns. */
ssize_t reading_begin(struct reading *r, void *to, size_t len);

/* Reads at an offset, without a turn; several parties may do so at once. `ahead`: how many bytes
 * the caller will read from there on. Returns the number of bytes, 0 at the end, or a negative
 * number: the bytes must be read in another way. */
ssize_t reading_at(const struct reading *r, void *to, size_t len, uint64_t offset, size_t ahead);

void reading_close(struct reading *r);
