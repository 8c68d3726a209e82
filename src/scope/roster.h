/* roster.h: where a scope's tasks and roamers are listed, so that they can be found.
 *
 * A scope begins with one list of each, under its own lock. Where parties of several workers keep coming to it, that
 * lock and the neighbours in the list would move from core to core twice for each: so from then on each worker has a
 * roster of its own, and lists there whom it runs when they first wait.
 *
 * Invariants:
 *  - A listed party is on one list, and stays there until it ends, wherever it goes on meanwhile: `roster` of a task
 *    tells, and `list` of a roamer.
 *  - Rosters come once, with the scope's lock held, and stay as long as the scope.
 *  - Nobody is missed: who marks a scope does so with its lock held, and only then asks for rosters. If there are
 *    none yet, who makes them has the lock later, and so it, and all who list somebody there, see the mark.
 *
 * Locking. A roster's lock guards its lists. Nobody takes another one with it. */
#ifndef LT_SCOPE_ROSTER_H
#define LT_SCOPE_ROSTER_H

#include "scope/scope.h"

struct lt_roster {
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    struct lt_node tasks, roamers;
};

/* A roster, or what a scope has itself. */
struct lt_roll {
    struct lt_lock *lock;
    struct lt_node *tasks, *roamers;
};

/* The i-th, from 0; with no lock held. False: there are not so many. */
bool lt_scope_roll(leat_scope *scope, unsigned i, struct lt_roll *roll);

/* The task itself: takes it, which is listed, off its list. */
void lt_scope_delist(struct lt_task *task);

/* At the scope's end, when nobody else knows it. */
void lt_rosters_free(leat_scope *scope);

#endif
