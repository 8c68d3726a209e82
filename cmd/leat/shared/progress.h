/* progress.h: a line on the terminal that shows the progress of the work.
 *
 * It is shown if standard error is a terminal with this program in the foreground, after half a
 * second, and redrawn at most ten times a second. Before anything else is written to the terminal,
 * the line must be erased. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns, a longer text is cut off; and bytes that are written for a line. */
enum { PROGRESS_MOST = 128, PROGRESS_LINE = 2 * PROGRESS_MOST + 2 };

struct progress {
    bool on;
    size_t shown; /* columns that the line takes now */
    int64_t started, due;
};

void progress_open(struct progress *p, bool wanted);

/* The time to draw the line again, as a deadline for waits; LEAT_NEVER if it is off. */
int64_t progress_due(const struct progress *p);

/* Whether to draw the line now. Then its next time is set. */
bool progress_is_due(struct progress *p);

/* The most bytes of a text that are shown; the rest is cut off. */
size_t progress_room(void);
void progress_show(struct progress *p, const char *text);
void progress_erase(struct progress *p);

/* For a program that writes the line itself: makes the bytes that overwrite the line by the text,
 * or erase it if that is empty. Returns their number. */
size_t progress_line(struct progress *p, const char *text, char line[PROGRESS_LINE]);

/* Seconds since progress_open. */
double progress_seconds(const struct progress *p);

/* Writes ", 1:02:03 left", or nothing for 100 hours or more. */
void progress_add_left(char *to, size_t room, double seconds);
