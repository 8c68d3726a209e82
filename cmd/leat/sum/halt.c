#include "halt.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int bell = -1; /* never read */

int halt_open(void)
{
    bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return bell < 0 ? -errno : 0;
}

void halt_close(void)
{
    close(bell);
    bell = -1;
}

void halt_now(void)
{
    eventfd_write(bell, 1);
}

int halt_wait(int fd, short events)
{
    struct pollfd both[] = { { .fd = fd, .events = events }, { .fd = bell, .events = POLLIN } };
    for (;;) {
        int ready = poll(both, 2, -1);
        if (ready < 0 && errno != EINTR)
            return 0; /* the read or write that follows returns the error */
        if (ready > 0)
            return both[1].revents ? -ECANCELED : 0;
    }
}
