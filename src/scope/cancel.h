/* cancel.h: cancelling scopes. scope.h says how it works. */
#ifndef LT_SCOPE_CANCEL_H
#define LT_SCOPE_CANCEL_H

#include "scope/scope.h"

/* Inside its home worker: ends the wait of a task whose scope has been cancelled, and asks the wait
 * whether it has another reason to end. */
void lt_scope_look(struct lt_task *task);

/* From any thread: the task's home looks soon. The caller keeps the task from ending. */
void lt_scope_nudge(struct lt_task *task);

#endif
