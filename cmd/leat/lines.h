/* lines.h: the lines of a file, one after the other, in memory that is used again.
 *
 * A file that may keep its reader waiting is read so that a halt ends the wait. */
#ifndef LEAT_CMD_LINES_H
#define LEAT_CMD_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct lines {
    int fd;
    char end;     /* what a line ends with */
    bool patient; /* reading may wait: a pipe, a terminal */
    bool at_end;
    char *bytes;
    size_t from, to, cap; /* what has been read and not yet given out is [from, to) */
};

/* Takes over `fd`, or standard input, which is not closed. */
void lines_open(struct lines *l, int fd, char end);
void lines_close(struct lines *l);

/* The next line with its end, if it has one. It may be changed, and so may the byte after it; it
 * stands until the next call. 1, or 0 at the end, -ECANCELED, -ENOMEM, or what read said. */
int lines_next(struct lines *l, char **line, size_t *len);

#endif
