#include "base/biased.h"

#include "base/barrier.h"
#include "base/config.h"

/* `possible`: the kernel has the barrier; set before the threads start that read it, and cleared
 * only to save time. `given`, `taken_back`: locks that have got an owner, and lost it, since the
 * process began: more than 2^32 in some hours. Relaxed: they order nothing. */
static _Atomic bool possible;
static _Atomic uint64_t given, taken_back;

void lt_bias_open(void)
{
    atomic_store_explicit(&possible, lt_barrier_is_there(), memory_order_relaxed);
}

void lt_biased_init(struct lt_biased *biased)
{
    atomic_store_explicit(&biased->owner, LT_CANDIDATE, memory_order_relaxed);
    biased->settled = !atomic_load_explicit(&possible, memory_order_relaxed);
}

/* A sandbox that came after the start may refuse the barrier. From then on no lock gets an
 * owner. */
static void pass_barrier(void)
{
    if (LT_LIKELY(lt_barrier()))
        return;
    atomic_store_explicit(&possible, false, memory_order_relaxed);
    if (!lt_barrier_anyhow())
        lt_die(
            "leat: the system refuses membarrier, which it allowed at the start: a sandbox has to "
            "allow membarrier or sched_setaffinity, or be there before leat starts");
}

static void take_back(struct lt_biased *biased, uintptr_t next)
{
    atomic_store_explicit(&biased->owner, next, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    pass_barrier();
    /* Acquire: sees what the owner wrote under the lock. The loop is short, since an owner never
     * waits while it holds the lock. */
    for (unsigned i = 0; atomic_load_explicit(&biased->grip, memory_order_acquire) != LT_LOOSE; i++)
        lt_lock_await(i);
    biased->streak = 0;
}

void lt_biased_visit(struct lt_biased *biased, const void *me)
{
    /* Relaxed: as in lt_biased_grip; and below, under the lock. */
    if (atomic_load_explicit(&biased->owner, memory_order_relaxed) == (uintptr_t)me) {
        lt_biased_lock(biased, me);
        return;
    }
    lt_lock(&biased->lock);
    uintptr_t owner = atomic_load_explicit(&biased->owner, memory_order_relaxed);
    if (!(owner & LT_CANDIDATE))
        take_back(biased, owner | LT_CANDIDATE | LT_FORMER);
}

/* Owners need the barrier. They do not pay if most locks lose theirs again, at some two
 * microseconds each. */
static bool owner_pays(void)
{
    return atomic_load_explicit(&possible, memory_order_relaxed) &&
           atomic_load_explicit(&taken_back, memory_order_relaxed) <=
               atomic_load_explicit(&given, memory_order_relaxed) / 2 + LT_BIAS_TRIALS;
}

__attribute__((noinline)) void lt_biased_consider(struct lt_biased *biased, const void *me)
{
    uintptr_t owner = atomic_load_explicit(&biased->owner, memory_order_relaxed);
    uintptr_t candidate = (uintptr_t)me | LT_CANDIDATE;
    if (!(owner & LT_CANDIDATE)) {
        take_back(biased, LT_CANDIDATE);
        biased->settled = true;
        atomic_fetch_add_explicit(&taken_back, 1, memory_order_relaxed);
    } else if (owner & LT_FORMER) {
        if (owner != (candidate | LT_FORMER) ||
            !atomic_load_explicit(&possible, memory_order_relaxed))
            biased->settled = true;
        else if (++biased->streak == LT_BIAS_AFTER)
            atomic_store_explicit(&biased->owner, (uintptr_t)me, memory_order_relaxed);
    } else if (!me || owner != candidate) {
        atomic_store_explicit(&biased->owner, candidate, memory_order_relaxed);
        biased->streak = 0;
    } else if (++biased->streak == LT_BIAS_AFTER) {
        biased->settled = !owner_pays();
        if (biased->settled)
            return;
        atomic_store_explicit(&biased->owner, (uintptr_t)me, memory_order_relaxed);
        atomic_fetch_add_explicit(&given, 1, memory_order_relaxed);
    }
}
