/* cancel.h: what a thread must not be cancelled in (pthread_cancel), since it has something locked, or would leave
 * something half done, where it makes a call that the C library ends threads in.
 *
 * Sleeping on a futex is no such call. Nor are workers ever cancelled: this is for the program's own threads. */
#ifndef LT_BASE_CANCEL_H
#define LT_BASE_CANCEL_H

#include <pthread.h>

/* Puts cancelling off. Returns what lt_cancel_restore is to be given. */
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

#endif
