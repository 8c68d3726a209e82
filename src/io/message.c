/* message.c: receiving and sending messages, with their addresses and control data. */
#define _GNU_SOURCE
#include "io/io.h"

#include <sys/socket.h>

struct message {
    struct msghdr *header;
    int flags;
};

/* If another party was faster, the header must not change: the caller asks the system with it. */
static int64_t reread_message(leat_io *io, struct message *m)
{
    struct msghdr *header = m->header;
    int64_t n = lt_io_reread(io, header->msg_iov, header->msg_iovlen, m->flags & MSG_PEEK);
    if (n < 0)
        return n;
    header->msg_namelen = 0;
    header->msg_controllen = 0;
    header->msg_flags = 0;
    return n;
}

static int64_t call_recvmsg(leat_io *io, void *arg)
{
    struct message *m = arg;
    if (LT_UNLIKELY(lt_io_is_simulated(io)))
        return -ENOTSUP;
    if (lt_io_has_unread(io) && !(m->flags & (MSG_OOB | MSG_ERRQUEUE)))
        return reread_message(io, m);
    ssize_t n = recvmsg(io->fd, m->header, m->flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    /* The system gives that flag back, also to a caller that has not set it. */
    if (n >= 0)
        m->header->msg_flags &= m->flags | ~MSG_CMSG_CLOEXEC;
    return lt_io_result(n);
}

static int64_t call_sendmsg(leat_io *io, void *arg)
{
    struct message *m = arg;
    if (LT_UNLIKELY(lt_io_is_simulated(io)))
        return -ENOTSUP;
    return lt_io_result(sendmsg(io->fd, m->header, m->flags | MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool lt_io_looks_aside(lt_io_call *call, const void *arg)
{
    const struct message *m = arg;
    return call == call_recvmsg ? m->flags & (MSG_ERRQUEUE | MSG_PEEK | MSG_OOB)
                                : call == call_sendmsg && m->header->msg_name;
}

int64_t leat_recvmsg(leat_io *io, struct msghdr *header, int flags, int64_t deadline)
{
    struct message m = { header, flags };
    return header ? lt_io_repeat(io, LT_IN, call_recvmsg, &m, 0, deadline) : -EINVAL;
}

int64_t leat_sendmsg(leat_io *io, const struct msghdr *header, int flags, int64_t deadline)
{
    struct message m = { (struct msghdr *)(uintptr_t)header, flags };
    return header ? lt_io_repeat(io, LT_OUT, call_sendmsg, &m, 0, deadline) : -EINVAL;
}

int64_t leat_recvfrom(leat_io *io, void *buffer, size_t n, struct sockaddr *from, socklen_t *size,
                      int64_t deadline)
{
    struct iovec part = { buffer, n };
    struct msghdr header = {
        .msg_name = from, .msg_namelen = size ? *size : 0, .msg_iov = &part, .msg_iovlen = 1
    };
    if ((!buffer && n) || (from && !size))
        return -EINVAL;
    int64_t got = leat_recvmsg(io, &header, 0, deadline);
    if (got >= 0 && size)
        *size = header.msg_namelen;
    return got;
}

int64_t leat_sendto(leat_io *io, const void *data, size_t n, const struct sockaddr *to,
                    socklen_t size, int64_t deadline)
{
    struct iovec part = { (void *)(uintptr_t)data, n };
    struct msghdr header = { .msg_name = (void *)(uintptr_t)to,
                             .msg_namelen = to ? size : 0,
                             .msg_iov = &part,
                             .msg_iovlen = 1 };
    if (!data && n)
        return -EINVAL;
    return leat_sendmsg(io, &header, 0, deadline);
}
