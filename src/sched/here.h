/* here.h: what the running thread knows of itself: four words of thread-local storage. Tasks never
 * change their thread once started, so the compiler may keep these addresses over a wait. */
#ifndef LT_SCHED_HERE_H
#define LT_SCHED_HERE_H

#include "sched/party.h"
#include "sched/worker.h"

struct lt_here {
    struct lt_party *self;    /* who runs: a task, or this thread; NULL before the first question */
    struct lt_worker *worker; /* NULL in threads that are none */
    uint64_t chance;
    unsigned depth; /* of callbacks that were done at once: see block/callback.c */
    struct lt_thread thread;
};

/* initial-exec: one load and no call, also in a shared library. */
extern _Thread_local struct lt_here lt_here __attribute__((tls_model("initial-exec")));

/* Fills lt_here in for a thread that was not seen before. */
void lt_here_introduce(void);

#endif
