/* uring.h: a worker's io_uring: receives and sends that the kernel completes into the caller's own
 * memory, while the caller is parked.
 *
 * It uses three system calls and memory that is shared with the kernel, and no library. Operations
 * are queued, and one call in each round of the worker submits them all. If the round finds nothing
 * to run, the same call sleeps; a poll of the epoll in the ring wakes it for everything else.
 *
 * The kernel completes operations in the thread that has submitted them, when that thread is about
 * to return from the kernel for any reason. It does not interrupt the thread for that (an interrupt
 * for each would cost more than the ring saves): so a thread that computes has completions left to
 * do, and the kernel sets a flag. A thief that is inside such a worker makes a barrier on all
 * processors, which is an interrupt, and takes the completions. It submits cancels, but neither
 * operations nor the poll, which would belong to the thief's thread from then on: these are taken
 * back, before anything is called off that needs room in the queue.
 *
 * Invariants:
 *  - From lt_uring_queue until its completion has been taken, the kernel may write to an
 *    operation's buffer. A cancel does not change that: every operation ends with its own
 *    completion.
 *  - `owed` counts the completions of operations and cancels that are to come. No more operations
 *    are queued than have room in the completion queue, with one cancel each: so the completion
 *    queue never overflows.
 *  - A ring that the system refuses later is closed: the kernel cancels its operations, and
 *    completes them into the memory, which belongs to the worker. Operations that were queued and
 *    not submitted are completed here. No ring is opened again.
 *
 * Locking: inside the worker. `state`, `owed` and the kernel's words are hints elsewhere. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct io_uring_cqe;
struct io_uring_sqe;
struct lt_party;

enum lt_uring_state {
    LT_URING_UNUSED,
    LT_URING_OPEN,
    LT_URING_ENDING, /* refused: completions may still come */
};

struct lt_uring {
    _Atomic uint8_t state; /* enum lt_uring_state */
    bool polls;            /* a poll of the epoll is in it, and has not ended */
    int fd;
    _Atomic uint32_t owed; /* written inside; 0: there is nothing to take */
    /* The kernel writes sq_head, sq_flags and cq_tail. */
    _Atomic uint32_t *sq_head, *sq_tail, *sq_flags, *cq_head, *cq_tail;
    struct io_uring_sqe *sqes; /* where the memory of all these begins */
    struct io_uring_cqe *cqes;
};

/* An operation, on the stack of the party that is parked for it. */
struct lt_uring_op {
    struct lt_party *party;
    int32_t result;  /* of the system call: a count or a negative errno value */
    bool called_off; /* a cancel has been queued, or would come too late */
};

enum lt_uring_call { LT_URING_RECV, LT_URING_SEND };

/* Opens the ring. False: the system refuses it, and so every later one. */
bool lt_uring_open(struct lt_uring *ring);

/* Queues an operation. When it has been completed, op->party is made ready. The result is
 * -ECANCELED if the operation was called off before it moved any byte, ended with its ring, or was
 * taken back by a thief. False: the ring is full, or refused. */
bool lt_uring_queue(struct lt_uring *ring, struct lt_uring_op *op, enum lt_uring_call call, int fd,
                    void *buffer, size_t n);

/* Asks the kernel to end the operation soon. */
void lt_uring_call_off(struct lt_uring *ring, struct lt_uring_op *op);

/* Submits the queued entries, and takes the completions. Returns the chain of parties that the
 * caller must make ready. */
struct lt_party *lt_uring_round(struct lt_uring *ring);

/* Waits until a completion, an event of the epoll or a time in nanoseconds, which may be
 * LEAT_NEVER, and then does the same. The caller then looks at the epoll, unless `polls` is set. */
struct lt_party *lt_uring_sleep(struct lt_uring *ring, int epoll, int64_t ns);

/* A thief's round, inside a worker that is held up and has a ring. Operations that have not been
 * submitted end with -ECANCELED, and their parties begin them again elsewhere. */
struct lt_party *lt_uring_stand_in(struct lt_uring *ring);

/* Called at the end of the runtime, when nothing is under way. */
void lt_uring_close(struct lt_uring *ring);

/* For the dump: the error with which the system has refused a ring; 0: none yet. */
int lt_uring_refusal(void);

/* Whether the runtime uses rings: LEAT_IO=uring. Set when it starts. */
extern _Atomic bool lt_uring_wanted;

static inline bool lt_uring_is_wanted(void)
{
    /* Relaxed: a thread that is no worker may read it beside the start. */
    return atomic_load_explicit(&lt_uring_wanted, memory_order_relaxed);
}

static inline bool lt_uring_is(const struct lt_uring *ring, enum lt_uring_state state)
{
    /* Acquire: a thief that sees it open sees the pointers. */
    return atomic_load_explicit(&ring->state, memory_order_acquire) == state;
}

static inline uint32_t lt_uring_owed(const struct lt_uring *ring)
{
    /* Relaxed: certain inside, a hint elsewhere. */
    return atomic_load_explicit(&ring->owed, memory_order_relaxed);
}

/* lt_uring_has_queued: entries have been queued and not submitted. lt_uring_has_more: a round would
 * do something. Certain inside, hints elsewhere. */
bool lt_uring_has_queued(const struct lt_uring *ring);
bool lt_uring_has_more(const struct lt_uring *ring);
