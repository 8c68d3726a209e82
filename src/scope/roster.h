/* roster.h: where a scope's tasks are listed, so that they can be found.
 *
 * A scope begins with one list, under its own lock. Where tasks of several workers keep coming to it, that lock and
 * the descriptors that are neighbours in the list would move from core to core twice for each task: so from then on
 * each worker has a roster of its own, and lists there whom it has at home.
 *
 * Invariants:
 *  - A listed task is on one list, and stays there: in its home's roster if it is `rostered`, else in `tasks`.
 *  - Rosters come once, with the scope's lock held, and stay as long as the scope.
 *  - Nobody is missed: who marks a scope does so with its lock held, and only then asks for rosters. If there are
 *    none yet, who makes them has the lock later, and so it, and all who list somebody there, see the mark.
 *
 * Locking. A roster's lock guards its list. Nobody takes another one with it. */
#ifndef LT_SCOPE_ROSTER_H
#define LT_SCOPE_ROSTER_H

#include "scope/scope.h"

struct lt_roster {
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    struct lt_node tasks;
};

/* One of the lists of a scope's tasks. */
struct lt_roll {
    struct lt_lock *lock;
    struct lt_node *tasks;
};

/* The i-th, from 0; with no lock held. False: there are not so many. */
bool lt_scope_roll(leat_scope *scope, unsigned i, struct lt_roll *roll);

/* On its home worker: takes a task that is listed off its list. */
void lt_scope_delist(struct lt_task *task);

/* At the scope's end, when nobody else knows it. */
void lt_rosters_free(leat_scope *scope);

#endif
