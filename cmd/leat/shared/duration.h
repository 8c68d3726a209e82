/* duration.h: times as options have them. */
#ifndef LEAT_CMD_DURATION_H
#define LEAT_CMD_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a time in nanoseconds; seconds without a unit. False: this is none. */
bool duration_read(const char *text, int64_t *to);

#endif
