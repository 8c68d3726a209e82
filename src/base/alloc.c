#include "base/alloc.h"

#include "base/fault.h"
#include "base/util.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* malloc(3) has a header of this size before each piece. With the next piece's header a piece fills
 * whole lines: so pieces that are made in a row lie without gaps. */
enum { HEADER = sizeof(void *) };

static size_t whole_lines(size_t size)
{
    return (size + HEADER + LT_CACHE_LINE - 1) / LT_CACHE_LINE * LT_CACHE_LINE - HEADER;
}

void *lt_alloc_unset(size_t size)
{
    if (size > PTRDIFF_MAX || lt_fault())
        return NULL;
    int saved = errno;
    void *memory = malloc(size);
    errno = saved;
    return memory;
}

void *lt_alloc(size_t size)
{
    void *memory = lt_alloc_unset(size);
    return memory ? memset(memory, 0, size) : NULL;
}

void *lt_alloc_lines(size_t size)
{
    if (size > PTRDIFF_MAX || lt_fault())
        return NULL;
    int saved = errno;
    void *memory = NULL;
    int error = posix_memalign(&memory, LT_CACHE_LINE, whole_lines(size));
    errno = saved;
    return error ? NULL : memory;
}

void lt_free(void *memory)
{
    free(memory);
}

void *lt_map(size_t size)
{
    if (lt_fault())
        return NULL;
    int saved = errno;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    errno = saved;
    return pages == MAP_FAILED ? NULL : pages;
}

void lt_unmap(void *pages, size_t size)
{
    int saved = errno;
    /* Splitting a mapping may exceed the kernel's limit of mappings. Then keep the addresses, and
     * release only the memory. */
    if (munmap(pages, size) != 0)
        madvise(pages, size, MADV_DONTNEED);
    errno = saved;
}

size_t lt_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t lt_whole_pages(size_t bytes)
{
    size_t page = lt_page_size();
    return (bytes + page - 1) / page * page;
}
