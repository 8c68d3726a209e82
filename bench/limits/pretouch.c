/* pretouch.c: touches the given number of gigabytes once and ends. After that the host of a virtual
 * machine has the pages ready for the next measurement of memory. */
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    size_t bytes = (size_t)(argc > 1 ? atol(argv[1]) : 4) << 30;
    volatile char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < bytes; i += 4096)
        p[i] = 1;
    return 0;
}
