#define _GNU_SOURCE
#include "halt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
enum { SIGNALS = sizeof signals / sizeof *signals };

static int pipe_ends[2] = { -1, -1 };
static sigset_t before;    /* the main thread's mask */
static pthread_t listener; /* waits for the signals */
static atomic_bool over;   /* the listener ends; halt_close wakes it by a SIGHUP */
static atomic_int caught;

void halt_now(void)
{
    /* If the pipe is full, the halt is known already. */
    if (write(pipe_ends[1], "", 1) < 0)
        return;
}

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void *listen_for_signals(void *set)
{
    for (;;) {
        int number = 0;
        sigwait(set, &number);
        if (atomic_load(&over))
            return NULL;
        if (is_ignored(number))
            continue;
        if (atomic_load(&caught)) {
            /* This signal alone: the SIGHUP of halt_close must not end the program. */
            sigset_t again;
            sigemptyset(&again);
            sigaddset(&again, number);
            pthread_sigmask(SIG_UNBLOCK, &again, NULL);
            raise(number);
        }
        atomic_store(&caught, number);
        halt_now();
    }
}

int halt_open(void)
{
    static sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&set, signals[i]);
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    pthread_sigmask(SIG_BLOCK, &set, &before);
    int err = pthread_create(&listener, NULL, listen_for_signals, &set);
    if (!err)
        return 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return -err;
}

void halt_close(void)
{
    atomic_store(&over, true);
    pthread_kill(listener, SIGHUP);
    pthread_join(listener, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    /* From here on halt_wait waits for its `fd` alone. */
    pipe_ends[0] = pipe_ends[1] = -1;
}

int halt_signal(void)
{
    return atomic_load(&caught);
}

int halt_wait(int fd, short events)
{
    struct pollfd both[] = { { .fd = fd, .events = events },
                             { .fd = pipe_ends[0], .events = POLLIN } };
    for (;;) {
        int ready = poll(both, 2, -1);
        if (ready < 0 && errno != EINTR)
            return 0; /* the read or write that follows tells what is wrong */
        if (ready > 0)
            return both[1].revents ? -ECANCELED : 0;
    }
}
