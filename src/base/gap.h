/* gap.h: a pause where the order of the code around matters. In the harsh build lt_gap now and then
 * stops the thread for a moment, so that a wrong order shows (scripts/mutate makes such orders). In
 * other builds it does nothing. */
#pragma once

#ifdef LEAT_HARSH
/* The caller may hold any lock. Keeps errno. */
void lt_gap(void);

/* If not NULL, called by each thread in each gap: a test may stop a thread there for as long as it
 * likes. */
extern void (*_Atomic lt_gap_hook)(void);
#else
static inline void lt_gap(void)
{
}
#endif
