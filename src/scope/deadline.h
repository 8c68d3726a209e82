/* deadline.h: the deadlines of scopes.
 *
 * A task's scope has its timer in the wheel of that task's worker. A thread's scope has an object
 * of its own: one job puts its timer into some worker's wheel, and another takes it out. Nobody
 * waits for these jobs, so a busy worker delays only that timer. While the thread itself waits, it
 * looks after its scopes' deadlines. */
#ifndef LT_SCOPE_DEADLINE_H
#define LT_SCOPE_DEADLINE_H

#include "scope/scope.h"

/* Called when the scope opens. False: memory has run out. */
bool lt_deadline_set(leat_scope *scope, int64_t deadline);

/* Called when the scope closes and no task is left. */
void lt_deadline_clear(leat_scope *scope);

/* For a thread that waits: cancels its scopes whose deadline has passed. Returns the next deadline,
 * or LEAT_NEVER. */
int64_t lt_deadline_attend(const struct lt_party *thread);

#endif
