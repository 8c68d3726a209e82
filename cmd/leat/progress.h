/* progress.h: one line on the terminal that shows how far the work is.
 *
 * It is shown if standard error is a terminal with this program in the foreground, after half a
 * second, and redrawn at most ten times a second. It shows the time left once the amount of work is
 * known. Before anything else is written to the terminal, the line must be erased. */
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

/* When the line is to be drawn again, as a deadline for waits; LEAT_NEVER if it is off. */
int64_t progress_due(const struct progress *p);

/* Draws the line if it is due: `files` and `bytes` are done, of `goal`. */
void progress_draw(struct progress *p, uint64_t files, uint64_t bytes, const struct goal *goal);
void progress_erase(struct progress *p);

#endif
