/* lines.h: reads a file line by line, into memory that is reused.
 *
 * A halt ends the wait for a pipe or a terminal, and in other files is noticed between two
 * reads. */
#ifndef LEAT_CMD_LINES_H
#define LEAT_CMD_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a line, at most: a file without line ends must not take all memory. It is much more than
 * PATH_MAX, since a list may have the paths of a deep tree. */
enum { LINE_MOST = 1 << 20 };

struct lines {
    int fd;
    char end;     /* the last byte of a line */
    bool patient; /* a read may wait: a pipe, a terminal */
    bool at_end;
    bool skipping; /* up to the end of a line that is too long */
    char *bytes;
    size_t from, to, cap; /* bytes in [from, to) are read but not yet returned */
};

/* Takes over `fd`: lines_close closes it, unless it is standard input. */
void lines_open(struct lines *l, int fd, char end);
void lines_close(struct lines *l);

/* Returns 1 and the next line, with its end if it has one; 0 at the end of the file; -ECANCELED,
 * -ENOMEM or read's error; -E2BIG as soon as a line is longer than LINE_MOST: the next call skips
 * the rest of it. The caller may change the line and the byte after it, until the next call. */
int lines_next(struct lines *l, char **line, size_t *len);

#endif
