/* hush.c: calls that may raise SIGPIPE, and have no flag against that. */
#define _GNU_SOURCE
#include "io/io.h"
#include "sched/current.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Workers block SIGPIPE, so it stays pending there and has no effect. */
void lt_io_hush(struct lt_io_hush *hush)
{
    sigset_t sigpipe, pending;
    if (lt_current_worker())
        return;
    sigemptyset(&sigpipe);
    sigaddset(&sigpipe, SIGPIPE);
    sigpending(&pending);
    hush->pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe, &hush->before);
}

void lt_io_unhush(const struct lt_io_hush *hush, ssize_t n, size_t whole)
{
    struct timespec at_once = { 0 };
    sigset_t sigpipe;
    if (lt_current_worker())
        return;
    int error = errno;
    /* A call that has moved some bytes may have raised it for the rest. */
    bool perhaps = n < 0 ? error == EPIPE : (size_t)n < whole;
    sigemptyset(&sigpipe);
    sigaddset(&sigpipe, SIGPIPE);
    if (perhaps && !hush->pending)
        sigtimedwait(&sigpipe, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &hush->before, NULL);
    errno = error;
}
