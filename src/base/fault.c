#include "base/fault.h"

#ifdef LEAT_HARSH
#include <stdatomic.h>

/* Requests left, with the one that fails; 0 or less: none fails. Relaxed: it orders nothing. */
static _Atomic long countdown;
static _Atomic bool struck;

void lt_fault_arm(long n)
{
    atomic_store_explicit(&struck, false, memory_order_relaxed);
    atomic_store_explicit(&countdown, n, memory_order_relaxed);
}

bool lt_fault_struck(void)
{
    return atomic_load_explicit(&struck, memory_order_relaxed);
}

bool lt_fault(void)
{
    if (atomic_load_explicit(&countdown, memory_order_relaxed) <= 0 ||
        atomic_fetch_sub_explicit(&countdown, 1, memory_order_relaxed) != 1)
        return false;
    atomic_store_explicit(&struck, true, memory_order_relaxed);
    return true;
}
#endif
