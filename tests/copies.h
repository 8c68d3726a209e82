/* copies.h: what the tests of leat_copy share. */
#pragma once

#include "descriptors.h"
#include "traffic.h"

struct relay {
    leat_io *from, *to;
    uint64_t chance;
    int64_t copied;
    int cuts;
};

static inline int copy_all(void *arg)
{
    struct relay *relay = arg;
    relay->copied = leat_copy(relay->to, relay->from, INT64_MAX, LEAT_NEVER);
    return 0;
}

/* Sockets of TCP pass their bytes on through a pipe, once there are many. */
static inline void open_ends(leat_scope *scope, bool tcp, leat_io *ends[2])
{
    int fds[2];
    if (!tcp) {
        open_two(scope, false, ends);
        return;
    }
    tcp_pair(fds);
    for (int i = 0; i < 2; i++) {
        CHECK_IS(0, fcntl(fds[i], F_SETFL, O_NONBLOCK));
        ends[i] = adopt(scope, fds[i]);
    }
}
