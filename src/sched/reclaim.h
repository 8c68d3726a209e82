/* reclaim.h: when memory has run out, takes back the stacks and credits that idle workers keep for
 * the next crowd.
 *
 * A sleeping worker records how many it keeps. A thread that gets none wakes the workers that keep
 * some. They see that memory is short, give all of theirs back, and keep none as long as it is
 * short. */
#pragma once

#include <stdbool.h>

struct lt_worker;

/* Called by an idle worker each time before it sleeps. */
void lt_reclaim_settle(struct lt_worker *worker);

/* As lt_stack_credits_get(1), after that has failed. Waits a few milliseconds at most, and only if
 * idle workers keep some. */
bool lt_reclaim_get_one(void);
