/* probe.h: what is noted on the way, if somebody has asked for it.
 *
 * As a rule nobody has: so each place that could note something looks at one word, and goes on. What is
 * called then is in the room for people who look, src/watch: these are calls upwards. None of them waits, or
 * takes a lock that is taken elsewhere; but what they write to may have to grow, be it under a channel's lock. */
#ifndef LT_SCHED_PROBE_H
#define LT_SCHED_PROBE_H

#include "base/util.h"
#include "sched/party.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_worker;
struct lt_task;

enum {
    LT_PROBE_WAITS = 1,   /* when somebody begins to wait */
    LT_PROBE_THREADS = 2, /* how many threads wait without a deadline: lt_threads_asleep */
    LT_PROBE_TRACE = 4    /* everything below */
};

/* Set while no task is there. */
extern _Atomic unsigned lt_probe_flags;

static inline unsigned lt_probing(void)
{
    /* Relaxed: it orders nothing, and tasks come after it was set. */
    return atomic_load_explicit(&lt_probe_flags, memory_order_relaxed);
}

/* A worker goes on with `to`; `from` is the task that waits from now on. NULL: the scheduler; nobody. */
LT_COLD void lt_probe_switch(struct lt_worker *worker, struct lt_task *from, struct lt_task *to);

/* A block or a callback is about to wait: before anybody can claim it. And waits no more: before it goes on. */
LT_COLD void lt_probe_wait(const struct lt_party *party);
LT_COLD void lt_probe_wait_over(const struct lt_party *party);

/* A worker begins a step of a party without a stack; with NULL, has ended it. */
LT_COLD void lt_probe_step(struct lt_worker *worker, const struct lt_party *party);

/* With the channel's lock held: the running party has sent, or received, `n` items, and the partner, if
 * there is one, has done the opposite. */
LT_COLD void lt_probe_items(uint32_t channel, bool sent, uint64_t n,
                            const struct lt_party *partner);

/* A channel, which passes items on in order, has been made. */
LT_COLD void lt_probe_new_channel(uint32_t channel, const char *name);

/* A scope has been opened, or is about to be gone. */
LT_COLD void lt_probe_scope(uint32_t scope, bool opened);

#endif
