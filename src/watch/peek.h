/* peek.h: reading memory that another thread may be writing to or freeing at this moment. */
#ifndef LT_WATCH_PEEK_H
#define LT_WATCH_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Copies `size` bytes. False: some are not mapped, or the kernel does not allow it. The copy means
 * nothing until the caller has made sure that the object was still in its place after the copy. */
bool lt_peek(void *to, const void *from, size_t size);

/* The same with a string, cut off where it does not fit. */
bool lt_peek_text(char *to, size_t size, const char *from);

/* How many bytes of the pages from `low` on are in memory. */
size_t lt_resident(const char *low, size_t size);

#endif
