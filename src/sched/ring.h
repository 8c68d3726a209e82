/* ring.h: a worker's tasks and blocks that have not started: a bounded queue that its owner fills and drains,
 * and from which others steal the oldest.
 *
 * Indices only grow (and wrap); slot i lives at i mod LT_RING_SIZE. `tail` is written by the owner
 * alone. `head` is advanced by compare-and-swap, by owner and thieves alike: who moves it owns the
 * parties it passed over. A thief reads the slots before it moves head; should the owner have reused
 * them meanwhile, head has moved and the thief's swap fails. (The queue of Go's runtime works like
 * this, runtime/proc.go, runqput and runqgrab.) */
#ifndef LT_SCHED_RING_H
#define LT_SCHED_RING_H

#include "base/config.h"
#include "base/util.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lt_party;

struct lt_ring {
    _Alignas(LT_CACHE_LINE) _Atomic uint32_t head;
    _Alignas(LT_CACHE_LINE) _Atomic uint32_t tail;
    _Atomic(struct lt_party *) slots[LT_RING_SIZE];
};

_Static_assert((LT_RING_SIZE & (LT_RING_SIZE - 1)) == 0, "indices wrap");

/* How many are in it; exact for the owner but for thieves that make it less. */
static inline uint32_t lt_ring_length(struct lt_ring *ring)
{
    /* Relaxed: the owner wrote tail itself, and a stale head only makes the queue look longer. */
    return atomic_load_explicit(&ring->tail, memory_order_relaxed) -
           atomic_load_explicit(&ring->head, memory_order_relaxed);
}

/* Owner: false when full. */
static inline bool lt_ring_push(struct lt_ring *ring, struct lt_party *party)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    /* Acquire: a thief that moved head has done reading the slots it freed. */
    if (tail - atomic_load_explicit(&ring->head, memory_order_acquire) == LT_RING_SIZE)
        return false;
    atomic_store_explicit(&ring->slots[tail % LT_RING_SIZE], party, memory_order_relaxed);
    /* Release: who sees the new tail sees the slot and the party in it. */
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

/* Owner: the oldest, or NULL. */
static inline struct lt_party *lt_ring_pop(struct lt_ring *ring)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    while (head != tail) {
        struct lt_party *party =
            atomic_load_explicit(&ring->slots[head % LT_RING_SIZE], memory_order_relaxed);
        /* The next, should there be one, is on its way from memory meanwhile. */
        char *next = (char *)atomic_load_explicit(&ring->slots[(head + 1) % LT_RING_SIZE],
                                                  memory_order_relaxed);
        __builtin_prefetch(next, 1);
        __builtin_prefetch(next + LT_CACHE_LINE, 1);
        /* Relaxed: what lies in the slots is the owner's own writing. */
        if (atomic_compare_exchange_weak_explicit(&ring->head, &head, head + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return party;
    }
    return NULL;
}

/* Thief: takes up to `most` of the tasks before index `before`, oldest first, into `taken`; returns
 * how many. */
static inline uint32_t lt_ring_steal(struct lt_ring *ring, uint32_t before, uint32_t most,
                                     struct lt_party **taken)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (;;) {
        /* Signed: the owner may have gone past `before`. */
        int32_t old = (int32_t)(before - head);
        if (old <= 0)
            return 0;
        uint32_t n = (uint32_t)old < most ? (uint32_t)old : most;
        for (uint32_t i = 0; i < n; i++)
            taken[i] =
                atomic_load_explicit(&ring->slots[(head + i) % LT_RING_SIZE], memory_order_relaxed);
        /* Release pairs with the acquire in push: the slots have been read. (That the parties' contents
         * are seen is owed to the acquire load of tail that `before` came from.) */
        if (atomic_compare_exchange_weak_explicit(&ring->head, &head, head + n,
                                                  memory_order_release, memory_order_relaxed))
            return n;
    }
}

#endif
