#include "base/lock.h"

#include <errno.h>
#include <time.h>

LT_COLD void lt_lock_contended(struct lt_lock *lock)
{
    enum { SPINS = 32, LONGEST_NAP_NS = 1000000 };
    struct timespec nap = { .tv_nsec = 20000 };
    for (unsigned round = 0;; round++) {
        for (unsigned i = 0; i < SPINS; i++) {
            /* Looking before exchanging keeps the line shared while it is taken. */
            if (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
                !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))
                return;
            lt_pause();
        }
        if (round == 0)
            continue;
        int saved = errno;
        nanosleep(&nap, NULL);
        errno = saved;
        if (nap.tv_nsec < LONGEST_NAP_NS)
            nap.tv_nsec *= 2;
    }
}
