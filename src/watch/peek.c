#define _GNU_SOURCE
#include "watch/peek.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* The kernel copies: where a load would fault, it returns an error. No sanitizer reports its
 * reading as a race. It is one, and the caller deals with it. */
bool lt_peek(void *to, const void *from, size_t size)
{
    int saved = errno;
    struct iovec here = { to, size }, there = { (void *)(uintptr_t)from, size };
    ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    errno = saved;
    return got == (ssize_t)size;
}

bool lt_peek_text(char *to, size_t size, const char *from)
{
    size_t page = lt_page_size(), got = 0;
    /* A page at a time: the page after the string's end may not be mapped. */
    while (got < size - 1) {
        size_t piece = page - ((uintptr_t)from + got) % page;
        if (piece > size - 1 - got)
            piece = size - 1 - got;
        if (!lt_peek(to + got, from + got, piece))
            return false;
        if (memchr(to + got, '\0', piece))
            return true;
        got += piece;
    }
    to[got] = '\0';
    return true;
}

size_t lt_resident(const char *low, size_t size)
{
    enum { PAGES = 512 };
    unsigned char there[PAGES];
    size_t page = lt_page_size(), count = 0, pages = (size + page - 1) / page;
    int saved = errno;
    for (size_t i = 0; i < pages; i += PAGES) {
        size_t n = pages - i < PAGES ? pages - i : PAGES;
        if (mincore((void *)(uintptr_t)(low + i * page), n * page, there) != 0)
            break;
        for (size_t k = 0; k < n; k++)
            count += there[k] & 1;
    }
    errno = saved;
    return count * page;
}
