/* progress.h: one line on the terminal that tells how far things are.
 *
 * It is shown when standard error is a terminal on which this program is in the foreground, after a
 * first half second, and redrawn at most ten times a second. How long it will take is told when it is
 * known how much there is. Whoever writes anything else to a
 * terminal erases it first. */
#ifndef LEAT_CMD_PROGRESS_H
#define LEAT_CMD_PROGRESS_H

#include "goal.h"

struct progress {
    int fd;
    bool on;
    int shown; /* columns that the line takes now */
    int64_t started, due;
};

void progress_open(struct progress *p, int fd, bool wanted);

/* When it should be drawn again: a deadline for waits; LEAT_NEVER when it is off. */
int64_t progress_due(const struct progress *p);

/* Draws the line if it is time to: so much is done, of so much. */
void progress_draw(struct progress *p, uint64_t files, uint64_t bytes, const struct goal *goal);
void progress_erase(struct progress *p);

#endif
