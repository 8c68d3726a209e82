/* cancel.h: keeps pthread_cancel from ending a thread that holds a lock, or is half done with
 * something, in a call that is a cancellation point.
 *
 * Sleeping on a futex is no such call, and workers are never cancelled: this is for the program's
 * own threads. */
#pragma once

#include <pthread.h>

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
