/* peek.h: reading memory that may be written to, or be gone, at this very moment. */
#ifndef LT_WATCH_PEEK_H
#define LT_WATCH_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Copies `size` bytes; false when some are not there, or the kernel does not help. What was copied means
 * nothing before the caller has made sure that it still was what it took it for. */
bool lt_peek(void *to, const void *from, size_t size);

/* The same with a string, of which what does not fit is left off. */
bool lt_peek_text(char *to, size_t size, const char *from);

/* Bytes of the pages from `low` on that are in memory. */
size_t lt_resident(const char *low, size_t size);

#endif
