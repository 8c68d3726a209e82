/* draft.h: the file of --output, which gets its name only when its job has succeeded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct draft {
    char *name;  /* its final name; given by the caller, from malloc */
    char *other; /* its name until it is whole, or NULL */
    int fd;      /* -1: it is not open */
};

/* Opens the file under another name, with the rights that `mask` leaves. 0 or a negative errno
 * value; -EEXIST: the name is that of the open file `log`, or of no file. In any case draft_free
 * must be called. */
int draft_open(struct draft *d, mode_t mask, int log);

/* Gives the file its name if it is good, else removes it. 0 or a negative errno value. */
int draft_close(struct draft *d, bool good);
void draft_free(struct draft *d);

/* The number of bytes in it. */
uint64_t draft_size(const struct draft *d);
