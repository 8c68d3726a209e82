/* blind.h: a system that cannot watch one more descriptor, as long as a test wants it. A program
 * includes this once. */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic bool blind;
static _Atomic int blind_error = ENOSPC; /* why it cannot */

/* In place of the C library's epoll_ctl. */
int watch_or_refuse(int epoll, int what, int fd, struct epoll_event *event) __asm__("epoll_ctl");

int watch_or_refuse(int epoll, int what, int fd, struct epoll_event *event)
{
    if (what == EPOLL_CTL_ADD && atomic_load(&blind)) {
        errno = atomic_load(&blind_error);
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epoll, what, fd, event);
}
