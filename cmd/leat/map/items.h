/* items.h: the rows of items for the jobs, one after another.
 *
 * They come from the lists of the command line, or from lines, which are read ahead no farther than
 * their buffer. */
#pragma once

#include "map/command.h"
#include "shared/lines.h"

#include <leat/leat.h>

struct items {
    const struct plan *plan;
    const char *name; /* of the input, for messages */
    struct lines lines;
    off_t start; /* where they begin in a file; -1: not in a file */
    size_t *at;  /* the next combination of the lists */
    bool at_end;
    int error;        /* with which the items of several a command end, or 0 */
    struct text held; /* values that did not fit into the last row, each followed by a NUL */
    size_t held_count;
    size_t searched;       /* for --pipe: bytes without a line feed at which a block can end */
    size_t spread;         /* how many of the last values go to each command; 0: not yet */
    const char *complaint; /* why items_next failed; NULL: the error says why */
};

/* The input of a job. The caller frees both. */
struct input {
    struct row *row;
    char *block; /* for its standard input, or NULL */
    size_t block_size;
};

/* Opens the file, or standard input. 0 or a negative errno value. */
int items_open(struct items *it, const struct plan *p);
void items_close(struct items *it);

/* Returns 1 and the next input; 0 at the end; or a negative errno value. */
int items_next(struct items *it, struct input *input);

/* The number of all rows; 0 if that is unknown before the end. Any thread may call this after
 * items_open. It reads a large file for long, until its scope is cancelled. */
uint64_t items_total(const struct items *it);
