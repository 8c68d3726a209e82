/* reactor.h: a worker's epoll: where it waits for descriptors and for its wakers alike.
 *
 * There is no reactor thread. A worker gets a reactor when the first descriptor is registered with
 * it. From then on it sleeps in epoll and no longer on its futex, and a waker writes to an eventfd,
 * the bell. While it has parties to run it looks every LT_REACTOR_LOOK_US; a thief looks for a
 * worker that is held up.
 *
 * A descriptor is registered once, edge-triggered, for all its events. Its source has a slot in one
 * table for all reactors. An event names its slot and the slot's generation. So a worker recognises
 * an event that it fetched before the source was removed, and drops it. (Even after EPOLL_CTL_DEL:
 * epoll watches open files, and a child between vfork and execve holds a copy of each.)
 *
 * With LEAT_IO=uring a worker also has a ring (sched/uring.h), from its first operation on. It then
 * sleeps in the ring, which polls the epoll.
 *
 * Locking. A slot's lock is held while its source gets an event, and comes before a channel's
 * lock. */
#pragma once

#include "base/clock.h"
#include "base/config.h"
#include "base/util.h"
#include "sched/uring.h"

#include <leat/base.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_worker;

struct lt_reactor {
    _Atomic bool open; /* it has an epoll */
    bool has_bell;     /* never closed: a late waker may still write to it */
    int epoll;
    int bell;                 /* ringing it ends the worker's lt_reactor_sleep, or its next one */
    _Atomic uint32_t sources; /* registered with it */
    /* Only the worker uses these two: when it looked last, and whether it waited in its epoll until
     * then, for one event. A look before that wait would have found nothing. */
    int64_t looked;
    bool waited;
    struct lt_uring ring; /* beside the epoll, if leat uses rings */
};

enum lt_source_kind { LT_SOURCE_IO, LT_SOURCE_SIGNALS, LT_SOURCE_KINDS };

/* A descriptor, as a reactor sees it. Its events go to the function of its kind (sched/kinds.h). */
struct lt_source {
    _Atomic(struct lt_worker *) worker; /* its reactor reports the events; NULL: the source is not
                                         * registered */
    uint32_t slot;                      /* index + 1; 0: it was never registered */
    int copy; /* a duplicate that is registered, if the same number was registered already; or -1 */
};

/* Registers a descriptor with the reactor of the current worker, or in another thread with any
 * worker's. If the system has no descriptors for one more reactor, an open one will do. From then
 * on the source gets an event for each change, and soon one for its state now. Returns 0; -EPERM if
 * there is nothing to wait for on such a descriptor (a regular file); -ENOTSUP in a seeded world;
 * -EINVAL if no runtime runs; or -EMFILE, -ENFILE, -ENOMEM, -ENOSPC, -EBADF. */
int lt_reactor_add(struct lt_source *source, enum lt_source_kind kind, int fd);

/* Ends the registration, before the descriptor is closed. When it returns, the source gets no event
 * any more. Does nothing to a source that is not registered. */
void lt_reactor_remove(struct lt_source *source, int fd);

/* On a worker: registers a source with its reactor, and no longer with another worker's. If the
 * system has nothing for that, the source stays with another worker's. Returns 0; or an error as
 * above, and then the source is not registered. */
int lt_reactor_move(struct lt_source *source, enum lt_source_kind kind, int fd);

/* Inside some worker: reports the events of a worker's descriptors, without waiting. Returns
 * whether there were any. */
bool lt_reactor_look(struct lt_worker *worker);

/* The worker, which has just set `woke`: waits until an event, the bell or a time, sets `woke`
 * again, and then does the same. */
void lt_reactor_sleep(struct lt_worker *worker, int64_t until);

/* The current worker's ring, which this opens; NULL if leat uses none. Called outside. */
struct lt_uring *lt_reactor_uring(struct lt_worker *worker);

/* A thief inside a worker that is held up: does for its ring what the worker would do. */
void lt_reactor_stand_in(struct lt_worker *worker);

/* At the end of the runtime: unregisters all sources. Each gets an event for reading and for
 * writing; parties that wait for it then find that no runtime runs. */
void lt_reactors_close(void);

static inline bool lt_reactor_is_open(const struct lt_reactor *reactor)
{
    /* Sequentially consistent, against the worker's store to `asleep`: a worker that goes to sleep
     * on its futex sees this, or the thread that opened the reactor wakes it. */
    return atomic_load_explicit(&reactor->open, memory_order_seq_cst);
}

/* How many sources are registered. */
static inline uint32_t lt_reactor_sources(const struct lt_reactor *reactor)
{
    /* Relaxed: a hint. */
    return atomic_load_explicit(&reactor->sources, memory_order_relaxed);
}

/* Whether descriptors are registered, or operations under way in the ring: a hint. */
static inline bool lt_reactor_has_sources(const struct lt_reactor *reactor)
{
    /* Acquire: a thief that looks sees the open reactor. */
    return atomic_load_explicit(&reactor->sources, memory_order_acquire) != 0 ||
           lt_uring_owed(&reactor->ring) != 0;
}

/* The worker: whether it is time to look, although there are parties to run. */
static inline bool lt_reactor_is_due(const struct lt_reactor *reactor)
{
    return LT_UNLIKELY(lt_reactor_has_sources(reactor)) &&
           lt_clock_now() - reactor->looked >= LT_REACTOR_LOOK_US * LEAT_US;
}
