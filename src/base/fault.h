/* fault.h: in the harsh build, a test can make any single request for memory or a thread fail. In
 * other builds lt_fault() is false. */
#pragma once

#include <stdbool.h>

#ifdef LEAT_HARSH

/* Makes the n-th request from now fail (1: the next), and no other; 0: none. */
void lt_fault_arm(long n);

/* Whether that request has come, and has failed. */
bool lt_fault_struck(void);

/* Called at each request: true if it must fail. */
bool lt_fault(void);

#else
static inline bool lt_fault(void)
{
    return false;
}
#endif
