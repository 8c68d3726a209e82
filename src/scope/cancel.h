/* cancel.h: cancelling scopes, and pinning them meanwhile. scope.h says how it works. */
#ifndef LT_SCOPE_CANCEL_H
#define LT_SCOPE_CANCEL_H

#include "scope/scope.h"

/* Cancels a scope and all scopes inside it. If the scope was not marked before, leat_scope_close
 * will return `reason`. The caller makes sure that the scope is not freed meanwhile. */
void lt_scope_cancel(leat_scope *scope, int reason);

/* With the scope's lock held: marks it. False: it was marked before. */
bool lt_scope_mark(leat_scope *scope, int reason);

/* A pinned scope is not freed. */
void lt_scope_pin(leat_scope *scope);
void lt_scope_unpin(leat_scope *scope);

#endif
