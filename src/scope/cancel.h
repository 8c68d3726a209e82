/* cancel.h: the cancelling of scopes; how it works is told in scope.h. */
#ifndef LT_SCOPE_CANCEL_H
#define LT_SCOPE_CANCEL_H

#include "scope/scope.h"

/* Cancels a scope and all inside it, for `reason`: what leat_scope_close will return, unless something
 * came before. The caller sees to it that the scope is not freed meanwhile. */
void lt_scope_cancel(leat_scope *scope, int reason);

/* Marks a scope whose lock is held; false when it was marked before. */
bool lt_scope_mark(leat_scope *scope, int reason);

/* Holds a scope: it is not freed until let go. */
void lt_scope_pin(leat_scope *scope);
void lt_scope_unpin(leat_scope *scope);

#endif
