/* descriptors.h: what the tests of descriptors share: they adopt pairs, pipes and connections that
 * the system made, and read from them. */
#pragma once

#include "support.h"

#include "io/io.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A wait that ends at this deadline has lost something. */
static inline int64_t late(void)
{
    return leat_after(30 * LEAT_S);
}

static inline leat_io *adopt(leat_scope *scope, int fd)
{
    leat_io *io = NULL;
    CHECK(fd >= 0);
    CHECK_IS(0, leat_io_adopt(scope, fd, &io));
    return io;
}

/* ends[0] is adopted as *a, ends[1] as *b. */
static inline void adopt_pair(leat_scope *scope, int type, leat_io **a, leat_io **b)
{
    int ends[2];
    CHECK_IS(0, socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends));
    *a = adopt(scope, ends[0]);
    *b = adopt(scope, ends[1]);
}

static inline void adopt_pipe(leat_scope *scope, int flags, leat_io **from, leat_io **to)
{
    int ends[2];
    CHECK_IS(0, pipe2(ends, O_CLOEXEC | flags));
    *from = adopt(scope, ends[0]);
    *to = adopt(scope, ends[1]);
}

struct pair {
    leat_io *a, *b;
};

/* Of sockets that block, outside of the seeded world. */
static inline struct pair open_pair(leat_scope *scope)
{
    leat_io *ends[2];
    if (IN_SIM)
        CHECK_IS(0, leat_io_pair(scope, ends));
    else
        adopt_pair(scope, SOCK_STREAM, &ends[0], &ends[1]);
    return (struct pair){ ends[0], ends[1] };
}

static inline void tcp_pair(int ends[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_IS(0, bind(listener, (struct sockaddr *)&address, size));
    CHECK_IS(0, listen(listener, 1));
    CHECK_IS(0, getsockname(listener, (struct sockaddr *)&address, &size));
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_IS(0, connect(ends[0], (struct sockaddr *)&address, size));
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(ends[1] >= 0);
    close(listener);
}

/* Registers the descriptor and lowers its channel. */
static inline void find_empty(leat_io *io)
{
    char byte;
    CHECK_IS(-ETIMEDOUT, leat_read_until(io, &byte, 1, leat_after(LEAT_MS)));
    CHECK_IS(-EAGAIN, leat_read_until(io, &byte, 1, LEAT_NOW));
}

/* A party that uses a descriptor once. */
struct user {
    leat_io *io;
    _Atomic int64_t result;
    int64_t deadline;
};

static inline int read_one(void *arg)
{
    struct user *user = arg;
    char byte;
    int64_t n = leat_read_until(user->io, &byte, 1, user->deadline);
    atomic_store(&user->result, n);
    return 0;
}

/* Whether a task waits in its worker's ring, to read or to write. */
static inline unsigned in_ring(leat_io *io, enum lt_way way)
{
    return lt_io_in_ring(io, way) != NULL;
}

static inline unsigned readers_of(leat_io *io)
{
    return receivers_of(leat_io_readable(io)) + in_ring(io, LT_IN);
}

/* A task that computes, and keeps its worker. */
struct hog {
    _Atomic bool stop, runs;
};

static inline int compute(void *arg)
{
    struct hog *hog = arg;
    atomic_store(&hog->runs, true);
    while (!atomic_load(&hog->stop)) {
    }
    return 0;
}

static inline void start_hog(leat_scope *scope, struct hog *hog)
{
    CHECK_IS(0, leat_go(scope, compute, hog));
    WAIT_UNTIL(atomic_load(&hog->runs));
}
