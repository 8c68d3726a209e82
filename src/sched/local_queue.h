/* local_queue.h: a worker's unstarted tasks and blocks: a bounded queue that its owner fills and
 * drains, and from which thieves steal the oldest.
 *
 * Indices only grow (and wrap); slot i lies at i mod LT_LOCAL_QUEUE_SIZE. Only the owner writes
 * `tail`. The owner and thieves advance `head` by compare-and-swap, and the one that does owns the
 * parties that it passed. A thief reads the slots before it moves head. If the owner has reused
 * them meanwhile, head has moved and the thief's swap fails. (Go's runtime has such a queue:
 * runtime/proc.go, runqput and runqgrab.) */
#pragma once

#include "base/config.h"
#include "base/util.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_party;

struct lt_local_queue {
    _Alignas(LT_CACHE_LINE) _Atomic uint32_t head;
    _Alignas(LT_CACHE_LINE) _Atomic uint32_t tail;
    _Atomic(struct lt_party *) slots[LT_LOCAL_QUEUE_SIZE];
};

_Static_assert((LT_LOCAL_QUEUE_SIZE & (LT_LOCAL_QUEUE_SIZE - 1)) == 0, "indices wrap");

/* The number of parties. Exact for the owner, but thieves may take some at any time. */
static inline uint32_t lt_local_queue_length(struct lt_local_queue *queue)
{
    /* Relaxed: the owner wrote tail itself, and a stale head only makes the queue look longer. */
    return atomic_load_explicit(&queue->tail, memory_order_relaxed) -
           atomic_load_explicit(&queue->head, memory_order_relaxed);
}

/* Owner: false when full. */
static inline bool lt_local_queue_push(struct lt_local_queue *queue, struct lt_party *party)
{
    uint32_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    /* Acquire: a thief that moved head has read the slots that it freed. */
    if (tail - atomic_load_explicit(&queue->head, memory_order_acquire) == LT_LOCAL_QUEUE_SIZE)
        return false;
    atomic_store_explicit(&queue->slots[tail % LT_LOCAL_QUEUE_SIZE], party, memory_order_relaxed);
    /* Release: a thread that sees the new tail sees the slot and the party in it. */
    atomic_store_explicit(&queue->tail, tail + 1, memory_order_release);
    return true;
}

/* Owner: the oldest, or NULL. */
static inline struct lt_party *lt_local_queue_pop(struct lt_local_queue *queue)
{
    uint32_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    while (head != tail) {
        struct lt_party *party =
            atomic_load_explicit(&queue->slots[head % LT_LOCAL_QUEUE_SIZE], memory_order_relaxed);
        /* Prefetches the next party, if there is one. A number, since NULL has no neighbour. */
        uintptr_t next = (uintptr_t)atomic_load_explicit(
            &queue->slots[(head + 1) % LT_LOCAL_QUEUE_SIZE], memory_order_relaxed);
        __builtin_prefetch((void *)next, 1);
        __builtin_prefetch((void *)(next + LT_CACHE_LINE), 1);
        /* Relaxed: the owner itself wrote the slots. */
        if (atomic_compare_exchange_weak_explicit(&queue->head, &head, head + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return party;
    }
    return NULL;
}

/* Thief: takes up to `most` of the parties before index `before` into `taken`, oldest first.
 * Returns their number. */
static inline uint32_t lt_local_queue_steal(struct lt_local_queue *queue, uint32_t before,
                                            uint32_t most, struct lt_party **taken)
{
    uint32_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    for (;;) {
        /* Signed: the owner may have passed `before`. */
        int32_t old = (int32_t)(before - head);
        if (old <= 0)
            return 0;
        uint32_t n = (uint32_t)old < most ? (uint32_t)old : most;
        for (uint32_t i = 0; i < n; i++)
            taken[i] = atomic_load_explicit(&queue->slots[(head + i) % LT_LOCAL_QUEUE_SIZE],
                                            memory_order_relaxed);
        /* Release, for the acquire in push: the slots have been read. (The parties' contents are
         * seen by the acquire load of the tail that is `before`.) */
        if (atomic_compare_exchange_weak_explicit(&queue->head, &head, head + n,
                                                  memory_order_release, memory_order_relaxed))
            return n;
    }
}
