#include "shared/write.h"

#include <errno.h>
#include <unistd.h>

int write_all(int fd, const void *bytes, size_t n)
{
    const char *from = bytes;
    while (n > 0) {
        ssize_t wrote = write(fd, from, n);
        if (wrote < 0 && errno != EINTR)
            return -errno;
        if (wrote > 0) {
            from += wrote;
            n -= (size_t)wrote;
        }
    }
    return 0;
}
