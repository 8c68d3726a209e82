/* socket.h: recv(2) and send(2), which are no cancellation points here. In a process with threads
 * the C library's functions take two locked instructions for that. A sanitizer has to see the
 * call. */
#pragma once

#include "base/sanitizers.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(LT_TSAN) || defined(LT_ASAN) || !defined(SYS_recvfrom)
static inline ssize_t lt_recv(int fd, void *at, size_t n, int flags)
{
    return recv(fd, at, n, flags);
}

static inline ssize_t lt_send(int fd, const void *at, size_t n, int flags)
{
    return send(fd, at, n, flags);
}
#else
static inline ssize_t lt_recv(int fd, void *at, size_t n, int flags)
{
    return syscall(SYS_recvfrom, fd, at, n, flags, NULL, NULL);
}

static inline ssize_t lt_send(int fd, const void *at, size_t n, int flags)
{
    return syscall(SYS_sendto, fd, at, n, flags, NULL, 0);
}
#endif
