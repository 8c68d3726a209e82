/* attend.c: a thread that attends to its process itself (LEAT_ATTENDED): it polls the pidfd, the
 * pipes and a bell, which rings when its scope is cancelled. So no worker has to wake when the
 * process starts or ends.
 *
 * leat's copies of the process's write ends stay open until the process has ended: so the thread
 * wakes once at the end, and not for each pipe before. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/util.h"
#include "io/io.h"
#include "process/process.h"
#include "scope/scope.h"
#include "scope/wait.h"

#include <leat/select.h>
#include <leat/time.h>

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- bells ---- */

/* Bells of threads that do not attend to anything now. They stay open until the runtime ends: a
 * ring that comes late wakes another thread in vain, and writes into no other descriptor. */
struct bell {
    struct bell *next;
    int fd;
};

static struct {
    struct lt_lock lock;
    struct bell *first;
} bells;

static struct bell *make_bell(void)
{
    struct bell *bell = lt_alloc(sizeof *bell);
    if (!bell)
        return NULL;
    bell->fd = lt_move_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (bell->fd >= 0)
        return bell;
    lt_free(bell);
    return NULL;
}

/* NULL: the system has none. Then the thread checks now and then. */
static struct bell *take_bell(void)
{
    lt_lock(&bells.lock);
    struct bell *bell = bells.first;
    if (bell)
        bells.first = bell->next;
    lt_unlock(&bells.lock);
    return bell ? bell : make_bell();
}

static void put_bell(struct bell *bell)
{
    if (!bell)
        return;
    lt_lock(&bells.lock);
    bell->next = bells.first;
    bells.first = bell;
    lt_unlock(&bells.lock);
}

/* No thread is about to ring one: it would have pinned a scope, which would still be open. */
void lt_process_close_bells(void)
{
    while (bells.first) {
        struct bell *bell = bells.first;
        bells.first = bell->next;
        close(bell->fd);
        lt_free(bell);
    }
}

static void silence(const struct bell *bell)
{
    uint64_t rings;
    ssize_t n = read(bell->fd, &rings, sizeof rings);
    (void)n;
}

/* ---- the descriptors that a thread polls ---- */

enum { PIDFD, BELL, PIPES, ALL = PIPES + 3 };

struct attention {
    leat_process *process;
    struct lt_thread *thread;
    struct bell *bell;
    leat_io *used[3]; /* the pipes that it polls */
    int ready;        /* the pipes that are ready whatever poll(2) says */
    struct pollfd fds[ALL];
};

/* A closed pipe is ready, and one with bytes that a copy has given back. */
static void choose(struct attention *a, unsigned pipes)
{
    leat_process *process = a->process;
    a->fds[PIDFD] = (struct pollfd){ leat_io_fd(process->pidfd), POLLIN, 0 };
    a->fds[BELL] = (struct pollfd){ a->bell ? a->bell->fd : -1, POLLIN, 0 };
    for (int i = 0; i < 3; i++) {
        leat_io *io = pipes >> i & 1 ? process->pipes[i] : NULL;
        bool open = io && lt_io_enter(io);
        if (io && (!open || lt_io_has_unread(io)))
            a->ready |= 1 << i;
        a->used[i] = open ? io : NULL;
        a->fds[PIPES + i] = (struct pollfd){ open ? io->fd : -1, i == 0 ? POLLOUT : POLLIN, 0 };
    }
}

static void let_go(const struct attention *a)
{
    for (int i = 0; i < 3; i++)
        if (a->used[i])
            lt_io_leave(a->used[i]);
}

/* Where the system refuses poll(2): asks pipe i for the number of its bytes. The process's input is
 * ready when the process has read it all. */
static bool looks_ready(int fd, int i)
{
    int bytes;
    return ioctl(fd, FIONREAD, &bytes) == 0 && (i == 0) == !bytes;
}

/* The system refuses poll(2): this may be a sandbox, and more entries than RLIMIT_NOFILE are
 * refused, too. Pauses, and asks. */
static void look_instead(struct attention *a)
{
    lt_nap(LT_PROCESS_LOOK);
    for (int i = 0; i < 3; i++)
        a->fds[PIPES + i].revents =
            looks_ready(a->fds[PIPES + i].fd, i) ? a->fds[PIPES + i].events : 0;
    a->fds[PIDFD].revents = lt_process_has_ended(a->process) ? POLLIN : 0;
}

static void poll_all(struct attention *a, int64_t until)
{
    for (int i = 0; i < ALL; i++)
        a->fds[i].revents = 0;
    if (!lt_thread_poll(a->thread, a->fds, ALL, a->fds[BELL].fd, until))
        look_instead(a);
}

static int found(const struct attention *a)
{
    int pipes = a->ready;
    for (int i = 0; i < 3; i++)
        pipes |= a->fds[PIPES + i].revents ? 1 << i : 0;
    return pipes;
}

/* ---- attending ---- */

/* Waits until the process has ended, or one of the pipes is ready. */
static int attend(struct attention *a, int64_t deadline)
{
    bool ended = false; /* the process has ended, but its status cannot be taken yet */
    for (;;) {
        /* Acquire: a nudge is cleared before the thread looks at its scope. */
        atomic_fetch_and_explicit(&a->thread->word, ~(uint32_t)(LT_NUDGED | LT_POLLS),
                                  memory_order_acquire);
        int64_t next = lt_deadline_attend(&a->thread->party);
        if (lt_wait_allowed(&a->thread->party) != 0) /* the scope is cancelled */
            lt_process_cancel(a->process);
        if ((!a->bell || ended) && lt_clock_now() + LT_PROCESS_LOOK < next)
            next = lt_clock_now() + LT_PROCESS_LOOK;
        int64_t spared_until = lt_process_kill_in_time(a->process);
        next = spared_until < next ? spared_until : next;
        next = a->ready ? LEAT_NOW : deadline < next ? deadline : next;
        poll_all(a, next);
        if (a->fds[PIDFD].revents || ended) {
            if (lt_process_finish(a->process))
                return 0;
            ended = true;
            a->fds[PIDFD].fd = -1;
        }
        int pipes = found(a);
        if (pipes)
            return pipes;
        if (a->fds[BELL].revents)
            silence(a->bell);
        if (deadline != LEAT_NEVER && lt_clock_now() >= deadline)
            return deadline == LEAT_NOW ? -EAGAIN : -ETIMEDOUT;
    }
}

int lt_process_attend_here(leat_process *process, unsigned pipes, int64_t deadline)
{
    if (process->taken) /* only the attendant writes this */
        return 0;
    int saved = errno;
    struct attention a = { process, lt_this_thread(), take_bell(), { 0 }, 0, { { 0 } } };
    int cancel = lt_cancel_put_off();
    choose(&a, pipes);
    /* Acquire: see lt_wait_begin. */
    atomic_exchange_explicit(&a.thread->word, 0, memory_order_acquire);
    int result = attend(&a, deadline);
    /* A nudge that comes after this is cleared by the next wait. */
    atomic_exchange_explicit(&a.thread->word, 0, memory_order_acquire);
    let_go(&a);
    put_bell(a.bell);
    lt_cancel_restore(cancel);
    errno = saved;
    return result;
}

/* ---- any party ---- */

static leat_chan *channel_of(const leat_process *process, unsigned pipes, int i)
{
    leat_io *io = pipes >> i & 1 ? process->pipes[i] : NULL;
    return !io ? NULL : i == 0 ? leat_io_writable(io) : leat_io_readable(io);
}

static bool is_ready(int fd, int i)
{
    int error = lt_io_poll_now(fd, i == 0 ? LT_OUT : LT_IN);
    return error == 0 || (error != -EAGAIN && looks_ready(fd, i));
}

/* Those of the pipes that are ready now: a closed one, too, and one with bytes that came back. */
static int poll_pipes(const leat_process *process, unsigned pipes)
{
    int saved = errno, cancel = lt_cancel_put_off(), ready = 0;
    for (int i = 0; i < 3; i++) {
        leat_io *io = pipes >> i & 1 ? process->pipes[i] : NULL;
        bool open = io && lt_io_enter(io);
        if (io && (!open || lt_io_has_unread(io) || is_ready(io->fd, i)))
            ready |= 1 << i;
        if (open)
            lt_io_leave(io);
    }
    lt_cancel_restore(cancel);
    errno = saved;
    return ready;
}

/* If the system cannot watch one more descriptor, it checks now and then. */
int lt_process_select(leat_process *process, bool ends, unsigned pipes, int64_t deadline)
{
    for (;;) {
        leat_case cases[] = { LEAT_RECV(ends ? leat_process_ended(process) : NULL, NULL),
                              LEAT_RECV(channel_of(process, pipes, 0), NULL),
                              LEAT_RECV(channel_of(process, pipes, 1), NULL),
                              LEAT_RECV(channel_of(process, pipes, 2), NULL) };
        unsigned unwatched = 0;
        for (int i = 0; i < 3; i++)
            if (pipes >> i & 1 && process->pipes[i] && !cases[1 + i].ch)
                unwatched |= 1U << i;
        int64_t next = unwatched ? leat_after(LT_PROCESS_LOOK) : LEAT_NEVER;
        int got = leat_select_ordered(cases, 4, next < deadline ? next : deadline);
        if (got >= 0)
            return got > 0 ? 1 << (got - 1) : 0;
        bool waited = got == -EAGAIN || got == -ETIMEDOUT;
        int ready = unwatched && waited ? poll_pipes(process, unwatched) : 0;
        if (ready || got != -ETIMEDOUT || leat_now() >= deadline)
            return ready ? ready : got;
    }
}

int leat_attend(leat_process *process, unsigned pipes, int64_t deadline)
{
    if (!process || pipes & ~(unsigned)(LEAT_PIPE_IN | LEAT_PIPE_OUT | LEAT_PIPE_ERR) ||
        deadline < 0)
        return -EINVAL;
    return lt_process_is_mine(process) ? lt_process_attend_here(process, pipes, deadline)
                                       : lt_process_select(process, true, pipes, deadline);
}
