#include "base/owned.h"

#include "base/barrier.h"
#include "base/config.h"

void lt_owned_init(struct lt_owned_lock *lock)
{
    /* Relaxed: nobody visits before the owner's thread starts. Atomic stores, since a thread that
     * knew an earlier owner may still read `calls`. */
    atomic_store_explicit(&lock->calls, lt_barrier_is_there() ? 0 : LT_FENCE_WANTED,
                          memory_order_relaxed);
    atomic_store_explicit(&lock->inside, true, memory_order_relaxed);
    atomic_store_explicit(&lock->fences, false, memory_order_relaxed);
    lock->entries = 0;
    lock->away = false;
    lock->visitors = (struct lt_lock){ 0 };
}

/* ---- the owner ---- */

/* Enters with a fence before the look. Sequentially consistent, against the visitor's store to
 * `calls` and its load of `inside`. */
static unsigned enter_and_look(struct lt_owned_lock *lock)
{
    atomic_store_explicit(&lock->inside, true, memory_order_seq_cst);
    return atomic_load_explicit(&lock->calls, memory_order_seq_cst);
}

/* Leaves, and waits until the visitor has left, too. */
static void wait_outside(struct lt_owned_lock *lock)
{
    /* Release: the visitor sees what the owner wrote inside. */
    atomic_store_explicit(&lock->inside, false, memory_order_release);
    for (unsigned i = 0; atomic_load_explicit(&lock->calls, memory_order_relaxed) & LT_VISITED; i++)
        lt_lock_await(i);
    lock->entries = 0;
}

static void stop_fencing(struct lt_owned_lock *lock)
{
    lock->entries = 0;
    if (!lt_barrier())
        return;
    atomic_store_explicit(&lock->fences, false, memory_order_seq_cst);
    atomic_fetch_and_explicit(&lock->calls, (uint8_t)~LT_FENCE_WANTED, memory_order_seq_cst);
}

/* Enters after all visitors. Returns the other calls. */
static unsigned enter_fenced(struct lt_owned_lock *lock)
{
    unsigned calls;
    while ((calls = enter_and_look(lock)) & LT_VISITED)
        wait_outside(lock);
    return calls;
}

LT_COLD void lt_owned_answer(struct lt_owned_lock *lock)
{
    if (!(enter_fenced(lock) & LT_FENCE_WANTED))
        return;
    atomic_store_explicit(&lock->fences, true, memory_order_seq_cst);
    if (++lock->entries == LT_FENCED_ENTRIES)
        stop_fencing(lock);
}

void lt_owned_go_away(struct lt_owned_lock *lock)
{
    lock->away = true;
    /* Sequentially consistent, with the visitor's load: see `fences` in owned.h. */
    atomic_store_explicit(&lock->fences, true, memory_order_seq_cst);
    lt_owned_leave(lock, false);
}

void lt_owned_come_back(struct lt_owned_lock *lock)
{
    unsigned calls = enter_fenced(lock);
    lock->away = false;
    /* If a fence is wanted, the next entry sees that, and makes one. */
    if (calls & LT_FENCE_WANTED)
        return;
    /* Acquire and release: the next entry sees the call of each visitor that has called before
     * this, and the others see that the owner does not fence. A store alone would not do: on
     * AArch64 the load of that entry may come before it. */
    atomic_store_explicit(&lock->fences, false, memory_order_relaxed);
    atomic_fetch_or_explicit(&lock->calls, 0, memory_order_acq_rel);
}

/* ---- visitors ---- */

static void end_visit(struct lt_owned_lock *lock)
{
    /* Release: the owner sees what the visitor wrote inside. */
    atomic_fetch_and_explicit(&lock->calls, (uint8_t)~LT_VISITED, memory_order_release);
    lt_unlock(&lock->visitors);
}

bool lt_owned_visit(struct lt_owned_lock *lock)
{
    /* Relaxed: a hint, which mostly saves a barrier in vain. */
    if (atomic_load_explicit(&lock->inside, memory_order_relaxed) || !lt_try_lock(&lock->visitors))
        return false;
    atomic_fetch_or_explicit(&lock->calls, LT_VISITED, memory_order_seq_cst);
    bool ordered = atomic_load_explicit(&lock->fences, memory_order_seq_cst) || lt_barrier_anyhow();
    if (!ordered)
        atomic_fetch_or_explicit(&lock->calls, LT_FENCE_WANTED, memory_order_seq_cst);
    if (ordered && !atomic_load_explicit(&lock->inside, memory_order_seq_cst))
        return true;
    end_visit(lock);
    return false;
}

void lt_owned_end_visit(struct lt_owned_lock *lock, bool soon)
{
    if (soon)
        atomic_fetch_or_explicit(&lock->calls, LT_FENCE_WANTED, memory_order_relaxed);
    end_visit(lock);
}
