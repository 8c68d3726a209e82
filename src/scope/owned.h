/* owned.h: things that belong to a scope besides tasks and blocks: objects that it frees, and units
 * that keep it open. For what is built on scopes; scope/scope.h is the inside. Any party may call
 * these. */
#pragma once

#include "base/list.h"

#include <leat/scope.h>

struct lt_sight;

/* An object that a scope frees when it closes. */
struct lt_owned {
    struct lt_node node;
    const struct lt_owned_kind *kind;
};

struct lt_owned_kind {
    /* Called before any object of the scope is freed, the newest first: lets go of what the object
     * holds. This may call a user's function, which may use the scope's other objects. May be
     * NULL. */
    void (*empty)(struct lt_owned *owned);
    void (*free)(struct lt_owned *owned);
    /* For looks, with the scope's lock held: fills in a sight (scope/sight.h), whose `scope` and
     * `steps` are set. NULL: a look does not show such objects, or finds them elsewhere. */
    void (*see)(struct lt_owned *owned, struct lt_sight *sight);
};

/* Gives an object to the scope. */
void lt_scope_own(leat_scope *scope, struct lt_owned *owned);

/* lt_scope_enter adds one unit. lt_scope_leave takes one away, for a party that has ended with
 * `result`. */
void lt_scope_enter(leat_scope *scope);
void lt_scope_leave(leat_scope *scope, int result);

/* Cancels a scope and all scopes inside it. If the scope was not marked before, leat_scope_close
 * will return `reason`. The caller makes sure that the scope is not freed meanwhile. */
void lt_scope_cancel(leat_scope *scope, int reason);

/* Whether the scope or a scope around it is cancelled; a look at deadlines is left to their timers.
 * A cancel marks a scope some time after its parent. Meanwhile a wait may end with -ECANCELED for
 * the parent's mark (lt_wait_closed). So this does not wait for the canceller: if a parent is
 * marked, it cancels the scope itself. Called with no lock held. */
bool lt_scope_sees_cancel(leat_scope *scope);
