#define LEAT_KEEP_ERRNO
#include <leat/base.h>

__attribute__((noinline)) int *leat_errno_location(void)
{
    /* Keeps the address from being a constant to a compiler that sees this function and takes
     * __errno_location for one without effects. */
    __asm__ volatile("" ::: "memory");
    return &errno;
}
