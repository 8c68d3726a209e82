/* reader.c: the receiving end of a worker's link: the reader, and the thread that stands in for it.
 *
 * The reader waits in an epoll, since another thread can take standard input out of that without
 * waking the reader. */
#define _GNU_SOURCE
#include "worker/work.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- waiting ---- */

/* Each of the two returns whether the bell has rung. This one has no need of the epoll, and is not
 * for the reader: it would wake with the caller. */
static bool wait_aside(const struct worker *worker)
{
    struct pollfd fds[] = { { STDIN_FILENO, POLLIN, 0 }, { worker->bell, POLLIN, 0 } };
    return poll(fds, 2, -1) > 0 && fds[1].revents;
}

static bool wait_as_reader(const struct worker *worker)
{
    struct epoll_event events[2];
    if (worker->unpolled)
        return wait_aside(worker);
    int n = epoll_wait(worker->epoll, events, 2, -1);
    for (int i = 0; i < n; i++)
        if (events[i].data.fd == worker->bell)
            return true;
    return false;
}

/* From now on standard input wakes the reader, or does not. If there is something to read already,
 * it wakes the reader at once. */
static void wake_reader(const struct worker *worker, bool wakes)
{
    struct epoll_event event = { .events = wakes ? EPOLLIN : 0, .data.fd = STDIN_FILENO };
    epoll_ctl(worker->epoll, EPOLL_CTL_MOD, STDIN_FILENO, &event);
}

/* ---- receiving ---- */

static ssize_t read_polled(void *to, size_t n)
{
    struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
    if (poll(&in, 1, 0) > 0)
        return read(STDIN_FILENO, to, n);
    errno = EAGAIN;
    return -1;
}

/* Another may have been faster, since the caller waited. Others may share the open file, so it is
 * not made to never block. */
static ssize_t read_now(const struct worker *worker, void *to, size_t n)
{
    struct iovec part = { to, n };
    if (worker->unpolled)
        return read(STDIN_FILENO, to, n);
    ssize_t got = preadv2(STDIN_FILENO, &part, 1, -1, RWF_NOWAIT);
    bool refused = got < 0 && errno != EAGAIN && errno != EINTR;
    return refused ? read_polled(to, n) : got;
}

/* With the lock held. */
static void end_link(struct worker *worker, int error)
{
    worker->ended = error;
    leat_io_close(worker->link.in);
}

/* With the lock held: reads once. */
static void read_some(struct worker *worker)
{
    size_t room;
    char *to = link_room(&worker->link, &room);
    ssize_t n = read_now(worker, to, room);
    if (n > 0)
        worker->link.len += (size_t)n;
    else if (n == 0)
        end_link(worker, -EPIPE);
    else if (errno != EAGAIN && errno != EINTR)
        end_link(worker, -errno);
}

/* With the lock held: acts on all frames that are complete. */
static void take_frames(struct worker *worker, struct work **mine)
{
    struct frame f;
    int error = 0;
    while (!worker->ended && !error)
        if (!(error = link_next(&worker->link, &f)))
            error = works_take(worker, &f, mine);
    if (error && error != -EAGAIN)
        end_link(worker, error);
}

/* With the lock held. */
static void receive(struct worker *worker, bool rung, struct work **mine)
{
    if (!worker->ended && rung)
        end_link(worker, -EPIPE);
    if (!worker->ended)
        read_some(worker);
    take_frames(worker, mine);
}

/* ---- the reader ---- */

int reader_first(struct worker *worker, struct frame *frame)
{
    int error;
    while ((error = link_next(&worker->link, frame)) == -EAGAIN) {
        if (wait_as_reader(worker))
            return -EPIPE;
        read_some(worker);
        if (worker->ended)
            return worker->ended;
    }
    return error;
}

int reader_serve(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    take_frames(worker, NULL); /* that came with the first one */
    while (!worker->ended) {
        pthread_mutex_unlock(&worker->lock);
        bool rung = wait_as_reader(worker);
        pthread_mutex_lock(&worker->lock);
        receive(worker, rung, NULL);
    }
    int ended = worker->ended;
    pthread_mutex_unlock(&worker->lock);
    return ended;
}

/* ---- the lead ---- */

bool reader_take_lead(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool taken = !worker->is_led && !worker->ended && !worker->unpolled && worker->waiting == 0;
    worker->is_led |= taken;
    pthread_mutex_unlock(&worker->lock);
    if (taken)
        wake_reader(worker, false);
    return taken;
}

struct work *reader_lead(struct worker *worker)
{
    struct work *mine = NULL;
    pthread_mutex_lock(&worker->lock);
    while (!worker->ended && !mine) {
        pthread_mutex_unlock(&worker->lock);
        bool rung = wait_aside(worker);
        pthread_mutex_lock(&worker->lock);
        receive(worker, rung, &mine);
    }
    wake_reader(worker, true);
    worker->is_led = false;
    pthread_mutex_unlock(&worker->lock);
    return mine;
}

/* ---- its life ---- */

int reader_open(struct worker *worker, int bell)
{
    struct epoll_event in = { .events = EPOLLIN, .data.fd = STDIN_FILENO };
    struct epoll_event end = { .events = EPOLLIN, .data.fd = bell };
    worker->bell = bell;
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (worker->epoll < 0 || epoll_ctl(worker->epoll, EPOLL_CTL_ADD, bell, &end) != 0)
        return -errno;
    worker->unpolled = epoll_ctl(worker->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &in) != 0;
    return worker->unpolled && errno != EPERM ? -errno : 0;
}
