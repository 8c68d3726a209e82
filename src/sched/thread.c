#define _GNU_SOURCE
#include "sched/thread.h"

#include "base/fault.h"

#include <errno.h>
#include <signal.h>

int lt_thread_start(pthread_t *thread, void *(*fn)(void *), void *argument)
{
    if (lt_fault())
        return -ENOMEM;
    /* The new thread inherits the mask: signals stay with the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int saved = errno, error = pthread_create(thread, NULL, fn, argument);
    errno = saved;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? -ENOMEM : 0; /* EAGAIN: no resources for another thread */
}
