/* wait_list.h: where a scope's tasks and stackless parties are listed, so that they can be found.
 *
 * A scope begins with one list of each, under its own lock. Where parties of several workers keep coming to it, that
 * lock and the neighbours in the list would move from core to core twice for each: so from then on each worker has a
 * wait list of its own, and lists there whom it runs when they first wait.
 *
 * Invariants:
 *  - A listed party is on one list, and stays there until it ends, wherever it goes on meanwhile: `wait list` of a task
 *    tells, and `list` of a stackless party.
 *  - Wait lists come once, with the scope's lock held, and stay as long as the scope.
 *  - Nobody is missed: who marks a scope does so with its lock held, and only then asks for wait lists. If there are
 *    none yet, who makes them has the lock later, and so it, and all who list somebody there, see the mark.
 *
 * Locking. A wait list's lock guards its lists. Nobody takes another one with it. */
#ifndef LT_SCOPE_WAIT_LIST_H
#define LT_SCOPE_WAIT_LIST_H

#include "scope/scope.h"

struct lt_wait_list {
    _Alignas(LT_CACHE_LINE) struct lt_lock lock;
    struct lt_node tasks, stackless;
};

/* A wait list, or what a scope has itself. */
struct lt_roll {
    struct lt_lock *lock;
    struct lt_node *tasks, *stackless;
};

/* The i-th, from 0; with no lock held. False: there are not so many. */
bool lt_scope_roll(leat_scope *scope, unsigned i, struct lt_roll *roll);

/* The task itself: takes it, which is listed, off its list. */
void lt_scope_delist(struct lt_task *task);

/* At the scope's end, when nobody else knows it. */
void lt_wait_lists_free(leat_scope *scope);

#endif
