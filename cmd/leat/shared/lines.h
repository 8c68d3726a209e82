/* lines.h: reads a file line by line, into memory that is reused.
 *
 * The caller waits for the file itself, and a cancelled scope ends that wait. leat_lines would read
 * in another task, which has to be woken, and allocate each line; lists have millions. */
#pragma once

#include "shared/text.h"

#include <leat/leat.h>

/* The most bytes of a line, without its end: a file without line ends must not take all memory. It
 * is much more than PATH_MAX, since a list may have the paths of a deep tree. */
enum { LINE_MOST = 1 << 20 };

struct lines {
    leat_io *io;
    int error; /* of opening */
    char end;  /* the last byte of a line */
    bool begun, at_end;
    bool skipping;    /* at present, up to the end of a line that is too long */
    struct text read; /* its bytes from `from` on are not yet returned */
    size_t from;
};

/* Takes over `fd`: lines_close closes it, unless it is standard input. An `fd` below 0 is an error
 * of opening. The first lines_next or lines_read returns all errors. */
void lines_open(struct lines *l, int fd, char end);
void lines_close(struct lines *l);

/* Returns 1 and the next line, with its end if it has one; 0 at the end of the file; -E2BIG as soon
 * as a line is longer than LINE_MOST: the next call skips the rest of it; or as lines_read. The
 * caller may change the line and the byte after it, until the next call. */
int lines_next(struct lines *l, char **line, size_t *len);

/* Reads up to `most` bytes after those that are there; at_end: there are no more. 0, -ECANCELED,
 * -ENOMEM or leat_read's error. */
int lines_read(struct lines *l, size_t most);
