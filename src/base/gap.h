/* gap.h: places where a thread that is stopped for a moment shows whether the code around is in the right order. In the
 * harsh build it is stopped there now and then; elsewhere lt_gap is nothing. (scripts/mutate changes the order.) */
#ifndef LT_BASE_GAP_H
#define LT_BASE_GAP_H

#ifdef LEAT_HARSH
/* Any lock may be held. Keeps errno. */
void lt_gap(void);
#else
static inline void lt_gap(void)
{
}
#endif

#endif
