/* uring.c: the floor with io_uring: one thread, a receive into the connection's own buffer and then
 * a send, and one call for all that is ready. */
#define _GNU_SOURCE
#include "server.h"

#include <liburing.h>
#include <stdio.h>
#include <string.h>

enum { ACCEPT, RECEIVE, SEND, CLOSE, MOST = 65536 };

static struct io_uring ring;
static char *buffers[MOST];
static size_t size;
static bool sink;

static struct io_uring_sqe *entry(void)
{
    struct io_uring_sqe *sqe;
    while (!(sqe = io_uring_get_sqe(&ring)))
        io_uring_submit(&ring);
    return sqe;
}

static void name(struct io_uring_sqe *sqe, int what, int fd)
{
    sqe->user_data = (uint64_t)what << 32 | (uint32_t)fd;
}

static void accept_next(int listener)
{
    struct io_uring_sqe *sqe = entry();
    io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
    name(sqe, ACCEPT, listener);
}

static void receive(int fd)
{
    if (!buffers[fd])
        buffers[fd] = malloc(size);
    struct io_uring_sqe *sqe = entry();
    io_uring_prep_recv(sqe, fd, buffers[fd], size, 0);
    name(sqe, RECEIVE, fd);
}

static void send_back(int fd, int n)
{
    struct io_uring_sqe *sqe = entry();
    io_uring_prep_send(sqe, fd, buffers[fd], (size_t)n, MSG_NOSIGNAL);
    name(sqe, SEND, fd);
}

static void end(int fd)
{
    struct io_uring_sqe *sqe = entry();
    free(buffers[fd]);
    buffers[fd] = NULL;
    io_uring_prep_close(sqe, fd);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    name(sqe, CLOSE, fd);
}

static void accepted(int listener, const struct io_uring_cqe *cqe)
{
    int one = 1;
    if (cqe->res >= 0) {
        setsockopt(cqe->res, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        receive(cqe->res);
    }
    if (!(cqe->flags & IORING_CQE_F_MORE))
        accept_next(listener);
}

static void serve(const struct io_uring_cqe *cqe)
{
    int what = (int)(cqe->user_data >> 32), fd = (int)(uint32_t)cqe->user_data;
    if (what == ACCEPT)
        accepted(fd, cqe);
    else if (what == CLOSE)
        return;
    else if (cqe->res <= 0)
        end(fd);
    else if (what == RECEIVE && !sink)
        send_back(fd, cqe->res);
    else
        receive(fd);
}

int main(void)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
        .cq_entries = 32768,
    };
    sink = is_sink();
    size = sink ? SINK_BYTES : ECHO_BYTES;
    int error = io_uring_queue_init_params(4096, &ring, &params);
    if (error) {
        fprintf(stderr, "io_uring: %s\n", strerror(-error));
        return 1;
    }
    accept_next(open_listener());
    for (;;) {
        struct io_uring_cqe *cqe;
        unsigned head, seen = 0;
        io_uring_submit_and_wait(&ring, 1);
        io_uring_for_each_cqe(&ring, head, cqe)
        {
            serve(cqe);
            seen++;
        }
        io_uring_cq_advance(&ring, seen);
    }
}
