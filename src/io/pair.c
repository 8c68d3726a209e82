/* pair.c: makes pipes and pairs of sockets: by the system, or in a seeded world simulated. */
#define _GNU_SOURCE
#include "base/util.h"
#include "base/world.h"
#include "io/io.h"
#include "io/simulated.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

int lt_io_open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    int error = 0;
    for (int i = 0; i < 2; i++) {
        ends[i] = lt_move_up(ends[i]);
        error = ends[i] < 0 ? -errno : error;
    }
    for (int i = 0; i < 2 && error; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return error;
}

static int connect_by_system(leat_io *ends[2], bool both_ways)
{
    enum { SOCKETS = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC };
    int fds[2], saved = errno;
    int error =
        both_ways ? socketpair(AF_UNIX, SOCKETS, 0, fds) : pipe2(fds, O_NONBLOCK | O_CLOEXEC);
    if (error)
        error = -errno;
    errno = saved;
    for (int i = 0; i < 2 && !error; i++)
        lt_io_set_fd(ends[i], fds[i]);
    return error;
}

static int open_two(leat_scope *scope, leat_io *ends[2], bool both_ways)
{
    if (!ends || !lt_running())
        return -EINVAL;
    bool simulated = lt_world();
    enum lt_io_kind kind = simulated ? LT_IO_SIMULATED : both_ways ? LT_IO_SOCKET : LT_IO_NEVER;
    leat_io *made[2] = { NULL, NULL };
    int error = 0;
    /* Made first, so that no later call can fail and leave a descriptor open. */
    for (int i = 0; i < 2 && !error; i++)
        error = lt_io_new(NULL, -ENOTSUP, kind, false, &made[i]);
    if (!error)
        error =
            simulated ? lt_simulated_connect(made, both_ways) : connect_by_system(made, both_ways);
    for (int i = 0; i < 2; i++) {
        if (error) {
            leat_io_unref(made[i]);
        } else {
            lt_io_own(scope, made[i]);
            ends[i] = made[i];
        }
    }
    return error;
}

int leat_io_pipe(leat_scope *scope, leat_io *ends[2])
{
    return open_two(scope, ends, false);
}

int leat_io_pair(leat_scope *scope, leat_io *ends[2])
{
    return open_two(scope, ends, true);
}
