/* alloc.h: the one door to the system's memory. Each can fail, and in the harsh build is made to. */
#ifndef LT_BASE_ALLOC_H
#define LT_BASE_ALLOC_H

#include <stddef.h>

/* Zeroed memory, aligned to a cache line; NULL when there is none. Freed with lt_free. */
void *lt_alloc(size_t size);
void lt_free(void *memory);

/* As lt_alloc, but not zeroed: what is used bit by bit is not touched before. */
void *lt_alloc_unset(size_t size);

/* Pages: readable, writable, zero, not backed until touched; NULL when there are none. `size` is a
 * multiple of the page size. */
void *lt_map(size_t size);
void lt_unmap(void *pages, size_t size);

size_t lt_page_size(void);

#endif
