/* deadlock.h: whether the program has a deadlock, which the monitor asks now and then. */
#ifndef LT_WATCH_DEADLOCK_H
#define LT_WATCH_DEADLOCK_H

#include <stdbool.h>

enum { LT_DEADLOCK_CHECK_MS = 100 };

/* True: there is a deadlock. This call and the one before found everything at rest, and nothing was
 * done in between. lt_deadlock_reset forgets what was found in an earlier runtime. */
bool lt_deadlock_check(void);
void lt_deadlock_reset(void);

/* One more thread of leat's own that never calls leat for the program: by is 1, and -1 for one
 * less. Counted only while the thread exists: with a thread too many counted, a thread of the
 * program would be overlooked. */
void lt_deadlock_bystander(int by);

#endif
