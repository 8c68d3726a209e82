#include "base/gap.h"

#ifdef LEAT_HARSH
#include "base/futex.h"
#include "base/world.h"

void (*_Atomic lt_gap_hook)(void);

void lt_gap(void)
{
    /* A prime: a loop that passes several gaps stops in each of them in turn. */
    enum { SELDOM = 17, NS = 20000 };
    static _Thread_local unsigned calls;
    void (*hook)(void) = atomic_load_explicit(&lt_gap_hook, memory_order_relaxed);
    if (hook)
        hook();
    if (++calls % SELDOM == 0 && !lt_world())
        lt_nap(NS);
}
#endif
