/* duration.h: times in options. */
#ifndef LEAT_CMD_DURATION_H
#define LEAT_CMD_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a time in nanoseconds; without a unit it is in seconds. False: the text is no time. */
bool duration_read(const char *text, int64_t *to);

#endif
