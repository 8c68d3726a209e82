/* shown.h: texts of the program, made safe for a terminal.
 *
 * The texts are UTF-8. A control character, a character that changes the direction of writing, and
 * a character that the locale cannot show become a `?`. So a text stays on one line, and cannot
 * control the terminal. */
#pragma once

#include "shared/text.h"

/* Adds as much of the string as fits into `most` columns. Returns how many columns it takes. `to`
 * may be NULL. */
size_t shown_add(struct text *to, const char *string, size_t most);

/* The columns that the whole string takes. */
size_t shown_width(const char *string);
