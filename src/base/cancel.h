/* cancel.h: keeps pthread_cancel from ending a thread that holds a lock, or is half done with
 * something, in a call that is a cancellation point.
 *
 * Sleeping on a futex is no such call, and workers are never cancelled: this is for the program's
 * own threads. */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

/* Puts cancelling off. Returns the former state, for lt_cancel_restore. */
static inline int lt_cancel_put_off(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void lt_cancel_restore(int before)
{
    pthread_setcancelstate(before, NULL);
}

/* Closes a descriptor, and keeps errno. 0; or the error, and then it is closed all the same. */
static inline int lt_close(int fd)
{
    int saved = errno, cancel = lt_cancel_put_off();
    int error = close(fd) == 0 || errno == EINTR ? 0 : -errno;
    lt_cancel_restore(cancel);
    errno = saved;
    return error;
}
