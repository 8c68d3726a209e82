/* probe.h: where an observer of the runtime is plugged in.
 *
 * Mostly there is no observer, so each place that could report something first reads one word, and
 * calls a probe only if the word asks for it. The probes are functions of the observer, a table
 * that a higher room (src/watch) hands over when the runtime starts. None of these functions waits,
 * or takes a lock that is taken elsewhere. But the memory they write to may grow, even under a
 * channel's lock. */
#pragma once

#include "sched/party.h"

#include <leat/runtime.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_worker;
struct lt_task;

enum {
    LT_PROBE_WAITS = 1,   /* when a party began to wait */
    LT_PROBE_THREADS = 2, /* how many threads wait without a deadline: lt_threads_asleep */
    LT_PROBE_ITEMS = 4,   /* which items pass through channels */
    LT_PROBE_TRACE = 8    /* switches, steps and scopes */
};

/* Set while no task exists, but for LT_PROBE_TRACE, which may change at any moment. So a worker may
 * report the end of a step and not its beginning, or the other way round, and a probe may be called
 * a moment after the flag was cleared. LT_PROBE_ITEMS stays because a channel decides when it is
 * made whether its operations take the fast path. */
extern _Atomic unsigned lt_probe_flags;

static inline unsigned lt_probing(void)
{
    /* Relaxed: it orders nothing. Tasks start after it is set, and the observer expects a late
     * LT_PROBE_TRACE. */
    return atomic_load_explicit(&lt_probe_flags, memory_order_relaxed);
}

struct lt_observer {
    /* Called when the workers have started, before other threads see the runtime: reads options and
     * environment, sets lt_probe_flags, and may start a thread. 0, -EINVAL for a value that it does
     * not understand, or -ENOMEM. */
    int (*begin)(const leat_options *options);
    void (*end)(void); /* called when the workers have stopped */
    /* A worker stops running `from`, a task that waits from now on, or NULL, and runs `to`, or with
     * NULL its scheduler. */
    void (*switches)(struct lt_worker *worker, struct lt_task *from, struct lt_task *to);
    /* wait: a block or a callback is about to wait; called before it can be claimed. wait_over: it
     * no longer waits; called before it runs. */
    void (*wait)(const struct lt_party *party);
    void (*wait_over)(const struct lt_party *party);
    /* A worker begins a step of a party that is no task; NULL: it has ended the step. */
    void (*step)(struct lt_worker *worker, const struct lt_party *party);
    /* With LT_PROBE_ITEMS and the channel's lock held: the running party has sent, or received, `n`
     * items, and the partner, if there is one, has done the opposite. */
    void (*items)(uint32_t channel, bool sent, uint64_t n, const struct lt_party *partner);
    /* With LT_PROBE_ITEMS: a channel that passes items on in order has been made. */
    void (*new_channel)(uint32_t channel, const char *name);
    /* A scope has been opened, or is about to be freed. */
    void (*scope)(uint32_t scope, bool opened);
};

/* Set while no runtime exists. */
extern const struct lt_observer *lt_observer;
