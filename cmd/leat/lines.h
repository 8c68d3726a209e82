/* lines.h: the lines of a file, one after the other, in memory that is used again.
 *
 * A file that may keep its reader waiting is read so that a halt ends the wait. A halt is also
 * noticed between two reads of a file of any length. */
#ifndef LEAT_CMD_LINES_H
#define LEAT_CMD_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a line at most. A file that never ends its line must not take all memory. The paths of a
 * deep tree may be much longer than PATH_MAX, and a list that has them must be read back. */
enum { LINE_MOST = 1 << 20 };

struct lines {
    int fd;
    char end;     /* what a line ends with */
    bool patient; /* reading may wait: a pipe, a terminal */
    bool at_end;
    bool skipping; /* up to the end of a line that is too long */
    char *bytes;
    size_t from, to, cap; /* what has been read and not yet given out is [from, to) */
};

/* Takes over `fd`, or standard input, which is not closed. */
void lines_open(struct lines *l, int fd, char end);
void lines_close(struct lines *l);

/* The next line with its end, if it has one. It may be changed, and so may the byte after it; it
 * stands until the next call. 1, or 0 at the end, -ECANCELED, -ENOMEM, or what read said. -E2BIG as
 * soon as a line is longer than LINE_MOST: the next call goes on behind this line. */
int lines_next(struct lines *l, char **line, size_t *len);

#endif
