#define LEAT_KEEP_ERRNO
#include <leat/base.h>

__attribute__((noinline)) int *leat_errno_location(void)
{
    /* Not a constant, whatever a compiler that sees this function thinks of __errno_location. */
    __asm__ volatile("" ::: "memory");
    return &errno;
}
