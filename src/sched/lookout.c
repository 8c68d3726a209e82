#include "sched/lookout.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/futex.h"
#include "sched/idle.h"
#include "sched/pool.h"

#include <leat/base.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>

enum { LOOKS, RESTS, ENDS };

static struct {
    _Atomic uint32_t state; /* the lookout sleeps on it */
    _Atomic bool begun;     /* some worker has begun to start it in this runtime */
    _Atomic bool there;
    pthread_t thread;
} lookout;

static uint32_t state(void)
{
    /* Relaxed: all that it is about is under the lock of sched/idle.c. */
    return atomic_load_explicit(&lookout.state, memory_order_relaxed);
}

/* Not if it ends meanwhile. */
static bool change(uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit(&lookout.state, &from, to, memory_order_relaxed,
                                                   memory_order_relaxed);
}

static void *look_out(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1UL);
    prctl(PR_SET_NAME, "leat-lookout");
    while (state() != ENDS) {
        lt_futex_wait(&lookout.state, LOOKS, lt_clock_now() + LT_LOOKOUT_US * LEAT_US);
        if (state() == LOOKS)
            lt_idle_look_over();
        while (state() == RESTS)
            lt_futex_wait(&lookout.state, RESTS, LEAT_NEVER);
    }
    return NULL;
}

void lt_lookout_start(void)
{
    /* Relaxed: it only says which worker starts the thread. */
    if (atomic_load_explicit(&lookout.begun, memory_order_relaxed) ||
        atomic_exchange_explicit(&lookout.begun, true, memory_order_relaxed))
        return;
    bool there = lt_thread_start(&lookout.thread, look_out, NULL) == 0;
    atomic_store_explicit(&lookout.there, there, memory_order_relaxed);
}

void lt_lookout_stop(void)
{
    if (lt_lookout_is_there()) {
        atomic_store_explicit(&lookout.state, ENDS, memory_order_relaxed);
        lt_lookout_wake();
        pthread_join(lookout.thread, NULL);
    }
    /* Relaxed: the next runtime begins later. */
    atomic_store_explicit(&lookout.there, false, memory_order_relaxed);
    atomic_store_explicit(&lookout.begun, false, memory_order_relaxed);
    atomic_store_explicit(&lookout.state, LOOKS, memory_order_relaxed);
}

bool lt_lookout_is_there(void)
{
    /* Relaxed: a worker that sees this late hands on the watch once more. */
    return atomic_load_explicit(&lookout.there, memory_order_relaxed);
}

bool lt_lookout_call(void)
{
    return change(RESTS, LOOKS);
}

void lt_lookout_wake(void)
{
    lt_futex_wake(&lookout.state);
}

void lt_lookout_rest(void)
{
    change(LOOKS, RESTS);
}
