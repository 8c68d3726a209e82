/* cancel.h: cancelling scopes. scope.h says how it works. */
#ifndef LT_SCOPE_CANCEL_H
#define LT_SCOPE_CANCEL_H

#include "scope/scope.h"

/* Cancels a scope and all scopes inside it. If the scope was not marked before, leat_scope_close
 * will return `reason`. The caller makes sure that the scope is not freed meanwhile. */
void lt_scope_cancel(leat_scope *scope, int reason);

/* With the scope's lock held: marks it. False: it was marked before. */
bool lt_scope_mark(leat_scope *scope, int reason);

/* Inside its home worker: ends the wait of a task whose scope has been cancelled. */
void lt_scope_look(struct lt_task *task);

#endif
