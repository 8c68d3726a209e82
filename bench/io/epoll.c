/* epoll.c: the floor: one thread, edge-triggered epoll. A read that got less than it asked for has
 * drained the socket, unless the other side has closed. */
#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { CLOSED = EPOLLRDHUP | EPOLLHUP | EPOLLERR };

static char buffer[SINK_BYTES];
static bool sink;

static void accept_all(int epoll, int listener)
{
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                     .data.fd = fd };
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

static void serve(int fd, uint32_t events, size_t size)
{
    ssize_t n;
    do {
        n = read(fd, buffer, size);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0 || (!sink && write(fd, buffer, (size_t)n) != n)) {
            close(fd);
            return;
        }
    } while ((size_t)n == size || events & CLOSED);
}

int main(void)
{
    sink = is_sink();
    size_t size = sink ? SINK_BYTES : ECHO_BYTES;
    int listener = open_listener(), epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[256], event = { .events = EPOLLIN, .data.fd = listener };
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int n = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < n; i++)
            if (events[i].data.fd == listener)
                accept_all(epoll, listener);
            else if (events[i].events & (EPOLLIN | CLOSED))
                serve(events[i].data.fd, events[i].events, size);
    }
}
