/* number.h: whole numbers in arguments. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reads the digits at the beginning of a text: strtoull would also take blanks and a sign. A number
 * that is too large is UINT64_MAX. *rest is the text after the digits. False: there are none. */
bool number_begin(const char *text, uint64_t *to, const char **rest);

/* The same for a number that may have a point: strtod would also take 0x10, 1e3 and inf. */
bool number_begin_decimal(const char *text, double *to, const char **rest);

/* Whether the text is a number from `least` to `most`, and nothing else. */
bool number_read(const char *text, unsigned least, unsigned most, unsigned *to);
