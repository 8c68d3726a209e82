/* deadline.h: the deadlines of scopes.
 *
 * A scope that a task opened has its timer in the wheel of that task's worker. For one that a thread
 * opened, the timer is an object of its own, which jobs put into some worker's wheel and take out again;
 * nobody waits for them, so a worker that is busy delays nothing but that timer. And while the thread
 * itself waits, it looks after its scopes' deadlines. */
#ifndef LT_SCOPE_DEADLINE_H
#define LT_SCOPE_DEADLINE_H

#include "scope/scope.h"

/* At the opening. False when memory has run out. */
bool lt_deadline_set(leat_scope *scope, int64_t deadline);

/* At the closing, when no task is left. */
void lt_deadline_clear(leat_scope *scope);

/* For a thread that waits: cancels those of its scopes whose deadline has passed, and returns the next. */
int64_t lt_deadline_attend(const struct lt_party *thread);

#endif
