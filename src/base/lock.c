#include "base/lock.h"

#include "base/futex.h"

#include <sched.h>

/* Where threads sleep that have wanted a lock for some time. One gate serves many locks, so a woken
 * thread checks its lock again. The words are hints, and relaxed: a sleeper that is missed wakes by
 * itself. */
struct gate {
    _Alignas(
        LT_CACHE_LINE) _Atomic uint32_t rung; /* they sleep on it: the number of calls to wake */
    _Atomic uint32_t sleeping;
};

enum { GATE_BITS = 6 };

static struct gate gates[1 << GATE_BITS];

static struct gate *gate_of(const struct lt_lock *lock)
{
    return &gates[(uint64_t)(uintptr_t)lock * UINT64_C(0x9e3779b97f4a7c15) >> (64 - GATE_BITS)];
}

static void pause_for(unsigned pauses)
{
    for (unsigned i = 0; i < pauses; i++)
        lt_pause();
}

static void mark_wanted(struct lt_lock *lock)
{
    /* Relaxed: it orders nothing. */
    atomic_store_explicit(&lock->wanted, LT_LOCK_WANTED, memory_order_relaxed);
}

static void wake_one(const struct lt_lock *lock)
{
    struct gate *gate = gate_of(lock);
    atomic_fetch_add_explicit(&gate->rung, 1, memory_order_relaxed);
    if (atomic_load_explicit(&gate->sleeping, memory_order_relaxed))
        lt_futex_rouse(&gate->rung);
}

/* Called by a thread that has taken a lock which other threads want. */
static void give_way(struct lt_lock *lock)
{
    lt_unlock(lock);
    wake_one(lock);
    sched_yield(); /* there may be no other processor */
}

/* A thread that does not yet want the lock takes none that others want. Taking a wanted lock clears
 * the mark. So even where several want it, each has it for many operations in turn, until another
 * looks and marks it again. */
static bool try_take(struct lt_lock *lock, bool wants)
{
    uint8_t found = atomic_load_explicit(&lock->held, memory_order_relaxed);
    if (found == LT_LOCK_HELD || (found == LT_LOCK_WANTED && !wants))
        return false;
    /* Acquire: as in lt_lock. */
    if (!atomic_compare_exchange_strong_explicit(&lock->held, &found, LT_LOCK_HELD,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    if (wants)
        atomic_store_explicit(&lock->wanted, LT_LOCK_FREE, memory_order_relaxed);
    return true;
}

static void sleep_a_little(struct lt_lock *lock, int64_t ns)
{
    struct gate *gate = gate_of(lock);
    uint32_t rung = atomic_load_explicit(&gate->rung, memory_order_relaxed);
    atomic_fetch_add_explicit(&gate->sleeping, 1, memory_order_relaxed);
    mark_wanted(lock);
    lt_futex_nap(&gate->rung, rung, ns);
    atomic_fetch_sub_explicit(&gate->sleeping, 1, memory_order_relaxed);
}

/* Each look takes the lock's cache line from the holder, which is mostly about to take the lock
 * again. A line that moves with each operation costs more than ten operations on one that stays. So
 * looks are a microsecond or more apart, and two threads that use the lock all the time each have
 * it for many operations in turn. A thread marks the lock before it yields the processor: with only
 * one processor, the holder then runs for a whole time slice. */
LT_COLD void lt_lock_contended(struct lt_lock *lock, uint8_t found)
{
    enum { FIRST = 64, LONGEST = 256, WANT_FROM = 2, NAP_FROM = 6 };
    enum { NAP_NS = 50000, LONGEST_NAP_NS = 400000 };
    unsigned pauses = FIRST;
    int64_t nap = NAP_NS;
    if (found == LT_LOCK_WANTED)
        give_way(lock);
    for (unsigned round = 0;; round++) {
        pause_for(pauses);
        if (try_take(lock, round > WANT_FROM))
            return;
        if (pauses < LONGEST)
            pauses *= 2;
        if (round < WANT_FROM)
            continue;
        if (round < NAP_FROM) {
            mark_wanted(lock);
            sched_yield();
            continue;
        }
        sleep_a_little(lock, nap);
        pauses = 1;
        if (nap < LONGEST_NAP_NS)
            nap *= 2;
    }
}

LT_COLD void lt_lock_await(unsigned round)
{
    enum { PAUSES = 256, YIELDS = 64, NAP_NS = 20000 };
    if (round < PAUSES)
        lt_pause();
    else if (round < PAUSES + YIELDS)
        sched_yield();
    else /* a real-time thread yields only to threads of its own priority */
        lt_nap(NAP_NS);
}

LT_COLD void lt_lock_contended_soon(struct lt_lock *lock, uint8_t found)
{
    enum { FIRST = 8, LAST = 32 };
    for (unsigned pauses = FIRST; found == LT_LOCK_HELD && pauses <= LAST; pauses *= 2) {
        pause_for(pauses);
        if (try_take(lock, false))
            return;
    }
    lt_lock_contended(lock, found);
}
