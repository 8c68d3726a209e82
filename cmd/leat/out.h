/* out.h: standard output and standard error, in large pieces that end where lines end.
 *
 * Lines gather until the owner flushes. Where a write could block for ever (a pipe nobody reads, a
 * stopped terminal), the flush waits for room and for the halt together, and hands over whole lines
 * in pieces that a pipe takes at once: so lines of several programs on one pipe do not mix, and a
 * halt never leaves half a line. A failed write is remembered, and later ones do nothing. */
#ifndef LEAT_CMD_OUT_H
#define LEAT_CMD_OUT_H

#include "text.h"

enum { OUT_FULL = 64 * 1024 }; /* what is gathered is flushed at the first line end after this */

struct out {
    struct text text;
    int fd;
    char line_end;
    bool may_block;
    int error; /* 0, or the negative errno value of the first failure */
};

void out_open(struct out *o, int fd, char line_end);
void out_free(struct out *o);

/* Writes all that has been gathered. 0, the remembered failure, or -ECANCELED when halted. */
int out_flush(struct out *o);

#endif
