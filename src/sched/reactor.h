/* reactor.h: a worker's epoll: where it waits for descriptors and for its wakers alike.
 *
 * There is no reactor thread. A worker gets a reactor when the first descriptor is registered with
 * it. From then on it sleeps in epoll and no longer on its futex, and a waker writes to an eventfd,
 * the bell. While it has parties to run it looks every LT_REACTOR_LOOK_US; a thief looks for a
 * worker that is held up.
 *
 * A descriptor is registered once, edge-triggered, for all that can happen to it. Its source has a
 * slot in one table for all reactors. An event names its slot and the slot's generation. So an
 * event that a worker had fetched before the source was removed is seen to be stale, and is
 * dropped. (Even after EPOLL_CTL_DEL: epoll watches open files, and a child between vfork and
 * execve holds a copy of each.)
 *
 * With LEAT_IO=uring a worker also has a ring (sched/uring.h), from the first operation there on.
 * It then sleeps in the ring, which polls the epoll.
 *
 * Locking. A slot's lock is held while its source is told of an event, and comes before a channel's
 * lock. */
#ifndef LT_SCHED_REACTOR_H
#define LT_SCHED_REACTOR_H

#include "base/clock.h"
#include "base/config.h"
#include "base/util.h"
#include "sched/uring.h"

#include <leat/base.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_party;
struct lt_worker;

struct lt_reactor {
    _Atomic bool open; /* it has an epoll */
    bool has_bell;     /* never closed: a late waker may still write to it */
    int epoll, bell;
    _Atomic uint32_t sources; /* registered with it */
    int64_t looked;           /* when its worker looked last; the worker's alone */
    struct lt_uring ring;     /* beside the epoll, where leat is told to use one */
};

/* A descriptor, as a reactor sees it. */
struct lt_source {
    /* Called with the slot's lock held: notes the events, EPOLLIN and so on. Returns the chain of
     * parties that the caller must make ready. */
    struct lt_party *(*told)(struct lt_source *source, uint32_t events);
    _Atomic(struct lt_worker *) worker; /* whose reactor tells it; NULL: it is not registered */
    uint32_t slot;                      /* index + 1; 0: it was never registered */
    int copy; /* a duplicate that is registered, if the same number was registered already; or -1 */
};

/* Registers a descriptor with the reactor of the current worker, or in another thread with any
 * worker's. From then on the source is told of each change, and soon of what is so already. Returns
 * 0; -EPERM if there is nothing to wait for on such a descriptor (a regular file); -ENOTSUP in a
 * seeded world; -EINVAL if no runtime runs; or -EMFILE, -ENFILE, -ENOMEM, -ENOSPC, -EBADF. */
int lt_reactor_add(struct lt_source *source, int fd);

/* Undoes that, before the descriptor is closed. When it returns, the source is not being told, and
 * will not be told again. Does nothing to a source that is not registered. */
void lt_reactor_remove(struct lt_source *source, int fd);

/* Inside some worker: tells what has happened to a worker's descriptors, without waiting.
 * Returns whether anything has happened. */
bool lt_reactor_look(struct lt_worker *worker);

/* The worker: the same after a wait, which ends by an event, by the bell, or at a time. */
void lt_reactor_sleep(struct lt_worker *worker, int64_t until);

/* The current worker's ring, which this opens; NULL where leat does without. Called outside. */
struct lt_uring *lt_reactor_uring(struct lt_worker *worker);

/* A thief inside a worker that is held up: does for its ring what the worker would do. */
void lt_reactor_stand_in(struct lt_worker *worker);

/* Ends the worker's lt_reactor_sleep, or its next one. */
void lt_reactor_ring(struct lt_worker *worker);

/* At the end of the runtime: no source is registered any more. Each is told of a read and a write,
 * which may then find that no runtime runs. */
void lt_reactors_close(void);

static inline bool lt_reactor_is_open(const struct lt_reactor *reactor)
{
    /* Sequentially consistent, against the worker's store to `asleep`: a worker that goes to sleep
     * on its futex sees this, or the thread that opened the reactor wakes it. */
    return atomic_load_explicit(&reactor->open, memory_order_seq_cst);
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

#endif
