#include "sched/current.h"

#include "base/clock.h"

_Thread_local struct lt_current lt_current_of_thread LT_FRESH_VARIABLE;

LT_COLD void lt_current_introduce(void)
{
    struct lt_current *current = lt_current();
    current->thread.party.kind = LT_THREAD;
    current->thread.party.enlisted = true; /* belongs to no scope; the scopes it opens know it */
    lt_spin_init(&current->thread.spin);
    current->self = &current->thread.party;
    current->chance = (uint64_t)lt_clock_now() ^ (uint64_t)(uintptr_t)current;
}

uint32_t lt_number_batch(void)
{
    if (lt_world()) /* a seeded world has its own numbers, without batches */
        return lt_current()->number;
    static _Atomic uint32_t given;
    uint32_t last;
    do /* not the batch that ends with 0 */
        last = atomic_fetch_add_explicit(&given, LT_NUMBER_BATCH, memory_order_relaxed);
    while (last + LT_NUMBER_BATCH == 0);
    return last;
}
