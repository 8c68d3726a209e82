#include "base/lock.h"

#include "base/cancel.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

/* Each look takes the lock's line from its holder, who is mostly about to take it again: a line that moves with
 * each operation costs more than ten operations on one that stays. So the looks are far apart, a microsecond and
 * more, and of two who use the lock all the time each has it for many operations in turn. */
LT_COLD void lt_lock_contended(struct lt_lock *lock)
{
    enum { FIRST = 64, LONGEST = 256, YIELD_FROM = 2, NAP_FROM = 12, LONGEST_NAP_NS = 1000000 };
    struct timespec nap = { .tv_nsec = 20000 };
    unsigned pauses = FIRST;
    for (unsigned round = 0;; round++) {
        for (unsigned i = 0; i < pauses; i++)
            lt_pause();
        if (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
            !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))
            return;
        if (pauses < LONGEST)
            pauses *= 2;
        if (round < YIELD_FROM)
            continue;
        if (round < NAP_FROM) {
            sched_yield();
            continue;
        }
        int saved = errno, cancel = lt_cancel_put_off(); /* other locks may be held */
        nanosleep(&nap, NULL);
        lt_cancel_restore(cancel);
        errno = saved;
        if (nap.tv_nsec < LONGEST_NAP_NS)
            nap.tv_nsec *= 2;
    }
}
