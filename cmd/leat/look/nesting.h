/* nesting.h: refuses JSON that no leat writes before it is parsed: the parser recurses, and takes
 * some ten times the memory of the text. */
#ifndef LEAT_LOOK_NESTING_H
#define LEAT_LOOK_NESTING_H

#include <stdbool.h>
#include <stddef.h>

/* Whether lists and objects nest at most NESTING_MOST deep, and values are at most VALUES_MOST. */
enum { NESTING_MOST = 32, VALUES_MOST = 4 << 20 };
bool nesting_is_sane(const char *bytes, size_t len);

#endif
