#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int lt_move_up(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3), saved = errno;
    close(fd);
    errno = saved;
    return moved;
}

void lt_die(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n > 0) {
        size_t length = (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
        for (size_t i = 0; i < length; i++)
            line[i] = lt_shown(line[i]);
        line[length++] = '\n';
        ssize_t ignored = write(STDERR_FILENO, line, length);
        (void)ignored;
    }
    abort();
}
