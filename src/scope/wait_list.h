/* wait_list.h: the lists by which a canceller or a dump finds the tasks and stackless parties.
 *
 * A scope begins with one list of each, under its own lock. If parties of several workers keep
 * coming, that lock and the neighbours in the list would move between cores twice for each party.
 * So from then on each worker has a wait list of its own, for parties that first wait there.
 *
 * Invariants:
 *  - A listed party is on one list and stays there until it ends, wherever it runs meanwhile. A
 *    task's `wait_list` and a stackless party's `list` say which list.
 *  - Wait lists are made once, with the scope's lock held, and live as long as the scope.
 *  - Nobody is missed: a canceller marks the scope with its lock held, and then looks for wait
 *    lists. If there are none yet, their maker has the lock later; so the maker, and each party
 *    listed there, sees the mark.
 *
 * Locking. A wait list's lock guards its lists. No other lock is taken while it is held. */
#ifndef LT_SCOPE_WAIT_LIST_H
#define LT_SCOPE_WAIT_LIST_H

#include "scope/scope.h"

struct lt_wait_list {
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    struct lt_node tasks, stackless;
};

/* A wait list, or the scope's own lists. */
struct lt_roll {
    struct lt_lock *lock;
    struct lt_node *tasks, *stackless;
};

/* How many rolls there are. Called with no lock held; there may be more soon. */
unsigned lt_scope_rolls(const leat_scope *scope);

/* Sets *roll to the i-th, from 0, the scope's own. Called with no lock held. False: no i-th. */
bool lt_scope_roll(leat_scope *scope, unsigned i, struct lt_roll *roll);

/* A task puts itself on a list of its scope. 0, or -EDEADLK for a party that may not park. */
int lt_scope_enlist(struct lt_party *party);

/* A listed task takes itself off its list. */
void lt_scope_delist(struct lt_task *task);

/* Puts a stackless party on a list of its scope; takes it off, if it is on one. */
void lt_scope_enlist_stackless(struct lt_stackless *stackless);
void lt_scope_delist_stackless(struct lt_stackless *stackless);

/* At the scope's end, when no other party knows it. */
void lt_wait_lists_free(leat_scope *scope);

#endif
