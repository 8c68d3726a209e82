/* out.h: standard output and standard error, in large pieces that end where lines end.
 *
 * Lines gather until the owner flushes. If a write could block for ever (a pipe without a reader, a
 * stopped terminal), the flush waits for room and for the halt together, and writes whole lines in
 * pieces that a pipe takes at once. So lines of several programs on one pipe do not mix, and a halt
 * never leaves half a line. After a failed write all later ones do nothing. */
#pragma once

#include "shared/text.h"

enum { OUT_FULL = 64 * 1024 }; /* bytes after which the owner flushes, at the next line end */

struct out {
    struct text text;
    int fd;
    char line_end;
    bool may_block;
    int error; /* 0, or the negative errno value of the first failure */
};

void out_open(struct out *o, int fd, char line_end);

/* Writes all gathered lines. 0, the first failure, or -ECANCELED if halted. */
int out_flush(struct out *o);
