/* fault.h: in the harsh build, any single request to the system for memory or a thread can be made
 * to fail, so that a test can try each in turn. Elsewhere lt_fault() is a constant false. */
#ifndef LT_BASE_FAULT_H
#define LT_BASE_FAULT_H

#include <stdbool.h>

#ifdef LEAT_HARSH

/* Lets the n-th request from now fail (1: the next), and no other; 0: none. */
void lt_fault_arm(long n);

/* Whether the armed request has been reached, and so has failed. */
bool lt_fault_struck(void);

/* Asked at each request: is this the one that fails? */
bool lt_fault(void);

#else
static inline bool lt_fault(void)
{
    return false;
}
#endif

#endif
