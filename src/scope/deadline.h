/* deadline.h: the deadlines of scopes.
 *
 * A task's scope has its timer in the wheel of that task's worker. A thread's scope has a shared
 * timer (sched/shared_timer.h). If that has been taken out to be fired when the scope closes, the
 * opener pins the scope, and waits until the timer has fired. While the thread itself waits, it
 * looks after its scopes' deadlines. */
#ifndef LT_SCOPE_DEADLINE_H
#define LT_SCOPE_DEADLINE_H

#include "scope/scope.h"

/* Called when the scope opens. */
void lt_deadline_set(leat_scope *scope, int64_t deadline);

/* Called when the scope closes and no task is left. */
void lt_deadline_clear(leat_scope *scope);

/* For a thread that waits: cancels its scopes whose deadline has passed. Returns the next deadline,
 * or LEAT_NEVER. */
int64_t lt_deadline_attend(const struct lt_party *thread);

#endif
