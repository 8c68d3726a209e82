/* alloc.h: all of the library's memory comes from here. Each request can fail, and the harsh build
 * can make any of them fail. */
#pragma once

#include <stddef.h>

/* Zeroed memory for lt_free, which is free(3). NULL when memory has run out. */
void *lt_alloc(size_t size);
void lt_free(void *memory);

/* As lt_alloc, but not zeroed, so that memory is touched only when it is used. */
void *lt_alloc_unset(size_t size);

/* As lt_alloc_unset, for types that are aligned to a cache line. glibc 2.36 makes a hole of 96
 * bytes beside each such piece, and takes a lock. */
void *lt_alloc_lines(size_t size);

/* Pages for lt_unmap: readable, writable, zero, and backed by memory only when touched. `size` is a
 * multiple of the page size. NULL when memory has run out. */
void *lt_map(size_t size);
void lt_unmap(void *pages, size_t size);

size_t lt_page_size(void);

/* The size of the fewest pages that hold these bytes. */
size_t lt_whole_pages(size_t bytes);
