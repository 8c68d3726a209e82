#define LEAT_KEEP_ERRNO
#include <leat/base.h>

__attribute__((noinline)) int *leat_errno_location(void)
{
    /* Else a compiler that sees this function may take the address for a constant. */
    __asm__ volatile("" ::: "memory");
    return &errno;
}
